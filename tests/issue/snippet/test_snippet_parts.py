"""Completion, places, and the source of tests."""

from __future__ import annotations

import ast

import pytest

from refute.issue.snippet.issue_reader import read_issue_text
from refute.issue.snippet.rendering import Style, TestSketch, patch_of, slug, with_tests
from refute.issue.snippet.script import Statement, scripts, statements
from refute.issue.snippet.subject import (
    Names,
    _homes_of_attributes,
    completed,
    frame_files,
    given_tests,
    homes_for_tests,
    module_of,
    styles_of,
)

FILES = {
    "shop/__init__.py": "",
    "shop/sums.py": "def total(rows):\n    return sum(rows)\n",
    "shop/fields.py": "class Price:\n    pass\n",
    "tests/utils.py": "def setup(x):\n    return x\n",
    "tests/sums/test_sums.py": "from shop.sums import total\nfrom shop import fields\n\n\n"
    "def test_total():\n    assert total([1]) == 1\n",
    "tests/sums/test_fields.py": "from shop import fields as f, sums\n\ndef test_f(): pass\n",
}


def rows(code: str) -> list[Statement]:
    return [row for part in statements(read_issue_text(code)).values() for row in part]


def test_imports_as_the_repository_writes_them() -> None:
    names = Names(FILES)
    assert names.import_of("total") == "from shop.sums import total"
    assert names.import_of("f") == "from shop import fields as f"
    assert names.import_of("Price") == "from shop.fields import Price"
    assert names.import_of("nothing") is None
    assert names.importable("json.decoder")
    assert names.importable("shop.sums")
    assert not names.importable("myproject.models")


@pytest.mark.parametrize(
    ("path", "module"),
    [("src/a/b.py", "a.b"), ("a/__init__.py", "a"), ("a/b-c.py", None), ("setup.py", "setup")],
)
def test_modules(path: str, module: str | None) -> None:
    assert module_of(path) == module


def test_an_example_is_completed_and_foreign_imports_go() -> None:
    text = "```python\nfrom myproject.views import view\ntotal([Price()])\n```\n"
    (script,) = scripts(statements(read_issue_text(text)))
    made = completed(script, Names(FILES))
    assert made is not None
    assert made.script.sources == ("total([Price()])",)
    assert made.imports == ("from shop.fields import Price", "from shop.sums import total")
    (unknown,) = scripts(statements(read_issue_text("```python\nview(1)\n```\n")))
    assert completed(unknown, Names(FILES)) is None


def test_the_nearest_test_file() -> None:
    homes = homes_for_tests("total of prices is wrong", ["shop/sums.py"], FILES)
    assert homes[0] == "tests/sums/test_sums.py"
    assert homes_for_tests("see tests/sums/test_fields.py", ["shop/sums.py"], FILES)[0].endswith(
        "test_fields.py"
    )
    assert homes_for_tests("x", [], {"shop/sums.py": ""}) == []


def test_files_of_a_traceback_innermost_first() -> None:
    text = 'File "/usr/lib/site-packages/shop/fields.py", line 1\nFile "C:\\\\x\\\\shop\\\\sums.py"'
    assert frame_files(text, FILES)[-1] == "shop/fields.py"


def test_methods_without_their_class_get_one() -> None:
    code = "```python\ndef test_a(self):\n    self.assertEqual(total([]), 1)\n```\n"
    files = {**FILES, "tests/a/test_case.py": "from unittest import TestCase\n"}
    source = given_tests(rows(code), Names(files), "TestCase")
    assert source is not None
    assert [n.name for n in ast.parse(source).body if isinstance(n, ast.ClassDef)] == ["IssueTests"]


def test_styles_as_the_test_file_has_them() -> None:
    cases = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    assert styles_of(cases) == [Style("TestCase", "unittest")]
    assert styles_of(FILES["tests/sums/test_sums.py"]) == [Style()]
    django = styles_of("from django.test import TestCase\n")
    assert [style.base for style in django] == ["SimpleTestCase", "TestCase"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_appended_tests_leave_the_file_as_it_is(end: str) -> None:
    existing = "from django.test import SimpleTestCase\n\n\nclass A(SimpleTestCase):\n    pass\n"
    existing = existing.replace("\n", end)
    draft = TestSketch(
        "x", ("from b import c", "from b import a", "import os"), ('a("""\n1\n""")',)
    )
    style = Style("SimpleTestCase", "django.test")
    text = with_tests(existing, [draft], style, title="A b")
    assert text.startswith(existing)
    assert text.count("\n") == text.count(end), "no line ends otherwise"
    assert text.replace(end, "\n").endswith(
        "class BTests(SimpleTestCase):\n    def test_x(self):\n        import os\n"
        '        from b import a, c\n\n        a("""\n1\n""")\n'
    )
    patch = patch_of("tests/test_a.py", text, lambda path: existing)
    assert "\n-" not in patch.replace("\n--- ", "\n")


def test_what_the_file_imports_is_not_imported_again() -> None:
    existing = "import os\nfrom b import (\n    a,\n    c,\n)\nfrom .d import e as f\n"
    imports = ("import os", "import os.path", "from b import a", "from .d import e")
    body = ("from b import c, a", "from b import c, z", "from .d import e as f", "f(c)")
    text = with_tests(existing, [TestSketch("x", imports, body)], Style(), title="A b")
    assert text == (
        f"{existing}\n\ndef test_x():\n    import os.path\n    from .d import e\n\n"
        "    from b import c, z\n    f(c)\n"
    )
    assert "import os\n" in with_tests(
        "import os (", [TestSketch("x", imports, body)], Style(), title="b"
    )


def test_slugs() -> None:
    assert slug("URLField throws ValueError!") == "urlfield_throws_valueerror"
    assert slug("…") == "issue"
    assert len(slug("word " * 50)) <= 48


def test_what_rests_on_a_name_that_is_nowhere_is_left_out() -> None:
    text = "```python\nprice = Price()\nview = nowhere(price)\ntotal([view])\ntotal([price])\n```\n"
    (script,) = scripts(statements(read_issue_text(text)))
    made = completed(script, Names(FILES))
    assert made is not None
    assert made.script.sources == ("price = Price()", "total([price])")
    assert made.imports == ("from shop.fields import Price", "from shop.sums import total")


@pytest.mark.parametrize(
    ("statement", "own"),
    [
        ("from shop.sums import total", True),
        ("import shop", True),
        ("import datetime", False),
        ("from decimal import Decimal", False),
    ],
)
def test_what_is_the_repositorys(statement: str, own: bool) -> None:
    assert Names(FILES).of_repository(statement) is own


def test_a_name_that_a_package_passes_on_is_tested_where_it_is_defined() -> None:
    files = {
        "pack/__init__.py": "from pack.sizes import natural\n",
        "pack/sizes.py": "def natural(n):\n    return str(n)\n",
        "pack/times.py": "def natural_time(n):\n    return n\n",
        "other/sizes.py": "def natural(n):\n    return n\n",
        "tests/test_times.py": "import pack\n\ndef test_t():\n    assert pack.natural_time(1)\n",
        "tests/test_sizes.py": "import pack\n\ndef test_s():\n    assert pack.natural(1)\n",
    }
    code = _homes_of_attributes(rows("import pack as p\np.natural(3)\n"), Names(files))
    assert code == ["pack/sizes.py"]
    assert _homes_of_attributes(rows("import pack\npack.nothing(3)\n"), Names(files)) == []
    assert homes_for_tests("time sizes", code, files)[0] == "tests/test_sizes.py"

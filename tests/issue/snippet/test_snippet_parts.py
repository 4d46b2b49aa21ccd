"""Completion, places, and the source of tests."""

from __future__ import annotations

import pytest

from refute.issue.snippet.issue_reader import read_issue_text
from refute.issue.snippet.rendering import Style, TestSketch, patch_of, with_tests
from refute.issue.snippet.script import scripts, statements
from refute.issue.snippet.subject import Names, completed

FILES = {
    "shop/__init__.py": "",
    "shop/sums.py": "def total(rows):\n    return sum(rows)\n",
    "shop/fields.py": "class Price:\n    pass\n",
    "tests/utils.py": "def setup(x):\n    return x\n",
    "tests/sums/test_sums.py": "from shop.sums import total\nfrom shop import fields\n\n\n"
    "def test_total():\n    assert total([1]) == 1\n",
    "tests/sums/test_fields.py": "from shop import fields as f, sums\n\ndef test_f(): pass\n",
}


def test_an_example_is_completed_and_foreign_imports_go() -> None:
    text = "```python\nfrom myproject.views import view\ntotal([Price()])\n```\n"
    (script,) = scripts(statements(read_issue_text(text)))
    made = completed(script, Names(FILES))
    assert made is not None
    assert made.script.sources == ("total([Price()])",)
    assert made.imports == ("from shop.fields import Price", "from shop.sums import total")
    (unknown,) = scripts(statements(read_issue_text("```python\nview(1)\n```\n")))
    assert completed(unknown, Names(FILES)) is None


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_appended_tests_leave_the_file_as_it_is(end: str) -> None:
    existing = "from unittest import TestCase\n\n\nclass A(TestCase):\n    pass\n"
    existing = existing.replace("\n", end)
    draft = TestSketch(
        "x", ("from b import c", "from b import a", "import os"), ('a("""\n1\n""")',)
    )
    style = Style("TestCase", "unittest")
    text = with_tests(existing, [draft], style, title="A b")
    assert text.startswith(existing)
    assert text.count("\n") == text.count(end), "no line ends otherwise"
    assert text.replace(end, "\n").endswith(
        "class BTests(TestCase):\n    def test_x(self):\n        import os\n"
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


def test_what_rests_on_a_name_that_is_nowhere_is_left_out() -> None:
    text = "```python\nprice = Price()\nview = nowhere(price)\ntotal([view])\ntotal([price])\n```\n"
    (script,) = scripts(statements(read_issue_text(text)))
    made = completed(script, Names(FILES))
    assert made is not None
    assert made.script.sources == ("price = Price()", "total([price])")
    assert made.imports == ("from shop.fields import Price", "from shop.sums import total")

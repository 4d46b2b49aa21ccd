"""SWT-Bench's custom diff as models really write it."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable

import pytest

from refute.issue.edits import Applied
from refute_lab.baselines.edits import read_edits

Judge = Callable[..., tuple[dict[str, str], Applied]]

SHAPE = '''\
"""Tests of shapes."""

from __future__ import annotations

import math  # for pi

from shapes import area, perimeter


# Areas.
@pytest.mark.parametrize("a", [1, 2])
def test_area(a):
    # keep me
    assert area(a, 3) == 3 * a


class TestPerimeter:
    """Perimeters."""

    def test_square(self):
        assert perimeter(2, 2) == 8  # keep me too

    async def test_same(self):
        assert perimeter(1, 1) == 4


class TestOther:
    def test_same(self):
        text = """
  as it is
"""
        assert text

    class Inner:
        @staticmethod
        def test_deep():
            return 1
'''
FILES = {"tests/test_shape.py": SHAPE}
NEW = "def test_new():\n    assert area(1, 1) == 1\n"
AT_END = SHAPE + "\n\n" + NEW
REWRITTEN = SHAPE.replace(
    "    # keep me\n    assert area(a, 3) == 3 * a\n", "    assert area(a, 1) == a\n"
)
VERSION = "def test_area(a):\n    assert area(a, 1) == a\n"
SQUARE = SHAPE.replace("perimeter(2, 2) == 8  # keep me too", "perimeter(3, 3) == 12")
SQUARE_CODE = "def test_square(self):\n    assert perimeter(3, 3) == 12\n"


def block(verb: str, place: str, code: str, file: str = "tests/test_shape.py") -> str:
    return f"diff\n{file}\n{verb}\n{place}\n{code}end diff\n"


def indented(code: str, by: int = 4) -> str:
    return "".join(" " * by + line for line in code.splitlines(keepends=True))


CASES = {
    "clean insert": (block("insert", "EOF", NEW), AT_END),
    "in a fence": (f"I add one.\n```custom-diff\n{block('insert', 'EOF', NEW)}```\nDone.\n", AT_END),
    "no end diff": (block("insert", "EOF", NEW).removesuffix("end diff\n"), AT_END),
    "verb in capitals": (block("INSERT", "eof", NEW), AT_END),
    "blank lines in the head": (f"diff\n\ntests/test_shape.py\n\ninsert\n\nEOF\n\n{NEW}\nend diff\n", AT_END),
    "carriage returns": (block("insert", "EOF", NEW).replace("\n", "\r\n"), AT_END),
    "code in a fence of its own": (block("insert", "EOF", f"```python\n{NEW}```\n"), AT_END),
    "code with line numbers": (block("insert", "EOF", "1 def test_new():\n2     assert area(1, 1) == 1\n"), AT_END),
    "code indented": (block("insert", "EOF", indented(NEW)), AT_END),
    "insert at a line": (block("insert", "15", NEW), SHAPE.replace("\n\nclass TestPer", f"\n\n{NEW}\n\nclass TestPer")),
    "imports at the beginning": (block("insert", "BOF", "import pytest\n"), SHAPE.replace("from shapes", "import pytest\nfrom shapes")),
    "beginning that needs the end": (block("insert", "BOF", "class TestMore(TestPerimeter):\n    pass\n"), SHAPE + "\n\nclass TestMore(TestPerimeter):\n    pass\n"),
    "future import at the end": (block("insert", "EOF", "from __future__ import division\n" + NEW), AT_END.replace('shapes."""\n\n', 'shapes."""\n\nfrom __future__ import division\n', 1)),
    "method at the end": (block("insert", "EOF", indented("def test_more(self):\n    assert 1\n")), SHAPE + "\n    def test_more(self):\n        assert 1\n"),
    "rewrite with a range": (block("rewrite", "11-14", VERSION), REWRITTEN),
    "rewrite a method": (block("rewrite", "21", indented(SQUARE_CODE)), SQUARE),
    "namesake by line": (block("rewrite", "30", indented("def test_same(self):\n    assert 1\n")), SHAPE.replace('        text = """\n  as it is\n"""\n        assert text\n', "        assert 1\n")),
    "string lines stay": (block("rewrite", "30", 'def test_same(self):\n    text = """\n  as it is\n"""\n    assert text == 1\n'), SHAPE.replace("assert text\n", "assert text == 1\n")),
    "a class": (block("rewrite", "35", "class Inner:\n    x = 1\n"), SHAPE.replace("        @staticmethod\n        def test_deep():\n            return 1\n", "        x = 1\n")),
    "misspelt name": (block("rewrite", "11", VERSION.replace("test_area", "test_areas")), REWRITTEN.replace("test_area", "test_areas")),
    "delete": (block("delete", "20", "def test_square(self):\n    assert perimeter(2, 2) == 8\n"), SHAPE.replace("\n    def test_square(self):\n        assert perimeter(2, 2) == 8  # keep me too\n", "")),
    "delete the only member": (block("remove", "38", "def test_deep():\n"), SHAPE.replace("        @staticmethod\n        def test_deep():\n            return 1\n", "        pass\n")),
    "line of the file as it was": (block("insert", "BOF", "import os\nimport re\nimport sys\n") + block("rewrite", "24", "async def test_same(self):\n    assert 1\n"), SHAPE.replace("perimeter(1, 1) == 4", "1").replace("for pi\n", "for pi\nimport os\nimport re\nimport sys\n")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, judge: Judge) -> None:
    answer, expected = CASES[name]
    after, applied = judge(answer, "custom", FILES)
    assert after["tests/test_shape.py"] == expected, applied
    assert not applied.problems
    assert len(after) == 1


@pytest.mark.parametrize("verb", ["insert", "rewrite"])
def test_a_file_that_is_not_there_is_made(verb: str, judge: Judge) -> None:
    after, applied = judge(block(verb, "EOF", NEW, "tests/deep/test_new.py"), "custom", FILES)
    assert after["tests/deep/test_new.py"] == NEW
    assert len(applied.problems) == (verb == "rewrite")


def test_what_is_to_be_rewritten_but_is_not_there_is_inserted(judge: Judge) -> None:
    after, applied = judge(block("rewrite", "EOF", NEW), "custom", FILES)
    assert after["tests/test_shape.py"] == AT_END
    assert applied.problems == ("tests/test_shape.py: rewrite: no function test_new; inserted",)


BAD = {
    "cut off": (block("insert", "EOF", "def test_x():\n    assert area(\n"), "its code is not Python"),
    "prose for code": (block("insert", "EOF", "add a test here, please\n"), "its code is not Python"),
    "no code": (block("insert", "EOF", ""), "no code"),
    "rewrite without a definition": (block("rewrite", "3", "print(1)\n"), "defines no function"),
    "rewrite what nothing sets": (block("rewrite", "3", "x = 1\n"), "nothing here sets x"),
    "rewrite lines that are not there": (block("rewrite", "90-95", "x = 1\n"), "no lines 90-95"),
    "rewrite lines so that nothing parses": (block("rewrite", "12-12", "if x:\n"), "not parse"),
    "delete what is not there": (block("delete", "3", "test_nothing\n"), "no function or class"),
    "delete in a file that is not there": (block("delete", "3", "f\n", "x.py"), "no such file"),
    "rewrite a text": (block("rewrite", "3", "x\n", "docs/x.rst"), "only Python files"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_one_bad_block_is_reported_and_the_others_apply(name: str, judge: Judge) -> None:
    answer, reason = BAD[name]
    after, applied = judge(answer + block("insert", "EOF", NEW), "custom", FILES)
    assert after == FILES | {"tests/test_shape.py": AT_END}
    assert len(applied.problems) == 1
    assert reason in applied.problems[0]


SETTINGS = """\
import os

FORMAT = (
    "a"
)  # the format
WIDTH = 1


class Options:
    width = 1
    known = ["a"]

    def read(self, path):
        if path:
            return open(path)
        return None

    def close(self):
        pass
"""
STATEMENTS = {
    "a constant by its name": ("rewrite", "3", 'FORMAT = "b"\n',
        ('FORMAT = (\n    "a"\n)  # the format\n', 'FORMAT = "b"\n')),
    "an attribute, nearest to the line": ("rewrite", "9", "    width: int = 2\n",
        ("    width = 1\n", "    width: int = 2\n")),
    "a constant with a new one before it": ("rewrite", "7", "# wide\nDEPTH = 2\nWIDTH = 3\n",
        ("WIDTH = 1\n", "# wide\nDEPTH = 2\nWIDTH = 3\n")),
    "attributes, a new one between and after them": ("rewrite", "11",
        "    width = 2\n    deep = 1\n    known = []\n    last = 0\n",
        ('    width = 1\n    known = ["a"]\n',
         "    width = 2\n    deep = 1\n    known = []\n    last = 0\n")),
    "a range of lines inside of a function": ("rewrite", "14-16", "        return open(path or 0)\n",
        ("        if path:\n            return open(path)\n        return None\n",
         "        return open(path or 0)\n")),
    "an import": ("rewrite", "1", "from os import path\nimport os\n",
        ("import os\n", "import os\nfrom os import path\n")),
    "a range without its indentation": ("rewrite", "15-15", "return open(path, 'rb')\n",
        ("return open(path)", "return open(path, 'rb')")),
    "a range that is half of a statement": ("rewrite", "14-14", "        if path and os:\n",
        ("        if path:\n", "        if path and os:\n")),
    "a range of whole functions goes by their names": ("rewrite", "17-18",
        "    def close(self):\n        return 1\n", ("        pass\n", "        return 1\n")),
    "the beginning of a function, of which the rest stays": ("rewrite", "13-15",
        "    def read(self, path, mode='r'):\n        if path:\n            return open(path)\n",
        ("    def read(self, path):\n", "    def read(self, path, mode='r'):\n")),
    "a whole function at a range that is too short": ("rewrite", "13-15",
        "    def read(self, path):\n        return open(path)\n\n",
        ("        if path:\n            return open(path)\n        return None\n",
         "        return open(path)\n")),
    "a range that a function of another name replaces": ("rewrite", "18-19",
        "    def shut(self):\n        return 1\n",
        ("    def close(self):\n        pass\n", "    def shut(self):\n        return 1\n")),
    "a new attribute": ("insert", "12", "    other = 3\n",
        ('    known = ["a"]\n', '    known = ["a"]\n\n    other = 3\n')),
    "a static method": ("insert", "12", "    @staticmethod\n    def make():\n        return 1\n",
        ('    known = ["a"]\n',
         '    known = ["a"]\n\n    @staticmethod\n    def make():\n        return 1\n')),
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_are_rewritten_and_inserted(name: str, judge: Judge) -> None:
    verb, place, code, (old, new) = STATEMENTS[name]
    assert SETTINGS.count(old) == 1
    after, applied = judge(block(verb, place, code), "custom", {"tests/test_shape.py": SETTINGS})
    assert not applied.problems
    assert after["tests/test_shape.py"] == SETTINGS.replace(old, new)


@pytest.mark.parametrize("line", ["14", "15", "16", "BOF"])
def test_inserts_at_one_line_stand_in_their_order(line: str, judge: Judge) -> None:
    names = ["test_one", "test_two", "test_three"]
    answer = "".join(block("insert", line, NEW.replace("test_new", name)) for name in names)
    after, applied = judge(answer, "custom", FILES)
    text = after["tests/test_shape.py"]
    assert not applied.problems
    functions = "".join(NEW.replace("test_new", name) + "\n\n" for name in names)
    assert text.replace(functions, "") == SHAPE


PAIR = """def shorten(text):
    return text[:3]


def shortened(text):
    return shorten(text)


KNOWN = [shortened]
"""


def test_statements_that_a_rewrite_by_names_leaves_out_are_told(judge: Judge) -> None:
    code = "def shorten(text):\n    return 1\n\n\nshorten('a')\n"
    _, applied = judge(block("rewrite", "1", code, "m.py"), "custom", {"m.py": PAIR})
    assert applied.problems == ("m.py: rewrite: left out beside the functions: shorten('a')",)


def test_a_file_that_does_not_parse_can_be_added_to_but_not_rewritten(judge: Judge) -> None:
    old = {"m.py": "print 'python 2'\n"}
    after, applied = judge(block("insert", "EOF", NEW, "m.py"), "custom", old)
    assert after["m.py"] == old["m.py"] + NEW
    after, applied = judge(block("rewrite", "1", NEW, "m.py"), "custom", old)
    assert applied.patch == ""
    assert "does not parse" in applied.problems[0]


OPENING = """import os
from sys import path

import zlibrary
from app.models import A

from . import views
from .tests import (
    one,
)

X = 1
import late
"""


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("import abc", "import os\n", "import abc\nimport os\n"),
        ("import string", "from sys", "import string\nfrom sys"),
        ("import unittest", "from sys", "import unittest\nfrom sys"),
        ("from app.forms import F", "from app.models", "from app.forms import F\nfrom app.models"),
        ("from zzz import F", "import A\n", "import A\nfrom zzz import F\n"),
        ("from .urls import u", "    one,\n)\n", "    one,\n)\nfrom .urls import u\n"),
    ],
)
def test_imports_go_to_their_place(new: str, old: str, expected: str, judge: Judge) -> None:
    answer = block("insert", "BOF", f"{new}\n", "m.py")
    after, applied = judge(answer, "custom", {"m.py": OPENING})
    assert not applied.problems
    assert after["m.py"] == OPENING.replace(old, expected, 1)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_byte_order_mark_stay(end: str, mark: str, judge: Judge) -> None:
    old = {"tests/test_shape.py": mark + SHAPE.replace("\n", end)}
    after, _ = judge(block("rewrite", "11", "import os\n" + VERSION), "custom", old)
    wanted = REWRITTEN.replace("for pi\n", "for pi\nimport os\n")
    assert after["tests/test_shape.py"] == mark + wanted.replace("\n", end)


def test_a_word_diff_inside_of_code_is_no_block(judge: Judge) -> None:
    code = "def test_new():\n    diff = (\n        1\n    )\n    assert (\n        diff\n    )\n"
    after, applied = judge(block("insert", "EOF", code), "custom", FILES)
    assert after["tests/test_shape.py"] == SHAPE + "\n\n" + code
    assert not applied.problems


@pytest.mark.parametrize("answer", ["", "diff", "diff\n", "diff\nx.py", "diff\nx.py\ninsert", "no"])
def test_answers_without_a_block(answer: str) -> None:
    assert read_edits(answer, "custom").apply(FILES.get).patch == ""


def test_code_that_is_nested_too_deeply_is_reported() -> None:
    answer = block("insert", "EOF", "x = " + "(" * 5000 + ")" * 5000 + "\n")
    applied = read_edits(answer, "custom").apply(FILES.get)
    assert applied.patch == ""
    assert len(applied.problems) == 1


def test_a_file_for_a_newer_python_is_edited_as_any_other(judge: Judge) -> None:
    code = "type Row[T] = list[T]\n\n\ndef first[T](row: Row[T]) -> T:\n    return row[1]\n"
    for new in ("def first[T](row: Row[T]) -> T:", "def first(row):"):
        answer = f"diff\na.py\nrewrite\n4\n{new}\n    return row[0]\nend diff"
        files, applied = judge(answer, "custom", {"a.py": code})
        assert applied.problems == ()
        assert files["a.py"] == f"type Row[T] = list[T]\n\n\n{new}\n    return row[0]\n"
    files, applied = judge(
        "diff\na.py\nrewrite\n5-5\n    return (row\nend diff", "custom", {"a.py": code}
    )
    assert "does not parse" in applied.problems[0]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (block("rewrite", "12", VERSION), None),
        (block("insert", "EOF", NEW), None),
        ("**diff**" + block("insert", "EOF", NEW).removeprefix("diff"), "holds no edit"),
        (block("`rewrite`", "12", VERSION), "no such verb"),
        (block("Rewrite", "12", VERSION), "no such verb"),
        (block("delete", "12", VERSION), "no such verb"),
        (block("rewrite", "12", "import re\n" + VERSION), "begins with no function"),
        (block("rewrite", "12", "async " + VERSION), "begins with no function"),
        (
            block("rewrite", "25", "async def test_same(self):\n    pass\n"),
            "begins with no function",
        ),
        (block("rewrite", "25", "def test_nowhere():\n    pass\n"), "no function test_nowhere"),
        (block("rewrite", "12", "class test_area:\n    pass\n"), "no class test_area"),
        (block("insert", "EOF", "def test_new(:\n"), "not Python"),
        (block("insert", "EOF", NEW, "tests/broken.py"), "not Python"),
        (block("rewrite", "1", NEW, "tests/broken.py"), "not Python"),
        (block("rewrite", "1", NEW, "tests/none.py"), "no function test_new"),
        (block("insert", "EOF", NEW, "tests/none.py"), None),
    ],
)
def test_strictly_read_as_the_reference_reads_it(answer: str, problem: str | None) -> None:
    files = {**FILES, "tests/broken.py": "def test_it(:\n    pass\n"}
    applied = read_edits(answer, "custom", strict=True).apply(files.get)
    assert bool(applied.patch) == (problem is None)
    assert problem in " ".join(applied.problems) if problem else not applied.problems


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        (
            [("rewrite", "12", VERSION), ("rewrite", "12", VERSION.replace("a, 1", "a, 9"))],
            "line 13 is replaced by two blocks",
        ),
        (
            [("rewrite", "13-15", VERSION), ("rewrite", "12", VERSION.replace("a, 1", "a, 9"))],
            "replaced by two blocks",
        ),
        ([("insert", "EOF", NEW), ("insert", "BOF", NEW)], "test_new is defined twice"),
        ([("insert", "EOF", NEW), ("insert", "EOF", NEW)], "test_new is defined twice"),
        ([("insert", "EOF", VERSION)], "test_area is defined twice"),
        ([("insert", "EOF", NEW), ("rewrite", "12", VERSION)], None),
        ([("rewrite", "22", SQUARE_CODE), ("rewrite", "12", VERSION)], None),
    ],
)
def test_blocks_that_clash_are_told(
    blocks: list[tuple[str, str, str]], problem: str | None
) -> None:
    applied = read_edits("".join(block(*one) for one in blocks), "custom").apply(FILES.get)
    assert applied.patch
    assert problem in " ".join(applied.problems) if problem else not applied.problems

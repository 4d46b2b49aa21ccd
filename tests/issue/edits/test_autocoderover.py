"""AutoCodeRover's edits as models really write them."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable

import pytest

from refute.issue.edits import Applied
from refute_lab.baselines.edits import read_edits

Judge = Callable[..., tuple[dict[str, str], Applied]]

SHAPE = """\
import math


class Shape:
    def area(self, a, b):
        # keep me
        if a < 0:
            raise ValueError("a")
        return a + b

    def perimeter(self, a, b):
        if a < 0:
            raise ValueError("a")

        return 2 * a + b
"""
FILES = {"shapes/shape.py": SHAPE}
FIXED = SHAPE.replace("return a + b", "return a * b")
OLD, NEW = "        return a + b\n", "        return a * b\n"


def edit(old: str = OLD, new: str = NEW, file: str = "shapes/shape.py") -> str:
    return f"<file>{file}</file>\n<original>\n{old}</original>\n<patched>\n{new}</patched>\n"


def modification(body: str) -> str:
    return f"# modification 1\n```\n{body}```\n"


GUARD = '        if a < 0:\n            raise ValueError("a")\n'
CASES = {
    "clean": (modification(edit()), FIXED),
    "prose around": (f"The area is a product.\n\n{modification(edit())}\nThis fixes the issue.\n", FIXED),
    "no indentation": (edit("return a + b\n", "return a * b\n"), FIXED),
    "file on its own line": (edit().replace("<file>shapes/shape.py</file>", "<file>\nshapes/shape.py\n</file>"), FIXED),
    "file of the container": (edit(file="/testbed/shapes/shape.py"), FIXED),
    "escaped": (edit().replace("<", "&lt;").replace(">", "&gt;"), FIXED),
    "carriage returns": (edit().replace("\n", "\r\n"), FIXED),
    "original not closed": (edit().replace("</original>\n", ""), FIXED),
    "white space at line ends": (edit("        # keep me  \n        if a < 0:\n            raise ValueError(\"a\")\t\n        return a + b   \n", "        # keep me\n        if a < 0:\n            raise ValueError(\"a\")\n        return a * b\n"), FIXED),
    "with context": (edit("    def area(self, a, b):\n        # keep me\n" + GUARD + OLD, "    def area(self, a, b):\n        # keep me\n" + GUARD + NEW), FIXED),
    "context without indentation": (edit("def area(self, a, b):\n    # keep me\n    if a < 0:\n        raise ValueError(\"a\")\n    return a + b\n", "def area(self, a, b):\n    # keep me\n    if a < 0:\n        raise ValueError(\"a\")\n    return a * b\n"), FIXED),
    "blank line too many": (edit("        # keep me\n\n" + GUARD + OLD, "        # keep me\n\n" + GUARD + NEW), FIXED),
    "slightly wrong": (edit(GUARD.replace('("a")', '(\'a\')') + OLD, GUARD + NEW), FIXED),
    "deeper lines put in": (edit("return a + b\n", "if b < 0:\n    raise ValueError(\"b\")\nreturn a * b\n"), SHAPE.replace("        return a + b\n", "        if b < 0:\n            raise ValueError(\"b\")\n        return a * b\n")),
    "two modifications": (modification(edit()) + "# modification 2\n```\n" + edit("import math\n", "import cmath\n") + "```\n", FIXED.replace("import math", "import cmath")),
    "second rests on the first": (edit() + edit("        return a * b\n", "        return abs(a * b)\n"), FIXED.replace("a * b", "abs(a * b)")),
    "first of equal places": (edit(GUARD, "        assert a >= 0\n"), SHAPE.replace(GUARD, "        assert a >= 0\n", 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, judge: Judge) -> None:
    answer, expected = CASES[name]
    after, applied = judge(answer, "autocoderover", FILES)
    assert after == {"shapes/shape.py": expected}, applied
    assert not applied.problems


BAD = {
    "not in the file": (edit("        return frobnicate(a)\n", NEW), "lines are not in the file"),
    "no such file": (edit(file="shapes/nothing.py"), "no such file"),
    "nothing changed": (edit(new=OLD), "are the same"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_edit_is_reported_and_the_others_apply(name: str, judge: Judge) -> None:
    answer, reason = BAD[name]
    after, applied = judge(answer + edit(), "autocoderover", FILES)
    assert after == {"shapes/shape.py": FIXED}
    assert len(applied.problems) == 1
    assert reason in applied.problems[0]


def test_an_empty_original_makes_a_file_or_adds_to_it(judge: Judge) -> None:
    test = "def test_area():\n    assert 1\n"
    after, applied = judge(edit("", test, "tests/test_new.py"), "autocoderover", FILES)
    assert after == FILES | {"tests/test_new.py": test}
    assert not applied.problems
    after, applied = judge(edit("", test), "autocoderover", FILES)
    assert after["shapes/shape.py"] == SHAPE + "\n" + test
    assert len(applied.problems) == 1


@pytest.mark.parametrize(
    "answer",
    ["", "no edit", "<file>a.py</file>", "<original>x</original><patched>y</patched>", "<patched>"],
)
def test_answers_without_an_edit(answer: str) -> None:
    applied = read_edits(answer, "autocoderover").apply(FILES.get)
    assert applied == Applied("", ("the answer holds no edit",))

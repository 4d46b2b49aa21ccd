"""Unified diffs as models really write them."""

# ruff: noqa: E501, W293
from __future__ import annotations

from collections.abc import Callable

import pytest

from refute.issue.edits import Applied
from refute_lab.baselines.edits import read_edits

Judge = Callable[..., tuple[dict[str, str], Applied]]

SHAPE = """\
import math

from shapes import area, perimeter


def test_area():
    assert area(2, 3) == 6
    assert area(0, 3) == 0


class TestPerimeter:
    def test_square(self):
        assert perimeter(2, 2) == 8

    def test_line(self):
        # a degenerate rectangle
        assert perimeter(0, 2) == 4
"""
FILES = {"tests/test_shape.py": SHAPE}
ADDED = SHAPE.replace("area(0, 3) == 0\n", "area(0, 3) == 0\n    assert area(2.5, 2) == 5\n")
IN_CLASS = SHAPE.replace(
    "== 8\n", "== 8\n\n    def test_long(self):\n        assert perimeter(1, 9) == 20\n"
)
CHANGED = SHAPE.replace("area(2, 3) == 6", "area(2, 4) == 8")
HUNK = """\
     assert area(2, 3) == 6
     assert area(0, 3) == 0
+    assert area(2.5, 2) == 5
 
 
"""
NAMES = "--- a/tests/test_shape.py\n+++ b/tests/test_shape.py\n"

CASES = {
    "clean": (f"diff --git a/tests/test_shape.py b/tests/test_shape.py\n{NAMES}@@ -7,4 +7,5 @@ def test_area():\n{HUNK}", ADDED),
    "wrong counts": (f"{NAMES}@@ -7,12 +7,40 @@\n{HUNK}", ADDED),
    "no numbers": (f"{NAMES}@@\n{HUNK}", ADDED),
    "function for numbers": (f"{NAMES}@@ def test_area():\n{HUNK}", ADDED),
    "no hunk header": (f"{NAMES}{HUNK}", ADDED),
    "name in prose": ("I add a case to `area` here.\n\n**tests/test_shape.py**\n\n```diff\n@@ -7,4 +7,5 @@\n" + HUNK + "```\n", ADDED),
    "prose after without a fence": (f"{NAMES}@@ -7,4 +7,5 @@\n{HUNK}\nThis test fails before the fix.\n", ADDED),
    "carriage returns": (f"{NAMES}@@ -7,4 +7,5 @@\n{HUNK}".replace("\n", "\r\n"), ADDED),
    "blanks stripped off blank context": (f"{NAMES}@@ -7,4 +7,5 @@\n{HUNK}".replace("\n \n", "\n\n"), ADDED),
    "context lost its first blank": (f"```diff\n{NAMES}@@ -6,3 +6,4 @@\ndef test_area():\n    assert area(2, 3) == 6\n    assert area(0, 3) == 0\n+    assert area(2.5, 2) == 5\n```", ADDED),
    "white space at line ends": (f"{NAMES}@@ -7,4 +7,5 @@\n     assert area(2, 3) == 6   \n     assert area(0, 3) == 0\t\n+    assert area(2.5, 2) == 5\n", ADDED),
    "context that is not there": (f"{NAMES}@@ -5,4 +5,5 @@\n @pytest.mark.fast\n     assert area(0, 3) == 0\n+    assert area(2.5, 2) == 5\n # next section\n", ADDED),
    "lines left out": (f"{NAMES}@@ -6,9 +6,9 @@\n def test_area():\n-    assert area(2, 3) == 6\n+    assert area(2, 4) == 8\n     ...\n     def test_line(self):\n", CHANGED),
    "wrong indentation": (f"{NAMES}@@ -12,3 +12,6 @@\n class TestPerimeter:\n   def test_square(self):\n     assert perimeter(2, 2) == 8\n+\n+  def test_long(self):\n+    assert perimeter(1, 9) == 20\n", IN_CLASS),
    "all less indented": (f"{NAMES}@@ -12,2 +12,5 @@\n def test_square(self):\n     assert perimeter(2, 2) == 8\n+\n+def test_long(self):\n+    assert perimeter(1, 9) == 20\n", IN_CLASS),
    "git noise": (f"From 1234567 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] add\n\n---\n tests/test_shape.py | 1 +\n 1 file changed, 1 insertion(+)\n\ndiff --git a/tests/test_shape.py b/tests/test_shape.py\nindex 1234567..89abcde 100644\n{NAMES}@@ -7,4 +7,5 @@ def test_area():\n{HUNK}-- \n2.30.0\n", ADDED),
    "begin patch": ("*** Begin Patch\n*** Update File: tests/test_shape.py\n@@ def test_area():\n     assert area(0, 3) == 0\n+    assert area(2.5, 2) == 5\n*** End Patch\n", ADDED),
    "two hunks, second off by the first": (f"{NAMES}@@ -8,1 +8,2 @@\n     assert area(0, 3) == 0\n+    assert area(2.5, 2) == 5\n@@ -13,1 +13,4 @@\n         assert perimeter(2, 2) == 8\n+\n+    def test_long(self):\n+        assert perimeter(1, 9) == 20\n", IN_CLASS.replace("area(0, 3) == 0\n", "area(0, 3) == 0\n    assert area(2.5, 2) == 5\n")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, judge: Judge) -> None:
    answer, expected = CASES[name]
    after, applied = judge(answer, "diff", FILES)
    assert after == {"tests/test_shape.py": expected}, applied
    assert not applied.problems


NEW = "def test_new():\n    assert True\n"
NEW_HUNK = "+def test_new():\n+    assert True\n"
NEW_FILES = {
    "clean": "diff --git a/tests/test_new.py b/tests/test_new.py\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,2 @@\n" + NEW_HUNK,
    "no dev null": "--- a/tests/test_new.py\n+++ b/tests/test_new.py\n@@ -0,0 +1,2 @@\n" + NEW_HUNK,
    "wrong counts": "--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,70 @@\n" + NEW_HUNK,
    "no hunk header": "--- /dev/null\n+++ b/tests/test_new.py\n" + NEW_HUNK,
    "marks forgotten": "```diff\n--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,2 @@\n+def test_new():\n    assert True\n```\n",
    "git line only": "diff --git a/tests/test_new.py b/tests/test_new.py\nnew file mode 100644\n@@ -0,0 +1,2 @@\n" + NEW_HUNK,
}  # fmt: skip


@pytest.mark.parametrize("name", NEW_FILES)
def test_new_files(name: str, judge: Judge) -> None:
    after, applied = judge(NEW_FILES[name], "diff", FILES)
    assert after == FILES | {"tests/test_new.py": NEW}, applied


def test_a_new_file_that_exists_loses_nothing(judge: Judge) -> None:
    answer = f"--- /dev/null\n+++ b/tests/test_shape.py\n@@ -0,0 +1,2 @@\n{NEW_HUNK}"
    after, _ = judge(answer, "diff", FILES)
    assert after["tests/test_shape.py"] == SHAPE + NEW


def test_a_bad_hunk_is_reported_and_the_others_apply(judge: Judge) -> None:
    bad = (
        "@@ -1,2 +1,2 @@\n def nothing_of_the_kind(here):\n-    return frobnicate\n+    return 1\n"
    )
    after, applied = judge(f"{NAMES}{bad}@@ -7,4 +8,5 @@\n{HUNK}", "diff", FILES)
    assert after["tests/test_shape.py"] == ADDED
    assert len(applied.problems) == 1
    assert applied.problems[0].startswith("tests/test_shape.py: hunk 1: lines are not in the file")


def test_bytes_that_are_not_touched_stay(judge: Judge) -> None:
    odd = "x = 1  \n\ty = 'caf\u00e9\u2028z'\x0c\n\n\n" + SHAPE.rstrip("\n")
    after, _ = judge(f"{NAMES}@@ -7,4 +7,5 @@\n{HUNK}", "diff", {"tests/test_shape.py": odd})
    assert after["tests/test_shape.py"] == odd.replace(SHAPE.rstrip("\n"), ADDED.rstrip("\n"))


def test_the_number_tells_repeated_lines_apart(judge: Judge) -> None:
    twice = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return x\n"
    answer = "--- a/m.py\n+++ b/m.py\n@@ -7,2 +7,2 @@\n-    x = 1\n+    x = 2\n     return x\n"
    after, _ = judge(answer, "diff", {"m.py": twice})
    assert after["m.py"] == twice.replace("b():\n    x = 1", "b():\n    x = 2")


def test_a_removed_line_that_looks_like_a_header(judge: Judge) -> None:
    text = "-- a/x\n++ b/x\nlast\n"
    answer = "--- a/m.sql\n+++ b/m.sql\n@@ -1,3 +1,2 @@\n--- a/x\n ++ b/x\n last\n"
    after, _ = judge(answer, "diff", {"m.sql": text})
    assert after["m.sql"] == "++ b/x\nlast\n"


def test_deleted_and_renamed(judge: Judge) -> None:
    answer = (
        "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-x = 1\n"
        "diff --git a/from.py b/to.py\nsimilarity index 90%\nrename from from.py\nrename to to.py\n"
        "--- a/from.py\n+++ b/to.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n"
    )
    after, applied = judge(answer, "diff", {"old.py": "x = 1\n", "from.py": "y = 1\n"})
    assert after == {"to.py": "y = 2\n"}
    assert applied.problems == ()


@pytest.mark.parametrize(
    "path",
    ["../evil.py", "/etc/passwd", "a/../../evil.py", ".git/hooks/pre-commit", "x/.GIT/config",
     "~/.bashrc", "C:\\x.py", "tests//x.py"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["diff", "custom", "autocoderover"])
def test_no_path_leads_out(path: str, form: str, judge: Judge) -> None:
    answers = {
        "diff": f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x = 1\n",
        "custom": f"diff\n{path}\ninsert\nEOF\nx = 1\nend diff\n",
        "autocoderover": f"<file>{path}</file>\n<original></original>\n<patched>x = 1</patched>",
    }
    after, applied = judge(answers[form], form, {})  # type: ignore[arg-type]
    assert applied.patch == ""
    assert after == {}
    assert applied.problems


@pytest.mark.parametrize(
    "answer", ["", "\n\n", "I cannot help.", "```diff\n```", "--- \n+++ \n@@\n", "@@ -1 +1 @@\n x"]
)
def test_nothing_to_apply(answer: str) -> None:
    applied = read_edits(answer, "diff").apply(FILES.get)
    assert applied.patch == ""
    assert applied.problems == ("the answer holds no edit",)


def test_a_hunk_of_common_lines_is_found_in_a_large_file(judge: Judge) -> None:
    text = "".join(f"def f{n}():\n    return None\n\n" for n in range(4000))
    answer = (
        "--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n def f3999():\n-    return None\n+    return 1\n"
    )
    after, _ = judge(answer, "diff", {"m.py": text})
    assert after["m.py"] == text.removesuffix("None\n\n") + "1\n\n"

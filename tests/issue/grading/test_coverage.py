"""Change coverage: which lines count, in which state, and what is excluded."""

from __future__ import annotations

from dataclasses import replace

from refute.core.problems import IssueKey
from refute.workspace.contract import TestReport
from refute.workspace.running import NO_TESTS
from refute_lab.swt import Verdict, change_coverage, counted_lines, executable_lines
from refute_lab.swt.grade import Evidence, GradeRecord, IssueGrade, covered_by, summarize
from refute_lab.swt.tasks import with_golden_lines

PATCH = """\
diff --git a/lib/m.py b/lib/m.py
--- a/lib/m.py
+++ b/lib/m.py
@@ -1,4 +1,5 @@
 def f(x):
-    y = x
-    return y
+    if x:
+        return 1
+    return x
 # end
diff --git a/docs/m.rst b/docs/m.rst
--- a/docs/m.rst
+++ b/docs/m.rst
@@ -1,1 +1,1 @@
-old
+new
"""


def counts(**lines: int) -> TestReport:
    """A report with executions of lines of lib/m.py, named l1, l2, ..."""
    table = {int(name[1:]): count for name, count in lines.items()}
    return TestReport((), "finished", lines={"lib/m.py": table})


def test_lines_to_count_are_those_of_python_files() -> None:
    assert counted_lines(PATCH) == {"lib/m.py": (2, 3, 4)}


def test_removed_lines_count_on_the_original_and_added_ones_on_the_fixed_code() -> None:
    found = change_coverage(
        PATCH,
        before=counts(l2=1, l3=1),
        after=counts(l2=1, l3=1, l4=0),
        base=(NO_TESTS, NO_TESTS),
        golden=(counts(l2=2, l3=2), counts(l2=2, l3=1, l4=1)),
    )
    assert found.removed == (("lib/m.py", 2), ("lib/m.py", 3))
    assert found.added == (("lib/m.py", 2), ("lib/m.py", 3), ("lib/m.py", 4))
    assert found.covered_removed == found.removed
    assert found.covered_added == (("lib/m.py", 2), ("lib/m.py", 3))
    assert found.value == 4 / 5


def test_only_lines_that_run_more_often_than_without_the_patch_are_covered() -> None:
    base = counts(l2=3, l3=3), counts(l2=3, l3=0, l4=3)
    golden = counts(l2=4, l3=4), counts(l2=4, l3=1, l4=3)
    same = change_coverage(PATCH, before=base[0], after=base[1], base=base, golden=golden)
    assert same.value == 0
    more = change_coverage(
        PATCH, before=counts(l2=4, l3=3), after=base[1], base=base, golden=golden
    )
    assert more.covered_removed == (("lib/m.py", 2),)


def test_base_counts_of_removed_lines_come_from_the_original_code() -> None:
    """The reference takes them from the fixed code, where those numbers are other lines."""
    base = counts(l2=1, l3=1), counts(l2=9, l3=9, l4=9)
    found = change_coverage(
        PATCH, before=counts(l2=2, l3=2), after=base[1], base=base, golden=(NO_TESTS, NO_TESTS)
    )
    assert found.covered_removed == (("lib/m.py", 2), ("lib/m.py", 3))


def test_lines_that_neither_suite_runs_are_not_executable() -> None:
    golden = counts(), counts(l4=1)
    found = change_coverage(
        PATCH,
        before=counts(l2=5),
        after=counts(l3=5, l4=1),
        base=(NO_TESTS, NO_TESTS),
        golden=golden,
    )
    assert (found.removed, found.added) == ((), (("lib/m.py", 4),))
    assert found.value == 1


def test_a_patch_without_executable_lines_is_excluded() -> None:
    none = (NO_TESTS, NO_TESTS)
    found = change_coverage(PATCH, before=counts(l2=5), after=NO_TESTS, base=none, golden=none)
    assert found.value is None


def test_which_lines_are_executable() -> None:
    base = counts(l2=1), counts(l2=1)
    golden = counts(l2=1, l3=1), counts(l2=2, l3=2, l4=1)
    found = executable_lines(PATCH, base=base, golden=golden)
    assert (found.removed, found.added) == (lines(2, 3), lines(2, 3, 4))
    printed = executable_lines(PATCH, base=base, golden=golden, rule="printed")
    assert (printed.removed, printed.added) == (lines(2), lines(2, 3)), "more than once together"


def test_one_denominator_for_every_prediction() -> None:
    base, golden = (NO_TESTS, NO_TESTS), (counts(l2=1), counts(l2=1, l4=1))
    gold = Evidence(((golden[0],), (golden[1],)), base, golden)
    key = IssueKey("a", PATCH, "")
    empty = with_golden_lines(IssueGrade("a", Verdict("empty")), key, gold, "golden")
    assert empty.coverage is not None
    assert (empty.coverage.value, empty.coverage.added) == (0, lines(2, 4))
    # Its own base runs line 3 besides, which neither golden state does.
    own = counts(l3=1), counts(l3=1)
    run = Evidence(((counts(l2=1, l3=2),), (counts(l3=2),)), own, golden)
    graded = IssueGrade("a", Verdict("success"), covered_by(key, run), evidence=run)
    assert graded.coverage is not None
    assert graded.coverage.value == 3 / 5
    fixed = with_golden_lines(graded, key, gold, "golden")
    assert fixed.coverage is not None
    assert fixed.coverage.value == 1 / 3
    assert fixed.golden_coverage is not None
    assert fixed.golden_coverage.value == 1
    # What the golden run does not execute at all leaves the instance out for every prediction.
    nothing = Evidence(((NO_TESTS,), (NO_TESTS,)))
    out = with_golden_lines(graded, key, nothing, "golden").coverage
    assert out is not None
    assert out.value is None


def lines(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple(("lib/m.py", number) for number in numbers)


def test_the_first_versions_columns_add_up() -> None:
    ran = GradeRecord(
        id="a", status="fails_after", own=(), broken=(), remarks=(), others=(),
        coverage=None, golden_coverage=None,
    )  # fmt: skip
    both = (("t", "fail", "pass", False), ("u", "pass", "pass", False))
    records = {
        "mixed": replace(ran, status="success", own=both, fails_before=True),
        "broken": replace(ran, status="collection_error", broken=("t.py",), fails_before=True),
        "green": replace(ran, status="passes_before", own=both[1:]),
        "none": replace(ran, status="not_applicable"),
    }
    records = {id: replace(one, id=id) for id, one in records.items()}
    figures = summarize([IssueKey(id, PATCH, "") for id in records], records).figures
    values = {
        name: round(4 * figure.value) for name, figure in figures.items() if "cov" not in name
    }
    assert values == {
        "applicable": 3, "fail_to_any": 1, "fail_to_pass": 1, "pass_to_pass": 2, "success": 1,
        "fail_to_any_v1": 2, "pass_to_pass_v1": 1, "tdd_score": 0,
    }  # fmt: skip

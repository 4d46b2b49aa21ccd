"""Grading single predictions in real workspaces: every status, and ΔC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from refute.core.problems import IssueKey
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import Workspace
from refute_lab.swt import state_reports
from refute_lab.swt.grade import reference_report
from refute_lab.swt.tasks import golden_reports, with_golden_lines

from ..shop import (
    CART,
    FILES,
    FIXED,
    GOLDEN_TESTS,
    NEW,
    TEST_PATCH,
    TESTS,
    Shop,
    diff,
    new_file,
    prepared_shop,
)

GOOD = "from shop.cart import total\n\ndef test_it():\n    assert total([1], 2) == 0\n"


def unavailable() -> Workspace:
    raise WorkspaceUnavailable("not to be opened")


def test_the_golden_tests_succeed(shop: Shop) -> None:
    grade = shop.grade(TEST_PATCH)
    assert grade.verdict.status == "success"
    assert grade.verdict.fail_to_pass == ("tests/test_cart.py::test_never_negative",)
    # test_of_its_own fails with and without the patch, before and after: not the patch's doing.
    assert len(grade.verdict.own) == 1
    assert grade.coverage is not None
    assert grade.coverage.removed == ()  # the golden patch only adds
    assert grade.coverage.added == (("shop/cart.py", 3), ("shop/cart.py", 4))
    assert grade.coverage.value == 1
    assert grade.golden_coverage == grade.coverage


def test_a_new_file_succeeds(shop: Shop) -> None:
    grade = shop.grade(new_file(GOOD))
    assert grade.verdict.fail_to_pass == (f"{NEW}::test_it",)
    assert grade.verdict.success
    assert grade.coverage is not None
    assert grade.coverage.value == 1


def test_partial_coverage_without_success(shop: Shop) -> None:
    grade = shop.grade(new_file(GOOD.replace("2) == 0", "1) == 0")))
    assert grade.verdict.status == "passes_before"
    assert grade.verdict.pass_to_pass == (f"{NEW}::test_it",)
    assert not grade.verdict.fails_before
    assert grade.coverage is not None
    assert grade.coverage.value == 1 / 2  # the condition, not the return


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop with a conftest that imports the code, as most have."""
    files = {**FILES, "tests/conftest.py": "import shop.cart\n"}
    with prepared_shop(tmp_path_factory.mktemp("loading"), "negative", files) as made:
        yield made


@pytest.mark.parametrize("golden", [TEST_PATCH, new_file(GOLDEN_TESTS, "tests/test_golden.py")])
def test_what_the_suite_imports_is_not_covered_by_a_new_file(loading: Shop, golden: str) -> None:
    """The base state of a file that does not exist is that the suite ran, not that nothing ran."""
    key = IssueKey("shop-1", diff("shop/cart.py", CART, "RATE = 2\n" + FIXED), golden)
    store = state_reports(loading.states, loading.problem, "local")
    evidence = golden_reports(key, loading.spawn, store=store, timeout=120)
    for source, status, covered in (
        ("def test_it():\n    assert 1 + 1 == 2\n", "passes_before", 0),
        ("import no_such_module\n\ndef test_it():\n    assert True\n", "collection_error", 0),
        (GOOD, "success", 2),
    ):
        grade = loading.grade(new_file(source), key=key)
        assert grade.verdict.status == status
        readings = [with_golden_lines(grade, key, evidence, rule) for rule in ("golden", "printed")]
        for one in (grade, *readings):
            assert one.coverage is not None
            reached = [line for file, line in one.coverage.added if line in (4, 5)][:covered]
            assert [line for _, line in one.coverage.covered_added] == reached
        report = reference_report(grade, key, "pytest").report
        assert report is not None
        assert report["coverage_delta_pred"] == pytest.approx(covered / 3)
    golden_itself = loading.grade(golden, key=key)
    for one in (golden_itself, with_golden_lines(golden_itself, key, evidence, "golden")):
        assert one.coverage is not None
        assert one.golden_coverage == one.coverage
        assert [line for _, line in one.coverage.covered_added] == [4, 5]
    opened = loading.opened
    loading.grade(new_file(GOOD + "# again\n"), key=key)
    assert loading.opened == opened + 3, "one to see whether it applies, one for each code"


def test_a_wrong_test_fails_after(shop: Shop) -> None:
    grade = shop.grade(new_file(GOOD.replace("== 0", "== -7")))
    assert grade.verdict.status == "fails_after"
    assert grade.verdict.fail_to_any == (f"{NEW}::test_it",)
    assert grade.verdict.fail_to_pass == ()


def test_one_right_and_one_wrong_test_are_no_success(shop: Shop) -> None:
    grade = shop.grade(new_file(GOOD + "\ndef test_wrong():\n    assert total([1], 2) == 7\n"))
    assert grade.verdict.status == "fails_after"
    assert grade.verdict.fail_to_pass == (f"{NEW}::test_it",)
    assert grade.verdict.failing_after == (f"{NEW}::test_wrong",)


@pytest.mark.parametrize("patch", ["", "  \n\n"])
def test_an_empty_patch_opens_nothing(shop: Shop, patch: str) -> None:
    grade = shop.grade(patch, spawn=unavailable)
    assert (grade.verdict.status, grade.applicable, grade.coverage) == ("empty", False, None)


@pytest.mark.parametrize(
    "patch",
    [
        "I cannot help with that.",
        diff("tests/test_cart.py", TESTS.replace("3", "4"), TESTS.replace("3", "5")),
        diff("tests/test_gone.py", TESTS, TESTS + "\n# more\n"),
        diff("../outside.py", None, GOOD),
    ],
)
def test_what_does_not_apply(shop: Shop, patch: str) -> None:
    grade = shop.grade(patch)
    assert (grade.verdict.status, grade.applicable) == ("not_applicable", False)
    assert grade.verdict.remarks
    assert grade.evidence is None


@pytest.mark.parametrize(
    "patch",
    [
        diff("shop/cart.py", CART, FIXED),  # a fix, no test
        new_file("DATA = 1\n", "tests/data.py"),
        new_file("some text\n", "tests/notes.txt"),
        diff("tests/test_cart.py", TESTS, None),
    ],
)
def test_a_patch_without_tests_runs_nothing(shop: Shop, patch: str) -> None:
    grade = shop.grade(patch)
    assert (grade.verdict.status, grade.applicable) == ("no_test", True)
    assert grade.evidence is None


def test_a_patch_that_conflicts_with_the_golden_patch(shop: Shop) -> None:
    probe = CART.replace("    return result", "    # here\n    return result")
    grade = shop.grade(diff("shop/cart.py", CART, probe) + new_file(GOOD))
    assert grade.verdict.status == "conflict"
    assert grade.verdict.fails_before, "it ran on the original code"
    assert grade.others == ("shop/cart.py",)
    # Only its tests: no conflict is left.
    grade = shop.grade(diff("shop/cart.py", CART, probe) + new_file(GOOD), tests_only=True)
    assert grade.verdict.success
    assert grade.others == ("shop/cart.py",)


def test_a_file_that_cannot_be_imported(shop: Shop) -> None:
    grade = shop.grade(new_file("import no_such_module\n" + GOOD))
    assert grade.verdict.status == "collection_error"
    assert grade.verdict.broken == (NEW,)
    assert grade.verdict.fail_to_any == (), "no test of it is known"
    assert grade.verdict.fails_before


def test_import_of_what_the_fix_adds(shop: Shop) -> None:
    fixed = FIXED + "\n\ndef clamped(x):\n    return max(x, 0)\n"
    key = IssueKey("shop-1", diff("shop/cart.py", CART, fixed), TEST_PATCH)
    source = "from shop.cart import clamped\n\ndef test_it():\n    assert clamped(-1) == 0\n"
    grade = shop.grade(new_file(source), key=key)
    assert grade.verdict.status == "success"
    assert grade.verdict.fail_to_pass == (f"{NEW}::test_it",)


def test_a_hang_that_the_fix_ends_is_reproduced(shop: Shop) -> None:
    """The test that was running has failed; the one before it keeps its result."""
    source = (
        "import time\n" + GOOD + "\ndef test_stuck():\n    time.sleep(1000 * total([1], 2) ** 2)\n"
    )
    grade = shop.grade(new_file(source), timeout=8)
    assert grade.verdict.success
    assert grade.verdict.fail_to_pass == (f"{NEW}::test_it", f"{NEW}::test_stuck")
    assert any("timeout" in remark for remark in grade.verdict.remarks)


def test_a_crash_that_the_fix_ends_is_reproduced(shop: Shop) -> None:
    source = "import os\n" + GOOD.replace(
        "assert total([1], 2) == 0", "\n    if total([1], 2): os.abort()"
    )
    grade = shop.grade(new_file(source))
    assert grade.verdict.success


def test_repeated_runs_are_runs(shop: Shop) -> None:
    """Flaky tests are in test_verdict, where chance is not needed for them."""
    grade = shop.grade(new_file(GOOD), repeat=2)
    assert grade.verdict.success
    assert not any(one.flaky for one in grade.verdict.own)
    assert grade.evidence is not None
    assert [len(reports) for reports in grade.evidence.predicted] == [2, 2]


def test_a_second_prediction_runs_only_its_own_two_states(shop: Shop) -> None:
    shop.grade(TEST_PATCH)  # fills the store
    before = sorted(shop.states.iterdir())
    opened = shop.opened
    grade = shop.grade(diff("tests/test_cart.py", TESTS, TESTS + "\n# nothing\n"))
    assert grade.verdict.status == "no_test_ran"
    assert shop.opened - opened == 3  # to see whether it applies, and one a lane
    assert sorted(shop.states.iterdir()) == before
    opened = shop.opened
    shop.grade(TEST_PATCH)
    assert shop.opened - opened == 1


def test_a_damaged_state_is_run_again(shop: Shop) -> None:
    first = shop.grade(TEST_PATCH)
    for path in shop.states.iterdir():
        path.write_text(path.read_text()[:100])
    again = shop.grade(TEST_PATCH)
    assert again.verdict == first.verdict
    assert again.coverage == first.coverage


def test_golden_data_that_do_not_apply_are_no_verdict(shop: Shop) -> None:
    key = IssueKey("shop-1", diff("shop/cart.py", FIXED, CART), TEST_PATCH)
    with pytest.raises(WorkspaceUnavailable, match="golden patch cannot be applied"):
        shop.grade(new_file(GOOD), key=key)

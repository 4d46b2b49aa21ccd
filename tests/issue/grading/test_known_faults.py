"""What the reference harness gets wrong, one test each, graded rightly here.

Each test says what the reference does; `docs/swtbench.md` says where. Its ΔC of removed lines from
the wrong state is in `test_coverage.py` as well; a null patch in `test_grading.py`.
"""

from __future__ import annotations

import dataclasses

from ..shop import CART, FIXED, KEY, NEW, TEST_PATCH, TESTS, Shop, diff, new_file

HEAD = "from shop.cart import total\n\n"
RIGHT = HEAD + "def test_it():\n    assert total([1], 2) == 0\n"


def test_printed_results(shop: Shop) -> None:
    """The reference reads results from what is printed: this test would be F→P."""
    source = HEAD + (
        "import sys\n\ndef test_it():\n    status = 'FAILED' if total([1], 2) else 'PASSED'\n"
        f"    sys.__stdout__.write('\\n' + status + ' {NEW}::test_other\\n')\n"
        "    sys.__stdout__.flush()\n"
    )
    verdict = shop.grade(new_file(source)).verdict
    assert verdict.status == "passes_before"
    assert [one.test for one in verdict.own] == [f"{NEW}::test_it"]


def test_a_conftest_that_forges_outcomes(shop: Shop) -> None:
    """The reference believes a report that a hook has changed."""
    conftest = (
        "import pytest\nfrom shop.cart import total\n\n"
        "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n    report = outcome.get_result()\n"
        "    if item.name == 'test_it' and call.when == 'call' and total([1], 2):\n"
        "        report.outcome = 'failed'\n        report.longrepr = 'forged'\n"
    )
    patch = new_file(conftest, "tests/conftest.py") + new_file("def test_it():\n    pass\n")
    verdict = shop.grade(patch).verdict
    assert not verdict.success
    assert verdict.status in ("not_trusted", "passes_before")


def test_ids_with_blanks_stay_apart(shop: Shop) -> None:
    """The reference cuts ids at the first blank, so that one result hides the other."""
    source = (
        "import pytest\n" + HEAD + "@pytest.mark.parametrize('x', [0, 7], ids=['a 0', 'a 7'])\n"
        "def test_it(x):\n    assert total([1], 2) == x\n"
    )
    verdict = shop.grade(new_file(source)).verdict
    assert verdict.status == "fails_after"
    assert verdict.fail_to_pass == (f"{NEW}::test_it[a 0]",)
    assert verdict.failing_after == (f"{NEW}::test_it[a 7]",)


def test_a_patch_without_git_headers(shop: Shop) -> None:
    """The reference finds no file in it and runs the whole suite instead."""
    new = TESTS + "\n\ndef test_new():\n    assert total([1], 2) == 0\n"
    patch = diff("tests/test_cart.py", TESTS, new, header=False)
    assert "diff --git" not in patch
    verdict = shop.grade(patch).verdict
    assert verdict.success
    assert verdict.fail_to_pass == ("tests/test_cart.py::test_new",)


def test_a_failure_that_becomes_an_error(shop: Shop) -> None:
    """The reference knows only PASSED and FAILED, and overlooks FAIL→ERROR."""
    source = (
        "import pytest\n" + HEAD + "@pytest.fixture\ndef thing():\n"
        "    if total([1], 2) == 0:\n        raise RuntimeError('once fixed')\n\n"
        "def test_one(thing):\n    assert total([1], 2) == 0\n\n"
        "def test_two():\n    assert total([1], 2) == 0\n"
    )
    verdict = shop.grade(new_file(source)).verdict
    assert verdict.status == "fails_after"
    assert verdict.fail_to_pass == (f"{NEW}::test_two",)


def test_a_skipped_test_that_passes_later_did_not_fail(shop: Shop) -> None:
    """The reference counts anything that is neither PASSED nor FAILED as failed."""
    source = (
        "import pytest\n" + HEAD + "@pytest.mark.skipif(total([1], 2) < 0, reason='not yet')\n"
        "def test_it():\n    assert total([1], 2) == 0\n"
    )
    verdict = shop.grade(new_file(source)).verdict
    assert verdict.status == "passes_before"
    assert verdict.fail_to_any == ()


def _covered(shop: Shop, source: str) -> float | None:
    grade = shop.grade(new_file(source))
    assert grade.coverage is not None
    return grade.coverage.value


def test_counts_survive_a_run_that_is_torn_down(shop: Shop) -> None:
    """The reference writes its counts at the end: an interrupt or an exit loses them all."""
    exits = RIGHT + "\ndef test_exit():\n    import os\n    os._exit(0)\n"
    assert _covered(shop, exits) == 1
    interrupts = RIGHT + "\ndef test_interrupt():\n    raise KeyboardInterrupt\n"
    assert _covered(shop, interrupts) == 1


def test_counts_of_forked_children(shop: Shop) -> None:
    source = HEAD + (
        "import os\n\ndef test_it():\n    child = os.fork()\n    if not child:\n"
        "        total([1], 2)\n        os._exit(0)\n    os.waitpid(child, 0)\n"
    )
    assert _covered(shop, source) == 1


def test_counts_of_a_subprocess_in_another_folder(shop: Shop) -> None:
    """The reference's children write their counts to where they run, and nobody reads them."""
    source = (
        "import subprocess, sys\n\ndef test_it(tmp_path):\n"
        "    code = 'from shop.cart import total; total([1], 2)'\n"
        "    subprocess.run([sys.executable, '-c', code], cwd=tmp_path, check=True)\n"
    )
    assert _covered(shop, source) == 1


def test_counts_of_a_test_that_sets_a_trace_function(shop: Shop) -> None:
    """The reference counts with `sys.settrace`, which a test may take away."""
    source = HEAD + ("import sys\n\ndef test_it():\n    sys.settrace(None)\n    total([1], 2)\n")
    assert _covered(shop, source) == 1


def test_removed_lines_are_compared_with_the_original_code(shop: Shop) -> None:
    """The reference takes their base counts from the fixed code, where the numbers shifted.

    Here an existing test runs the removed line as often with the patch as without.
    """
    fixed = FIXED.replace("return result - discount", "return max(result - discount, 0)")
    key = dataclasses.replace(KEY, patch=diff("shop/cart.py", CART, fixed))
    new = TESTS + "\n\ndef test_nothing():\n    pass\n"
    grade = shop.grade(diff("tests/test_cart.py", TESTS, new), key=key)
    assert grade.coverage is not None
    assert grade.coverage.removed == (("shop/cart.py", 3),)
    assert grade.coverage.covered_removed == ()
    more = TESTS + "\n\ndef test_more():\n    assert total([1]) == 1\n"
    grade = shop.grade(diff("tests/test_cart.py", TESTS, more), key=key)
    assert grade.coverage is not None
    assert grade.coverage.covered_removed == (("shop/cart.py", 3),)


def test_nothing_is_stale_when_the_patch_changes(shop: Shop) -> None:
    """The reference reuses the log of an instance whatever its patch was."""
    assert shop.grade(new_file(RIGHT)).verdict.success
    assert shop.grade(new_file(RIGHT.replace("== 0", "== 5"))).verdict.status == "fails_after"
    # So it is with the golden patch: another fix, other golden states.
    worse = dataclasses.replace(KEY, patch=diff("shop/cart.py", CART, CART + "# no fix\n"))
    assert shop.grade(new_file(RIGHT), key=worse).verdict.status == "fails_after"
    assert shop.grade(TEST_PATCH).verdict.success

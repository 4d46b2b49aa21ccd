"""Predictions that try to become an error, which nobody counts, in place of a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.testruns import _told
from refute_lab.datasets.swe import IssueItem
from refute_lab.runs import ErrorRecord, WithFiles, as_data
from refute_lab.swt import attributed, golden_runs
from refute_lab.swt.grade import GradeRecord, Terms
from refute_lab.swt.tasks import GradingSettings, GradingTask, Prediction, _work

from ..shop import KEY, TESTS, Shop, diff, new_file

EMITS = """import gc


def test_it():
    for one in gc.get_objects():
        if getattr(one, "__name__", "") == "emit" and "_refute_probe" in one.__module__:
            one({"kind": "planned", "tests": float("inf")})
    assert False
"""
FAILS = "def test_it():\n    assert False\n"
LONG = new_file(FAILS).replace("@@ -0,0 +1,2", f"@@ -0,0 +1,{'9' * 5000}")
SURROGATE = new_file("def test_it():\n    assert '\ud800'\n")


@pytest.fixture
def graded(shop: Shop, tmp_path, monkeypatch) -> Callable[[str], GradeRecord | ErrorRecord]:  # type: ignore[no-untyped-def]
    """The record that `refute grade` writes of a patch."""
    monkeypatch.setenv("REFUTE_CACHE", str(shop.states.parent / "cache"))
    from contextlib import nullcontext

    def work(
        patch: str, types: tuple[str, ...] = ("vanilla",), **terms: object
    ) -> GradeRecord | ErrorRecord:
        settings = GradingSettings(
            "data", "predictions", "model", Terms(**{"timeout": 60.0, **terms}), types=types
        )
        task = GradingTask(IssueItem(shop.problem, KEY), Prediction(shop.problem.id, patch))
        done = _work(settings, nullcontext(), (task.item.problem.id, task))
        record = done.record if isinstance(done, WithFiles) else done
        json.dumps(as_data(record))
        return record

    return work


@pytest.mark.parametrize(
    ("patch", "statuses"),
    [
        (new_file(EMITS), {"not_trusted"}),
        (LONG, {"not_applicable"}),
        (SURROGATE, {"not_applicable"}),
        (
            new_file(FAILS, "tests/test_\udcff\ud800.py"),
            {"not_applicable"},
        ),
        (
            new_file(FAILS, f"tests/test_{'a/' * 4000}.py"),
            {"not_applicable"},
        ),
        (
            new_file(FAILS, "tests/test_\0.py"),
            {"not_applicable", "no_test"},
        ),
    ],
    ids=["infinite count", "header of 5000 digits", "surrogate", "name", "long name", "NUL"],
)
def test_no_prediction_leaves_the_count(graded, patch: str, statuses: set[str]) -> None:  # type: ignore[no-untyped-def]
    assert graded(patch).status in statuses


@pytest.mark.parametrize("types", [("fuzzy",), ("custom", "vanilla"), ("fuzzy", "vanilla")])
@pytest.mark.parametrize("patch", [LONG, SURROGATE, f"```diff\n{LONG}```", "@@ -" + "9" * 5000])
def test_nor_when_it_is_read_otherwise(graded, patch: str, types: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert graded(patch, types).status not in ("error", "success")


def test_a_patch_that_takes_all_memory_does_not_apply(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of a packed binary patch stand for gigabytes: that is no fault of the machine."""
    with shop.spawn() as workspace:
        execute = workspace._backend.execute  # type: ignore[attr-defined]

        def full(command: tuple[str, ...], **options: object) -> object:
            return replace(execute(command, **options), cause="memory")

        monkeypatch.setattr(workspace._backend, "execute", full)  # type: ignore[attr-defined]
        with pytest.raises(PatchRejected, match="memory"):
            workspace.apply(new_file("def test_it():\n    assert False\n"))


def test_files_that_do_not_finish_are_the_predictions_choice(graded, shop: Shop) -> None:  # type: ignore[no-untyped-def]
    """An existing test file that never ends is no reason to leave a prediction out."""
    hangs = diff("tests/test_cart.py", TESTS, TESTS + "\nimport time\ntime.sleep(1000)\n")
    assert graded(hangs, timeout=1.0).status == "timeout"


def test_whose_fault_it_is_is_tried() -> None:
    tries = []

    def breaks() -> str:
        tries.append(1)
        raise OverflowError("too large")

    assert attributed(breaks, lambda: True, lambda reason: reason) == "OverflowError: too large"
    assert len(tries) == 2
    with pytest.raises(OverflowError):
        attributed(breaks, lambda: False, lambda reason: reason)
    assert attributed(lambda: "good", lambda: False, lambda reason: reason) == "good"


def test_the_golden_tests_run_here(shop: Shop) -> None:
    assert golden_runs(KEY, shop.spawn, timeout=60.0)

    def nowhere():  # type: ignore[no-untyped-def]
        raise WorkspaceUnavailable("no engine")

    assert not golden_runs(KEY, nowhere, timeout=60.0)


NUMBERS = (float("inf"), float("nan"), 10**400, -(10**400), "1", True, [1])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("record", ["planned", "closed", "frame"])
def test_a_count_is_a_small_whole_number(record: str, number: object) -> None:
    failure = {"type": "E", "message": "", "traceback": "", "frames": [["a.py", number, "f"]]}
    records = {
        "planned": {"kind": "planned", "tests": number},
        "closed": {"kind": "closed", "exit": number},
        "frame": {"kind": "trouble", "failure": failure},
    }
    assert not _told([{"kind": "opened"}, records[record]], "").trusted

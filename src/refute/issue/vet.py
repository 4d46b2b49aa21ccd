"""Does a fix resolve an issue? The verdict rests on tests that were run, before and after it.

Reproducing tests are run on the original and on the fixed code; the existing tests near the change
are run on both as well. What a fix does to test files and to the runner's is left out: a fix that
turns a test green by changing the test has fixed nothing. For the same reason nothing is "fixed"
where failures planted in the reproducing tests are not seen (`refute.workspace.control`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from refute.core.methods import Bounds
from refute.errors import PatchRejected
from refute.issue.context import MOST, neighbouring_tests
from refute.issue.contract import Verdict
from refute.issue.original import Original, TrialRun
from refute.workspace.contract import TestReport, TestResult, TestSelection, Workspace
from refute.workspace.control import turned_green
from refute.workspace.patches import (
    file_patches,
    knows_of_tests,
    split_fix,
    test_files,
    touched_files,
)
from refute.workspace.running import newly_failing, rejection, run_on, statuses

__all__ = ["MOST", "Vetted", "vet_fix"]


_ALL = 100


@dataclass(frozen=True, slots=True)
class Vetted:
    """The verdict on a fix, with its evidence."""

    verdict: Verdict
    reason: str
    """One line for people."""
    reproducing: tuple[TestResult, ...] = ()
    """Tests that fail on the original code for the issue's reason, with how."""
    still_failing: tuple[TestResult, ...] = ()
    """Those of them that do not pass on the fixed code."""
    broken: tuple[TestResult, ...] = ()
    """Tests that pass on the original code and fail on the fixed code."""
    neighbours: tuple[str, ...] = ()
    """Existing test files that were run for regressions."""
    notes: tuple[str, ...] = ()
    too_long: tuple[str, ...] = ()
    """Existing test files near it that were not run, for they take too long."""


def vet_fix(
    fix: str,
    tests: str,
    workspace: Workspace,
    bounds: Bounds,
    *,
    most_neighbours: int = MOST,
    first: Sequence[str] = (),
    outdated: Collection[str] = (),
    whole: float | None = None,
    cheap: float = 0.0,
) -> Vetted:
    """Judge a fix (unified diff) by a test patch ("": none is known). Blocks while tests run.

    `first`: existing test files to be run before others. `outdated`: ids of existing tests that
    demand what the issue calls wrong; they are not held against the fix. `cheap`: seconds that more
    files than `most_neighbours` may take, by the time of these. `whole`: seconds that the
    tests of an existing file may take (None: any); longer files are left out, and so are those that
    would use up half of the time for a run together with those before them.

    Raises `WorkspaceUnavailable`. The workspace is clean afterwards.
    """
    changed_tests, code = split_fix(fix)
    notes = [
        f"the content of {part.path} is not in the fix (git diff --binary has it)"
        for part in file_patches(fix)
        if part.binary and part.path not in touched_files(changed_tests + code)
    ]
    if changed_tests.strip():
        files = ", ".join(touched_files(changed_tests))
        notes.append(f"what the fix does to tests and to their runner is left out ({files})")
    if not code.strip():
        return Vetted("does not apply", "the fix changes no code", notes=tuple(notes))
    if rejected := rejection(workspace, code):
        reason = f"the fix does not apply: {rejected}"
        return Vetted("does not apply", reason, notes=tuple(notes))
    if names := knows_of_tests(code):
        notes.append(f"the code of the fix mentions {', '.join(names)}: read why")
    original = Original(workspace, bounds, whole=whole)
    found_near = neighbouring_tests(touched_files(code), original.sources(), hint=fix, most=_ALL)
    every = tuple(dict.fromkeys((*first, *found_near)))
    near = every[:most_neighbours]
    if near and cheap:
        near = every[: int(max(1, cheap / (original.base(near).seconds + 0.1)) * len(near))]
    near, too_long = (near, ()) if whole is None else _affordable(near, original, bounds)
    if too_long:
        notes.append(f"existing tests that take too long are not run: {', '.join(too_long)}")
    trial = original.attempt(tests) if tests.strip() else None
    before = original.base(near) if near else None
    own, seconds = test_files(tests), bounds.test_seconds
    fixed = None
    if _usable(trial):
        with suppress(PatchRejected):  # the fix changes what the tests are added to
            fixed = run_on(workspace, (code, tests), TestSelection(own), timeout=seconds)
    after = run_on(workspace, (code,), TestSelection(near), timeout=seconds) if near else None
    notes += _vanished(before, after)
    broken = (*_broken(before, after), *_broken(trial.report if trial else None, fixed))
    broken = tuple({one.id: one for one in broken if one.id not in outdated}.values())
    still = _still_failing(trial, fixed)
    verdict, reason = _verdict(trial, fixed, still, broken, (before, after))
    found = _vetted(verdict, reason, trial, still, broken, near, notes)
    found = replace(found, too_long=too_long)
    if verdict != "fixed" or fixed is None:
        return found
    ids = {result.id for result in found.reproducing}
    green = [result for result in fixed.results if result.id in ids]
    patches = (code, tests)
    why = turned_green(workspace, patches, own, green, timeout=seconds)
    return replace(found, verdict="cannot tell", reason=why) if why else found


def _affordable(
    near: Sequence[str], original: Original, bounds: Bounds
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files that there is time for, and the others."""
    taken, others, seconds = [], [], 0.0
    for path in near:
        takes = original.base((path,)).seconds
        if original.is_long(path) or seconds + takes > bounds.test_seconds / 2:
            others.append(path)
        else:
            taken.append(path)
            seconds += takes
    return tuple(taken), tuple(others)


def _verdict(
    trial: TrialRun | None,
    fixed: TestReport | None,
    still: Sequence[TestResult],
    broken: Sequence[TestResult],
    near: tuple[TestReport | None, TestReport | None],
) -> tuple[Verdict, str]:
    shaky = [r for r in (*near, trial.report if trial else None, fixed) if r and not _sound(r)]
    if broken:
        also = "" if trial is None or not trial.failing or still else "; the issue itself is fixed"
        return "breaks tests", f"{_count(broken, 'test')} passed before the fix and fail now{also}"
    if trial is None:
        return "cannot tell", "no test reproduces the issue"
    if trial.report is None:
        return "cannot tell", f"the reproducing tests were not run: {trial.rejected}"
    if not trial.failing:
        return "cannot tell", "no reproducing test fails on the original code"
    if still:
        of = len(trial.failing)
        return "not fixed", f"{len(still)} of {of} reproducing tests fail on the fixed code"
    if shaky:
        return "cannot tell", f"a run of tests is not to be relied on: {_why(shaky[0])}"
    return (
        "fixed",
        f"{_count(trial.failing, 'reproducing test')} failed before the fix and pass now",
    )


def _vetted(
    verdict: Verdict,
    reason: str,
    trial: TrialRun | None,
    still: Sequence[TestResult],
    broken: Sequence[TestResult],
    near: tuple[str, ...],
    notes: Sequence[str],
) -> Vetted:
    reproducing = trial.failing if trial else ()
    return Vetted(verdict, reason, reproducing, tuple(still), tuple(broken), near, tuple(notes))


def _usable(trial: TrialRun | None) -> bool:
    return trial is not None and bool(trial.failing)


def _still_failing(trial: TrialRun | None, fixed: TestReport | None) -> tuple[TestResult, ...]:
    """Reproducing tests that do not pass with the fix; all of them where it could not be run."""
    if trial is None or not trial.failing:
        return ()
    if fixed is None:
        return trial.failing
    now = statuses(fixed)
    results = {result.id: result for result in fixed.results}
    return tuple(
        results.get(was.id, was) for was in trial.failing if now.of(was.id, was.file) != "pass"
    )


def _broken(before: TestReport | None, after: TestReport | None) -> tuple[TestResult, ...]:
    """Tests that passed and now fail, those of a file that cannot be imported any more included."""
    if before is None or after is None:
        return ()
    return newly_failing(before, after)


def _vanished(before: TestReport | None, after: TestReport | None) -> list[str]:
    """A note about tests that passed and that the fix has skipped or made to vanish."""
    if before is None or after is None or not _sound(after):
        return []
    was, now = statuses(before), statuses(after)
    gone = [
        result.id
        for result in before.results
        if was.of(result.id, result.file) == "pass" and now.of(result.id, result.file) == "none"
    ]
    if not gone:
        return []
    return [f"{len(gone)} tests passed before the fix and do not run with it, e.g. {gone[0]}"]


def _sound(report: TestReport) -> bool:
    return report.status == "finished" and report.trusted


def _why(report: TestReport) -> str:
    return report.remark or report.status


def _count(results: Sequence[TestResult], what: str) -> str:
    return f"{len(results)} {what}" + ("" if len(results) == 1 else "s")

"""Does a fix resolve an issue? The verdict rests on tests that were run, before and after it.

Reproducing tests are run on the original and on the fixed code; the existing tests near the change
are run on both as well. What a fix does to test files and to the runner's is left out: a fix that
turns a test green by changing the test has fixed nothing. For the same reason nothing is "fixed"
where failures planted in the reproducing tests are not seen (`refute.workspace.control`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from refute.core.methods import Bounds
from refute.errors import PatchRejected
from refute.issue.context import MOST, neighbouring_tests
from refute.issue.contract import Verdict
from refute.issue.original import WHOLE, Original, TrialRun
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
    cheap: float = 0.0,
) -> Vetted:
    """Judge a fix (unified diff) by a test patch ("": none is known). Blocks while tests run.

    `first`: existing test files to be run before others. `outdated`: ids of existing tests that
    demand what the issue calls wrong; they are not held against the fix. `cheap`: seconds that more
    files than `most_neighbours` may take, by the time of these. Existing files whose tests take
    longer than `WHOLE` seconds are left out, and so are those that would use up half of the time
    for a run together with those before them.

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
    original = Original(workspace, bounds, whole=WHOLE)
    found_near = neighbouring_tests(touched_files(code), original.sources(), hint=fix, most=_ALL)
    named = [path for path in found_near if "test" in path.rpartition("/")[2]]  # runners take these
    every = tuple(dict.fromkeys((*first, *(named or found_near))))
    near = every[:most_neighbours]
    if near and cheap:
        near = every[: int(max(1, cheap / (original.base(near).seconds + 0.1)) * len(near))]
    near, too_long = _affordable(near, original, bounds)
    if too_long:
        notes.append(f"existing tests that take too long are not run: {', '.join(too_long)}")
    trial = original.attempt(tests) if tests.strip() else None
    before = original.base(near) if near else None
    own, seconds = test_files(tests), bounds.test_seconds
    fixed = None
    reproducing = trial.failing if trial else ()
    if reproducing:
        with suppress(PatchRejected):  # the fix changes what the tests are added to
            fixed = run_on(workspace, (code, tests), TestSelection(own), timeout=seconds)
    after = run_on(workspace, (code,), TestSelection(near), timeout=seconds) if near else None
    notes += _vanished(before, after)
    pairs = (before, after), (trial.report if trial else None, fixed)
    broken = {
        one.id: one
        for was, now in pairs
        for one in (newly_failing(was, now) if was and now else ())
        if one.id not in outdated
    }
    still = _still_failing(reproducing, fixed)
    verdict, reason = _verdict(trial, still, len(broken), [one for row in pairs for one in row])
    if verdict == "fixed" and fixed is not None:
        ids = {result.id for result in reproducing}
        green = [result for result in fixed.results if result.id in ids]
        if why := turned_green(workspace, (code, tests), own, green, timeout=seconds):
            verdict, reason = "cannot tell", why
    return Vetted(
        verdict, reason, reproducing, still, tuple(broken.values()), near, tuple(notes), too_long
    )


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
    still: Sequence[TestResult],
    broken: int,
    reports: Sequence[TestReport | None],
) -> tuple[Verdict, str]:
    shaky = [one.remark or one.status for one in reports if one and not _sound(one)]
    if broken:
        also = "" if trial is None or not trial.failing or still else "; the issue itself is fixed"
        return "breaks tests", f"{_count(broken, 'test')} passed before the fix and fail now{also}"
    if trial is None:
        return "cannot tell", "no test reproduces the issue"
    if trial.report is None:
        return "cannot tell", f"the reproducing tests were not run: {trial.rejected}"
    of = len(trial.failing)
    if not of:
        return "cannot tell", "no reproducing test fails on the original code"
    if still:
        return "not fixed", f"{len(still)} of {of} reproducing tests fail on the fixed code"
    if shaky:
        return "cannot tell", f"a run of tests is not to be relied on: {shaky[0]}"
    return "fixed", f"{_count(of, 'reproducing test')} failed before the fix and pass now"


def _still_failing(
    reproducing: tuple[TestResult, ...], fixed: TestReport | None
) -> tuple[TestResult, ...]:
    """Reproducing tests that do not pass with the fix; all of them where it could not be run."""
    if fixed is None:
        return reproducing
    now = statuses(fixed)
    results = {result.id: result for result in fixed.results}
    failing = (was for was in reproducing if now.of(was.id, was.file) != "pass")
    return tuple(results.get(was.id, was) for was in failing)


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
    told = f"{len(gone)} tests passed before the fix and do not run with it, e.g. "
    return [told + gone[0]] if gone else []


def _sound(report: TestReport) -> bool:
    return report.status == "finished" and report.trusted


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)

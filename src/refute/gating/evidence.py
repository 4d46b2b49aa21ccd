"""What running shows of a change: its tests and those near it, on four states of the repository.

old         the base
red         the base with the change's tests
kept        the base with the change's code, and the tests as they were
new         all of it
bare        all but what decides how tests run
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from refute.core.methods import Bounds
from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change
from refute.gating.experiments import Turned, turned
from refute.gating.findings import Weighed
from refute.gating.reading import names_to_weigh
from refute.gating.running import (
    Runs,
    Standing,
    alone,
    changed_test_files,
    selection_of,
    standings,
)
from refute.issue.context.neighbours import neighbouring_tests
from refute.issue.drafting.original import Original
from refute.issue.observed_calls import calls_of, watch_tests
from refute.workspace.contract import TestReport, TestResult, Workspace
from refute.workspace.patches import is_test_file, touched_files
from refute.workspace.running import NO_TESTS, holds_tests, newly_failing, statuses


@dataclass(frozen=True, slots=True)
class Evidence:
    """The runs, and what follows from them alone."""

    old: TestReport
    red: TestReport
    kept: TestReport
    new: TestReport
    changed: tuple[str, ...]
    """Test files that the change adds or changes."""
    near: tuple[str, ...]
    """Other test files that were run."""
    tests: tuple[Standing, ...]
    """Of the changed files, and of the others those that turned."""
    found: Turned = field(default_factory=Turned)
    """What the experiments leave of the tests that seemed to turn."""
    shaky: tuple[str, ...] = ()
    """Ids of tests that seemed to be broken, and stood otherwise when asked again."""
    fell: tuple[TestResult, ...] = ()
    """Tests as they were that pass on the old code and fail on the new, in every run."""
    weighed: Weighed = field(default_factory=Weighed)
    propped: tuple[str, ...] = ()
    """Ids of tests that pass, and do not where what decides how tests run is as it was."""
    notes: tuple[str, ...] = ()


def gathered(
    change: Change,
    workspace: Workspace,
    *,
    also: Sequence[str] = (),
    neighbours: int,
    timeout: float,
) -> Evidence:
    """Run the states. `also`: test files or ids besides. Raises `WorkspaceUnavailable`."""
    runs = Runs(change, workspace, timeout)
    changed = changed_test_files(change)
    former = _former_test_files(change)
    near = _near(change, workspace, neighbours, {*changed, *former}) if change.changes_code else ()
    near = (*near, *(one for one in also if one not in (*changed, *near)))
    weigh = names_to_weigh(change)
    before = selection_of((*former, *near))
    old = runs.run("old", before)
    calls, asked = list[dict[str, Any]](), list[dict[str, Any]]()
    watched = [one for one in (*former, *near) if "::" not in one]
    look = partial(watch_tests, files=watched, only=tuple(weigh or ()))
    weighing = weigh is None or bool(weigh)
    kept = old
    if change.changes_code or weighing:
        kept = runs.run("kept", before, look if weighing else None, calls)
    new = runs.run("new", selection_of((*changed, *near)))
    _check_that_tests_run(old, new, changed)
    watch = partial(watch_tests, files=changed)
    red = runs.run("red", selection_of(changed), watch, asked) if change.changes_code else NO_TESTS
    tests = _standings(change, red, new, old, kept, near)
    candidates = [one for one in tests if one.turn == "red to green"]
    found = turned(runs, candidates, new, calls_of(asked))
    fell, shaky = _fell(runs, old, kept)
    notes = list[str]()
    weighed = Weighed()
    try:
        if weighing:
            from refute.gating.strength import weakened

            weighed = weakened(
                change, workspace, calls_of(calls), (*former, *near), (*changed, *near)
            )
    except WorkspaceUnavailable as error:
        notes.append(f"whether tests demand what they did cannot be told: {error}")
    propped = _propped(runs, new, changed)
    return Evidence(
        old,
        red,
        kept,
        new,
        changed,
        near,
        tests,
        found,
        shaky,
        fell,
        weighed,
        propped,
        tuple(notes),
    )


def _propped(runs: Runs, new: TestReport, changed: Sequence[str]) -> tuple[str, ...]:
    """Tests that pass on the new code, and do not without the change of how tests run; one that
    asks for a fixture or a mark that is new may."""
    if not runs.change.runner.strip():
        return ()
    report = runs.run("bare", selection_of(changed))
    now, bare = statuses(new), statuses(report)
    failed = {one.id: one.failure for one in report.results if one.failure is not None}
    found = []
    for id, standing in now.tests.items():
        file = now.files.get(id, "")
        if standing == "pass" and file in changed and bare.of(id, file) != "pass":
            why = failed.get(id) or failed.get(file)
            asks = why and (why.type.endswith("FixtureLookupError") or "`markers`" in why.message)
            found += [] if asks else [id]
    return tuple(found)


def _check_that_tests_run(old: TestReport, new: TestReport, changed: Sequence[str]) -> None:
    """Where no test runs with or without the change, or none of a file that it changes, that is no
    fault of the change: something is missing here. Raises `WorkspaceUnavailable`."""
    broken = statuses(old).broken & statuses(new).broken & {*changed}
    for report in (old, new):
        ran = any(one.phase != "collect" for one in report.results)
        if broken:
            break
        if ran or report == NO_TESTS or (report.status == "finished" and not report.results):
            return
    failed = [one for one in old.results if one.failure is not None]
    told = next((one for one in failed if not broken or one.file in broken), None)
    if told is None or told.failure is None:
        raise WorkspaceUnavailable(f"no test runs here, on the old code either: {old.remark}")
    why = f"{told.failure.type}: {told.failure.message}".partition("\n")[0]
    raise WorkspaceUnavailable(f"{told.id} cannot be imported here, on the old code either: {why}")


def _former_test_files(change: Change) -> tuple[str, ...]:
    """Changed or deleted test files as they were."""
    paths = [p for p in touched_files(change.tests) if p.endswith(".py") and is_test_file(p)]
    return tuple(path for path in paths if holds_tests(change.before.get(path, "")))


def _near(
    change: Change, workspace: Workspace, most: int, known: Collection[str]
) -> tuple[str, ...]:
    if not most:
        return ()
    sources = Original(workspace, Bounds()).sources()
    found = neighbouring_tests(
        touched_files(change.code), sources, hint=change.code, most=most + len(known)
    )
    return tuple(path for path in found if path not in known)[:most]


def _standings(
    change: Change, red: TestReport, new: TestReport, old: TestReport, kept: TestReport,
    near: Sequence[str],
) -> tuple[Standing, ...]:  # fmt: skip
    """Of the changed files every test; of what was not changed, those that turned."""
    if not change.changes_code:
        return ()
    beside = {one.partition("::")[0] for one in near}
    inside = replace(new, results=tuple(one for one in new.results if one.file not in beside))
    was = statuses(old)
    found = {}
    for one in standings(red, inside):
        if not one.imported and was.of(one.id, one.file) == "pass":
            one = replace(one, before="pass")  # the file asks for a new name; the test was green
        found[one.id] = one
    for one in standings(old, kept):
        if one.turn == "red to green" and statuses(new).of(one.id, one.file) == "pass":
            found.setdefault(one.id, one)
    return tuple(found.values())


def _fell(
    runs: Runs, old: TestReport, kept: TestReport
) -> tuple[tuple[TestResult, ...], tuple[str, ...]]:
    """Tests as they were that pass on the old code and fail on the new, when asked again too."""
    fallen = newly_failing(old, kept)
    if not fallen:
        return (), ()
    was = statuses(old)
    ids = [one for one in old.results if was.of(one.id, one.file) == "pass"]
    now = statuses(kept)
    ids = [one for one in ids if now.of(one.id, one.file) == "fail"]
    again = runs.run("old", alone(ids)), runs.run("kept", alone(ids))
    before, after = map(statuses, again)
    failures = {one.id: one for one in (*kept.results, *again[1].results)}
    steady = [
        one
        for one in ids
        if before.of(one.id, one.file) == "pass" and after.of(one.id, one.file) == "fail"
    ]
    found = []
    for one in steady:
        told = failures.get(one.id)
        if told is None or told.failure is None:
            told = failures.get(one.file)
        found.append(replace(one, outcome="failed", failure=told.failure if told else None))
    return tuple(found), tuple(one.id for one in ids if one not in steady)

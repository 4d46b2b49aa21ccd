"""Evidence from running a change: its tests and those near it, on states of the repository.

old         the base
red         the base with the change's tests
kept        the base with the change's code, and the tests as they were
new         all of it
bare        all but what decides how tests run
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from refute.core.methods import Bounds
from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change
from refute.gating.experiments import Turned, turned
from refute.gating.reading import Reading, names_to_weigh
from refute.gating.running import (
    Finding,
    Runs,
    Standing,
    Weighed,
    alone,
    changed_test_files,
    selection_of,
    standings,
)
from refute.issue.context import neighbouring_tests
from refute.issue.observed_calls import calls_of, name_of, watch_tests
from refute.issue.original import Original
from refute.source.syntax import Function
from refute.workspace.contract import Failure, TestReport, TestResult, Workspace
from refute.workspace.patches import is_test_file, touched_files
from refute.workspace.running import NO_TESTS, Statuses, holds_tests, newly_failing, statuses


@dataclass(frozen=True, slots=True)
class Evidence:
    """The runs, and what follows from them alone."""

    old: TestReport
    """That of `kept` where all pass there, and something else turned."""
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
    """Rest, after the experiments, of the tests that seemed to turn."""
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
    before = selection_of((*former, *near))
    calls, asked = list[dict[str, Any]](), list[dict[str, Any]]()
    watched = [one for one in (*former, *near) if "::" not in one]
    weigh = names_to_weigh(change, _texts(workspace, [one for one in watched if one in near]))
    look = partial(watch_tests, files=watched, only=tuple(weigh or ()))
    weighing = weigh is None or bool(weigh)
    differs = change.changes_code or weighing
    kept = runs.run("kept", before, look if weighing else None, calls) if differs else NO_TESTS
    new = runs.run("new", selection_of((*changed, *near)))
    watch = partial(watch_tests, files=changed)
    red = runs.run("red", selection_of(changed), watch, asked) if change.changes_code else NO_TESTS
    old, tests = kept, _standings(change, red, new, kept, kept, near)
    if not (_all_pass(kept) and any(one.turn == "red to green" for one in tests)):
        old = runs.run("old", before)
        kept = kept if differs else old
        tests = _standings(change, red, new, old, kept, near)
    _check_that_tests_run(old, new, changed)
    candidates = [one for one in tests if one.turn == "red to green"]
    found = turned(runs, candidates, new, calls_of(asked))
    fell, shaky = _fell(runs, old, kept)
    notes = list[str]()
    weighed = Weighed()
    try:
        if weighing:
            from refute.gating.strength import weakened

            # A test that mentions nothing that differs notices in both states the same, so of the
            # old ones only the others run; so of the new ones where these notice all.
            files = (*former, *near), (*changed, *near)
            was, now = _named(kept, weigh), _named(new, weigh)
            weighed = weakened(change, workspace, calls_of(calls), was or files[0], (now, files[1]))
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


def _all_pass(kept: TestReport) -> bool:
    """Return whether nothing depends on how the tests as they were stand on the old code: all pass
    on the new one."""
    passed = all(one.outcome == "passed" for one in kept.results)
    return passed and kept.status == "finished" and kept.trusted and bool(kept.results)


def _named(report: TestReport, names: Collection[str] | None) -> tuple[str, ...]:
    """pytest's ids, without parameters, of the tests that have one of the names."""
    ids = [one.id.partition("[")[0] for one in report.results if one.phase != "collect"]
    if names is None or not all("::" in id for id in ids):
        return ()
    return tuple(dict.fromkeys(id for id in ids if name_of(id) in names))


def _texts(workspace: Workspace, files: Iterable[str]) -> Iterator[str]:
    for path in files:
        with contextlib.suppress(OSError):
            yield workspace.read(path).decode("utf-8", "replace")


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
    """Check that tests run at all, and those of each changed file. Where none does, with or without
    the change, something is missing here. Raises `WorkspaceUnavailable`."""
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


# -- what it shows against the change, rule by rule ------------------------------------------------

_MISSING = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "TypeError")
"""Failures of a test that asks for what the old code does not have: they say nothing of whether it
checks what it gets."""
_GONE = re.compile(r"cannot import name '(\w+)'|No module named '([\w.]+)'")
"""Missing name or module that a test file asked for."""
_SKIPPED = ("skipped", "xfailed", "xpassed")
_RAN = ("passed", "failed", "error")


def found_by_running(
    change: Change, reading: Reading, workspace: Workspace, evidence: Evidence, notes: list[str]
) -> tuple[Evidence, list[Finding]]:
    """The findings that running shows, and the evidence without tests that do not count."""
    findings = [*reading.findings(), *_sound(evidence), *evidence.found.findings]
    findings += _green_now(reading, evidence)
    findings += _former(reading, evidence, notes)
    findings += _weaker(reading, evidence, notes)
    findings += _skipped(evidence)
    runner = next(iter(touched_files(change.runner)), "")
    for id in evidence.propped:
        what = f"without what it changes of how tests run {id} does not pass"
        findings.append(Finding("no-runner-change", runner, what, shown=True))
    new = [one for one in evidence.found.tests if _says_nothing(one)]
    vacuous: tuple[str, ...] = ()
    if new:
        from refute.gating.strength import kill_nothing

        try:
            vacuous = kill_nothing(change, workspace, [one.id for one in new], evidence.found.calls)
        except WorkspaceUnavailable as error:
            notes.append(f"whether new tests check anything cannot be told: {error}")
    what = "the test passes whatever the code returns: it checks nothing"
    findings += [Finding("not-vacuous", id, what, shown=True) for id in vacuous]
    for id in (*evidence.found.flaky, *evidence.shaky):
        notes.append(f"{id} stands differently from run to run: it does not count")
    notes += evidence.notes
    turned = tuple(one for one in evidence.found.tests if one.id not in vacuous)
    return replace(evidence, found=replace(evidence.found, tests=turned)), findings


def _sound(evidence: Evidence) -> Iterator[Finding]:
    """Runs on the new code that are not to be relied on."""
    for report in (evidence.new, evidence.kept):
        if report.status != "finished" or not report.trusted:
            what = report.remark or report.status
            yield Finding("green-now", "the tests", f"the run is not to be relied on: {what}", True)
            return


def _green_now(reading: Reading, evidence: Evidence) -> Iterator[Finding]:
    """Tests of changed files that fail; one that failed before and is as it was is not the
    change's."""
    now, was = statuses(evidence.new), statuses(evidence.old)
    fell = {one.id for one in evidence.fell}
    results = {one.id: one for one in evidence.new.results}
    for path in sorted(now.broken - was.broken):
        told = _told(results[path].failure if path in results else None)
        yield Finding("green-now", path, f"the file cannot be imported{told}", shown=True)
    for id, standing in now.tests.items():
        file = now.files.get(id, "")
        if standing != "fail" or id in fell:
            continue
        if was.of(id, file) == "fail" and not reading.is_new(id, file):
            continue
        if was.of(id, file) == "pass" and not reading.is_new(id, file):
            continue  # broken by the code, or shaky: said there
        failure = results[id].failure if id in results else None
        yield Finding("green-now", id, f"the test fails{_told(failure)}", shown=True)


def _former(reading: Reading, evidence: Evidence, notes: list[str]) -> Iterator[Finding]:
    """Tests as they were: those that fail on the new code, and those that are gone."""
    now = statuses(evidence.new)
    yield from _unimportable(reading, evidence, now, notes)
    broken = statuses(evidence.kept).broken - now.broken
    for one in evidence.fell:
        if one.file in broken:
            continue
        old = reading.function_of(one.id, one.file, after=False)
        new = reading.function_of(one.id, one.file)
        gone = _gone(one, now)
        if now.of(one.id, one.file) == "pass" or (gone and one.file in reading.touched):
            values = _new_values(old, new)
            name = one.id.partition("[")[0].rpartition("::")[2].rpartition(".")[2]
            where = reading.said(name, _source(old), values) if old is not None else ""
            if where:
                notes.append(f"{one.id} demands something else now, as {where} says")
                continue
            what = "its version before fails on the new code, and nothing says that it should"
            if gone and new is None:
                what = "the test is gone, and fails on the new code" + _told(one.failure)
                yield Finding("no-test-lost", one.id, what, shown=True)
                continue
            yield Finding("expected-said", one.id, what + _told(one.failure), shown=True)
        else:
            what = f"the test passed on the old code and fails on the new{_told(one.failure)}"
            what += "; it is not run any more" if gone else ""
            yield Finding("no-regression", one.id, what, shown=True)
    yield from _lost(reading, evidence, now, notes)


def _unimportable(
    reading: Reading, evidence: Evidence, now: Statuses, notes: list[str]
) -> Iterator[Finding]:
    """Test files that could not be imported as they were, and can be now: what they took from the
    code is gone or is called otherwise."""
    for path in sorted(statuses(evidence.kept).broken - statuses(evidence.old).broken - now.broken):
        failure = next((one.failure for one in evidence.fell if one.file == path), None)
        told = _told(failure)
        gone = _GONE.search(told)
        name = (gone[1] or gone[2]).rpartition(".")[2] if gone else ""
        where = reading.words.of(name, [name]) if name else ""
        if where:
            notes.append(f"{path} could not be imported as it was, as {where} says")
            continue
        what = "the file as it was cannot be imported on the new code, and nothing says why"
        yield Finding("expected-said", path, what + told, shown=True)


def _lost(
    reading: Reading, evidence: Evidence, now: Statuses, notes: list[str]
) -> Iterator[Finding]:
    """Tests that ran and are not there any more, nor under another name."""
    fell = {one.id for one in evidence.fell}
    told: set[str] = set()
    ran = Counter(one.id.partition("[")[0] for one in evidence.old.results)
    for one in evidence.old.results:
        plain = one.id.partition("[")[0]
        if one.phase == "collect" or one.outcome not in _RAN or one.id in fell or plain in told:
            continue
        if not _gone(one, now) or one.file not in reading.touched:
            continue
        old = reading.function_of(one.id, one.file, after=False)
        new = reading.function_of(one.id, one.file)
        if name_of(one.id) in evidence.weighed.kept:
            continue  # other tests notice what it noticed
        if ran[plain] <= sum(id.partition("[")[0] == plain for id in now.tests):
            continue  # under other parameters
        told.add(plain)
        where = reading.said(plain.rpartition("::")[2], _source(old)) if old is not None else ""
        if where:
            notes.append(f"{plain} is gone, as {where} says")
            continue
        what = "the test is gone" if new is None else f"a row of the test is gone ({one.id})"
        if one.outcome != "passed":
            what += "; it failed on the old code"
        yield Finding("no-test-lost", plain, what, shown=True)


def _gone(one: TestResult, now: Statuses) -> bool:
    return one.id not in now.tests and one.file not in now.broken


def _new_values(old: Function | None, new: Function | None) -> list[str]:
    """Constants that only the new version has, as source."""
    constants = [
        {ast.unparse(node) for node in ast.walk(one) if isinstance(node, ast.Constant)}
        if one is not None
        else set()
        for one in (old, new)
    ]
    return sorted(constants[1] - constants[0])


def _source(function: Function) -> str:
    return ast.unparse(function)


def _weaker(reading: Reading, evidence: Evidence, notes: list[str]) -> Iterator[Finding]:
    """Yield what the tests noticed as they were and do not notice any more."""
    files = {one.id: one.file for one in evidence.old.results}
    for lost in evidence.weighed.lost:
        old = reading.function_of(lost.test, files.get(lost.test, ""), after=False)
        name = name_of(lost.test).partition("[")[0]
        where = reading.said(name, _source(old) if old is not None else lost.called)
        if where:
            notes.append(f"{lost.test} demands less, as {where} says")
        else:
            yield Finding("not-weakened", lost.test, lost.what, shown=True)


def _skipped(evidence: Evidence) -> Iterator[Finding]:
    """Tests that ran and are skipped now, or are expected to fail; new ones that are."""
    was = {one.id: one.outcome for one in evidence.old.results}
    for one in evidence.new.results:
        skipped, before = one.outcome == "skipped", was.get(one.id)
        if one.outcome in _SKIPPED and (before in _RAN or (before is None and not skipped)):
            word = "skipped" if skipped else "expected to fail"
            told = f" ({one.reason[:80]})" if one.reason else ""
            told = f"the test {'is' if before is None else 'ran before and is'} {word} now{told}"
            yield Finding("no-skip", one.id, told, shown=True)


def _says_nothing(one: Standing) -> bool:
    """Return whether the failure on the old code says nothing about what the test checks."""
    failure = one.failure_before
    return not one.imported or (failure is not None and failure.type in _MISSING)


def _told(failure: Failure | None) -> str:
    if failure is None:
        return ""
    return f": {failure.type}: {failure.message}".partition("\n")[0][:200].rstrip(": ")

"""What running shows against a change, rule by rule."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change
from refute.gating.evidence import Evidence
from refute.gating.findings import Finding
from refute.gating.reading import Reading
from refute.gating.running import Standing
from refute.issue.observed_calls import name_of
from refute.source.syntax import Function
from refute.workspace.contract import Failure, TestResult, Workspace
from refute.workspace.patches import touched_files
from refute.workspace.running import Statuses, statuses

_MISSING = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "TypeError")
"""Failures of a test that asks for what the old code does not have: they say nothing of whether it
checks what it gets."""
_GONE = re.compile(r"cannot import name '(\w+)'|No module named '([\w.]+)'")
"""What a test file asked for that is not there."""
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
    """What the tests noticed as they were and do not notice any more."""
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
    """Whether that a test was red says nothing of what it checks."""
    failure = one.failure_before
    return not one.imported or (failure is not None and failure.type in _MISSING)


def _told(failure: Failure | None) -> str:
    if failure is None:
        return ""
    return f": {failure.type}: {failure.message}".partition("\n")[0][:200].rstrip(": ")

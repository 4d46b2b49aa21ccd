"""What running shows against a change, rule by rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from refute.gating.change import Change
from refute.gating.evidence import Evidence
from refute.gating.findings import Finding
from refute.gating.reading import Reading
from refute.gating.running import Standing
from refute.gating.trials import passing_on_anything, resting_on, resting_on_runner
from refute.syntax import Function
from refute.workspace.contract import Failure, TestResult, Workspace
from refute.workspace.statuses import Statuses, statuses

__all__ = ["found_by_running", "own_turned"]

_MISSING = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "TypeError")
"""Failures of a test that asks for what the old code does not have: they say nothing of whether it
checks what it gets."""
_GONE = re.compile(r"cannot import name '(\w+)'|No module named '([\w.]+)'")
"""What a test file asked for that is not there."""
_SKIPPED = ("skipped", "xfailed", "xpassed")
_RAN = ("passed", "failed", "error")


def own_turned(evidence: Evidence) -> list[Standing]:
    """Tests that seemed to turn, whether or not they count."""
    return [one for one in evidence.tests if one.turn == "red to green"]


def found_by_running(
    change: Change, reading: Reading, workspace: Workspace, evidence: Evidence,
    read: Sequence[Finding], timeout: float, notes: list[str],
) -> tuple[Evidence, list[Finding]]:  # fmt: skip
    """The findings that were read and those that running shows, and the evidence without tests that
    do not count."""
    findings = list(_sound(evidence))
    findings += _green_now(reading, evidence)
    findings += _former(reading, evidence, notes)
    findings += _skipped(evidence)
    if evidence.meddled:
        findings.append(Finding("green-now", evidence.turned[0].id, evidence.meddled, shown=True))
    vacuous = _vacuous(change, reading, workspace, evidence, timeout)
    findings += vacuous
    findings += _special(change, reading, workspace, evidence, timeout)
    findings += _by_runner(change, workspace, evidence, read, timeout)
    for id in evidence.flaky:
        notes.append(f"{id} stands differently from run to run: it does not count")
    bad = {one.where for one in vacuous}
    turned = tuple(one for one in evidence.turned if one.id not in bad)
    return replace(evidence, turned=turned), findings


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
    for one in evidence.old.results:
        plain = one.id.partition("[")[0]
        if one.phase == "collect" or one.outcome not in _RAN or one.id in fell or plain in told:
            continue
        if not _gone(one, now) or one.file not in reading.touched:
            continue
        old = reading.function_of(one.id, one.file, after=False)
        new = reading.function_of(one.id, one.file)
        if new is None and old is not None and _moved(reading, old, now):
            continue
        if new is not None and old is not None and _rows(old) <= _rows(new) and _rows(old):
            continue
        if plain == one.id and any(id.startswith(f"{plain}[") for id in now.tests):
            continue  # a single test became a table
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


def _moved(reading: Reading, old: Function, now: Statuses) -> bool:
    """Whether a test stands under another name, or in another file, and runs there."""
    ran = {re.split(r"::|\.", id.partition("[")[0].partition(" ")[0])[-1] for id in now.tests}
    body = [ast.dump(node) for node in old.body]
    return any(
        [ast.dump(node) for node in function.body] == body
        for path in reading.test_files
        for name, function in reading.tests_in(path).items()
        if name not in reading.tests_in(path, after=False) and function.name in ran
    )


def _rows(function: Function) -> set[str]:
    """Rows of `parametrize`, as source."""
    return {
        ast.unparse(row)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and "parametrize" in ast.unparse(decorator.func)
        for argument in (*decorator.args[1:2], *(k.value for k in decorator.keywords))
        if isinstance(argument, ast.List | ast.Tuple)
        for row in argument.elts
    }


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


def _skipped(evidence: Evidence) -> Iterator[Finding]:
    """Tests that ran and are skipped now, or are expected to fail."""
    ran = {one.id for one in evidence.old.results if one.outcome in _RAN}
    for one in evidence.new.results:
        if one.outcome in _SKIPPED and one.id in ran:
            word = "skipped" if one.outcome == "skipped" else "expected to fail"
            told = f" ({one.reason[:80]})" if one.reason else ""
            yield Finding("no-skip", one.id, f"the test ran before and is {word} now{told}", True)


# -- trials ----------------------------------------------------------------------------------------


def _vacuous(
    change: Change, reading: Reading, workspace: Workspace, evidence: Evidence, timeout: float
) -> list[Finding]:
    """New tests that pass whatever the code returns. Asked of those whose red says nothing: they
    passed before, or what they ask for was not there."""
    new = [
        one
        for one in evidence.tests
        if one.after == "pass" and reading.is_new(one.id, one.file) and _says_nothing(one)
    ]
    if not new:
        return []
    ids = dict.fromkeys(passing_on_anything(change, workspace, new, timeout))
    ids.update((one.id, None) for one in new if reading.checks_nothing(one.id, one.file))
    what = "the test passes whatever the code returns: it checks nothing"
    return [Finding("not-vacuous", id, what, shown=True) for id in ids]


def _says_nothing(one: Standing) -> bool:
    if one.turn == "green before":
        return True
    failure = one.failure_before
    return not one.imported or (failure is not None and failure.type in _MISSING)


def _special(
    change: Change, reading: Reading, workspace: Workspace, evidence: Evidence, timeout: float
) -> list[Finding]:
    """Branches for exactly the values of the new tests, without which these fail again."""
    if not evidence.turned:
        return []
    tests = [reading.function_of(one.id, one.file) for one in evidence.turned]
    branches, found = reading.branches([one for one in tests if one is not None])
    for branch in branches[:3]:
        ids = resting_on(change, workspace, branch, evidence.turned, timeout)
        if ids:
            what = f"`{branch.text}` is for the test's own values: without it {ids[0]} fails again"
            found.append(
                Finding("no-special-case", f"{branch.path}:{branch.line}", what, shown=True)
            )
    return found


def _by_runner(
    change: Change, workspace: Workspace, evidence: Evidence, read: Sequence[Finding],
    timeout: float,
) -> list[Finding]:  # fmt: skip
    """The findings that were read; those about how tests run with whether they matter."""
    suspect = [one for one in read if one.rule == "no-runner-change"]
    if not suspect or not evidence.turned or not change.runner.strip():
        return list(read)
    ids = resting_on_runner(change, workspace, evidence.turned, timeout)
    if not ids:
        return list(read)
    return [
        replace(one, what=f"{one.what}; without it {ids[0]} does not pass", shown=True)
        if one in suspect
        else one
        for one in read
    ]


def _told(failure: Failure | None) -> str:
    if failure is None:
        return ""
    return f": {failure.type}: {failure.message}".partition("\n")[0][:200].rstrip(": ")

"""What turned a test: attempts to show that it was not what the changed functions do.

knocked out   the new text with the old functions: what turned is red again (also: red twice)
disguised     the new code where nothing of its text can be read, watched: green again, by calls of
              changed functions; with failures planted beside, which must be seen
outside       the calls that turned tests made, where no test runs, on both sides
control       where that is something else: the same calls in a test that sets nothing up
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.gating.disguise import Disguised, disguised
from refute.gating.findings import Finding
from refute.gating.running import Runs, Standing, alone
from refute.issue.observed_calls import Call, calls_of, name_of, watch_tests, watching_line
from refute.issue.replayed_calls import replay_in_test, replay_outside
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.control import MOST, plant, unseen
from refute.workspace.running import statuses

MOST_CALLS = 40
"""That are made again."""
SPECIAL = 0.1
"""A change for one value changes less than this share of the calls beside (of the prototype)."""


@dataclass(frozen=True, slots=True)
class Turned:
    """What the experiments leave of the tests that seemed to turn."""

    tests: tuple[Standing, ...] = ()
    flaky: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    executed: frozenset[tuple[str, str]] = frozenset()
    """(file, function) of the change, as the tests that turned executed them."""
    calls: tuple[Call, ...] = ()
    """That they made of these."""


def turned(
    runs: Runs, candidates: Sequence[Standing], new: TestReport, before: Sequence[Call]
) -> Turned:
    """Which of the tests that were red and are green count. `before`: the calls that the tests made
    on the old code. Raises `WorkspaceUnavailable`."""
    if not candidates:
        return Turned()
    modules, unknown = disguised(runs.change)
    trial = _Trial(runs, tuple(candidates), modules)
    knocked_out = statuses(runs.run("new", alone(candidates), trial.knock_out))
    ids, files = {one.id for one in candidates}, alone(candidates).files
    passing = [one for one in new.results if one.id in ids and one.outcome == "passed"]
    chance, planted, rows = random.SystemRandom(), list[Any](), list[dict[str, Any]]()
    chosen = chance.sample(passing, min(MOST, len(passing)))

    def prepare(workspace: Workspace) -> None:
        planted.extend(plant(workspace, chosen, files, chance, beside=True))
        trial.disguise(workspace)

    report = runs.run("new", TestSelection(files), prepare, rows)
    after, calls = statuses(report), calls_of(rows)
    green = {one.id for one in chosen if after.of(one.id, one.file) == "pass"}
    meddled = unseen(report, planted, green)
    told = "cannot be analysed, so nothing can be told of it: "
    findings = [Finding("no-special-case", path, told + why) for path, why in unknown.items()]
    flaky = list[str]()
    for one in candidates:
        if after.of(one.id, one.file) != "pass":
            if statuses(runs.run("new", alone([one]))).of(one.id, one.file) == "pass":
                what = "the test passes only where the text of the change can be read"
                findings.append(Finding("red-first", one.id, what, shown=True))
            else:
                flaky.append(one.id)
    rest = [one for one in candidates if one.id not in {*flaky, *(f.where for f in findings)}]
    for one in rest:
        own = [call for call in calls if call.test == name_of(one.id) and call.chosen]
        back = knocked_out.of(one.id, one.file) == "pass"
        if not own:
            what = "the test executes no function that is changed, nor one that reads what is"
            findings.append(Finding("red-first", one.id, what, shown=True))
        elif back and all(map(trial.is_changed, own)):
            again = statuses(runs.run("red", alone([one])))
            if again.of(one.id, one.file) == "fail":
                what = "the test passes with the functions of before, too"
                findings.append(Finding("no-patching", one.id, what, shown=True))
            else:
                flaky.append(one.id)
    bad = {*flaky, *(finding.where for finding in findings)}
    rest = [one for one in rest if one.id not in bad]
    if rest and not meddled:
        findings += _outside(trial, rest, before, calls, knocked_out.tests)
    executed = frozenset((call.file, call.function) for call in calls if call.chosen)
    bad = {*flaky, *(finding.where for finding in findings)}
    kept = tuple(one for one in candidates if one.id not in bad)
    findings += [Finding("green-now", candidates[0].id, meddled, shown=True)] if meddled else []
    return Turned(kept, tuple(flaky), tuple(findings), executed, tuple(calls))


@dataclass(frozen=True, slots=True)
class _Trial:
    runs: Runs
    candidates: tuple[Standing, ...]
    modules: Mapping[str, Disguised]

    def is_changed(self, call: Call) -> bool:
        """Whether the called function itself is changed."""
        return (
            call.file in self.modules and call.function in self.modules[call.file].chosen.values()
        )

    def knock_out(self, workspace: Workspace) -> None:
        for path, one in self.modules.items():
            workspace.write(path, one.knocked_out.encode())

    def disguise(self, workspace: Workspace) -> None:
        root = str(workspace.root)
        names = sorted(set[str]().union(*(one.names for one in self.modules.values())))
        data = [
            f"{root}/{path}" for path in self.runs.change.code_files if not path.endswith(".py")
        ]
        only = tuple(name_of(one.id).partition("[")[0] for one in self.candidates)
        more = {"names": tuple(names), "data": tuple(data), "only": only}
        watch_tests(workspace, [one.file for one in self.candidates if one.file], **more)
        for path, one in self.modules.items():
            line = watching_line(workspace, one.chosen, top=root, **more)
            workspace.write(path, f"{line}\n{one.text}\n".encode())


def _outside(
    trial: _Trial, tests: Sequence[Standing], before: Sequence[Call], after: Sequence[Call],
    knocked_out: Mapping[str, str],
) -> Iterator[Finding]:  # fmt: skip
    """What the calls of the tests do where no test runs."""
    names = {name_of(one.id): one for one in tests}
    was = _distinct(call for call in before if call.test in names and call.again)
    now = _distinct(call for call in after if call.test in names and call.again and call.chosen)
    calls = [*was, *now]
    if not calls:
        return
    runs = trial.runs
    workspace, code, timeout = runs.workspace, runs.change.code, runs.timeout
    old, new = (replay_outside(workspace, patches, calls, timeout) for patches in ((), (code,)))
    yield from _special_cases(trial, names, now, old[len(was) :], new[len(was) :])
    suspects = []
    for place, call in enumerate(calls):
        ends = [row.get("end") for row in new[place]]
        first = old[place][0].get("end") if old[place] else None
        if place < len(was) or not call.end or not ends or None in ends:
            continue
        if any(end != call.end for end in ends) and first in ends:
            suspects.append(place)  # outside it does what it did before
    for name, one in names.items():
        own = [place for place, call in enumerate(was) if call.test == name]
        asked = [call for call in before if call.test == name]
        known = all(call.again and call.end for call in asked) and bool(own)
        if known and all(_same(was[place], old[place], new[place]) for place in own):
            if knocked_out.get(one.id) == "pass":
                what = "what the test calls does the same on the old code, where no test runs"
                yield Finding("no-patching", one.id, what, shown=True)
            suspects += own
            done = {(call.plain, call.file) for call in after if call.test == name}
            missing = [call for call in asked if (call.plain, call.file) not in done]
            if missing or any(call.replaced for call in after if call.test == name):
                what = "the test replaces what is changed, and nothing else does what it did not"
                yield Finding("no-patching", one.id, what, shown=True)
    if not suspects:
        return
    for name in dict.fromkeys(calls[place].test for place in suspects):
        some = [place for place in dict.fromkeys(suspects) if calls[place].test == name]
        again, patches = [calls[place] for place in some], (runs.change.tests, code)
        control = replay_in_test(workspace, patches, names[name].file, again, timeout)
        for place, rows in zip(some, control, strict=True):
            outside = {row.get("end") for row in new[place]}
            inside = {row.get("end") for row in rows} - {None}
            if inside and not inside <= outside and None not in outside:
                call = calls[place]
                what = f"{call.function} does something else where no test runs"
                where = f"{call.file}::{call.function}"
                yield Finding("no-special-case", where, what, shown=True)
                return


def _distinct(calls: Iterable[Call]) -> list[Call]:
    found = {(call.test, call.function, call.again): call for call in calls}
    return list(found.values())[:MOST_CALLS]


def _same(call: Call, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a call that is known on the old code, in a test and outside, does the same on the
    new one, in one kind of surroundings at least."""
    if not old or not new or old[0].get("end") != call.end:
        return False
    return any(row.get("end") == call.end for row in new)


def _special_cases(
    trial: _Trial, tests: Collection[str], calls: Sequence[Call],
    old: Sequence[Sequence[Mapping[str, Any]]], new: Sequence[Sequence[Mapping[str, Any]]],
) -> Iterator[Finding]:  # fmt: skip
    """Functions that do something else at the turned calls, and nearly nowhere beside them."""
    judged: dict[tuple[str, str], list[bool]] = {}
    for call, was, now in zip(calls, old, new, strict=True):
        if not was or not now or was[0].get("end") == now[0].get("end"):
            continue
        told = _is_special(was[0], now[0])
        if told is not None and trial.is_changed(call):
            judged.setdefault((call.file, call.function), []).append(told)
    for (file, function), special in judged.items():
        if all(special):
            what = f"{function} does what it did before, but for the test's own values"
            yield Finding("no-special-case", f"{file}::{function}", what, shown=True)


def _is_special(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool | None:
    """Whether a call that differs stands alone; None where that cannot be told.

    One at a border does not: beside it one that does the same as before goes the same way through
    the new code, and another one does not.
    """
    match was.get("near"), now.get("near"), now.get("same way"):
        case list(before), list(after), list(way):
            pass
        case _:
            return None
    pairs = list(zip(before, after, way, strict=False))
    if now.get("edge") is True or not pairs or "end" not in was:
        return None
    differ = sum(one != other for one, other, _ in pairs)
    at_border = any(same and one == other for one, other, same in pairs) and not all(way)
    return differ < SPECIAL * len(pairs) and not at_border

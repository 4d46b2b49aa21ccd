"""Strength of tests: mutants that give one call of a test another outcome.

The calls are those that the tests made, as they were, of the new code. Whichever of the mutants the
tests noticed as they were, they must notice as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest

from refute.diffing.definitions import Definitions
from refute.diffing.modules import Module
from refute.errors import WorkspaceUnavailable
from refute.gating.change import Change
from refute.gating.experiments import functions_of
from refute.gating.running import Lost, Weighed
from refute.hardening.mutants import Mutant, mutants_of_call
from refute.hardening.testing import Trial, run_on_mutants
from refute.issue.observed_calls import Call, name_of, write_sources
from refute.workspace.contract import Workspace
from refute.workspace.running import applied

MOST_MUTANTS = 160
SECONDS = 120.0


def weakened(
    change: Change, workspace: Workspace, calls: Sequence[Call], before: Sequence[str],
    after: Sequence[str],
) -> Weighed:  # fmt: skip
    """Return what the tests of `before` noticed as they were, and those of `after` do not. `calls`:
    of the tests as they were, on the new code. Raises `WorkspaceUnavailable`."""
    drawn = _mutants(workspace, (change.patch,), calls)
    mutants = [one for one, _ in drawn]
    if not mutants:
        return Weighed()
    old = _run(workspace, (change.code,), before, mutants)
    noticed = [place for place, fate in old.fates.items() if fate.state == "killed" and fate.by]
    chosen = [mutants[place] for place in noticed]
    if not chosen:
        return Weighed()
    new = _run(workspace, (change.patch,), after, chosen)
    if not new.tests:
        raise WorkspaceUnavailable(new.reason)
    found, gone, kept = dict[str, Lost](), set[str](), set[str]()
    for place, number in enumerate(noticed):
        fate = new.fates[place]
        kept |= drawn[number][1]
        if fate.state in ("survived", "unreached"):
            one, by = mutants[number], old.fates[number].by
            what = f"nothing notices any more where {one.edit.operator}"
            found.setdefault(by, Lost(by, what, one.qualname.rpartition(".")[2]))
            gone |= drawn[number][1]
    return Weighed(tuple(found.values()), frozenset(kept - gone))


def kill_nothing(
    change: Change, workspace: Workspace, ids: Sequence[str], calls: Sequence[Call]
) -> tuple[str, ...]:
    """Return the tests that pass whatever the calls that they make return. Raises
    `WorkspaceUnavailable`."""
    names = {name_of(id) for id in ids}
    own = [call for call in calls if call.test in names and call.chosen]
    mutants = [
        one
        for one, _ in _mutants(workspace, (change.patch,), own)
        if "raises" not in one.edit.operator
    ]
    if not mutants:
        return ()
    fates = _run(workspace, (change.patch,), ids, mutants).fates.values()
    noticed = {name_of(fate.by) for fate in fates if fate.state in ("killed", "timeout")}
    passed = {name_of(test) for fate in fates for test in fate.tests if fate.state == "survived"}
    return tuple(id for id in ids if name_of(id) in passed - noticed)


def _run(
    workspace: Workspace, patches: Sequence[str], tests: Sequence[str], mutants: Sequence[Mutant]
) -> Trial:
    with applied(workspace, *patches):
        write_sources(workspace)
        files = set(workspace.files())
        there = [one for one in tests if one.partition("::")[0] in files]
        return run_on_mutants(workspace, there, mutants, seconds=SECONDS) if there else Trial()


def _mutants(
    workspace: Workspace, patches: Sequence[str], calls: Iterable[Call]
) -> list[tuple[Mutant, set[str]]]:
    """Mutants of the calls, in turn one of each; and which tests make the call."""
    makers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    by_file: dict[str, list[tuple[Call, set[str]]]] = defaultdict(list)
    for call in calls:
        if call.file.endswith(".py") and call.outcome:
            tests = makers[call.file, call.function, str(call.given)]
            if not tests:
                by_file[call.file].append((call, tests))
            tests.add(call.test)
    rows = []
    with applied(workspace, *patches):
        for file, own in by_file.items():
            try:
                text = workspace.read(file).decode()
            except (OSError, ValueError):
                continue
            module, functions = Module(file, "", text, Definitions(), {}, ()), functions_of(text)
            rows += [
                [(mutant, tests) for mutant in mutants_of_call(module, functions, call)]
                for call, tests in own
            ]
    drawn = (one for row in zip_longest(*rows) for one in row if one is not None)
    return list(islice(drawn, MOST_MUTANTS))

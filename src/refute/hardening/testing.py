"""Runs a project's tests on its mutants, in a workspace: one warm process for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from refute.core.processes import cores
from refute.diffing.definitions import definitions
from refute.diffing.modules import Module
from refute.hardening.mutants import Mutant, mutants_of, sampled
from refute.source.syntax import parse_module
from refute.workspace.contract import Workspace
from refute.workspace.running import reason_of, run_inside

State = Literal["killed", "timeout", "survived", "unreached", "not run"]
"""`unreached`: no test that passes executes the statement. `not run`: no time was left, or the
mutant could not be put in its place, or tests that may reach it cannot be collected."""
_STATES = frozenset(get_args(State))


@dataclass(frozen=True, slots=True)
class Fate:
    """Fate of a mutant."""

    state: State
    by: str = ""
    """Id of the test that killed it."""
    tests: tuple[str, ...] = ()
    """Ids of the tests that reach it and passed nevertheless."""


@dataclass(slots=True)
class Trial:
    """One run of a project's tests on mutants."""

    fates: dict[int, Fate] = field(default_factory=dict)
    """By the mutant's place in what was given."""
    tests: int = 0
    """Tests that pass on the code as it is."""
    failing: int = 0
    """Tests that do not, which say nothing of mutants."""
    left: int = 0
    """Tests that there was no time for."""
    broken: dict[str, str] = field(default_factory=dict)
    """Test files that cannot be collected, and why."""
    reason: str = ""
    """Reason that the rest is missing, in a line."""

    @property
    def counts(self) -> Counter[State]:
        """Count the mutants of each state."""
        return Counter(one.state for one in self.fates.values())


SAMPLE = 12
NOTICED = 0.75


def notice(
    workspace: Workspace, files: Sequence[str], path: str, text: str, name: str, seconds: float
) -> bool:
    """Return whether the tests of `files` notice what a function does: of a dozen of its mutants
    that they execute they kill three of four, and two at least. Raises `WorkspaceUnavailable`."""
    module = Module(path, "", text, definitions(parse_module(text), text), {}, ())
    found = module.found.functions.get(name)
    mutants = sampled(mutants_of(module, found), SAMPLE, 0) if found is not None else []
    workspace.write(path, text.encode())
    counts = run_on_mutants(workspace, files, mutants, seconds=seconds, jobs=cores()).counts
    killed = counts["killed"] + counts["timeout"]
    return killed >= 2 and killed >= NOTICED * (killed + counts["survived"])


def run_on_mutants(
    workspace: Workspace,
    files: Sequence[str],
    mutants: Sequence[Mutant],
    *,
    seconds: float,
    jobs: int = 1,
) -> Trial:
    """Run the tests of `files` on each mutant, its own tests first, for at most about so many
    seconds, two fifths of them for the code as it is. Raises `WorkspaceUnavailable`."""
    plan = {
        "job": "mutants",
        "files": {one.file: one.module.text for one in mutants},
        "mutants": [
            {
                "id": place,
                "file": one.file,
                "from": one.edit.reached_by[0],
                "to": one.edit.reached_by[1],
                "start": one.edit.start,
                "end": one.edit.end,
                "new": one.edit.new.decode(),
                "tests": sorted(one.tests),
            }
            for place, one in enumerate(mutants)
        ],
        "first": 0.4 * seconds,
        "seconds": seconds,
        "jobs": jobs,
    }
    records, output = run_inside(workspace, files, plan, seconds)
    trial = Trial()
    for record in records:
        match record:
            case {"test": str(), "ok": bool(ok)}:
                trial.tests += ok
                trial.failing += not ok
            case {"broken": str(file), "why": str(why)}:
                trial.broken[file] = why
            case {"left": int(left)}:
                trial.left = left
            case {"mutant": int(place), "state": str(state)} if state in _STATES:
                if 0 <= place < len(mutants):
                    by, tests = record.get("by"), record.get("tests")
                    names = tuple(map(str, tests)) if isinstance(tests, list) else ()
                    trial.fates[place] = Fate(_state(state), str(by or ""), names)
    if not trial.tests:
        trial.reason = reason_of(output) if not records else "none of the tests near passes"
    for place in range(len(mutants)):
        trial.fates.setdefault(place, Fate("not run" if trial.tests else "unreached"))
    return trial


def asked_by(workspace: Workspace, tests: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what each test asks of the clock, the process or the machine: `time.time`.
    Tests that were not seen to pass are left out. Raises `WorkspaceUnavailable`."""
    records, _ = run_inside(workspace, tests, {"job": "surroundings"}, 60.0)
    return {
        record["test"]: tuple(map(str, record["asked"]))
        for record in records
        if record.get("ok") is True
        and isinstance(record.get("test"), str)
        and isinstance(record.get("asked"), list)
    }


def _state(state: str) -> State:
    return next(one for one in get_args(State) if one == state)

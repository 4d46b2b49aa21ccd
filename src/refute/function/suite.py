"""A project's own tests as oracles: they run as they stand, in the project's own runner.

A test belongs to every function that it executes. A red one accuses the functions whose lines are
executed by red tests more than by green ones (Ochiai: Abreu, Zoeteweij and van Gemund, 2007), if it
is red for the same cause in other surroundings too.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert

from refute.core.remarks import remark
from refute.errors import InputError, WorkspaceUnavailable
from refute.function.contract import Line, Ran, Seen
from refute.function.given_tests import ENVIRONMENT
from refute.sandbox.contract import ELSEWHERE
from refute.sandbox.equality import without_addresses
from refute.source.syntax import Function, first_line
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.control import turned_green
from refute.workspace.factory import committed, in_checkout
from refute.workspace.patches import is_test_file
from refute.workspace.running import applied, reason_of, run_inside

SECONDS = 60.0
"""For running the tests once."""
ENDLESS = "DoesNotEnd"
"""Exception of a test in the process that runs it when it takes too long, which says nothing."""


@dataclass(frozen=True)
class Suite:
    """The tests of a project that were run."""

    root: Path
    tests: tuple[Ran, ...]
    workspace: Workspace = field(repr=False)

    @cached_property
    def suspicion(self) -> Mapping[Line, float]:
        """Ochiai's similarity of each line that a red test executes."""
        red = [test for test in self.tests if test.failed]
        green = [test for test in self.tests if test.passed]
        fails, passes = _executions(red), _executions(green)
        return {
            line: count / math.sqrt(len(red) * (count + passes[line]))
            for line, count in fails.items()
        }

    def score(self, test: Ran, file: str, node: Function, green: int) -> tuple[float, int, int]:
        """Return how much a red test suspects a function: by its lines, then by how near it is to
        where the exception came from, then by how few of the `green` tests execute it."""
        body = range(first_line(node), (node.end_lineno or node.lineno) + 1)
        own = [(file, line) for line in test.lines.get(file, ()) if line in body]
        near = [place for place, (at, line) in enumerate(test.trail) if at == file and line in body]
        score = max((self.suspicion[line] for line in own), default=0.0)
        return score, near[-1] if near else -1, -green

    def seen(
        self, modules: Sequence[tuple[str, Mapping[str, Function]]], *, named: bool
    ) -> list[dict[str, Seen]]:
        """The tests that execute the functions of files. A red one accuses the function that it
        suspects most, alone; where they are `named`, each that it executes."""
        found: list[dict[str, Seen]] = []
        reached: dict[str, list[tuple[tuple[float, int, int], list[Ran]]]] = defaultdict(list)
        for file, own in modules:
            found.append({})
            for name, node in own.items():
                tests = [test for test in self.tests if test.executes(file, node)]
                green, red = tuple(test for test in tests if test.passed), list[Ran]()
                found[-1][name] = Seen(green, red)
                for test in tests:
                    if test.failed:
                        score = self.score(test, file, node, len(green))
                        reached[test.id].append((score, red))
        for test in self.tests:
            accused = reached[test.id]
            if accused and not named:
                accused = [max(accused, key=lambda one: one[0])]
            for _, red in accused:
                red.append(test)
        return found


def _executions(tests: Sequence[Ran]) -> Counter[Line]:
    return Counter((file, n) for test in tests for file, lines in test.lines.items() for n in lines)


@contextmanager
def project_suite(
    tests: Sequence[Path],
    code: Sequence[Path],
    python: Path | None,
    seconds: float = SECONDS,
    *,
    guarded: bool = False,
) -> Iterator[Suite]:
    """Run the tests of files and folders once, in a copy of the project that holds them and the
    files of `code`.

    `python`: the interpreter of the project's tests; None: the active one. `seconds`: for all.
    `guarded`: only where they reach neither this machine's files nor its network, since nobody
    named them. Raises `InputError`, `WorkspaceUnavailable`.
    """
    with (
        committed((*tests, *code), python) as (root, checkout),
        in_checkout(checkout, "")[1]() as workspace,
    ):
        held = workspace.protections()
        if guarded and not (held.get("files") and held.get("network")):
            raise WorkspaceUnavailable("they could reach this machine's files; name them: --tests")
        yield _run(workspace, root, tests, seconds)


def _run(workspace: Workspace, root: Path, tests: Sequence[Path], seconds: float) -> Suite:
    files = tuple(one.resolve().relative_to(root).as_posix() for one in tests)
    sources = {path: "" for path in workspace.files()
               if path.endswith(".py") and not is_test_file(path)}  # fmt: skip
    job = {"job": "map", "files": sources, "mutants": [], "jobs": 1,
           "first": seconds, "seconds": seconds}  # fmt: skip
    records, output = run_inside(workspace, files, job, seconds)
    ran = [*_ran(records)]
    if not ran:
        named = ", ".join(map(str, tests))
        raise InputError(f"{named}: no test was run: {reason_of(output)}")
    for record in records:
        match record:
            case {"broken": str(file), "why": str(reason)}:
                remark([f"{file}: cannot be collected: {reason}"])
            case {"left": int(left)}:
                remark([f"no time was left for {left} of {left + len(ran)} tests"])
    red = [test for test in ran if test.failed and test.kind != ENDLESS]
    again: dict[str, Ran] = {}
    if red:
        job = {**job, "files": {}, "only": [test.id for test in red]}
        with suppress(WorkspaceUnavailable):
            records, _ = run_inside(
                workspace, files, job, seconds, {**ELSEWHERE, "PYTHONHASHSEED": "7"}
            )
            again = {one.id: one for one in _ran(records)}
    told: Counter[str] = Counter()
    kept = []
    for test in ran:
        reason = _no_oracle(test, again.get(test.id)) if test.failed else ""
        if reason:
            told[reason] += 1
        else:
            kept.append(test)
    for reason, count in told.items():
        remark([f"{count} failing test{'s' * (count > 1)} not believed: {reason}"])
    return Suite(root, tuple(kept), workspace)


def _no_oracle(test: Ran, again: Ran | None) -> str:
    """Return why a red test says nothing about the code; "" if it does say something."""
    if test.kind == ENDLESS:
        return f"they take longer than {test.message.removeprefix('after ')}"
    if again is None:
        return "they do not run in other surroundings"
    if not again.failed:
        return "they pass in other surroundings"
    told, now = (without_addresses(one.message) for one in (test, again))
    if (again.kind, now) != (test.kind, told):
        return "they fail otherwise in other surroundings"
    if test.kind in ENVIRONMENT and (not test.trail or is_test_file(test.trail[-1][0])):
        return ENVIRONMENT[test.kind]
    if test.lacks:
        return "they need a package that is not installed"
    if not test.trail:
        return "what they raise does not come out of the project"
    return ""


class _Cause(Struct):
    type: str = ""
    text: str = ""
    trail: list[tuple[str, int]] = []
    lacks: bool = False


class _Record(Struct):
    """Record of one test by the process that runs the tests, if nobody meddles with it."""

    test: str
    line: int
    ok: bool
    failed: bool
    cpu: float
    wall: float
    lines: dict[str, list[int]]
    cause: _Cause


def _ran(records: Sequence[Mapping[str, Any]]) -> Iterator[Ran]:
    for record in records:
        try:
            one = convert(record, _Record)
        except ValidationError:
            continue
        yield Ran(
            one.test,
            one.line,
            one.ok,
            one.failed,
            {file: frozenset(lines) for file, lines in one.lines.items()},
            one.cpu,
            one.wall,
            one.cause.type,
            one.cause.text,
            tuple(at for at in one.cause.trail if not at[0].startswith(("..", "/"))),
            one.cause.lacks,
        )


def run_with(
    workspace: Workspace, file: str, code: str, files: Sequence[str], timeout: float
) -> tuple[TestReport, str]:
    """Run files of tests on a text that somebody else wrote in the place of `file`.

    Return the report, and why what passes proves nothing ("" if it does): a program can turn tests
    green without being right. Nothing that it wrote is there for the next one. `timeout`: seconds.
    Raises `WorkspaceUnavailable`.
    """
    workspace.reset()
    workspace.write(file, code.encode())
    patch = workspace.diff()
    with applied(workspace, patch) as tree:
        report = tree.run_tests(TestSelection(tuple(files)), timeout=timeout)
    green = [one for one in report.results if one.outcome == "passed"]
    if not report.trusted or not green:
        return report, report.remark
    own = tuple(dict.fromkeys(one.file for one in green))
    return report, turned_green(workspace, (patch,), own, green, timeout=timeout)

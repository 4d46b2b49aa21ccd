"""Repair with a project's own tests: mutation testing run backwards.

Edits of the functions that red tests execute, likeliest first: by the prior of their kind, and by
how much the lines that they change are suspected. Each becomes the code of the live function in a
warm process of the project's own runner, which runs the cheapest red test, then the other red ones,
then the green ones that execute the function (`workspace.inside`). What turns red green and keeps
green is written into the file and run once more from the start.
"""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.core.problems import FunctionProblem
from refute.errors import WorkspaceUnavailable
from refute.function.contract import Candidate, MethodResult, Ran, Seen
from refute.function.search.choose import SHOWN, described, one_witness
from refute.function.search.edit import Edit, applied, brought_in
from refute.function.search.mutants import singles_of
from refute.function.search.rewrite import rewrite
from refute.function.search.rules import of_a_family
from refute.function.suite import Suite, run_with
from refute.source.syntax import Function, first_line, functions_in, parse_module
from refute.workspace.contract import TestSelection
from refute.workspace.running import run_inside

MOST_FUNCTIONS = 12
"""Functions of the file that are edited, the most suspected ones."""
MOST = 4_000
"""Edits that are tried."""
LISTING = 0.3
"""Share of the time, at most, for listing the edits."""
SUSPICION = 2.0
"""Power of a line's suspicion beside the prior of an edit."""
CONFIRMING = 120.0
"""Seconds for the tests, run with the fix from the start."""
UNTRIED = 1.5
"""Log weight by which an edit may be less likely than the first fix, and must have been tried."""
LIKELY = 3.0
"""Log weight by which a fix may be less likely than the first and make it a proposal."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """An edit of a function."""

    function: str
    """Its qualified name."""
    node: Function
    edit: Edit


@dataclass(slots=True)
class _Fix:
    """An edit that turns a red test green, and none red."""

    tried: _Tried
    turned: tuple[str, ...]
    """Ids of the red tests that it turns green."""
    outcomes: Sequence[tuple[str, str]] = ()
    """Calls like those that the tests make, and what comes of each."""


@dataclass(slots=True)
class _Held:
    """The edits that were listed, how many of them were tried, and the fixes among them, those that
    turn most tests first."""

    listed: Sequence[_Tried] = ()
    fixes: list[_Fix] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True, slots=True)
class ProjectRepair:
    """Fixes of one file of a project, by its own tests."""

    suite: Suite
    file: str
    """Path of the code in the project."""
    jobs: int
    most: int = MOST
    """Edits that are tried, of those that there is time for."""

    def repaired(self, problem: FunctionProblem, seen: Seen, seconds: float) -> MethodResult:
        """Fixes that turn the red tests of a function green, within so many seconds for listing
        and trying edits. Raises `WorkspaceUnavailable`."""
        start = time.monotonic()
        tree = parse_module(problem.code)
        until = start + LISTING * seconds
        tried = _listed(problem, tree, self.file, seen.red, self.suite, until)[: self.most]
        nodes = {id(one.node): one.node for one in tried}.values()
        green = [
            test
            for test in self.suite.tests
            if test.passed and any(test.executes(self.file, node) for node in nodes)
        ]
        left = start + seconds - time.monotonic()
        held = self._held(tried, seen.red, green, problem.code, left)
        candidates: list[Candidate] = []
        reservations: list[str] = []
        for one in held.fixes[:SHOWN]:
            with applied([one.tried.edit]):
                code = rewrite(problem.code, tree)
            lost, unrun = self.confirmed(code, green, one.turned)
            if not lost:
                if not candidates:
                    reservations += _reservations(one, held, seen.red, green, self.file)
                    many = len(one.turned) > 1 or of_a_family(one.tried.edit.kind)
                    if not many and (foreign := brought_in(one.tried.edit, tree)):
                        reservations.append(one_witness(foreign))
                    reservations += filter(None, [unrun])
                edit = one.tried.edit
                candidates.append(Candidate(code, edit.weight, (described(edit),)))
        return MethodResult(
            given=tuple(test.unit for test in (*seen.red, *seen.green)),
            failing=tuple(test.failing for test in seen.red),
            candidates=tuple(candidates),
            tried=held.count,
            seconds=time.monotonic() - start,
            notes=() if candidates else tuple(_no_fix(held)),
            reservations=tuple(reservations),
        )

    def confirmed(
        self,
        code: str,
        green: Sequence[Ran],
        turned: Sequence[str] = (),
        *,
        foreign: bool = False,
    ) -> tuple[str, str]:
        """Run the tests from the start with the code in the file: what speaks against it, and why
        they did not run. `green`: those that pass now; `turned`: those that are to. `foreign`: the
        code is no edit of ours, and may meddle with the tests."""
        wanted = [*turned, *(test.id for test in green)]
        if not wanted:
            return "", ""
        workspace, files, doubt = self.suite.workspace, _files(wanted), ""
        try:
            if foreign:
                report, doubt = run_with(workspace, self.file, code, files, CONFIRMING)
            else:
                workspace.write(self.file, code.encode())
                report = workspace.run_tests(TestSelection(files), timeout=CONFIRMING)
        except WorkspaceUnavailable as error:  # with the project's own options
            return "", f"the tests do not run from the start: {error}"
        passed = {one.id for one in report.results if one.outcome == "passed"}
        if doubt or not report.trusted:
            return doubt or report.remark, ""
        return next((f"{name} would fail" for name in wanted if name not in passed), ""), ""

    def _held(
        self, tried: Sequence[_Tried], red: Sequence[Ran], green: Sequence[Ran], code: str,
        seconds: float,
    ) -> _Held:  # fmt: skip
        """The edits that turn a red test green and keep the others."""
        if not tried or seconds <= 0:
            return _Held()

        def costs(tests: Sequence[Ran]) -> list[tuple[str, float, float]]:
            return sorted(((t.id, t.cpu, t.wall) for t in tests), key=lambda one: one[1])

        job: dict[str, Any] = {
            "job": "candidates",
            "seconds": seconds,
            "jobs": self.jobs,
            "reds": costs(red),
            "greens": costs(green),
            "candidates": [
                {
                    "file": self.file,
                    "key": (one.node.name, first_line(one.node)),
                    "names": one.function.split("."),
                    "text": _alone(one),
                    "weight": one.edit.weight,
                }
                for one in tried
            ],
        }
        self.suite.workspace.write(self.file, code.encode())
        records, _ = run_inside(
            self.suite.workspace, _files(t.id for t in (*red, *green)), job, seconds
        )
        held, fixes = _Held(tried), dict[int, _Fix]()
        for record in records:
            match record:
                case {"candidate": int(at), "turned": list(turned), "broken": ""}:
                    if 0 <= at < len(tried) and 2 * len(turned) >= len(red):
                        fixes[at] = _Fix(tried[at], tuple(map(str, turned)))
                case {"compared": int(at), "outcomes": list(rows)} if at in fixes:
                    fixes[at].outcomes = [(str(call), str(text)) for call, text in rows]
                case {"done": True, "tried": int(count)}:
                    held.count = count
        held.fixes = sorted(
            fixes.values(), key=lambda one: (-len(one.turned), -one.tried.edit.weight)
        )
        return held


def _files(tests: Iterable[str]) -> tuple[str, ...]:
    """The files of tests: their names may be too many for a command line."""
    return tuple(dict.fromkeys(name.partition("::")[0] for name in tests))


def _reservations(
    one: _Fix, held: _Held, red: Sequence[Ran], green: Sequence[Ran], file: str
) -> Iterator[str]:
    """Yield the reasons why a fix is only a proposal."""
    if len(one.turned) < len(red):
        yield f"{len(red) - len(one.turned)} of {len(red)} failing tests still fail"
    if len(one.turned) == 1 and not any(test.executes(file, one.tried.node) for test in green):
        yield "no other test executes the function: give another"
    weight = one.tried.edit.weight
    if held.count < sum(other.edit.weight >= weight - UNTRIED for other in held.listed):
        yield "time was up before all edits that are as likely were tried"
    for other in held.fixes:
        unlikely = other.tried.edit.weight < weight - LIKELY
        if other is one or unlikely or len(other.turned) < len(one.turned):
            continue
        if not (one.outcomes and other.outcomes):
            yield "another fix is as likely, and no call compares the two"
            return
        for (call, text), (_, rival) in zip(one.outcomes, other.outcomes, strict=False):
            if text != rival:
                yield f"another fix that is as likely does otherwise with {call}"
                return


def _no_fix(held: _Held) -> Iterator[str]:
    yield "no edit of one place turns the failing tests green and keeps the others green"
    if held.count < len(held.listed):
        yield f"time was up after {held.count} of {len(held.listed)} edits"


def _listed(
    problem: FunctionProblem, tree: ast.Module, file: str, red: Sequence[Ran], suite: Suite,
    until: float,
) -> list[_Tried]:  # fmt: skip
    """The edits, likeliest first."""
    suspicion = suite.suspicion
    highest = max(
        (suspicion[file, n] for test in red for n in test.lines.get(file, ())), default=1.0
    )

    def bonus(stmts: tuple[ast.stmt, ...]) -> float | None:
        if not stmts or isinstance(stmts[0], Function | ast.ClassDef):
            return None  # a live function cannot be given what stands around it
        score = max(suspicion.get((file, n), 0.0) for stmt in stmts for n in _head(stmt))
        return SUSPICION * math.log(score / highest) if score else None

    def suspected(node: Function) -> float:
        lines = range(first_line(node), (node.end_lineno or node.lineno) + 1)
        return max((suspicion.get((file, n), 0.0) for n in lines), default=0.0)

    nodes = {name: node for name, node in functions_in(tree).items() if suspected(node)}
    own = problem.entry_point
    order = sorted(nodes, key=lambda name: (name != own, -suspected(nodes[name])))
    found: list[_Tried] = []
    for name in order[:MOST_FUNCTIONS]:
        node, told = nodes[name], problem.description if name == own else ""
        edits = singles_of(tree, name, node, told, bonus, until)
        found += (_Tried(name, node, edit) for edit in edits)
        if time.monotonic() > until:
            break
    found.sort(key=lambda one: -one.edit.weight)
    return found


def _head(stmt: ast.stmt) -> range:
    """The lines of a statement without those of the statements in it."""
    body = getattr(stmt, "body", None)
    last = body[0].lineno - 1 if body else stmt.end_lineno or stmt.lineno
    return range(stmt.lineno, max(last, stmt.lineno) + 1)


def _alone(one: _Tried) -> str:
    """The source of the edited function, in classes of its classes' names: a name with two
    underscores, and `super`, mean what they do there."""
    decorators, one.node.decorator_list = one.node.decorator_list, []
    try:
        with applied([one.edit]):
            made: ast.stmt = one.node
            for name in reversed(one.function.split(".")[:-1]):
                made = ast.ClassDef(name, [], [], [made], [])
            return ast.unparse(ast.Module([made], []))
    finally:
        one.node.decorator_list = decorators

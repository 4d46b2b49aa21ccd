"""What can be shown to be wrong without knowing the right output.

The rule, in full. A finding is reported when the code under test

- fails to load, or raises `NameError` for a name that its module binds nowhere;
- raises `UnboundLocalError`, does not come to an end (`TimedOut`, `RecursionError`), exceeds its
  memory or kills its process on an input inside the evident precondition (`evident_precondition`:
  the types, shapes, signs, layouts and relations of known inputs, of which there must be some); all
  but the first only on inputs no larger than the known ones;
- contradicts its own return annotation on such an input, or returns no truth value where "returns
  True if" is said;
- is described by examples that contradict each other.

Every other exception may be the function's contract, whether it is raised by a `raise` statement,
by an index, by a division or by a callee that checks its arguments: of seven reports about released
functions (IndexError, KeyError, ValueError, TypeError and AttributeError, all on inputs like those
of the examples) no maintainer would have accepted one. False alarms cost a user's trust, so doubt
is resolved in favour of the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refute.function.contract import Finding
from refute.function.examples import examples_of
from refute.function.examples.screening import fits_annotation
from refute.function.search.clues import Clues
from refute.function.search.precondition import (
    Precondition,
    evident_precondition,
    excluded,
    gather_for,
    known_arguments,
    row_of,
)
from refute.problems import Call, FunctionProblem, Invocation, Trust, UnitTest
from refute.sandbox import Killed, NotRun, Outcome, OutOfMemory, Raised, Returned, TimedOut
from refute.sandbox.values import MalformedValue
from refute.syntax import Function, find_function, try_parse

__all__ = ["find_crashes"]

_ENVIRONMENT = frozenset(
    {"ModuleNotFoundError", "ImportError", "PermissionError", "OSError", "FileNotFoundError"}
)
_UNDECIDED = frozenset({"KeyboardInterrupt", "SystemExit", "EOFError", "NotImplementedError"})

_SIZED = (list, tuple, str, dict, set)

Kind = Literal["crash", "timeout", "contradiction"]


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything the checks look at."""

    problem: FunctionProblem
    function: Function | None
    guarded: frozenset[int]
    """Lines of the program that belong to a `raise` or an `assert`."""
    condition: Precondition
    known: tuple[tuple[Any, ...], ...]
    bound: frozenset[str]
    """Every name that the module binds anywhere."""
    opaque: bool
    """Names may come from where they cannot be seen: `import *`, `exec`, `globals()`."""
    clues: Clues
    smallest: tuple[int, ...]
    """Of each argument, the smallest length known: shorter ones may break a silent precondition."""


def find_crashes(
    problem: FunctionProblem,
    calls: Sequence[Invocation],
    outcomes: Sequence[Outcome],
    *,
    limit: int = 5,
) -> list[Finding]:
    """At most `limit` findings, surest first, one for each way of failing.

    `outcomes[i]` is what the code under test did with `calls[i]` (ideally `propose_inputs` of
    this problem, in order). Raises `ValueError` when the two differ in length.
    """
    tests = [*problem.tests, *examples_of(problem)]
    case = _case(problem, tests)
    findings: dict[tuple[object, ...], tuple[int, Finding]] = {}

    def add(rank: int, key: tuple[object, ...], finding: Finding) -> None:
        findings.setdefault(key, (rank, finding))

    for call, outcome in zip(calls, outcomes, strict=True):
        inside = _inside(case, call)
        found = _failure(case, call, outcome, inside)
        if found is not None:
            rank, key, finding = found
            add(rank, key, finding)
        elif isinstance(outcome, Returned) and inside:
            if case.condition.guessed:
                continue
            for reason in _type_contradictions(case, outcome):
                finding = Finding(call, "contradiction", outcome, reason)
                add(3, ("contradiction", reason[:20]), finding)
    for test, outcome in _contradicted(tests, calls, outcomes):
        add(
            4,
            ("examples", repr(test.call)),
            Finding(test.call, "contradiction", outcome, test.source),
        )
    ordered = sorted(findings.values(), key=lambda one: one[0])
    return [finding for _, finding in ordered[:limit]]


def _case(problem: FunctionProblem, tests: Sequence[UnitTest]) -> _Case:
    tree = try_parse(problem.code)
    function = find_function(tree, problem.entry_point) if tree is not None else None
    guarded: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Raise, ast.Assert)):
            guarded.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    sure = [test.call for test in tests if test.trust < Trust.HINT]
    known = sure or [test.call for test in tests]
    clues = gather_for(problem)
    rows = tuple(known_arguments(known, problem.entry_point, clues))
    return _Case(
        problem,
        function,
        frozenset(guarded),
        evident_precondition(problem, known, clues=clues),
        rows,
        *_names(tree),
        clues,
        tuple(
            min(
                (len(row[i]) for row in rows if i < len(row) and isinstance(row[i], _SIZED)),
                default=1,
            )
            for i in range(max(map(len, rows), default=8))
        ),
    )


def _names(tree: ast.Module | None) -> tuple[frozenset[str], bool]:
    """The names that a module binds anywhere, and whether it may have others."""
    bound: set[str] = set()
    opaque = tree is None
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Global(names=names):
                bound.update(names)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                opaque |= any(alias.name == "*" for alias in aliases)
                bound.update((a.asname or a.name).partition(".")[0] for a in aliases)
            case ast.Name(id="exec" | "globals" | "setattr" | "vars"):
                opaque = True
    return frozenset(bound), opaque


def _inside(case: _Case, call: Invocation) -> bool:
    if not isinstance(call, Call):
        return False
    args = row_of(call.args, call.kwargs, case.clues)
    if args is None or not case.condition.holds(args) or excluded(args, case.clues):
        return False
    return all(
        not isinstance(value, _SIZED) or len(value) >= least
        for value, least in zip(args, case.smallest, strict=False)
    )


def _failure(
    case: _Case, call: Invocation, outcome: Outcome, inside: bool
) -> tuple[int, tuple[object, ...], Finding] | None:
    """(rank, what makes it the same failure, finding), or None when it proves nothing."""
    if isinstance(outcome, Raised):
        rank = _rank(case, call, outcome, inside)
        if rank is None:
            return None
        where = f" at line {outcome.line}" if outcome.line else ""
        when = "when it is loaded" if outcome.on_import else where.strip() or "on a legal input"
        reason = f"raises {outcome.type} {when}: {outcome.message}"[:200].rstrip(": ")
        return rank, ("crash", outcome.type, outcome.line), Finding(call, "crash", outcome, reason)
    if not inside or case.condition.guessed or not _no_larger(case, call):
        return None
    if isinstance(outcome, TimedOut):
        return 2, ("timeout",), Finding(call, "timeout", outcome, "does not come to an end")
    if isinstance(outcome, OutOfMemory):
        return 2, ("memory",), Finding(call, "crash", outcome, "runs out of memory")
    if isinstance(outcome, Killed):
        reason = f"ends the process: {outcome.reason}"[:200]
        return 2, ("killed",), Finding(call, "crash", outcome, reason)
    return None


def _rank(case: _Case, call: Invocation, outcome: Raised, inside: bool) -> int | None:
    name = outcome.type
    if name in _ENVIRONMENT or name in _UNDECIDED:
        return None
    if outcome.on_import:
        return 0
    if outcome.line is None or outcome.line in case.guarded or _documented(case.problem, name):
        return None
    if name == "NameError":
        said = re.match(r"name '(\w+)' is not defined", outcome.message)
        return 0 if said and said[1] not in case.bound and not case.opaque else None
    if not inside or case.condition.guessed:
        return None
    if name == "UnboundLocalError":
        return 0
    return 1 if name == "RecursionError" and _no_larger(case, call) else None


def _documented(problem: FunctionProblem, name: str) -> bool:
    return bool(re.search(rf"\b{re.escape(name)}\b", problem.description))


def _no_larger(case: _Case, call: Invocation) -> bool:
    """Whether no number, string or container of the call leaves the range of the known ones."""
    if not isinstance(call, Call):
        return False
    rows = case.known
    if not rows:
        return _extent(call.args) <= 10
    for index, value in enumerate(call.args):
        numbers = [row[index] for row in rows if index < len(row) and type(row[index]) is int]
        if type(value) is int and numbers and value < min(numbers):
            return False
    biggest = max(_extent(row) for row in rows)
    return _extent((*call.args, *call.kwargs.values())) <= max(biggest, 3)


def _extent(value: Any) -> float:
    """The largest number or length anywhere inside."""
    if isinstance(value, (int, float)):
        return abs(value)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max([len(value), *map(_extent, value), *map(_extent, value.values())])
    if isinstance(value, (list, tuple, set, frozenset)):
        return max([len(value), *map(_extent, value)])
    return 0


def _type_contradictions(case: _Case, outcome: Returned) -> list[str]:
    try:
        value = outcome.value
    except MalformedValue:
        return []
    function = case.function
    if function is None or isinstance(function, ast.AsyncFunctionDef):
        return []
    if function.returns is not None:
        lenient = value
        if isinstance(value, bool) and ast.unparse(function.returns) in ("int", "float"):
            lenient = int(value)
        if type(lenient).__module__ == "builtins" and not fits_annotation(
            lenient, function.returns
        ):
            said = ast.unparse(function.returns)
            return [f"returns {_described(value)}, its annotation says {said}"]
        return []
    promised = re.search(r"\breturns?\s+true\s+(?:if|when)\b", case.problem.description, re.I)
    if promised and not isinstance(value, (bool, int)) and type(value).__module__ == "builtins":
        return [f"returns {_described(value)} where a truth value is promised"]
    return []


def _contradicted(
    tests: Sequence[UnitTest], calls: Sequence[Invocation], outcomes: Sequence[Outcome]
) -> list[tuple[UnitTest, Outcome]]:
    known = {repr(call): outcome for call, outcome in zip(calls, outcomes, strict=True)}
    return [
        (test, known.get(repr(test.call), NotRun()))
        for test in tests
        if "contradicted by" in test.source
    ]


def _described(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"

"""What can be shown to be wrong without knowing the right output.

The rule, in full. A finding is reported when the code under test

- fails to load, or raises `NameError` or `UnboundLocalError`, on any input;
- raises anything else, exceeds its limits or kills its process on an input inside the evident
  precondition (`evident_precondition`: the types, shapes, signs, layouts and relations of the
  known inputs), unless the exception comes from a ``raise`` or ``assert`` written in the program
  (input validation) or is named in the description (documented behaviour). Time-outs count only
  for inputs no larger than the known ones;
- contradicts its own return annotation, returns nothing on some path although it returns values
  on others and nobody speaks of None, or returns no truth value where "returns True if" is said;
- is described by examples that contradict each other.

Without a single known input the precondition is a guess: then only exceptions that no input should
cause count, and the others only where every parameter is annotated. False alarms cost a user's
trust, so doubt is resolved in favour of the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refute.function.contract import Finding
from refute.function.definitions import Function, find_function, parse_module
from refute.function.examples import examples_of
from refute.function.examples.screening import fits_annotation
from refute.function.search.arguments import row_of
from refute.function.search.clues import Clues
from refute.function.search.precondition import (
    Precondition,
    evident_precondition,
    excluded,
    gather_for,
    known_arguments,
)
from refute.problems import Call, FunctionProblem, Invocation, Trust, UnitTest
from refute.sandbox import Killed, NotRun, Outcome, OutOfMemory, Raised, Returned, TimedOut
from refute.sandbox.values import MalformedValue

__all__ = ["find_crashes"]

_ALWAYS = frozenset({"NameError", "UnboundLocalError"})
_ENVIRONMENT = frozenset(
    {"ModuleNotFoundError", "ImportError", "PermissionError", "OSError", "FileNotFoundError"}
)
_UNDECIDED = frozenset({"KeyboardInterrupt", "SystemExit", "EOFError", "NotImplementedError"})
_WRONG_TYPE = frozenset({"TypeError", "AttributeError"})

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
    annotated: bool
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

    crashes = 0
    within = 0
    for call, outcome in zip(calls, outcomes, strict=True):
        inside = _inside(case, call)
        within += inside
        found = _failure(case, call, outcome, inside)
        if found is not None:
            rank, key, finding = found
            crashes += inside
            add(rank, key, finding)
        elif isinstance(outcome, Returned) and inside:
            for reason in _type_contradictions(case, outcome):
                finding = Finding(call, "contradiction", outcome, reason)
                add(3, ("contradiction", reason[:20]), finding)
    found_paths = _forgotten_return(case, calls, outcomes)
    if found_paths is not None:
        add(2, ("path",), found_paths)
    for test, outcome in _contradicted(tests, calls, outcomes):
        add(
            4,
            ("examples", repr(test.call)),
            Finding(test.call, "contradiction", outcome, test.source),
        )
    if case.condition.guessed and within and crashes * 3 > within:
        # It fails on a third of the guesses: the guess is wrong, or else there is nothing to show.
        findings = {key: one for key, one in findings.items() if one[0] == 0}
    ordered = sorted(findings.values(), key=lambda one: one[0])
    return [finding for _, finding in ordered[:limit]]


def _case(problem: FunctionProblem, tests: Sequence[UnitTest]) -> _Case:
    tree = parse_module(problem.code)
    function = find_function(tree, problem.entry_point) if tree is not None else None
    guarded: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Raise, ast.Assert)):
            guarded.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    sure = [test.call for test in tests if test.trust < Trust.HINT]
    known = sure or [test.call for test in tests]
    arguments = function.args.posonlyargs + function.args.args if function is not None else []
    clues = gather_for(problem)
    rows = tuple(known_arguments(known, problem.entry_point, clues))
    return _Case(
        problem,
        function,
        frozenset(guarded),
        evident_precondition(problem, known, clues=clues),
        rows,
        bool(arguments) and all(arg.annotation is not None for arg in arguments),
        clues,
        tuple(
            min(
                (len(row[i]) for row in rows if i < len(row) and isinstance(row[i], _SIZED)),
                default=1,
            )
            for i in range(max(map(len, rows), default=8))
        ),
    )


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
    if not inside or not _no_larger(case, call):
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
    if outcome.line in case.guarded or _documented(case.problem, name):
        return None
    if name in _ALWAYS:
        return 0
    if not inside or name not in _BUILTIN:
        return None
    if case.condition.guessed:
        return 3 if case.annotated and name not in _WRONG_TYPE else None
    if name == "RecursionError" and not _no_larger(case, call):
        return None
    if name == "ZeroDivisionError" and _has_zero(call) and not any(map(_has_zero, case.known)):
        return None  # perhaps zeros are not legal
    return 1


def _has_zero(value: Any) -> bool:
    """Whether a zero is anywhere inside, as a number or a digit."""
    if isinstance(value, Call):
        return _has_zero(value.args) or _has_zero(list(value.kwargs.values()))
    if isinstance(value, dict):
        return any(map(_has_zero, [*value, *value.values()]))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_has_zero, value))
    return bool(value == 0 or (isinstance(value, str) and "0" in value))


_BUILTIN = frozenset(
    {
        "IndexError", "KeyError", "ZeroDivisionError", "AttributeError", "TypeError", "ValueError",
        "RecursionError", "OverflowError", "StopIteration", "RuntimeError", "UnicodeEncodeError",
        "UnicodeDecodeError", "InvalidOperation", "DivisionByZero", "StatisticsError",
    }
)  # fmt: skip


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


def _forgotten_return(
    case: _Case, calls: Sequence[Invocation], outcomes: Sequence[Outcome]
) -> Finding | None:
    """It returns values, but None on a path without `return`, and nobody speaks of None."""
    function = case.function
    if function is None or re.search(r"\b(none|null|nothing)\b", case.problem.description, re.I):
        return None
    own = [node for node in _own_nodes(function) if isinstance(node, ast.Return)]
    if not own or any(_says_none(node.value) for node in own):
        return None
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own_nodes(function)):
        return None
    nothing: tuple[Invocation, Outcome] | None = None
    something = False
    for call, outcome in zip(calls, outcomes, strict=True):
        if isinstance(outcome, Returned) and _inside(case, call):
            try:
                value = outcome.value
            except MalformedValue:
                continue
            something |= value is not None
            if value is None and nothing is None:
                nothing = (call, outcome)
    simple = all(isinstance(node.value, _PLAIN) for node in own)
    if nothing is None or not something or not simple:
        return None
    reason = "returns nothing on this path, a value on others"
    return Finding(nothing[0], "contradiction", nothing[1], reason)


_PLAIN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Compare, ast.BinOp,
          ast.ListComp, ast.JoinedStr, ast.UnaryOp, ast.DictComp, ast.SetComp)  # fmt: skip
"""Returned expressions that cannot be None themselves, so that None means: fell off the end."""


def _own_nodes(function: Function) -> list[ast.AST]:
    """Nodes of the function's body, those of functions inside it left out."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _says_none(node: ast.expr | None) -> bool:
    return node is None or any(
        isinstance(one, ast.Constant) and one.value is None for one in ast.walk(node)
    )


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

"""Synthesis: the whole function as one small expression, where no local edit mends it.

A program that misunderstands its task is out of reach of edits, but the right one is often a single
expression over the parameters. `synthesize` enumerates such expressions (`enumerate_child`, inside
the sandbox) from the trusted tests and writes the found ones into the user's source as the
function's body. Three examples fit many expressions: see `_worth_trying` and `_believable`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from refute.function.search.inputs import Tier, propose_inputs
from refute.function.search.operations import binary_operations, unary_operations
from refute.function.search.rewrite import rewrite
from refute.problems import Call, FunctionProblem, Invocation, UnitTest
from refute.sandbox import Limits, Outcome, Program, Returned, Sandbox, values
from refute.sandbox.equality import expect_test, matches

__all__ = ["Synthesised", "synthesize"]

LEAST_TESTS = 3
MOST_TESTS = 8
"""Trusted tests that the enumeration looks at, smallest first; all of them verify."""
LARGEST = 400
"""Items and characters of one test's input that the enumeration looks at."""
EXTRA = 4
"""Proposed inputs, without known outputs, on which expressions are told apart."""
PROBES = 40
MOST_CONSTANTS = 12
MOST_TRIED = 1_000_000
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Synthesised:
    """A program whose entry point returns one expression."""

    code: str
    """Source of the whole module."""
    expression: str
    cost: int
    """Operations and operands, weighted; lower is likelier."""
    line: int
    """Line of the function in the source before."""


def synthesize(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    *,
    box: Sandbox,
    hints: Sequence[UnitTest] = (),
    seconds: float = 3.0,
    seed: int = 0,
    most: int | None = None,
) -> list[Synthesised]:
    """Programs of one expression that pass all `tests` and `hints`, likeliest first, at most three.

    They behave differently on the proposed inputs. `seconds`: CPU time of the enumeration. `most`:
    candidates, instead of the time, for a result that does not depend on the clock. Returns nothing
    where the tests say too little (`_worth_trying`). Raises `SandboxUnavailable`.
    """
    place = _entry(problem)
    if place is None:
        return []
    tree, function = place
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    rows = _rows(tests, names)
    if not _worth_trying(tests, rows):
        return []
    chosen = sorted(rows, key=lambda row: _size(row[0]))[:MOST_TESTS]
    proposed = islice(propose_inputs(problem, [test.call for test in tests], seed=seed), PROBES)
    inside = [p.call for p in proposed if p.tier == Tier.IN_DOMAIN]
    extra = [args for call in inside if (args := _bound(call, names)) and _size(args) <= LARGEST]
    found = _enumerated(
        names,
        [args for args, _ in chosen] + extra[:EXTRA],
        [expected for _, expected in chosen],
        _constants(function),
        sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
               | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}),
        box, seconds, most,
    )  # fmt: skip
    calls: list[Invocation] = [test.call for test in (*tests, *hints)]
    expected = [expect_test(test) for test in (*tests, *hints)]
    kept: list[Synthesised] = []
    seen: list[tuple[Outcome, ...]] = []
    limits = Limits(cpu=1.0, wall=4.0, stop_after=3)
    for cost, source in found:
        code = _written(problem.code, tree, function, source)
        outcomes = box.run(Program(code, problem.entry_point), [*calls, *inside], limits)
        after = tuple(outcomes[len(calls) :])
        if not all(map(matches, outcomes, expected)) or after in seen:
            continue
        seen.append(after)
        kept.append(Synthesised(code, _tidy(source), cost, function.lineno))
        if len(kept) >= SHOWN:
            break
    return kept


def _entry(problem: FunctionProblem) -> tuple[ast.Module, ast.FunctionDef] | None:
    """The module and the function to be replaced; None where its parameters are not plain names."""
    try:
        tree = ast.parse(problem.code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    named = [s for s in tree.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    last = [s for s in named if s.name == problem.entry_point][-1:]
    if not last or not isinstance(last[0], ast.FunctionDef) or last[0].decorator_list:
        return None
    arguments = last[0].args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return None
    return (tree, last[0]) if arguments.args or arguments.posonlyargs else None


def _bound(call: Invocation, names: Sequence[str]) -> list[Any] | None:
    """The arguments in the order of the parameters; None where a default would be needed."""
    if not isinstance(call, Call):
        return None
    rest = names[len(call.args) :]
    if len(call.args) > len(names) or set(rest) != set(call.kwargs):
        return None
    return [*call.args, *[call.kwargs[name] for name in rest]]


def _rows(tests: Sequence[UnitTest], names: Sequence[str]) -> list[tuple[list[Any], Any]]:
    """Arguments and outputs of the tests that the enumeration can use."""
    rows = []
    for test in tests:
        args = _bound(test.call, names)
        if args is None or test.raises is not None or _size(args) > LARGEST:
            continue
        try:
            values.encode((args, test.expected), strict=True)
        except values.Unencodable:
            continue
        rows.append((args, test.expected))
    return rows


def _worth_trying(tests: Sequence[UnitTest], rows: Sequence[tuple[list[Any], Any]]) -> bool:
    """Enough examples, with more than one output: a constant fits the rest."""
    return (
        len(rows) >= LEAST_TESTS
        and not any(test.raises for test in tests)
        and len({repr(expected) for _, expected in rows}) >= 2
    )


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return 1 + len(value)
    if isinstance(value, dict):
        return 1 + sum(_size(k) + _size(v) for k, v in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return 1 + sum(map(_size, value))
    if isinstance(value, int):
        return 1 + value.bit_length() // 64
    return 1


def _constants(function: ast.FunctionDef) -> list[Any]:
    """Usual constants, then the small ones of the code itself."""
    found: list[Any] = [0, 1, 2, " ", ""]
    documented = ast.get_docstring(function, clean=False)
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(value, int | float | str) or isinstance(value, bool):
            continue
        fits = len(value) <= 20 if isinstance(value, str) else abs(value) < 1e12
        if (
            fits
            and value != documented
            and (type(value), value) not in [(type(c), c) for c in found]
        ):
            found.append(value)
    return found[:MOST_CONSTANTS]


@cache
def _enumerator() -> str:
    return Path(__file__).with_name("enumerate_child.py").read_text("utf-8")


def _enumerated(
    names: list[str],
    inputs: list[list[Any]],
    outputs: list[Any],
    constants: list[Any],
    words: list[str],
    box: Sandbox,
    seconds: float,
    most: int | None,
) -> list[tuple[int, str]]:
    """Cost and source of the expressions found, cheapest first; nothing where it was cut short."""
    allowed = seconds if most is None else 60.0
    unary, binary = unary_operations(words), binary_operations(words)
    counted = MOST_TRIED if most is None else most
    call = Call((names, inputs, outputs, constants, unary, binary, allowed, counted))
    limits = Limits(cpu=allowed + 1.5, memory=1 << 30)
    outcome = box.run(Program(_enumerator(), "synthesize"), [call], limits)[0]
    if not isinstance(outcome, Returned):
        return []
    found = outcome.value[0]
    kept = []
    for cost, source in found:
        used = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}
        if used & set(names):
            kept.append((cost, source))
    return sorted(kept, key=lambda pair: (pair[0], len(pair[1])))


def _written(code: str, tree: ast.Module, function: ast.FunctionDef, source: str) -> str:
    """The user's source with the function's body replaced; its docstring stays."""
    expression = ast.parse(source, mode="eval").body
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
    imported = {
        (alias.asname or alias.name)
        for stmt in tree.body
        if isinstance(stmt, ast.Import)
        for alias in stmt.names
        if alias.asname in (None, alias.name)
    }
    body: list[ast.stmt] = []
    if ast.get_docstring(function, clean=False) is not None:
        body.append(function.body[0])
    for module in ("collections", "itertools", "math"):
        if module in names and module not in imported:
            body.append(ast.Import([ast.alias(module)]))
    body.append(ast.Return(expression))
    place = tree.body.index(function)
    changed = copy.copy(function)
    changed.body = body
    new = ast.Module([*tree.body[:place], changed, *tree.body[place + 1 :]], tree.type_ignores)
    tree = ast.parse(ast.unparse(ast.fix_missing_locations(new)))
    text = rewrite(code, tree)
    tidy = text.replace(f"return {ast.unparse(expression)}", f"return {_tidy(source)}")
    return tidy if ast.dump(ast.parse(tidy)) == ast.dump(ast.parse(text)) else text


def _tidy(source: str) -> str:
    """``f((x for x in y))`` without the inner parentheses, which `ast.unparse` writes."""
    data = bytearray(source, "utf-8")
    spots: list[int] = []
    for node in ast.walk(ast.parse(source, mode="eval")):
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            continue
        only = node.args[0]
        if isinstance(only, ast.GeneratorExp) and only.end_col_offset is not None:
            start, end = only.col_offset, only.end_col_offset
            if data[start - 1 : start + 1] == b"((" and data[end - 1 : end + 1] == b"))":
                spots += [start, end - 1]
    for spot in sorted(spots, reverse=True):
        del data[spot]
    return data.decode()

"""Synthesis: the whole function as one small expression, where no local edit fixes it.

A program that misunderstands its task is out of reach of edits, but the right one is often a single
expression over the parameters. `synthesize` enumerates such expressions (`enumerator`, inside
the sandbox) from the trusted tests and writes the found ones into the user's source as the
function's body. Three examples fit many expressions: see `expressible` and `BITS`. It is kept for 8
of the 31 right first fixes on mbpp-fix-hard (dev), and 2 of 25 on rows held out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from refute.core.problems import Call, FunctionProblem, Invocation, Trust, UnitTest
from refute.function.contract import Candidate, FailingTest, MethodResult
from refute.function.search.choose import Cluster, differs, question_for
from refute.function.search.inputs import Tier, propose_inputs
from refute.sandbox import Limits, Outcome, Program, Returned, Sandbox, values
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.values import crosses
from refute.source.syntax import parse_module

__all__ = ["BITS", "UNLIKELY", "Synthesised", "expressed", "expressible", "synthesize"]

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
BITS = 0.7
"""Bits that the outputs must hold for each unit of an expression's cost: a few truth values or
small numbers are met by accident. From the development data, both folds."""
LEAST_BITS = 3.0
"""Bits that the outputs must hold for any expression: more than truth values do."""


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
    bits: float = BITS,
) -> list[Synthesised]:
    """Programs of one expression that pass all `tests` and `hints`, likeliest first, at most three.

    They behave differently on the proposed inputs. `seconds`: CPU time of the enumeration. `most`:
    candidates, instead of the time, for a result that does not depend on the clock. `bits`: that
    the outputs must hold for each unit of an expression's cost. Returns nothing where the tests say
    too little (`expressible`). Raises `SandboxUnavailable`.
    """
    from refute.function.search.templates import with_body

    place = _entry(problem)
    if place is None:
        return []
    tree, function = place
    names = _names(function)
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
    most_cost = _evidence([expected for _, expected in rows]) / bits
    found = [(cost, source) for cost, source in found if cost <= most_cost]
    calls: list[Invocation] = [test.call for test in (*tests, *hints)]
    expected = [expect_test(test) for test in (*tests, *hints)]
    kept: list[Synthesised] = []
    seen: list[tuple[Outcome, ...]] = []
    limits = Limits(cpu=1.0, wall=4.0, stop_after=3)
    for cost, source in found:
        code = with_body(problem.code, tree, function, source)
        outcomes = box.run(Program(code, problem.entry_point), [*calls, *inside], limits)
        after = tuple(outcomes[len(calls) :])
        if not all(map(matches, outcomes, expected)) or after in seen:
            continue
        seen.append(after)
        kept.append(Synthesised(code, source, cost, function.lineno))
        if len(kept) >= SHOWN:
            break
    return kept


def _entry(problem: FunctionProblem) -> tuple[ast.Module, ast.FunctionDef] | None:
    """The module and the function to be replaced; None where its parameters are not plain names."""
    try:
        tree = parse_module(problem.code)
    except SyntaxError:
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


def expressible(problem: FunctionProblem, tests: Sequence[UnitTest]) -> bool:
    """Whether `synthesize` would try: enough examples, with more than one output, and plain names.

    A constant fits examples with one output only, and truth values are met by accident.
    """
    place = _entry(problem) if len(tests) >= LEAST_TESTS else None
    return place is not None and _worth_trying(tests, _rows(tests, _names(place[1])))


def _names(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def _worth_trying(tests: Sequence[UnitTest], rows: Sequence[tuple[list[Any], Any]]) -> bool:
    outputs = [expected for _, expected in rows]
    return (
        len(rows) >= LEAST_TESTS
        and not any(test.raises for test in tests)
        and len({repr(output) for output in outputs}) >= 2
        and _evidence(outputs) >= LEAST_BITS
    )


def _evidence(outputs: Sequence[Any]) -> float:
    """About how many bits of information the distinct outputs hold."""
    distinct = {repr(output): output for output in outputs}
    return sum(map(_bits, distinct.values()))


def _bits(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        return 1.0
    if isinstance(value, int):
        return 1.0 + value.bit_length()
    if isinstance(value, float):
        return 1.0 + int(value).bit_length() if value.is_integer() else 20.0
    if isinstance(value, str | bytes):
        return 5.0 * len(value)
    if isinstance(value, dict):
        return 2.0 + sum(_bits(k) + _bits(v) for k, v in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return 2.0 + sum(map(_bits, value))
    return 1.0


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
    from refute.function.search import enumerator
    from refute.function.search.templates import binary_operations, composed, unary_operations

    allowed = seconds if most is None else 60.0
    unary, binary = unary_operations(words), binary_operations(words)
    counted = MOST_TRIED if most is None else most
    call = Call((names, inputs, outputs, constants, unary, binary, allowed, counted))
    limits = Limits(cpu=allowed + 1.5, memory=1 << 30)
    outcome = box.run(
        Program(enumerator.source(), enumerator.ENTRY_POINT, "<enumerator>"), [call], limits
    )[0]
    if not isinstance(outcome, Returned):
        return []
    found = outcome.value[0]
    kept = []
    for cost, form in found:
        source = composed(form, {*names, *words})
        used = {n.id for n in ast.walk(parse_module(source)) if isinstance(n, ast.Name)}
        if used & set(names):
            kept.append((cost, source))
    return sorted(kept, key=lambda pair: (pair[0], len(pair[1])))


UNLIKELY = -1.75
"""An edited program that scores no higher is right about once in six (development data)."""
MOST_DERIVED = 5
CONFIDENCE = 0.6
PER_COST = -0.25
"""Log score of a unit of cost."""
LIMITS = Limits(cpu=0.3, wall=1.5, memory=400 << 20, output=1 << 20, stop_after=2)


def expressed(
    problem: FunctionProblem,
    result: MethodResult,
    inputs: Sequence[tuple[Invocation, Tier]],
    *,
    box: Sandbox,
    hints: Sequence[UnitTest],
    seconds: float,
    seed: int,
    most: int | None = None,
) -> MethodResult:
    """`result` with synthesised programs first, where it has no fix or none that is likely.

    Arguments as `synthesize`; `inputs` are those on which candidates are told apart. Unchanged
    where there is a likely fix, nothing to fix, or no expression is found.
    """
    likely = result.candidates and result.candidates[0].score > UNLIKELY
    if likely or seconds < 0.3 or not any(f.test.trust < Trust.PREDICTED for f in result.failing):
        return result
    made = synthesize(
        problem,
        result.given,
        box=box,
        hints=hints,
        seconds=seconds,
        seed=seed,
        most=most,
    )
    if not made:
        return result
    best = max((c.score for c in result.candidates), default=PER_COST * made[0].cost)
    fresh = [_candidate(one, max(best, PER_COST * made[0].cost)) for one in made]
    calls = [call for call, _ in inputs]
    kept: list[Candidate] = []
    rows: list[tuple[Outcome, ...]] = []
    for candidate in (*fresh, *result.candidates):
        row = tuple(box.run(Program(candidate.code, problem.entry_point), calls, LIMITS))
        if row not in rows and len(kept) < SHOWN:
            kept.append(candidate)
            rows.append(row)
    question, _ = question_for([Cluster([], row) for row in rows], inputs)
    given = [f for f in result.failing if f.test.trust < Trust.PREDICTED]
    notes = tuple(note for note in result.notes if "no fix is proposed" not in note)
    return replace(
        result,
        failing=(*given, *_derived(problem, rows[0], inputs, box)),
        candidates=tuple(kept),
        question=question,
        notes=(*notes, "no likely edit was found: the function is written anew"),
        reservations=("the function is written anew",),
    )


def _candidate(one: Synthesised, best: float) -> Candidate:
    text = f"line {one.line}: the body becomes `return {one.expression}` (synthesis)"
    return Candidate(one.code, best + 0.01 / one.cost, (text,))


def _derived(
    problem: FunctionProblem,
    wanted: Sequence[Outcome],
    inputs: Sequence[tuple[Invocation, Tier]],
    box: Sandbox,
) -> list[FailingTest]:
    """Failing tests that the first synthesised program predicts."""
    program = Program(problem.code, problem.entry_point)
    actual = box.run(program, [call for call, _ in inputs], LIMITS)
    tests: list[FailingTest] = []
    for (call, tier), right, got in zip(inputs, wanted, actual, strict=True):
        if (
            tier != Tier.IN_DOMAIN
            or not isinstance(right, Returned)
            or not differs(right, got)
            or not crosses(right.value)
        ):
            continue
        test = UnitTest(
            call, right.value, trust=Trust.PREDICTED, source="synthesis", confidence=CONFIDENCE
        )
        if not matches(got, expect_test(test)):
            tests.append(FailingTest(test, got))
        if len(tests) >= MOST_DERIVED:
            break
    return tests

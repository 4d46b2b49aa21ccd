"""Find the calls that a session makes, and the doctest examples that are one call with and without
their session.

Only such a call is fit to be shown, and varied by the search. What a session bound before may be
another function of that name, or have changed since it was made: then the session itself is asked
what it calls, and with what (`sandbox.replay`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from refute.core.problems import Call, DoctestSession, Expression, FunctionProblem, Trust, UnitTest
from refute.function.examples.formal import doctests
from refute.function.examples.scripts import DoctestScript, DoctestStep
from refute.function.examples.subject import Reading, grounded, subject
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.equality import equal, equal_types, expect_test, matches
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, parse_literal
from refute.source.syntax import parse_expression, try_parse_statements

_LIMITS = Limits(cpu=1.0, wall=3.0)

Row = tuple[str, "str | None", bool]
"""What an example showed: see `DoctestSession`."""
Made = tuple["tuple[Any, ...] | None", "dict[str, Any] | None", "tuple[str, Any] | None"]
"""A call of the function: arguments, keywords, ("returned" or "raised", what). None: not known."""


def agreed(
    script: DoctestScript,
    shown: Sequence[Row | Outcome],
    failing: Collection[int],
    chosen: Sequence[int],
    problem: FunctionProblem,
    program: Program,
    box: Sandbox,
) -> dict[int, UnitTest]:
    """Those of the `chosen` examples that are one call (or one expression) and do the same without
    their session, in which each showed what is in `shown`. Raises `SandboxUnavailable`."""
    about = subject(script.text, problem.entry_point, problem.code)
    readings: dict[int, list[Reading]] = {}
    for reading in grounded(doctests(about)[0], about):
        readings.setdefault(about.line(reading.span[0]), []).append(reading)
    drafts: dict[int, UnitTest] = {}
    for index in chosen:
        step = script.steps[index]
        found = readings.get(step.line - script.first + 1, [])
        if len(found) == 1 and _is_plain(found[0], step, problem.entry_point):
            test = _test_of(found[0], step)
            if test is not None:
                drafts[index] = test
    doubtful = _doubtful(script.steps)
    looks = _looks(drafts, doubtful, script.steps, shown)
    calls = [test.call for test in drafts.values()]  # all in one run: it imports the program once
    outcomes = box.run(program, [*calls, *looks.values()], _LIMITS) if drafts else []
    seen = dict(zip(looks, map(calls_made, outcomes[len(calls) :]), strict=True))
    there = seen.get(None, [])
    kept = {}
    for (index, test), outcome in zip(drafts.items(), outcomes, strict=False):
        passes = index not in failing
        if isinstance(outcome, NotRun) or matches(outcome, expect_test(test)) is not passes:
            continue
        if not _is_condition(script.steps[index]) and not _does_the_same(outcome, shown[index]):
            continue
        if index in doubtful:
            made = _made_for(script.steps[: index + 1], there)
            mine = [one for step in seen.get(index, []) for one in step]
            if not isinstance(test.call, (Call, Expression)) or not makes(
                made, test.call, outcome, mine
            ):
                continue
        kept[index] = test
    said: dict[str, set[str]] = {}
    for test in kept.values():
        said.setdefault(repr(test.call), set()).add(repr((test.expected, test.raises)))
    return {i: test for i, test in kept.items() if len(said[repr(test.call)]) == 1}


def _made_for(steps: Sequence[DoctestStep], there: Sequence[list[Made]]) -> list[Made]:
    """The calls that the last of the steps shows the outcome of: its own; where it makes none, as
    where it shows a variable, those of the step that bound what it reads."""
    for step, made in zip(reversed(steps), reversed(there[: len(steps)]), strict=False):
        if made and (step is steps[-1] or step.binds & steps[-1].reads):
            return made
    return []


def _doubtful(steps: Sequence[DoctestStep]) -> set[int]:
    """The steps that read what the session bound before: it may be another function of that name,
    or have changed since it was made."""
    bound: set[str] = set()
    found = set()
    for index, step in enumerate(steps):
        if step.reads & bound or "*" in bound:
            found.add(index)
        bound |= step.binds
    return found


def _looks(
    drafts: Mapping[int, UnitTest],
    doubtful: set[int],
    steps: Sequence[DoctestStep],
    shown: Sequence[Row | Outcome],
) -> dict[int | None, DoctestSession]:
    """Return sessions that report calls: of the whole session (None), and of each expression."""
    looked = [i for i in drafts if i in doubtful and isinstance(shown[i], tuple)]
    if not looked:
        return {}
    whole = DoctestSession(tuple(step.source for step in steps[: max(looked) + 1]))
    found: dict[int | None, DoctestSession] = {None: looking_at(whole)}
    for index in looked:
        call = drafts[index].call
        if isinstance(call, Expression):
            found[index] = looking_at(call)
    return found


def _is_plain(reading: Reading, step: DoctestStep, entry_point: str) -> bool:
    """Return whether the reading is what stands there, nothing put in, and so fit to be shown."""
    if isinstance(reading.call, Call):
        return True
    try:
        written = ast.unparse(parse_expression(step.source.strip()))
    except SyntaxError:
        return False
    return isinstance(reading.call, Expression) and reading.call.source == written


def _is_condition(step: DoctestStep) -> bool:
    """Return whether it is an assertion, or a comparison that is to be true: read as its two
    sides."""
    match try_parse_statements(step.source):
        case [ast.Assert()]:
            return not step.want.text
        case [ast.Expr(value=ast.Compare())]:
            return step.want.text == "True\n"
    return False


def _test_of(reading: Reading, step: DoctestStep) -> UnitTest | None:
    """The reading as a test, where its outcome is what `doctest` wants, nothing more or less."""
    source = f"doctest line {step.line}"
    if _is_condition(step):
        if not isinstance(reading.call, Call) or reading.raises is not None:
            return None
        return UnitTest(reading.call, reading.expected, None, Trust.STATED, source, None, 0.99)
    if reading.raises is not None:
        said = (step.want.raised or "").partition(":")[0].strip().rpartition(".")[2]
        if said != reading.raises:
            return None
        return UnitTest(reading.call, None, reading.raises, Trust.STATED, source, None, 0.99)
    try:
        value = parse_literal(step.want.text) if step.want.text else None
    except NotLiteral:
        return None
    if not equal_types(value, reading.expected):
        return None
    return UnitTest(reading.call, value, None, Trust.STATED, source, None, 0.99, typed=True)


def _does_the_same(outcome: Outcome, row: Row | Outcome) -> bool:
    """Return whether a call did what its session showed."""
    if not isinstance(row, tuple):
        return type(outcome) is type(row) and isinstance(outcome, TimedOut)
    text, raised, _ = row
    if raised is not None:
        kind = raised.partition(":")[0].strip().rpartition(".")[2]
        return isinstance(outcome, Raised) and outcome.type == kind
    if not isinstance(outcome, Returned):
        return False
    try:
        value = outcome.value
        if not text:
            return value is None
        return repr(value) == text.rstrip("\n") or equal_types(parse_literal(text), value)
    except (MalformedValue, NotLiteral, ValueError, RecursionError):
        return False


# -- what a session calls --------------------------------------------------------------------------


def looking_at(call: Expression | DoctestSession) -> DoctestSession:
    """Return a session that reports the calls that it makes (see `calls_made`)."""
    steps = call.steps if isinstance(call, DoctestSession) else (f"{call.source}\n",)
    return DoctestSession(steps, len(steps), observed=True)


def calls_made(outcome: Outcome) -> list[list[Made]]:
    """The calls that each step made; [] where it was cut short, or returned anything else."""
    if not isinstance(outcome, Returned):
        return []
    try:
        value = outcome.value
    except MalformedValue:
        return []
    if not isinstance(value, list):
        return []
    rows = all(isinstance(step, list) and all(map(_is_made, step)) for step in value)
    return value if rows else []


def _is_made(value: Any) -> bool:
    match value:
        case (tuple() | None, dict() | None, (str(), _) | None):
            return True
    return False


def makes(
    made: Sequence[Made], call: Call | Expression, outcome: Outcome, mine: Sequence[Made]
) -> bool:
    """Return whether `call`, whose outcome by itself is known, is among the calls that were seen,
    and came out alike. An expression: whether all calls that it makes by itself, `mine`, are."""
    if isinstance(call, Call):
        mine = [(call.args, dict(call.kwargs), _told(outcome))]
    return bool(mine) and all(any(_is_same(one, other) for other in made) for one in mine)


def _told(outcome: Outcome) -> tuple[str, Any] | None:
    match outcome:
        case Raised(type=kind):
            return "raised", kind
        case Returned():
            try:
                return "returned", outcome.value
            except MalformedValue:
                return None
    return "cut short", None


def _is_same(one: Made, other: Made) -> bool:
    if not equal_types(list(one[:2]), list(other[:2])):
        return False
    if one[2] is None or other[2] is None:
        return True
    return one[2][0] == other[2][0] and equal(one[2][1], other[2][1])

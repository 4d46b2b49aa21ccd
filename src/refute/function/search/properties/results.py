"""Properties of any result: its type, that there is one, that arguments are answered."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute.function.examples.hints import docstring_of
from refute.function.search.properties.base import (
    GUARDS,
    Property,
    Rows,
    alone,
    prose,
    said_in,
    value_of,
)
from refute.problems import Call, FunctionProblem
from refute.sandbox import Outcome, Raised, TimedOut
from refute.syntax import parse_module

__all__ = ["answers", "deliberate", "kind_of_result", "truth"]


def kind_of_result(words: str, rows: Rows, code: str) -> Property | None:
    """Whole numbers, and results at all, where neither examples nor code show anything else."""
    kinds = {type(expected) for _, expected in rows}
    if len(kinds) != 1 or said_in(words, "none|null|nothing|float|decimal|ratio|average|mean"):
        return None
    kind = kinds.pop()
    if kind not in (int, str, list, tuple, bool):
        return None
    nothing = any(
        isinstance(node, ast.Constant) and node.value is None
        for node in ast.walk(parse_module(code))
    )

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        if value is None or (value[0] is None and nothing):
            return None
        if isinstance(value[0], str) and kind is not str:
            return False  # a complaint in words
        return value[0] is not None and not (kind is int and type(value[0]) is float)

    def fraction(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        return value is not None and type(value[0]) is float and not value[0].is_integer()

    what = "a whole number" if kind is int else f"a value of type {kind.__name__}"
    return Property(
        "kind of result",
        f"the examples show {what}",
        alone,
        holds,
        certain=True,
        keeps_values=True,
        unless=fraction if kind is int else None,
    )


_CHECK = "check|checks|whether|determine|determines|verify|returns? true|is it"


_ALL = "all|every|each|same|identical|equal|sorted|consecutive|unique|distinct|only"


def truth(words: str, rows: Rows) -> Property | None:
    """A check has an answer for every input: False, but all elements of nothing are anything."""
    said = said_in(words, _CHECK)
    if said is None or not all(isinstance(expected, bool) for _, expected in rows):
        return None
    vacuous = said_in(words, _ALL) is not None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        if isinstance(outcomes[0], Raised | TimedOut):
            return False
        value = value_of(outcomes[0])
        return None if value is None else isinstance(value[0], bool)

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        nothing = hasattr(call.args[0], "__len__") and len(call.args[0]) == 0
        return value is not None and value[0] is (vacuous and nothing)

    because = f"“{said}”: the answer is True or False"
    return Property("truth", because, alone, holds, mends=mends, exact=True, kinds=GUARDS)


_REFUSALS = "error|errors|exception|exceptions|raise|raises|invalid|valid|throw|throws|fail|assert"


def refusals(code: str) -> frozenset[int]:
    """Lines of the `raise` statements of a program."""
    return frozenset(
        line
        for node in ast.walk(parse_module(code))
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def deliberate(problem: FunctionProblem) -> frozenset[int]:
    """Lines that refuse arguments on purpose: the description says so, or is the author's own."""
    own = problem.description.strip() == docstring_of(problem.code, problem.entry_point).strip()
    told = said_in(prose(problem), _REFUSALS) is not None
    return refusals(problem.code) if own or told else frozenset()


def answers(problem: FunctionProblem, rows: Rows) -> Property | None:
    """Nothing is refused of which the description does not say so.

    The author of a docstring knew why a check is there: it is doubted only where somebody else
    wrote the description.
    """
    lines = refusals(problem.code) - deliberate(problem)
    if not lines:
        return None
    kinds = {type(expected) for _, expected in rows}

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        one = outcomes[0]
        if isinstance(one, Raised):
            return (
                False
                if one.line in lines
                and one.type in ("ValueError", "IndexError", "TypeError", "Exception")
                else None
            )
        value = value_of(one)
        return None if value is None else type(value[0]) in kinds

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        return None if value is None else type(value[0]) in kinds

    because = "the description excludes no arguments, the code refuses some"
    kind = frozenset({"drop check"})
    return Property("answers", because, alone, holds, certain=True, mends=mends, kinds=kind)

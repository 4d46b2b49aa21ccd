"""A property of any result: that arguments are answered."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute.function.search.properties.base import (
    Property,
    Rows,
    alone,
    prose,
    said_in,
    value_of,
)
from refute.problems import Call, FunctionProblem
from refute.sandbox import Outcome, Raised
from refute.syntax import docstring_of, parse_module

__all__ = ["answers", "deliberate"]


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

"""Properties of any result: its type, that there is one, that arguments are answered."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refute.function.search.properties.base import Property, Rows, alone, said_in, value_of
from refute.problems import Call
from refute.sandbox import Outcome, Raised
from refute.syntax import parse_module

__all__ = ["answers", "kind_of_result", "truth"]


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


def truth(words: str, rows: Rows) -> Property | None:
    """A check answers False where it cannot go on."""
    said = said_in(words, _CHECK)
    if said is None or not all(isinstance(expected, bool) for _, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        if isinstance(outcomes[0], Raised):
            return False
        value = value_of(outcomes[0])
        return None if value is None else isinstance(value[0], bool)

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        return value is not None and value[0] is False

    because = f"“{said}”: the answer is True or False"
    return Property("truth", because, alone, holds, mends=mends)


_REFUSALS = "error|errors|exception|exceptions|raise|raises|invalid|valid|throw|throws|fail|assert"


def answers(words: str, rows: Rows, code: str, own: bool) -> Property | None:
    """Nothing is refused of which the description does not say so."""
    if said_in(words, _REFUSALS) or own:
        return None
    lines = {
        line
        for node in ast.walk(parse_module(code))
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
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

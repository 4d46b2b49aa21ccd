"""Metamorphic properties: how the results of related inputs are related."""

from __future__ import annotations

from collections.abc import Sequence

from refute.function.search.properties.base import Property, Rows, said_in, value_of
from refute.function.show import call_source
from refute.problems import Call, Expression, Invocation
from refute.sandbox import Outcome
from refute.sandbox.equality import equal

__all__ = ["once", "symmetric"]

_FINAL = (
    "remove|removes|filter|filters|drop|drops|delete|deletes|sort|sorts|flatten|flattens"
    "|uppercase|lowercase|unique|duplicates"
)


def once(entry_point: str, words: str, rows: Rows) -> Property | None:
    """What is done is done: removing, sorting, flattening again changes nothing."""
    said = said_in(words, _FINAL)
    if said is None or said_in(words, "first|last|one|once|nth|specified number|index|position"):
        return None
    if not all(type(args[0]) is type(expected) for args, expected in rows):
        return None
    if not all(isinstance(expected, str | list | tuple | dict) for _, expected in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        source = call_source(call, entry_point)
        rest = ", ".join([source, *[repr(arg) for arg in call.args[1:]]])
        return call, Expression(f"{entry_point}({rest})")

    because = f"“{said}”: doing it again changes nothing"
    return Property("once", because, calls, _same_values)


def _same_values(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
    """Whether all calls return the same; None where one of them returns nothing readable."""
    values = [value_of(outcome) for outcome in outcomes]
    known = [value[0] for value in values if value is not None]
    if len(known) < len(values):
        return None
    return all(equal(value, known[0]) for value in known[1:])


_ALIKE = "two|three|both|common|equal|same|minimum|maximum|sum|product|number of"
_UNLIKE = (
    "first|second|third|difference|power|divid\\w+|subtract\\w*|modulo|remainder|base|greater"
    "|smaller|less|larger|range|between|nth|n|k|m|position|index|radius|height|length|width"
)


def symmetric(words: str, rows: Rows) -> Property | None:
    """Two or three arguments in the same role may be given in any order."""
    said = said_in(words, _ALIKE)
    if said is None or said_in(words, _UNLIKE):
        return None
    if not all(
        2 <= len(args) <= 3 and len({type(arg) for arg in args}) == 1 for args, _ in rows
    ) or any(isinstance(expected, list | tuple | str | dict) for _, expected in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        turned = (*call.args[1:], call.args[0])
        return call, Call(call.args[::-1]), Call(turned)

    because = f"“{said}”: the arguments are alike"
    return Property("symmetric", because, calls, _same_values, everywhere=True)

"""Properties of results that consist of elements of the arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from refute.function.search.properties.base import (
    Property,
    Rows,
    alone,
    on_value,
    said_in,
    value_of,
)
from refute.problems import Call
from refute.sandbox import Outcome
from refute.sandbox.equality import equal

__all__ = ["ascending", "distinct", "kept", "occurrence", "rearranged"]


def kept(words: str, rows: Rows) -> Property | None:
    """What remains after something is removed stands in the order in which it stood."""
    said = said_in(
        words, "remove|removes|filter|filters|drop|drops|delete|deletes|extract|extracts"
    )
    if said is None or not all(_within(args[0], expected) for args, expected in rows):
        return None

    holds = on_value(lambda call, value: _within(call.args[0], value))
    because = f"“{said}”: what is left keeps its order"
    return Property("order kept", because, alone, holds, everywhere=True)


def _within(whole: Any, part: Any) -> bool:
    """Whether `part` is what is left of `whole` when some items are taken out."""
    if not isinstance(whole, str | list | tuple) or type(part) is not type(whole):
        return False
    rest = iter(whole)
    return all(any(equal(item, other) for other in rest) for item in part)


_MOVES = "sort|sorts|sorted|reverse|reverses|rearrange|interchange|swap|rotate|shift|move|moves"
_REPEATS = "distinct|unique|duplicate|duplicates"
_CHOOSES = f"{_REPEATS}|remove|removes|filter|filters|only|without|even|odd|common"
"""What is sorted then is a choice of the elements."""


def rearranged(words: str, rows: Rows) -> Property | None:
    """What is only rearranged stays complete."""
    said = said_in(words, _MOVES)
    if (
        said is None
        or said_in(words, _CHOOSES)
        or not all(_permuted(args[0], expected) for args, expected in rows)
    ):
        return None

    holds = on_value(lambda call, value: _permuted(call.args[0], value))
    because = f"“{said}”: no element is lost or made"
    return Property("rearranged", because, alone, holds, everywhere=True)


def _permuted(before: Any, after: Any) -> bool:
    if not isinstance(before, list | tuple) or type(after) is not type(before):
        return False
    return Counter(map(repr, before)) == Counter(map(repr, after))


def distinct(words: str, rows: Rows) -> Property | None:
    """No element stands twice among the distinct ones."""
    said = said_in(words, _REPEATS)
    if said is None or not all(_without_repeats(expected) for _, expected in rows):
        return None

    holds = on_value(lambda _, value: _without_repeats(value))
    return Property("distinct", f"“{said}”: no element stands twice", alone, holds, everywhere=True)


def _without_repeats(items: Any) -> bool:
    if not isinstance(items, list | tuple):
        return False
    return all(not equal(item, other) for n, item in enumerate(items) for other in items[:n])


def ascending(words: str, rows: Rows) -> Property | None:
    """What is sorted is in order."""
    said = said_in(words, "sort|sorts|sorted")
    down = said_in(words, "descending|decreasing|reverse") is not None
    if (
        said is None
        or said_in(words, "by|according|based|key|custom")
        or not all(_in_order(expected, down) for _, expected in rows)
    ):
        return None

    holds = on_value(lambda _, value: _in_order(value, down))
    return Property("in order", f"“{said}”: the result is in order", alone, holds)


def _in_order(items: Any, down: bool) -> bool:
    if not isinstance(items, list | tuple | str):
        return False
    if any(isinstance(item, list | tuple | dict) for item in items):
        return False  # the order may be that of a part
    try:
        return list(items) == sorted(items, reverse=down)
    except TypeError:
        return False


def occurrence(words: str, rows: Rows) -> Property | None:
    """The first (last) place of a value is one that has no other before (after) it."""
    said = said_in(words, "(?:first|last) (?:occurr?ence|position|index|appearance)")
    if said is None:
        return None
    first = said.startswith("first")

    def place(args: tuple[Any, ...]) -> int | None:
        if len(args) != 2 or not isinstance(args[0], list | tuple | str):
            return None
        places = [at for at, item in enumerate(args[0]) if equal(item, args[1])]
        return places[0 if first else -1] if places else None

    if not all(place(args) is not None and place(args) == expected for args, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        right, value = place(call.args), value_of(outcomes[0])
        return None if right is None or value is None else equal(value[0], right)

    because = f"“{said}”: no other lies beyond it"
    return Property("occurrence", because, alone, holds)

"""Metamorphic properties: how the results of related inputs are related."""

from __future__ import annotations

from collections.abc import Sequence

from refute.function.search.properties.base import GUARDS, Property, Rows, said_in, value_of
from refute.function.search.properties.elements import MOVES
from refute.function.show import call_source
from refute.problems import Call, Expression, Invocation
from refute.sandbox import Outcome, Raised, Returned
from refute.sandbox.equality import equal

__all__ = ["caseless", "nothing", "once", "signless", "symmetric", "total_of_nothing", "unordered"]

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


def nothing(words: str, rows: Rows) -> Property | None:
    """Of nothing, nothing is left: an empty collection gives an empty one."""
    said = said_in(words, f"{_FINAL}|{MOVES}|extract|each|every|elements?")
    if said is None or said_in(words, "non[- ]?empty|sum|power set|subsets?|combinations|splits?"):
        return None
    if any(isinstance(arg, list | tuple | set | dict) for args, _ in rows for arg in args[1:]):
        return None  # something may be left of the others
    kinds = {type(expected) for _, expected in rows} | {type(args[0]) for args, _ in rows}
    if len(kinds) != 1 or not kinds <= {str, list, tuple}:
        return None
    empty = kinds.pop()()

    def calls(call: Call) -> tuple[Invocation, ...]:
        return (Call((empty, *call.args[1:])),)

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        if isinstance(outcomes[0], Raised):
            return False
        value = value_of(outcomes[0])
        return None if value is None else equal(value[0], empty)

    because = f"“{said}”: what is empty stays empty"
    return Property("nothing", because, calls, holds, certain=True, exact=True, kinds=GUARDS)


def total_of_nothing(words: str, rows: Rows) -> Property | None:
    """In nothing there is nothing to count or to add up."""
    said = said_in(words, "count|counts|number of|sum|total|length of")
    if said is None or said_in(words, "non[- ]?empty|minimum|maximum|largest|smallest|substrings"):
        return None
    if not all(
        isinstance(args[0], str | list | tuple) and type(expected) is int for args, expected in rows
    ):
        return None

    def calls(call: Call) -> tuple[Invocation, ...]:
        return (Call((type(call.args[0])(), *call.args[1:])),)

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        return not isinstance(outcomes[0], Raised)

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        return value is not None and equal(value[0], 0)

    because = f"“{said}”: 0 where there is nothing"
    return Property(
        "total of nothing",
        because,
        calls,
        holds,
        certain=True,
        mends=mends,
        exact=True,
        kinds=GUARDS,
    )


def caseless(words: str, rows: Rows) -> Property | None:
    """Upper and lower case are the same where the description says so."""
    said = said_in(
        words,
        r"case[- ]?insensitive\w*|ignor\w+ case|irrespective of case|regardless of case"
        r"|vowels?|consonants?",
    )
    if said is None or not all(isinstance(args[0], str) for args, _ in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        text = call.args[0]
        if not isinstance(text, str) or not text.isascii():
            return None
        return call, Call((text.swapcase(), *call.args[1:]))

    because = f"“{said}”: upper and lower case are the same"
    return Property("caseless", because, calls, _same_number_or_truth, certain=True)


def _same_number_or_truth(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
    one = value_of(outcomes[0])
    if one is None or isinstance(one[0], str | list | tuple | dict):
        return None
    return _same_values(call, outcomes)


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


def signless(words: str, rows: Rows) -> Property | None:
    """A minus sign is no digit, and no reason to crash."""
    said = said_in(words, "digits?")
    if said is None or not all(len(args) == 1 and type(args[0]) is int for args, _ in rows):
        return None
    if not all(args[0] > 0 for args, _ in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        number = call.args[0]
        if type(number) is not int or number <= 0:
            return None
        return call, Call((-number, *call.args[1:]))

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        if not isinstance(outcomes[0], Returned):
            return None
        return not isinstance(outcomes[1], Raised)

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        one, other = value_of(outcomes[0]), value_of(outcomes[1])
        return one is not None and other is not None and equal(one[0], other[0])

    because = f"“{said}”: those of a negative number are those of its absolute value"
    return Property("signless", because, calls, holds, certain=True, mends=mends)


_TOTALS = (
    "sum|total|product|maximum|minimum|largest|smallest|highest|lowest|count|number of|average"
    "|mean|median|common|unique|distinct"
)
_PLACES = (
    "index|indices|position|positions|consecutive|adjacent|contiguous|continuous|neighbou?rs?"
    "|sub-?arrays?|sub-?lists?|subsequences?|substrings?|sequence|sequences|order|ordered|sorted"
    "|first|last|nth|next|previous|inversions?|rotated?|increasing|decreasing|matrix|path"
    "|alternate|difference|bitonic|jumps?"
)


def unordered(words: str, rows: Rows) -> Property | None:
    """A total does not depend on the order of what it is taken of."""
    said = said_in(words, _TOTALS)
    if said is None or said_in(words, _PLACES):
        return None
    if not all(
        isinstance(args[0], list | tuple) and isinstance(expected, int | float)
        for args, expected in rows
    ):
        return None
    if any(isinstance(item, list | tuple | dict) for args, _ in rows for item in args[0]):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        items = call.args[0]
        if not isinstance(items, list | tuple) or len(items) < 2:
            return None
        turned = [items[::-1], type(items)([*items[1:], items[0]])]
        return call, *[Call((other, *call.args[1:])) for other in turned]

    because = f"“{said}”: the order of the elements does not matter"
    return Property("unordered", because, calls, _same_values, everywhere=True)

"""What a description implies about outputs, beyond its examples: properties to test a program by.

A metamorphic or partial oracle (Chen, Cheung and Yiu, "Metamorphic Testing", 1998) for the words
that descriptions use all the time: what is removed stays removed, sorting keeps the elements, the
largest element is an element, a check says True or False. Each property names the class of
descriptions that it is for, and is adopted only where the examples agree with it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.function.examples.hints import docstring_of
from refute.function.search.precondition import known_arguments
from refute.function.show import call_source
from refute.problems import Call, Expression, FunctionProblem, Invocation, UnitTest
from refute.sandbox import Outcome, Raised, Returned
from refute.sandbox.equality import equal
from refute.sandbox.values import MalformedValue

__all__ = ["Property", "properties", "prose"]

Verdict = Callable[[Call, Sequence[Outcome]], bool | None]


@dataclass(frozen=True, slots=True)
class Property:
    """Something that holds for every input; `holds` says None where an input says nothing."""

    name: str
    because: str
    """For people: what is expected, and of which word of the description it follows."""
    calls: Callable[[Call], tuple[Invocation, ...] | None]
    """The calls that it takes to test one input, that input first; None: it does not apply."""
    holds: Verdict
    """Whether it holds, from the outcomes of `calls`."""
    certain: bool = False
    """Whether a program may break it on most inputs and still be doubted for it."""
    keeps_values: bool = False
    """Whether what a program returned is right in value even where it broke this."""
    mends: Verdict | None = None
    """What a fix must do where the program broke it; None: `holds`."""
    kinds: frozenset[str] = frozenset()
    """The only kinds of edits that can be meant; empty: any."""
    everywhere: bool = False
    """Whether it holds for inputs that no example is like, such as negative numbers."""
    unless: Verdict | None = None
    """What must not happen on any input: the property is then not meant."""
    likely: frozenset[str] = frozenset()
    """Kinds of edits that mend it more often than they mend other faults."""


def properties(problem: FunctionProblem, tests: Sequence[UnitTest]) -> list[Property]:
    """The properties that description and examples imply, surest first; none without an example.

    What a check of arguments refuses is doubted only where somebody else wrote the description:
    the author of the docstring knew why it is there.
    """
    rows = [row for row in (_row(test, problem.entry_point) for test in tests) if row is not None]
    if not rows or len(rows) < len(tests):
        return []
    words = prose(problem)
    own = problem.description.strip() == docstring_of(problem.code, problem.entry_point).strip()
    found = [
        _kind_of_result(words, rows, problem.code),
        _truth(words, rows),
        _answers(words, rows, problem.code, own),
        _kept(words, rows),
        _selection(words, rows),
        _rearranged(words, rows),
        _ascending(words, rows),
        _once(problem.entry_point, words, rows),
        _nothing(words, rows),
        _caseless(words, rows),
        _symmetric(words, rows),
        _signless(words, rows),
        _occurrence(words, rows),
        _unordered(words, rows),
    ]
    return [one for one in found if one is not None]


Rows = Sequence[tuple[tuple[Any, ...], Any]]


def _row(test: UnitTest, entry_point: str) -> tuple[tuple[Any, ...], Any] | None:
    """Arguments and output of a test, also of `not f(x)`; None: it says something else."""
    if test.raises is not None:
        return None
    if isinstance(test.call, Call):
        return (test.call.args, test.expected) if test.call.args else None
    arguments = known_arguments([test.call], entry_point)
    source = test.call.source.replace(" ", "")
    turned = source.startswith(f"bool(not{entry_point}(")
    plain = source.startswith(f"bool({entry_point}(")
    if len(arguments) != 1 or not isinstance(test.expected, bool) or not (turned or plain):
        return None
    return arguments[0], test.expected is not turned


def prose(problem: FunctionProblem) -> str:
    """The description's prose, lower case; examples and links left out."""
    lines = [
        line
        for line in problem.description.splitlines()
        if not re.search(r">>>|==|=>|->|→|➞|^\s*assert\b", line)
    ]
    return re.sub(r"https?://\S+", " ", " ".join(lines)).lower()


def _said(words: str, pattern: str) -> str | None:
    found = re.search(rf"\b(?:{pattern})\b", words)
    return found.group() if found else None


def _value(outcome: Outcome) -> tuple[Any] | None:
    """What was returned, in a tuple; None where nothing readable was."""
    if not isinstance(outcome, Returned):
        return None
    try:
        return (outcome.value,)
    except MalformedValue:
        return None


def _alone(call: Call) -> tuple[Invocation, ...]:
    return (call,)


def _kind_of_result(words: str, rows: Rows, code: str) -> Property | None:
    """Whole numbers, and results at all, where neither examples nor code show anything else."""
    kinds = {type(expected) for _, expected in rows}
    if len(kinds) != 1 or _said(words, "none|null|nothing|float|decimal|ratio|average|mean"):
        return None
    kind = kinds.pop()
    if kind not in (int, str, list, tuple, bool):
        return None
    nothing = any(
        isinstance(node, ast.Constant) and node.value is None for node in ast.walk(ast.parse(code))
    )

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        if value is None or (value[0] is None and nothing):
            return None
        if isinstance(value[0], str) and kind is not str:
            return False  # a complaint in words
        return value[0] is not None and not (kind is int and type(value[0]) is float)

    def fraction(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return value is not None and type(value[0]) is float and not value[0].is_integer()

    what = "a whole number" if kind is int else f"a value of type {kind.__name__}"
    return Property(
        "kind of result",
        f"the examples show {what}",
        _alone,
        holds,
        certain=True,
        keeps_values=True,
        unless=fraction if kind is int else None,
    )


_CHECK = "check|checks|whether|determine|determines|verify|returns? true|is it"


def _truth(words: str, rows: Rows) -> Property | None:
    """A check answers False where it cannot go on."""
    said = _said(words, _CHECK)
    if said is None or not all(isinstance(expected, bool) for _, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        if isinstance(outcomes[0], Raised):
            return False
        value = _value(outcomes[0])
        return None if value is None else isinstance(value[0], bool)

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return value is not None and value[0] is False

    because = f"“{said}”: the answer is True or False"
    return Property("truth", because, _alone, holds, mends=mends)


_REFUSALS = "error|errors|exception|exceptions|raise|raises|invalid|valid|throw|throws|fail|assert"


def _answers(words: str, rows: Rows, code: str, own: bool) -> Property | None:
    """Nothing is refused of which the description does not say so."""
    if _said(words, _REFUSALS) or own:
        return None
    lines = {
        line
        for node in ast.walk(ast.parse(code))
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
        value = _value(one)
        return None if value is None else type(value[0]) in kinds

    def mends(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return None if value is None else type(value[0]) in kinds

    because = "the description excludes no arguments, the code refuses some"
    kind = frozenset({"drop check"})
    return Property("answers", because, _alone, holds, certain=True, mends=mends, kinds=kind)


def _kept(words: str, rows: Rows) -> Property | None:
    """What remains after something is removed stands in the order in which it stood."""
    said = _said(words, "remove|removes|filter|filters|drop|drops|delete|deletes|extract|extracts")
    if said is None or not all(_within(args[0], expected) for args, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return None if value is None else _within(call.args[0], value[0])

    because = f"“{said}”: what is left keeps its order"
    return Property("order kept", because, _alone, holds, everywhere=True)


def _within(whole: Any, part: Any) -> bool:
    """Whether `part` is what is left of `whole` when some items are taken out."""
    if not isinstance(whole, str | list | tuple) or type(part) is not type(whole):
        return False
    rest = iter(whole)
    return all(any(equal(item, other) for other in rest) for item in part)


_EXTREME = (
    "largest|smallest|maximum|minimum|highest|lowest|longest|shortest|biggest|greatest|max|min"
)


def _selection(words: str, rows: Rows) -> Property | None:
    """The largest of several is one of them."""
    said = _said(words, f"{_EXTREME}|first|last|second")
    if said is None or not all(_member(args[0], expected) for args, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        if value is None or not call.args[0]:
            return None
        return _member(call.args[0], value[0])

    because = f"“{said}”: the result is one of the elements"
    initial = frozenset({"initial infinite", "initial first"})
    return Property("selection", because, _alone, holds, everywhere=True, likely=initial)


def _member(items: Any, value: Any) -> bool:
    return isinstance(items, list | tuple) and any(
        type(item) is type(value) and equal(item, value) for item in items
    )


_MOVES = "sort|sorts|sorted|reverse|reverses|rearrange|interchange|swap|rotate|shift|move|moves"


def _rearranged(words: str, rows: Rows) -> Property | None:
    """What is only rearranged stays complete."""
    said = _said(words, _MOVES)
    if said is None or not all(_permuted(args[0], expected) for args, expected in rows):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return None if value is None else _permuted(call.args[0], value[0])

    because = f"“{said}”: no element is lost or made"
    return Property("rearranged", because, _alone, holds, everywhere=True)


def _permuted(before: Any, after: Any) -> bool:
    if not isinstance(before, list | tuple) or type(after) is not type(before):
        return False
    return Counter(map(repr, before)) == Counter(map(repr, after))


def _ascending(words: str, rows: Rows) -> Property | None:
    """What is sorted is in order."""
    said = _said(words, "sort|sorts|sorted")
    down = _said(words, "descending|decreasing|reverse") is not None
    if (
        said is None
        or _said(words, "by|according|based|key|custom")
        or not all(_in_order(expected, down) for _, expected in rows)
    ):
        return None

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = _value(outcomes[0])
        return None if value is None else _in_order(value[0], down)

    return Property("in order", f"“{said}”: the result is in order", _alone, holds)


def _in_order(items: Any, down: bool) -> bool:
    if not isinstance(items, list | tuple | str):
        return False
    if any(isinstance(item, list | tuple | dict) for item in items):
        return False  # the order may be that of a part
    try:
        return list(items) == sorted(items, reverse=down)
    except TypeError:
        return False


_FINAL = (
    "remove|removes|filter|filters|drop|drops|delete|deletes|sort|sorts|flatten|flattens"
    "|uppercase|lowercase|unique|duplicates"
)


def _once(entry_point: str, words: str, rows: Rows) -> Property | None:
    """What is done is done: removing, sorting, flattening again changes nothing."""
    said = _said(words, _FINAL)
    if said is None or _said(words, "first|last|one|once|nth|specified number|index|position"):
        return None
    if not all(type(args[0]) is type(expected) for args, expected in rows):
        return None
    if not all(isinstance(expected, str | list | tuple | dict) for _, expected in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        source = call_source(call, entry_point)
        rest = ", ".join([source, *[repr(arg) for arg in call.args[1:]]])
        return call, Expression(f"{entry_point}({rest})")

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        once, twice = _value(outcomes[0]), _value(outcomes[1])
        if once is None or twice is None:
            return None
        return equal(once[0], twice[0])

    return Property("once", f"“{said}”: doing it again changes nothing", calls, holds)


def _nothing(words: str, rows: Rows) -> Property | None:
    """Of nothing, nothing is left: an empty collection gives an empty one."""
    said = _said(words, f"{_FINAL}|{_MOVES}|extract|each|every|elements?")
    if said is None or _said(words, "non[- ]?empty|sum|power set|subsets?|combinations"):
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
        value = _value(outcomes[0])
        return None if value is None else equal(value[0], empty)

    because = f"“{said}”: what is empty stays empty"
    return Property("nothing", because, calls, holds, certain=True)


def _caseless(words: str, rows: Rows) -> Property | None:
    """Upper and lower case are the same where the description says so."""
    said = _said(
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
    one, other = _value(outcomes[0]), _value(outcomes[1])
    if one is None or other is None or isinstance(one[0], str | list | tuple | dict):
        return None
    return equal(one[0], other[0])


_ALIKE = "two|three|both|common|equal|same|minimum|maximum|sum|product|number of"
_UNLIKE = (
    "first|second|third|difference|power|divid\\w+|subtract\\w*|modulo|remainder|base|greater"
    "|smaller|less|larger|range|between|nth|n|k|m|position|index|radius|height|length|width"
)


def _symmetric(words: str, rows: Rows) -> Property | None:
    """Two or three arguments in the same role may be given in any order."""
    said = _said(words, _ALIKE)
    if said is None or _said(words, _UNLIKE):
        return None
    if not all(
        2 <= len(args) <= 3 and len({type(arg) for arg in args}) == 1 for args, _ in rows
    ) or any(isinstance(expected, list | tuple | str | dict) for _, expected in rows):
        return None

    def calls(call: Call) -> tuple[Invocation, ...] | None:
        turned = (*call.args[1:], call.args[0])
        return call, Call(call.args[::-1]), Call(turned)

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        values = [_value(outcome) for outcome in outcomes]
        if any(value is None for value in values):
            return None
        return all(equal(value, values[0]) for value in values[1:])

    because = f"“{said}”: the arguments are alike"
    return Property("symmetric", because, calls, holds, everywhere=True)


def _signless(words: str, rows: Rows) -> Property | None:
    """A minus sign is no digit, and no reason to crash."""
    said = _said(words, "digits?")
    if said is None or not all(type(args[0]) is int and args[0] > 0 for args, _ in rows):
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
        one, other = _value(outcomes[0]), _value(outcomes[1])
        return one is not None and other is not None and equal(one[0], other[0])

    because = f"“{said}”: those of a negative number are those of its absolute value"
    return Property("signless", because, calls, holds, certain=True, mends=mends)


def _occurrence(words: str, rows: Rows) -> Property | None:
    """The first (last) place of a value is one that has no other before (after) it."""
    said = _said(words, "(?:first|last) (?:occurr?ence|position|index|appearance)")
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
        right, value = place(call.args), _value(outcomes[0])
        return None if right is None or value is None else equal(value[0], right)

    because = f"“{said}”: no other lies beyond it"
    return Property("occurrence", because, _alone, holds)


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


def _unordered(words: str, rows: Rows) -> Property | None:
    """A total does not depend on the order of what it is taken of."""
    said = _said(words, _TOTALS)
    if said is None or _said(words, _PLACES):
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

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        values = [_value(outcome) for outcome in outcomes]
        known = [value[0] for value in values if value is not None]
        if len(known) < len(values):
            return None
        return all(equal(value, known[0]) for value in known[1:])

    because = f"“{said}”: the order of the elements does not matter"
    return Property("unordered", because, calls, holds, everywhere=True)

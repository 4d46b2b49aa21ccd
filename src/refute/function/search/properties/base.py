"""What a property is, and how descriptions and outcomes are read for one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.problems import Call, FunctionProblem, Invocation
from refute.sandbox import Outcome, Returned
from refute.sandbox.values import MalformedValue

__all__ = ["Property", "Rows", "alone", "on_value", "prose", "said_in", "value_of"]

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
    mends: Verdict | None = None
    """What a fix must do where the program broke it; None: `holds`."""
    kinds: frozenset[str] = frozenset()
    """The only kinds of edits that can be meant; empty: any."""
    everywhere: bool = False
    """Whether it holds for inputs that no example is like, such as negative numbers."""


Rows = Sequence[tuple[tuple[Any, ...], Any]]
"""Arguments and expected output of each example."""


def prose(problem: FunctionProblem) -> str:
    """The description's prose, lower case; examples and links left out."""
    lines = [
        line
        for line in problem.description.splitlines()
        if not re.search(r">>>|==|=>|->|→|➞|^\s*assert\b", line)
    ]
    return re.sub(r"https?://\S+", " ", " ".join(lines)).lower()


def said_in(words: str, pattern: str) -> str | None:
    """The first of the words or phrases that the description uses."""
    found = re.search(rf"\b(?:{pattern})\b", words)
    return found.group() if found else None


def on_value(check: Callable[[Call, Any], bool]) -> Verdict:
    """Whether a check holds of a call and the value that it returned; None where none is known."""

    def holds(call: Call, outcomes: Sequence[Outcome]) -> bool | None:
        value = value_of(outcomes[0])
        return None if value is None else check(call, value[0])

    return holds


def value_of(outcome: Outcome) -> tuple[Any] | None:
    """What was returned, in a tuple; None where nothing readable was."""
    if not isinstance(outcome, Returned):
        return None
    try:
        return (outcome.value,)
    except MalformedValue:
        return None


def alone(call: Call) -> tuple[Invocation, ...]:
    """The input itself, for properties of one outcome."""
    return (call,)

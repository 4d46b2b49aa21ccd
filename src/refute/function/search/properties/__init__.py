"""What a description implies about outputs, beyond its examples: properties to test a program by.

A metamorphic or partial oracle (Chen, Cheung and Yiu, "Metamorphic Testing", 1998) for the words
that descriptions use all the time: what is removed stays removed, sorting keeps the elements. Each
property names the class of descriptions that it is for, and is adopted only where the examples
agree with it. What right programs of other people break (a check that refuses odd arguments, a
whole number that is a float, a result for nothing at all) is no property here: it was held against
22 of 378 right programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.function.search.clues import Clues
from refute.function.search.precondition import gather_for, known_arguments
from refute.function.search.properties.base import Property, prose
from refute.function.search.properties.elements import (
    ascending,
    distinct,
    kept,
    occurrence,
    rearranged,
)
from refute.function.search.properties.relations import once, symmetric
from refute.function.search.properties.results import answers, deliberate
from refute.problems import Call, FunctionProblem, UnitTest

__all__ = ["Property", "deliberate", "properties", "prose"]


def properties(problem: FunctionProblem, tests: Sequence[UnitTest]) -> list[Property]:
    """The properties that description and examples imply, surest first; none without an example."""
    clues = gather_for(problem)
    rows = [
        row for row in (_row(test, problem.entry_point, clues) for test in tests) if row is not None
    ]
    if not rows or len(rows) < len(tests):
        return []
    words = prose(problem)
    found = [
        answers(problem, rows),
        kept(words, rows),
        rearranged(words, rows),
        ascending(words, rows),
        distinct(words, rows),
        once(problem.entry_point, words, rows),
        symmetric(words, rows),
        occurrence(words, rows),
    ]
    return [one for one in found if one is not None]


def _row(test: UnitTest, entry_point: str, clues: Clues) -> tuple[tuple[Any, ...], Any] | None:
    """Arguments and output of a test, also of `not f(x)`; None: it says something else."""
    if test.raises is not None:
        return None
    if isinstance(test.call, Call):
        return (test.call.args, test.expected) if test.call.args else None
    arguments = known_arguments([test.call], entry_point, clues)
    source = test.call.source.replace(" ", "")
    turned = source.startswith(f"bool(not{entry_point}(")
    plain = source.startswith(f"bool({entry_point}(")
    if len(arguments) != 1 or not isinstance(test.expected, bool) or not (turned or plain):
        return None
    return arguments[0], test.expected is not turned

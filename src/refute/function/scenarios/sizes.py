"""Numbers that calls are given: after one with which a call did not end, larger ones are not tried.

A count or a size of a million million costs a time-out each time, and shows nothing.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from refute.literals import NotLiteral, read_literal
from refute.problems import Scenario
from refute.syntax import try_parse

__all__ = ["Bounds"]

LARGE = 1_000
"""A smaller number is not why a call does not end."""

_Place = tuple[str, str]
"""The last part of what is called, and the argument: its position or its keyword."""


@dataclass(slots=True)
class Bounds:
    """The least number by place with which a call was cut short."""

    least: dict[_Place, float] = field(default_factory=dict)

    def learn(self, scenario: Scenario) -> None:
        """A scenario was cut short: the largest number in it is blamed, if it is a large one."""
        given = _numbers(scenario)
        place = max(given, key=lambda one: given[one], default=None)
        if place is not None and given[place] >= LARGE:
            self.least[place] = min(given[place], self.least.get(place, given[place]))

    def exceeded(self, scenario: Scenario) -> bool:
        """Whether a scenario gives a number at least as large in a place that is known."""
        if not self.least:
            return False
        given = _numbers(scenario).items()
        return any(size >= self.least[place] for place, size in given if place in self.least)


def _numbers(scenario: Scenario) -> dict[_Place, float]:
    """Sizes of the numbers that a scenario's calls are given; the largest of one place."""
    found: dict[_Place, float] = {}
    tree = try_parse(scenario.source)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        pairs = [(str(place), argument) for place, argument in enumerate(node.args)]
        pairs += [(one.arg, one.value) for one in node.keywords if one.arg is not None]
        for place, argument in pairs:
            try:
                value = read_literal(argument)
            except NotLiteral:
                continue
            if isinstance(value, int | float) and abs(value) >= found.get((name, place), 0):
                found[name, place] = abs(value)
    return found

"""Which expressions have the wanted values; `synthesize` runs the enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from refute.function.search.enumerator.guards import function_of
from refute.function.search.enumerator.loops import grow_loops
from refute.function.search.enumerator.space import (
    FAILED,
    Clock,
    Node,
    OutOfTime,
    Rows,
    Space,
)

__all__ = ["Form", "same", "synthesize"]


def same(out: Any, expected: Any) -> bool:
    """As `refute.sandbox.equality.equal` without a tolerance of its own, on plain values."""
    try:
        if out == expected:
            return True
    except Exception:
        return False
    if type(expected) is float and type(out) in (int, float):
        return bool(abs(out - expected) <= 1e-6 + 1e-7 * abs(expected))
    if type(expected) in (list, tuple) and type(out) is type(expected):
        return len(out) == len(expected) and all(map(same, out, expected))
    return False


DEAREST = 16
MOST_FOUND = 60
UNUSED = 2
"""Cost of a parameter that an expression does not use."""


def _parameters(node: Node) -> set[str]:
    """Names of parameters that an expression uses."""
    if node.parts:
        return set().union(*map(_parameters, node.parts))
    return {node.template[1:]} if node.template[0] == "=" else set()


def _width(outputs: Sequence[Any]) -> int:
    """Length of the outputs where they are tuples of two or three, else 0."""
    widths = {len(o) if type(o) is tuple else 0 for o in outputs}
    width = widths.pop() if len(widths) == 1 else 0
    return width if width in (2, 3) else 0


def _together(space: Space) -> None:
    """Parameters taken together, as cheap as one: programs pair them up all the time."""
    parameters = [node for node in space.levels[1] if node.template[0] == "="]
    lists = [node for node in parameters if node.kind == "q"]
    for size in (2, 3):
        for chosen in itertools.combinations(lists, size) if len(lists) <= 4 else ():
            rows = [
                list(zip(*vals, strict=False))
                for vals in zip(*[node.vals for node in chosen], strict=True)
            ]
            names = ", ".join("xyz"[:size])
            space.add(f"list(zip({names}))", tuple(chosen), rows, 1)
    numbers = [node for node in parameters if node.kind == "n"]
    if len(numbers) == 3:
        rows = [sorted(vals) for vals in zip(*[node.vals for node in numbers], strict=True)]
        space.add("sorted([x, y, z])", tuple(numbers), rows, 2)


Form = tuple[str, tuple[Any, ...]]
"""An expression: a template, and the forms of its parts."""


def _form(node: Node) -> Form:
    return node.template, tuple(map(_form, node.parts))


class _Goal:
    """Collects what has the wanted values; tuples are also put together from their places."""

    def __init__(self, params: list[str], outputs: list[Any]) -> None:
        self.params, self.outputs = params, outputs
        self.found: list[tuple[int, Node]] = []
        self.columns = [[output[i] for output in outputs] for i in range(_width(outputs))]
        self.places: list[list[Node]] = [[] for _ in self.columns]

    @property
    def best(self) -> int:
        return min((cost for cost, _ in self.found), default=1 << 30)

    def accept(self, node: Node) -> bool:
        """Whether an expression has all wanted values."""
        if all(map(same, node.vals, self.outputs)):
            self.keep(node)
            return True
        for column, nodes in zip(self.columns, self.places, strict=True):
            if len(nodes) < MOST_FOUND and all(map(same, node.vals, column)):
                nodes.append(node)
                options = [[node] if other is nodes else other for other in self.places]
                for chosen in itertools.islice(itertools.product(*options), MOST_FOUND):
                    self.keep(_tuple(chosen))
        return False

    def keep(self, node: Node) -> None:
        odd = any(type(v) is not type(o) for v, o in zip(node.vals, self.outputs, strict=False))
        failed = sum(value is FAILED for value in node.vals)
        unused = len(set(self.params) - _parameters(node))
        if len(self.found) < MOST_FOUND:
            self.found.append((node.cost + 2 * odd + failed + UNUSED * unused, node))


def _tuple(nodes: Sequence[Node]) -> Node:
    rows = zip(*[node.vals for node in nodes], strict=True)
    vals = [FAILED if any(v is FAILED for v in row) else row for row in rows]
    template = "(" + ", ".join("xyz"[: len(nodes)]) + ")"
    return Node(template, nodes, vals, "q", 1 + sum(node.cost for node in nodes))


def synthesize(
    params: list[str],
    inputs: list[list[Any]],
    outputs: list[Any],
    constants: list[Any],
    unary: Rows,
    binary: Rows,
    seconds: float,
    most: int,
) -> tuple[list[tuple[int, Form]], int]:
    """Expressions over `params` that map the first inputs to `outputs`, cheapest first.

    `unary`, `binary`: rows of `operations`. `inputs`: rows of arguments; those past `len(outputs)`
    have no known output. Returns (cost, form) of what was found, at most `MOST_FOUND`, and the
    number of candidates tried. In a form, templates that begin with ``=`` are parameters, with
    ``#`` constants; ``e`` is the loop variable.
    """
    clock = Clock(seconds, most)
    goal = _Goal(params, outputs)
    space = Space(clock, len(outputs), goal.accept)
    one = [(*row, function_of(row[1], "x")) for row in unary]
    two = [(*row, function_of(row[1], "x, y")) for row in binary]
    # Truth values are of little use where the output is none, except in conditions.
    truth = {type(output) for output in outputs} == {bool}
    outer_one = [row for row in one if truth or not row[3]]
    outer_two = [row for row in two if truth or not row[5]]
    try:
        for index, name in enumerate(params):
            space.add("=" + name, (), [row[index] for row in inputs], 1)
        for place, constant in enumerate(constants):
            space.add("#" + repr(constant), (), [constant] * len(inputs), 1 if place < 2 else 2)
        _together(space)
        for cost in range(2, DEAREST):
            # What is cheap to try for what it finds goes first.
            space.grow_unary(cost, outer_one)
            grow_loops(space, cost, range(1, 2), one, two)
            space.grow_binary(cost, outer_two)
            grow_loops(space, cost, range(2, 4), one, two)
            if cost > goal.best + 1:
                break
            if cost >= goal.best:
                clock.hurry()
    except OutOfTime:
        pass
    goal.found.sort(key=lambda pair: pair[0])
    return [(cost, _form(node)) for cost, node in goal.found], clock.tried

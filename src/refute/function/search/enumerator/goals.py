"""Which expressions have the wanted values; `synthesize` runs the enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from refute.function.search.enumerator.space import (
    FAILED,
    Clock,
    Node,
    OutOfTime,
    Rows,
    Space,
    Vals,
    function_of,
)

__all__ = ["Form", "Inner", "grow_loops", "same", "synthesize"]


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

    `unary`, `binary`: rows of `templates`. `inputs`: rows of arguments; those past `len(outputs)`
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


MOST_ELEMENTS = 250
"""Elements of one collection over all inputs, for comprehensions."""
INNER = 4
"""Highest cost of a comprehension's body."""

Spans = list[tuple[int, int] | None]
"""Where the elements for each input lie in a flat row; None: the collection has failed."""
Inner = tuple[Space, Vals, Spans]


def _elements(node: Node, space: Space) -> tuple[Vals, Spans, int] | None:
    """Spans of the elements of a collection in a flat row; None: too many, or none."""
    flat: Vals = []
    spans: Spans = []
    for value in node.vals:
        if value is FAILED:
            spans.append(None)
            continue
        items = list(value.items()) if isinstance(value, dict) else list(value)
        if len(flat) + len(items) > MOST_ELEMENTS:
            return None
        spans.append((len(flat), len(flat) + len(items)))
        flat += items
    firm = max([span[1] for span in spans[: space.firm] if span], default=0)
    return (flat, spans, firm) if firm else None


RATHER_OUTSIDE = frozenset(
    ("x[::-1]", "x[:-1]", "x[1:-1]", "sorted(x)", "list(x)", "tuple(x)", "sorted(x, reverse=True)")
)
"""What a comprehension runs over as well before as after it. (Sets have no order to rely on.)"""


def grow_loops(space: Space, cost: int, bases: Iterable[int], unary: Rows, binary: Rows) -> None:
    """Comprehensions and keyed sorts of a given cost over collections that cost one of `bases`."""
    for base in bases:
        body = cost - base
        if not 1 <= body <= INNER:
            continue
        for node in list(space.levels.get(base, ())):
            if node.kind not in "qsd" or node.template in RATHER_OUTSIDE:
                continue
            if id(node) not in space.inner:
                space.inner[id(node)] = _opened(space, node)
            known = space.inner[id(node)]
            if known is None:
                continue
            inner = known[0]
            while inner.grown < body:
                inner.grown += 1
                inner.grow_unary(inner.grown, unary)
                inner.grow_binary(inner.grown, binary)
            for part in inner.levels.get(body, ()):
                if _uses_element(part):
                    _looped(space, cost, node, part, known)


def _opened(space: Space, node: Node) -> Inner | None:
    """A space over the elements of a collection; outer parameters and constants are known there."""
    found = _elements(node, space)
    if found is None:
        return None
    flat, spans, firm = found
    inner = Space(space.clock, firm)
    inner.add("e", (), flat, 1)
    width = len(flat[0]) if type(flat[0]) is tuple else 0
    if width in (2, 3) and all(type(e) is tuple and len(e) == width for e in flat):
        for place in range(width):
            inner.add(f"e[{place}]", (), [e[place] for e in flat], 1)
    if not inner.levels[1]:
        return None
    for cost in (1, 2):
        for outer in space.levels[cost]:
            if outer.parts:
                continue
            vals: Vals = []
            for value, span in zip(outer.vals, spans, strict=True):
                if span:
                    vals += [value] * (span[1] - span[0])
            inner.add(outer.template, (), vals, cost)
    return inner, flat, spans


def _looped(space: Space, cost: int, node: Node, part: Node, known: Inner) -> None:
    """What a comprehension with `part` for its body, condition or key gives."""
    inner, flat, spans = known
    source = "x.items()" if node.kind == "d" else "x"
    plain = not part.parts and part.template == "e"

    def slices(function: Callable[[Vals, Vals], Any], made: str, price: int) -> None:
        picked = space.evaluate(
            lambda s: function(flat[s[0] : s[1]], _taken(part.vals[s[0] : s[1]])),
            [FAILED if s is None else s for s in spans],
        )
        if picked is not None:
            space.add(made, (node, part), picked, price)

    def chosen(bodies: Vals, made: str, parts: tuple[Node, ...], price: int) -> None:
        space.clock.tick()
        space.add(made, parts, [_chosen(bodies, part.vals, s) for s in spans], price)

    if not plain:
        slices(lambda _, bodies: bodies, f"[B for e in {source}]", cost)
    if part.kind == "b":
        chosen(flat, f"[e for e in {source} if B]", (node, part), cost)
        for price in (1, 2):
            for body in inner.levels.get(price, ()):
                if _uses_element(body) and body.template != "e":
                    made = f"[C for e in {source} if B]"
                    chosen(body.vals, made, (node, part, body), cost + price)
    elif not plain:
        slices(_sorted_by, f"sorted({source}, key=lambda e: B)", cost)
        slices(_max_by, f"max({source}, key=lambda e: B)", cost)
        slices(_min_by, f"min({source}, key=lambda e: B)", cost)
        if source == "x" and part.kind != "o":
            slices(
                lambda keys, vals: dict(zip(keys, vals, strict=True)), "{e: B for e in x}", cost + 1
            )


def _taken(vals: Vals) -> Any:
    return FAILED if any(value is FAILED for value in vals) else vals


def _chosen(bodies: Vals, conditions: Vals, span: tuple[int, int] | None) -> Any:
    if span is None:
        return FAILED
    chosen = range(span[0], span[1])
    if any(conditions[i] is FAILED for i in chosen):
        return FAILED
    return _taken([bodies[i] for i in chosen if conditions[i]])


def _sorted_by(items: Vals, keys: Vals) -> Any:
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def _max_by(items: Vals, keys: Vals) -> Any:
    return items[max(range(len(items)), key=keys.__getitem__)]


def _min_by(items: Vals, keys: Vals) -> Any:
    return items[min(range(len(items)), key=keys.__getitem__)]


def _uses_element(node: Node) -> bool:
    return (node.template[0] == "e" and not node.parts) or any(map(_uses_element, node.parts))

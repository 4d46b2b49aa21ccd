"""Comprehensions and keyed sorts: bodies are enumerated over the elements of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from refute.function.search.enumerator.space import FAILED, Node, Rows, Space, Vals

__all__ = ["Inner", "grow_loops"]

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

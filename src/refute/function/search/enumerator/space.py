"""Distinct values by the cost of their expressions, and the clock that ends the enumeration."""

from __future__ import annotations

import collections
import itertools
import marshal
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from refute.errors import LimitReached

if TYPE_CHECKING:
    from refute.function.search.enumerator.goals import Inner

__all__ = [
    "FAILED",
    "LONGEST",
    "MOST_BITS",
    "Clock",
    "Node",
    "OutOfTime",
    "Rows",
    "Space",
    "Vals",
    "function_of",
    "kind_of",
]

MOST_BYTES = 20_000
"""Of an expression's values on all inputs, encoded."""


class _Failed:
    """The value of an expression that raised on an input without a known output."""

    def __repr__(self) -> str:
        return "<failed>"


FAILED = _Failed()
Vals = list[Any]
Rows = Sequence[tuple[Any, ...]]


class Node:
    """An expression: a template with its parts, its value on each input, its kind and cost."""

    __slots__ = ("cost", "kind", "parts", "template", "vals")

    def __init__(
        self, template: str, parts: Sequence[Node], vals: Vals, kind: str, cost: int
    ) -> None:
        self.template, self.parts, self.vals = template, parts, vals
        self.kind, self.cost = kind, cost


KINDS = {
    bool: "b", int: "n", float: "n", str: "s", list: "q", tuple: "q", range: "q", set: "t",
    frozenset: "t", dict: "d",
}  # fmt: skip


def kind_of(vals: Vals) -> str:
    """The kind (see `templates`) that all values share, failures left out; "o": several."""
    kinds = {KINDS.get(type(v), "o") for v in vals if v is not FAILED}
    return kinds.pop() if len(kinds) == 1 else "o"


def _fits(vals: Vals, kind: str) -> bool:
    """Whether values are small enough to go on with; no complex numbers."""
    if kind == "n":
        return all(type(v) is not int or v.bit_length() <= MOST_BITS for v in vals)
    if kind == "o":
        return not any(type(v) is complex for v in vals)
    return kind == "b" or all(len(v) <= LONGEST for v in vals if v is not FAILED)


def _key(vals: Vals) -> int | None:
    """What tells rows of values apart; None: they are too large."""
    try:
        data: bytes | str = marshal.dumps(vals, 2)
    except ValueError:  # a range, a failure
        data = repr(vals)
    return hash(data) if len(data) <= MOST_BYTES else None


class OutOfTime(LimitReached):
    """Seconds or candidates are used up."""


class Clock:
    """Counts candidates; stops after `seconds` of CPU time, twice that, or `most` candidates."""

    def __init__(self, seconds: float, most: int) -> None:
        self.end, self.wall = time.process_time() + seconds, time.monotonic() + 2 * seconds
        self.most, self.tried, self.hurried = most, 0, False

    def hurry(self) -> None:
        """What is found from now on is dearer than what there is: a third of the time is enough."""
        if not self.hurried:
            self.hurried = True
            now = time.process_time()
            self.end = min(self.end, now + (self.end - now) / 3)
            self.most = min(self.most, self.tried + (self.most - self.tried) // 3)

    def tick(self) -> None:
        """Count one candidate. Raises `OutOfTime`."""
        self.tried += 1
        if self.tried > self.most or (
            not self.tried & 31 and (time.process_time() > self.end or time.monotonic() > self.wall)
        ):
            raise OutOfTime


def _varies(node: Node) -> bool:
    return node.template[0] != "#" if not node.parts else True


class Space:
    """All distinct values over a row of environments, by the cost of their expressions."""

    def __init__(
        self, clock: Clock, firm: int, accept: Callable[[Node], bool] | None = None
    ) -> None:
        self.clock, self.accept = clock, accept
        self.firm = firm
        """Environments, the first ones, in which an expression must not raise."""
        self.levels: dict[int, list[Node]] = collections.defaultdict(list)
        self.hits: set[int] = set()
        self.seen: set[int] = set()
        self.inner: dict[int, Inner | None] = {}
        self.grown = 1

    def add(self, template: str, parts: Sequence[Node], vals: Vals, cost: int) -> None:
        """Keep an expression, unless a cheaper one has the same values or they are too large."""
        key = _key(vals)
        if key is None:
            return
        if key in self.seen:
            if key in self.hits and self.accept is not None:
                # As good on all inputs; it may still use more of the parameters.
                self.accept(Node(template, parts, vals, kind_of(vals), cost))
            return
        self.seen.add(key)
        kind = kind_of(vals)
        if not _fits(vals, kind):
            return
        if parts and not any(map(_varies, parts)):
            return  # a constant
        node = Node(template, parts, vals, kind, cost)
        if self.accept is not None and self.accept(node):
            self.hits.add(key)
            if parts:
                return
        self.levels[cost].append(node)

    def evaluate(self, function: Callable[..., Any], *columns: Vals) -> Vals | None:
        """Values of a function on columns of arguments; None: it raised where it must not."""
        self.clock.tick()
        try:
            vals: Vals = list(map(function, *columns))
            # Hardly anything takes a failure for an argument without raising in its turn.
            if not any(value is FAILED for column in columns for value in column[self.firm :]):
                return vals
        except Exception:
            pass
        vals = []
        for number, row in enumerate(zip(*columns, strict=True)):
            if any(value is FAILED for value in row):
                vals.append(FAILED)
                continue
            try:
                vals.append(function(*row))
            except Exception:
                if number < self.firm:
                    return None
                vals.append(FAILED)
        return vals

    def grow_unary(self, cost: int, unary: Rows) -> None:
        """Add what operations on one value give at this cost. Raises `OutOfTime`."""
        for price, template, kinds, _, function in unary:
            for node in self.levels.get(cost - price, ()):
                if node.kind in kinds or kinds == "o":
                    vals = self.evaluate(function, node.vals)
                    if vals is not None:
                        self.add(template, (node,), vals, cost)

    def grow_binary(self, cost: int, binary: Rows) -> None:
        """Add what operations on two values give at this cost. Raises `OutOfTime`."""
        for one in range(1, cost - 1):
            for price, template, first, second, symmetric, _, function in binary:
                other = cost - price - one
                if other < 1 or (symmetric and other < one):
                    continue
                rights = [n for n in self.levels.get(other, ()) if n.kind in second]
                for left in self.levels.get(one, ()) if rights else ():
                    if left.kind not in first:
                        continue
                    for right in rights:
                        if left is right or left.template[0] == right.template[0] == "#":
                            continue
                        vals = self.evaluate(function, left.vals, right.vals)
                        if vals is not None:
                            self.add(template, (left, right), vals, cost)


NAMES = {"math": math, "collections": collections, "itertools": itertools}
LONGEST = 1_000
"""Items of a collection."""
MOST_BITS = 2_048
"""Of an integer."""


def _bits(x: Any) -> int:
    return x.bit_length() if isinstance(x, int) else 64


def _pow(x: Any, y: Any) -> Any:
    if type(x) is int and abs(y) * max(1, _bits(x)) > MOST_BITS:
        raise OverflowError
    return x**y


def _times(x: Any, y: Any) -> Any:
    if isinstance(x, (str, list, tuple)) and (y < 0 or len(x) * y > LONGEST):
        raise OverflowError
    return x * y


def _shift(x: int, y: int) -> int:
    if y < 0 or y > MOST_BITS:
        raise OverflowError
    return x << y


def _factorial(x: Any) -> int:
    if type(x) is not int or x > 200:
        raise OverflowError
    return math.factorial(x)


def _comb(x: Any, y: Any) -> int:
    if x > 500:
        raise OverflowError
    return math.comb(x, y)


def _sized(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """`function`, only on collections of at most `most` items."""

    def guarded(x: Any, *rest: Any) -> Any:
        if len(x) > most or (rest and hasattr(rest[0], "__len__") and len(rest[0]) > most):
            raise OverflowError
        return function(x, *rest)

    return guarded


def _combinations(x: Any, y: Any) -> Any:
    if len(x) > 12 or y > 6:
        raise OverflowError
    return list(itertools.combinations(x, y))


def _round(x: Any, y: Any) -> Any:
    if abs(y) > 20:
        raise OverflowError
    return round(x, y)


def _windows(x: Any, y: int) -> Any:
    if y < 1:
        raise OverflowError
    return [x[i : i + y] for i in range(len(x) - y + 1)]


def _prod(x: Any) -> Any:
    if any(type(item) not in (int, float) for item in x) or sum(map(_bits, x)) > MOST_BITS:
        raise OverflowError  # also a number and a text: that repeats it
    return math.prod(x)


def _bounded_range(*ends: int) -> range:
    made = range(*ends)
    if len(made) > LONGEST:
        raise OverflowError
    return made


GUARDED: dict[str, Callable[..., Any]] = {
    "x ** y": _pow, "x ** 2": lambda x: _pow(x, 2), "x ** 3": lambda x: _pow(x, 3),
    "x * y": _times, "x << y": _shift, "math.factorial(x)": _factorial, "math.comb(x, y)": _comb,
    "list(itertools.combinations(x, y))": _combinations, "math.prod(x)": _prod,
    "round(x, y)": _round, "[x[i:i + y] for i in range(len(x) - y + 1)]": _windows,
    "range(x)": _bounded_range, "range(1, x)": lambda x: _bounded_range(1, x),
    "range(1, x + 1)": lambda x: _bounded_range(1, x + 1), "range(2, x)":
    lambda x: _bounded_range(2, x), "range(x, y)": _bounded_range,
    "range(x, y + 1)": lambda x, y: _bounded_range(x, y + 1),
}  # fmt: skip
LENGTHS = {
    "list(itertools.combinations(x, 2))": 40, "list(itertools.product(x, y))": 30,
    "[x[i:j] for i in range(len(x)) for j in range(i + 1, len(x) + 1)]": 30,
    "[x[i:] for i in range(len(x))]": 60, "[x[:i + 1] for i in range(len(x))]": 60,
    "max(x, key=x.count)": 100, "list(itertools.accumulate(x))": 200,
}  # fmt: skip


def function_of(source: str, names: str) -> Callable[..., Any]:
    """The function of a template over `names` ("x", "x, y"), guarded where it must be."""
    function = GUARDED.get(source)
    if function is None:
        function = eval(f"lambda {names}: {source}", dict(NAMES))
        if source in LENGTHS:
            function = _sized(function, LENGTHS[source])
    return function

"""Enumerates small expressions that map given inputs to given outputs, cheapest first.

Runs inside the sandbox (`synthesis` sends this file's source): standard library only. No untrusted
program is in its process, so the expected outputs may be: what it evaluates is built from the
templates of `operations` and nothing else. Its answers are believed only once the trusted side has
run them as a program.

Bottom-up enumeration by cost with observational equivalence (Albarghouthi, Gulwani, Kincaid, CAV
2013): of all expressions with the same values on every input only the cheapest is kept. Inputs
without a known output take part in that, so that what differs on them stays apart. The bodies of
comprehensions are enumerated in the same way, over the elements of the collection.

Operations whose result may be large are guarded: they raise instead of computing it.
"""

from __future__ import annotations

import collections
import itertools
import marshal
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NAMES = {"math": math, "collections": collections, "itertools": itertools}
LONGEST = 1_000
"""Items of a collection."""
MOST_BYTES = 20_000
"""Of an expression's values on all inputs, encoded."""
MOST_BITS = 2_048
"""Of an integer."""
MOST_ELEMENTS = 250
"""Elements of one collection over all inputs, for comprehensions."""
INNER = 4
"""Highest cost of a comprehension's body."""


class _Failed:
    """The value of an expression that raised on an input without a known output."""

    def __repr__(self) -> str:
        return "<failed>"


FAILED = _Failed()
Vals = list[Any]
Rows = Sequence[tuple[Any, ...]]
Spans = list[tuple[int, int] | None]
"""Where the elements for each input lie in a flat row; None: the collection has failed."""


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


def _function(source: str, names: str) -> Callable[..., Any]:
    function = GUARDED.get(source)
    if function is None:
        function = eval(f"lambda {names}: {source}", dict(NAMES))
        if source in LENGTHS:
            function = _sized(function, LENGTHS[source])
    return function


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


class OutOfTime(Exception):
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
        for price, template, kinds, _, function in unary:
            for node in self.levels.get(cost - price, ()):
                if node.kind in kinds or kinds == "o":
                    vals = self.evaluate(function, node.vals)
                    if vals is not None:
                        self.add(template, (node,), vals, cost)

    def grow_binary(self, cost: int, binary: Rows) -> None:
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


def _loops(space: Space, cost: int, bases: Iterable[int], unary: Rows, binary: Rows) -> None:
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


# -- answers ---------------------------------------------------------------------------------------


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
    one = [(*row, _function(row[1], "x")) for row in unary]
    two = [(*row, _function(row[1], "x, y")) for row in binary]
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
            _loops(space, cost, range(1, 2), one, two)
            space.grow_binary(cost, outer_two)
            _loops(space, cost, range(2, 4), one, two)
            if cost > goal.best + 1:
                break
            if cost >= goal.best:
                clock.hurry()
    except OutOfTime:
        pass
    goal.found.sort(key=lambda pair: pair[0])
    return [(cost, _form(node)) for cost, node in goal.found], clock.tried

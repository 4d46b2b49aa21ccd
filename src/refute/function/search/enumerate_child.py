"""Enumerates small expressions that map given inputs to given outputs, cheapest first.

Runs inside the sandbox (`synthesis` sends this file's source): standard library only. No untrusted
program is in its process, so the expected outputs may be: what it evaluates is built from the
templates that it is sent (`operations`) and nothing else. Its answers are believed only after they have been run as a program.

Bottom-up enumeration by cost with observational equivalence (Albarghouthi, Gulwani, Kincaid, CAV
2013): of all expressions with the same values on every input only the cheapest is kept. Inputs
without a known output take part in that, so that what differs on them stays apart. The bodies of
comprehensions are enumerated in the same way, over the elements of the collection.
"""

from __future__ import annotations

import ast
import collections
import itertools
import marshal
import math
import time
from collections.abc import Callable, Sequence
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

    def __repr__(self):
        return "<failed>"


FAILED = _Failed()


def _bits(x):
    return x.bit_length() if isinstance(x, int) else 64


def _pow(x, y):
    if type(x) is int and abs(y) * max(1, _bits(x)) > MOST_BITS:
        raise OverflowError
    return x**y


def _times(x, y):
    if isinstance(x, (str, list, tuple)) and (y < 0 or len(x) * y > LONGEST):
        raise OverflowError
    return x * y


def _shift(x, y):
    if y < 0 or y > MOST_BITS:
        raise OverflowError
    return x << y


def _factorial(x):
    if type(x) is not int or x > 200:
        raise OverflowError
    return math.factorial(x)


def _comb(x, y):
    if x > 500:
        raise OverflowError
    return math.comb(x, y)


def _sized(function, most):
    """`function`, only on collections of at most `most` items."""

    def guarded(x, *rest):
        if len(x) > most or (rest and hasattr(rest[0], "__len__") and len(rest[0]) > most):
            raise OverflowError
        return function(x, *rest)

    return guarded


def _combinations(x, y):
    if len(x) > 12 or y > 6:
        raise OverflowError
    return list(itertools.combinations(x, y))


def _round(x, y):
    if abs(y) > 20:
        raise OverflowError
    return round(x, y)


def _prod(x):
    if sum(map(_bits, x)) > MOST_BITS:
        raise OverflowError
    return math.prod(x)


def _bounded_range(*ends):
    made = range(*ends)
    if len(made) > LONGEST:
        raise OverflowError
    return made


GUARDED = {
    "x ** y": _pow, "x ** 2": lambda x: _pow(x, 2), "x ** 3": lambda x: _pow(x, 3),
    "x * y": _times, "x << y": _shift, "math.factorial(x)": _factorial, "math.comb(x, y)": _comb,
    "list(itertools.combinations(x, y))": _combinations, "math.prod(x)": _prod,
    "round(x, y)": _round,
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


def _function(source, names):
    function = GUARDED.get(source)
    if function is None:
        function = eval(f"lambda {names}: {source}", dict(NAMES))
        if source in LENGTHS:
            function = _sized(function, LENGTHS[source])
    return function


class Node:
    """An expression: a template with its parts, its value on each input, its kind and cost."""

    __slots__ = ("cost", "kind", "parts", "template", "vals")

    def __init__(self, template, parts, vals, kind, cost):
        self.template, self.parts, self.vals = template, parts, vals
        self.kind, self.cost = kind, cost


KINDS = {
    bool: "b", int: "n", float: "n", str: "s", list: "q", tuple: "q", range: "q", set: "t",
    frozenset: "t", dict: "d",
}  # fmt: skip


def kind_of(vals):
    kinds = {KINDS.get(type(v), "o") for v in vals if v is not FAILED}
    return kinds.pop() if len(kinds) == 1 else "o"


def _fits(vals, kind):
    """Whether values are small enough to go on with; no complex numbers."""
    if kind == "n":
        return all(type(v) is not int or v.bit_length() <= MOST_BITS for v in vals)
    if kind == "o":
        return not any(type(v) is complex for v in vals)
    return kind == "b" or all(len(v) <= LONGEST for v in vals if v is not FAILED)


def _has_length(value):
    return hasattr(value, "__len__")


def _key(vals):
    """What tells rows of values apart; None: they are too large."""
    try:
        data = marshal.dumps(vals, 2)
    except ValueError:  # a range, a failure
        data = repr(vals)
    return hash(data) if len(data) <= MOST_BYTES else None


class OutOfTime(Exception):
    """Seconds or candidates are used up."""


class Clock:
    """Counts candidates; stops after `seconds` of CPU time, twice that, or `most` candidates."""

    def __init__(self, seconds, most):
        self.end, self.wall = time.process_time() + seconds, time.monotonic() + 2 * seconds
        self.most, self.tried, self.hurried = most, 0, False

    def hurry(self):
        """What is found from now on is dearer than what there is: a third of the time is enough."""
        if not self.hurried:
            self.hurried = True
            now = time.process_time()
            self.end = min(self.end, now + (self.end - now) / 3)
            self.most = min(self.most, self.tried + (self.most - self.tried) // 3)

    def tick(self):
        self.tried += 1
        if self.tried > self.most or (
            not self.tried & 31 and (time.process_time() > self.end or time.monotonic() > self.wall)
        ):
            raise OutOfTime


def _varies(node):
    return node.template[0] != "#" if not node.parts else True


class Space:
    """All distinct values over a row of environments, by the cost of their expressions."""

    def __init__(self, clock, firm, accept=None, fixed=False):
        self.clock, self.accept = clock, accept
        self.fixed = fixed
        """Whether expressions without a parameter are kept (in bodies they cost little)."""
        self.firm = firm
        """Environments, the first ones, in which an expression must not raise."""
        self.levels = collections.defaultdict(list)
        self.seen = set()
        self.inner = {}
        self.grown = 1

    def add(self, template, parts, vals, cost):
        key = _key(vals)
        if key is None or key in self.seen:
            return
        self.seen.add(key)
        kind = kind_of(vals)
        if not _fits(vals, kind):
            return
        if not self.fixed and parts and not any(map(_varies, parts)):
            return
        node = Node(template, parts, vals, kind, cost)
        if self.accept is None or not self.accept(node):
            self.levels[cost].append(node)

    def evaluate(self, function, *columns):
        """Values of a function on columns of arguments; None: it raised where it must not."""
        self.clock.tick()
        try:
            vals = list(map(function, *columns))
            # Hardly anything takes a failure for an argument without raising in its turn.
            if not any(value is FAILED for column in columns for value in column[self.firm :]):
                return vals
        except Exception:
            pass
        vals = []
        for number, row in enumerate(zip(*columns)):
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

    def grow(self, cost, unary, binary):
        self.grow_unary(cost, unary)
        self.grow_binary(cost, binary)

    def grow_unary(self, cost, unary):
        for price, template, kinds, _, function in unary:
            for node in self.levels.get(cost - price, ()):
                if node.kind in kinds or kinds == "o":
                    vals = self.evaluate(function, node.vals)
                    if vals is not None:
                        self.add(template, (node,), vals, cost)

    def grow_binary(self, cost, binary):
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


def _elements(node, space):
    """Spans of the elements of a collection in a flat row; None: too many, or none."""
    flat, spans = [], []
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
"""What a comprehension runs over as well before as after it."""


def _loops(space, cost, bases, unary, binary):
    """Comprehensions and keyed sorts of a given cost over collections that cost one of `bases`."""
    for base in bases:
        body = cost - base
        if not 1 <= body <= INNER:
            continue
        for node in list(space.levels.get(base, ())):
            if node.kind not in "qstd" or node.template in RATHER_OUTSIDE:
                continue
            known = space.inner.get(id(node))
            if known is None:
                known = space.inner[id(node)] = _opened(space, node, space.clock)
            if not known:
                continue
            inner, flat, spans = known
            while inner.grown < body:
                inner.grown += 1
                inner.grow(inner.grown, unary, binary)
            source = "x.items()" if node.kind == "d" else "x"
            for part in inner.levels.get(body, ()):
                _looped(space, cost, node, source, part, inner, flat, spans)


def _opened(space, node, clock):
    """A space over the elements of a collection; outer parameters and constants are known there."""
    found = _elements(node, space)
    if found is None:
        return ()
    flat, spans, firm = found
    inner = Space(clock, firm)
    inner.add("e", (), flat, 1)
    width = len(flat[0]) if type(flat[0]) is tuple else 0
    if width in (2, 3) and all(type(e) is tuple and len(e) == width for e in flat):
        for place in range(width):
            inner.add(f"e[{place}]", (), [e[place] for e in flat], 1)
    if not inner.levels[1]:
        return ()
    for cost in (1, 2):
        for outer in space.levels[cost]:
            if outer.parts:
                continue
            vals = []
            for value, span in zip(outer.vals, spans):
                if span:
                    vals += [value] * (span[1] - span[0])
            inner.add(outer.template, (), vals, cost)
    return inner, flat, spans


def _looped(space, cost, node, source, part, inner, flat, spans):
    uses = _uses_element(part)
    if not uses:
        return
    if part.parts or part.template != "e":
        lists = [FAILED if s is None else _taken(part.vals[s[0] : s[1]]) for s in spans]
        space.clock.tick()
        space.add(f"[B for e in {source}]", (node, part), lists, cost)
    if part.kind == "b":
        kept = [_chosen(flat, flat, part.vals, s) for s in spans]
        space.clock.tick()
        space.add(f"[e for e in {source} if B]", (node, part), kept, cost)
        for price in (1, 2):
            for body in inner.levels.get(price, ()):
                if _uses_element(body) and (body.template != "e"):
                    kept = [_chosen(flat, body.vals, part.vals, s) for s in spans]
                    space.clock.tick()
                    space.add(f"[C for e in {source} if B]", (node, part, body), kept, cost + price)
    elif part.template != "e":
        for wrap, pick in (
            (f"sorted({source}, key=lambda e: B)", _sorted_by),
            (f"max({source}, key=lambda e: B)", _max_by),
            (f"min({source}, key=lambda e: B)", _min_by),
        ):
            picked = space.evaluate(
                lambda s, pick=pick: pick(flat[s[0] : s[1]], _taken(part.vals[s[0] : s[1]])),
                [FAILED if s is None else s for s in spans],
            )
            if picked is not None:
                space.add(wrap, (node, part), picked, cost)
        if source == "x" and part.kind != "o":
            made = space.evaluate(
                lambda s: dict(zip(flat[s[0] : s[1]], _taken(part.vals[s[0] : s[1]]))),
                [FAILED if s is None else s for s in spans],
            )
            if made is not None:
                space.add("{e: B for e in x}", (node, part), made, cost + 1)


def _taken(vals):
    return FAILED if FAILED in vals else vals


def _chosen(flat, bodies, conditions, span):
    if span is None:
        return FAILED
    chosen = range(span[0], span[1])
    if any(conditions[i] is FAILED for i in chosen):
        return FAILED
    return _taken([bodies[i] for i in chosen if conditions[i]])


def _sorted_by(items, keys):
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def _max_by(items, keys):
    return items[max(range(len(items)), key=keys.__getitem__)]


def _min_by(items, keys):
    return items[min(range(len(items)), key=keys.__getitem__)]


def _uses_element(node):
    return node.template[0] == "e" and not node.parts or any(map(_uses_element, node.parts))


# -- equality and rendering ------------------------------------------------------------------------


def same(out, expected):
    """As `refute.sandbox.equality.equal` without a tolerance of its own, on plain values."""
    try:
        if out == expected:
            return True
    except Exception:
        return False
    if type(expected) is float and type(out) in (int, float):
        return abs(out - expected) <= 1e-6 + 1e-7 * abs(expected)
    if type(expected) in (list, tuple) and type(out) is type(expected):
        return len(out) == len(expected) and all(map(same, out, expected))
    return False


class _Filler(ast.NodeTransformer):
    def __init__(self, parts):
        self.parts = parts

    def visit_Name(self, node):
        return self.parts.get(node.id, node)


def rendered(node, element):
    """The expression as a syntax tree; `element` names the loop variable."""
    template = node.template
    if not node.parts:
        if template[0] in "=#":
            template = template[1:]
        tree = ast.parse(template, mode="eval").body
        if node.template[0] == "e" and node.template in ("e", "e[0]", "e[1]", "e[2]"):
            return _Filler({"e": ast.Name(element, ast.Load())}).visit(tree)
        return tree
    tree = ast.parse(template, mode="eval").body
    names = "xBC" if "B" in template.replace("Bool", "") and "e" in template else "xyz"
    parts = {n: rendered(p, element) for n, p in zip(names, node.parts)}
    if names == "xBC":
        parts["e"] = ast.Name(element, ast.Load())
        for child in ast.walk(tree):
            if isinstance(child, ast.comprehension):
                child.target = ast.Name(element, ast.Store())
            elif isinstance(child, ast.arg):
                child.arg = element
        for child in ast.walk(tree):
            if isinstance(child, ast.comprehension):
                child.target = ast.Name(element, ast.Store())
        keep = [c.target for c in ast.walk(tree) if isinstance(c, ast.comprehension)]
        made = _Filler(parts).visit(tree)
        for loop, target in zip(
            [c for c in ast.walk(made) if isinstance(c, ast.comprehension)], keep
        ):
            loop.target = loop.target if isinstance(loop.target, ast.Name) else target
        return made
    return _Filler(parts).visit(tree)


_TAKERS = frozenset({"sum", "max", "min", "any", "all", "set", "tuple", "sorted", "list", "dict"})


class _Neater(ast.NodeTransformer):
    """``sum([... for ...])`` becomes ``sum(... for ...)``; loops need no list of what they run over."""

    def visit_Call(self, node):
        self.generic_visit(node)
        func = node.func
        taker = (isinstance(func, ast.Name) and func.id in _TAKERS) or (
            isinstance(func, ast.Attribute) and func.attr in ("join", "prod")
        )
        if taker and len(node.args) == 1:
            only = node.args[0]
            if isinstance(only, ast.ListComp) and not node.keywords:
                node.args = [ast.GeneratorExp(only.elt, only.generators)]
            elif not (isinstance(func, ast.Name) and func.id == "list"):
                node.args = [_unlisted(only)]
        return node

    def visit_comprehension(self, node):
        self.generic_visit(node)
        node.iter = _unlisted(node.iter)
        return node


def _unlisted(node):
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "list"
        and len(node.args) == 1
        and not node.keywords
        and isinstance(node.args[0], ast.Call)
    ):
        return node.args[0]
    return node


MOST_FOUND = 20
UNUSED = 2
"""Cost of a parameter that an expression does not use."""


def _parameters(node):
    """Names of parameters that an expression uses."""
    if node.parts:
        return set().union(*map(_parameters, node.parts))
    return {node.template[1:]} if node.template[0] == "=" else set()


def _width(outputs):
    """Length of the outputs where they are tuples of two or three, else 0."""
    widths = {len(o) if type(o) is tuple else 0 for o in outputs}
    width = widths.pop() if len(widths) == 1 else 0
    return width if width in (2, 3) else 0


def synthesize(params, inputs, outputs, constants, unary, binary, seconds, most):
    """Expressions over `params` that map the first inputs to `outputs`, cheapest first.

    `unary`, `binary`: rows of `operations`. `inputs`: rows of arguments; those past `len(outputs)` have no known output. Returns (found,
    candidates tried), found being (cost, source), at most `MOST_FOUND` of them.
    """
    clock = Clock(seconds, most)
    firm = len(outputs)
    found = []
    element = next(n for n in ("e", "item", "element", "each", "e_") if n not in params)

    width = _width(outputs)
    columns = [[output[i] for output in outputs] for i in range(width)]
    parts = [[] for _ in columns]

    def priced(node):
        odd = any(type(v) is not type(o) for v, o in zip(node.vals, outputs))
        failed = sum(v is FAILED for v in node.vals)
        unused = len(set(params) - _parameters(node))
        found.append((node.cost + 2 * odd + failed + UNUSED * unused, node))

    def accept(node):
        if all(map(same, node.vals, outputs)):
            priced(node)
            return True
        for column, nodes in zip(columns, parts):
            if all(map(same, node.vals, column)):
                nodes.append(node)
                for chosen in itertools.product(*[n if n is not nodes else [node] for n in parts]):
                    vals = [
                        FAILED if FAILED in row else row for row in zip(*[n.vals for n in chosen])
                    ]
                    template = "(" + ", ".join("xyz"[: len(chosen)]) + ")"
                    if len(found) < 60:
                        priced(Node(template, chosen, vals, "q", 1 + sum(n.cost for n in chosen)))
        return False

    one = [(*row, _function(row[1], "x")) for row in unary]
    two = [(*row, _function(row[1], "x, y")) for row in binary]
    space = Space(clock, firm, accept)
    truth = {type(output) for output in outputs} == {bool}
    # Truth values are of little use where the output is none, except in conditions.
    outer_one = [row for row in one if truth or not row[3]]
    outer_two = [row for row in two if truth or not row[5]]
    try:
        for index, name in enumerate(params):
            space.add("=" + name, (), [row[index] for row in inputs], 1)
        for place, constant in enumerate(constants):
            space.levels[1 if place < 2 else 2].append(
                Node("#" + repr(constant), (), [constant] * len(inputs), kind_of([constant]), 2)
            )
            space.seen.add(_key([constant] * len(inputs)))
        if len(params) >= 3:
            rows = [
                list(zip(*row[:3])) if all(map(_has_length, row[:3])) else FAILED for row in inputs
            ]
            if FAILED not in rows:
                parts_ = tuple(space.levels[1][:3])
                if len(parts_) == 3:
                    space.add("list(zip(x, y, z))", parts_, rows, 2)
        for cost in range(2, 16):
            # What is cheap to try for what it finds goes first.
            space.grow_unary(cost, outer_one)
            _loops(space, cost, range(1, 2), one, two)
            space.grow_binary(cost, outer_two)
            _loops(space, cost, range(2, 4), one, two)
            if found and cost > min(c for c, _ in found) + 1:
                break
            if found and cost >= min(c for c, _ in found):
                clock.hurry()
    except OutOfTime:
        pass
    answers = []
    for cost, node in sorted(found, key=lambda pair: pair[0])[:MOST_FOUND]:
        tree = _Neater().visit(rendered(node, element))
        source = ast.unparse(ast.fix_missing_locations(tree))
        answers.append((cost, source))
    return answers, clock.tried

"""The operations that `synthesis` builds expressions from, with what they cost.

Templates over x and y (bodies of comprehensions come on top, see `enumerator`). Kinds of
operands: b bool, n number, s str, q list or tuple or range, t set, d dict, o other. Costs are
whole numbers: 1 what programs do all the time, 2 the rest. `composed` and `with_body` turn what the
enumerator found into source.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping
from typing import Any

from refute.function.rough_types import rough_type
from refute.function.search.rewrite import rewrite
from refute.source.syntax import parse_expression, parse_module

__all__ = ["Binary", "Unary", "binary_operations", "composed", "unary_operations", "with_body"]

Unary = tuple[int, str, str, bool]
"""Cost, template over x, kinds of x (only "o": of any kind), whether it gives a truth value."""
Binary = tuple[int, str, str, str, bool, bool]
"""Cost, template over x and y, kinds of x, kinds of y, whether symmetric, whether it gives a
truth value."""

_UNARY: list[tuple[int, str, str]] = [
    (1, "len(x)", "sqtd"), (1, "sum(x)", "qt"), (1, "min(x)", "qt"), (1, "max(x)", "qt"),
    (1, "sorted(x)", "qts"), (1, "set(x)", "qs"), (1, "tuple(x)", "q"), (1, "list(x)", "qs"),
    (1, "x[::-1]", "qs"), (1, "x[0]", "qs"), (1, "x[-1]", "qs"), (1, "x[1:]", "qs"),
    (1, "x[:-1]", "qs"), (1, "x[1]", "q"), (2, "x[1:-1]", "qs"), (2, "x[::2]", "qs"),
    (2, "x[1::2]", "qs"), (1, "len(set(x))", "qs"), (1, "any(x)", "q"), (1, "all(x)", "q"),
    (1, "not x", "bqs"), (1, "abs(x)", "n"), (1, "-x", "n"), (1, "x ** 2", "n"),
    (2, "x ** 3", "n"), (1, "str(x)", "n"), (1, "int(x)", "ns"), (2, "float(x)", "ns"),
    (1, "bin(x)[2:]", "n"), (2, "bin(x)", "n"), (2, "bin(x).replace('0b', '')", "n"),
    (2, "hex(x)[2:]", "n"), (2, "oct(x)[2:]", "n"), (1, "x % 2 == 0", "n"), (1, "x % 2 == 1", "n"),
    (1, "x > 0", "n"), (1, "x < 0", "n"), (1, "x == 0", "n"), (1, "x != 0", "n"),
    (1, "x + 1", "n"), (1, "x - 1", "n"), (1, "x * 2", "n"), (1, "x // 2", "n"), (2, "x / 2", "n"),
    (1, "math.sqrt(x)", "n"), (2, "math.isqrt(x)", "n"), (1, "math.floor(x)", "n"),
    (1, "math.ceil(x)", "n"), (1, "round(x)", "n"), (2, "round(x, 2)", "n"),
    (1, "math.factorial(x)", "n"), (1, "math.prod(x)", "q"), (1, "x.bit_length()", "n"),
    (2, "[int(d) for d in str(x)]", "n"), (1, "range(x)", "n"), (1, "range(1, x)", "n"),
    (1, "range(1, x + 1)", "n"), (2, "range(2, x)", "n"), (1, "x.lower()", "s"),
    (1, "x.upper()", "s"), (1, "x.split()", "s"), (1, "x.strip()", "s"), (1, "x.title()", "s"),
    (1, "x.capitalize()", "s"), (1, "x.swapcase()", "s"), (1, "x.isdigit()", "s"),
    (1, "x.isalpha()", "s"), (1, "x.isupper()", "s"), (1, "x.islower()", "s"),
    (1, "x.isalnum()", "s"), (1, "x.isspace()", "s"), (1, "ord(x)", "s"), (1, "chr(x)", "n"),
    (1, "''.join(x)", "q"), (1, "' '.join(x)", "q"), (2, "x in 'aeiou'", "s"),
    (2, "x in 'aeiouAEIOU'", "s"), (1, "isinstance(x, int)", "o"), (1, "isinstance(x, str)", "o"),
    (1, "isinstance(x, list)", "o"), (1, "isinstance(x, tuple)", "o"), (1, "x is None", "o"),
    (2, "isinstance(x, (int, float))", "o"), (2, "isinstance(x, (list, tuple))", "o"),
    (2, "isinstance(x, dict)", "o"), (1, "list(x.values())", "d"), (1, "list(x)", "d"),
    (1, "list(x.items())", "d"), (1, "dict(x)", "qd"), (1, "dict(collections.Counter(x))", "qs"),
    (1, "list(dict.fromkeys(x))", "qs"), (1, "list(zip(*x))", "q"),
    (1, "list(zip(x, x[1:]))", "qs"), (1, "list(enumerate(x))", "qs"),
    (2, "list(itertools.combinations(x, 2))", "qs"), (2, "list(itertools.accumulate(x))", "q"),
    (1, "[e for r in x for e in r]", "q"), (1, "max(x, key=len)", "q"),
    (1, "min(x, key=len)", "q"), (1, "sorted(x, reverse=True)", "qt"), (1, "sorted(set(x))", "qs"),
    (1, "sorted(x, key=sum)", "q"), (1, "sorted(x, key=len)", "q"),
    (2, "max(x.items(), key=lambda e: e[1])", "d"), (2, "max(x, key=x.count)", "q"),
    (3, "[x[i:j] for i in range(len(x)) for j in range(i + 1, len(x) + 1)]", "qs"),
    (2, "[x[i:] for i in range(len(x))]", "qs"), (2, "[x[:i + 1] for i in range(len(x))]", "qs"),
    (2, "next(iter(x), None)", "q"), (2, "next(iter(x), -1)", "q"),
    (1, "[tuple(sorted(e)) for e in x]", "q"),
    (2, "[list(g) for _, g in itertools.groupby(x)]", "qs"),
]  # fmt: skip
_BINARY: list[tuple[int, str, str, str, bool]] = [
    (1, "x + y", "n", "n", True), (1, "x - y", "n", "n", False), (1, "x * y", "n", "n", True),
    (1, "x / y", "n", "n", False), (1, "x // y", "n", "n", False), (1, "x % y", "n", "n", False),
    (1, "x ** y", "n", "n", False), (1, "x + y", "s", "s", False), (1, "x + y", "q", "q", False),
    (1, "x * y", "sq", "n", False), (1, "x == y", "nsqtdo", "nsqtdo", True),
    (1, "x != y", "nsqtdo", "nsqtdo", True), (1, "x < y", "ns", "ns", False),
    (1, "x <= y", "ns", "ns", False), (1, "x in y", "nsqob", "qt", False),
    (1, "x in y", "s", "s", False), (1, "x not in y", "nsqob", "qt", False),
    (1, "x not in y", "s", "s", False), (1, "x % y == 0", "n", "n", False),
    (1, "x % y != 0", "n", "n", False), (1, "x & y", "n", "n", True), (1, "x | y", "n", "n", True),
    (1, "x ^ y", "n", "n", True), (1, "x >> y", "n", "n", False), (1, "x << y", "n", "n", False),
    (1, "x & y", "t", "t", True), (1, "x | y", "t", "t", True), (1, "x - y", "t", "t", False),
    (1, "x ^ y", "t", "t", True), (1, "x <= y", "t", "t", False), (1, "max(x, y)", "n", "n", True),
    (1, "min(x, y)", "n", "n", True), (1, "x and y", "b", "b", True),
    (1, "x or y", "b", "b", True), (1, "x[y]", "qs", "n", False), (1, "x[:y]", "qs", "n", False),
    (1, "x[y:]", "qs", "n", False), (2, "x[-y:]", "qs", "n", False),
    (1, "x[::y]", "qs", "n", False), (1, "x[y]", "d", "nsq", False),
    (1, "x.get(y)", "d", "nsq", False), (2, "x.get(y, 0)", "d", "nsq", False),
    (1, "x in y", "nsq", "d", False), (1, "x.count(y)", "q", "nsqob", False),
    (1, "x.count(y)", "s", "s", False), (1, "x.index(y)", "q", "nsq", False),
    (1, "x.find(y)", "s", "s", False), (1, "x.split(y)", "s", "s", False),
    (1, "x.join(y)", "s", "q", False), (1, "x.startswith(y)", "s", "s", False),
    (1, "x.endswith(y)", "s", "s", False), (1, "x.replace(y, '')", "s", "s", False),
    (2, "x.replace(' ', y)", "s", "s", False), (2, "x.count(y) == 1", "q", "nsqob", False),
    (2, "x.count(y) > 1", "q", "nsqob", False), (2, "x.rstrip(y)", "s", "s", False),
    (2, "x.lstrip(y)", "s", "s", False), (1, "math.gcd(x, y)", "n", "n", True),
    (1, "math.comb(x, y)", "n", "n", False), (1, "range(x, y)", "n", "n", False),
    (2, "range(x, y + 1)", "n", "n", False), (1, "list(zip(x, y))", "qs", "qs", False),
    (1, "dict(zip(x, y))", "q", "q", False),
    (2, "list(itertools.product(x, y))", "qs", "qs", False),
    (1, "(x, y)", "nsqtdb", "nsqtdb", False), (2, "[x, y]", "nsqtdb", "nsqtdb", False),
    (2, "math.hypot(x, y)", "n", "n", True),
    (2, "list(itertools.combinations(x, y))", "q", "n", False),
    (2, "[x[i:i + y] for i in range(0, len(x), y)]", "qs", "n", False),
    (2, "{**x, **y}", "d", "d", False),
    (2, "[x[i:i + y] for i in range(len(x) - y + 1)]", "qs", "n", False),
    (2, "round(x, y)", "n", "n", False),
]  # fmt: skip
_RARE = frozenset({
    "math", "bit_length", "hex", "oct", "title", "capitalize", "isspace", "isalnum", "chr", "ord",
    "startswith", "endswith", "accumulate", "combinations", "groupby", "product", "round", "isqrt",
})  # fmt: skip
"""Names of operations that cost 2 unless the code at hand uses them too."""
_BITWISE = (" & ", " | ", " ^ ", ">>", "<<")


def unary_operations(words: Collection[str]) -> list[Unary]:
    """The operations on one value; `words`: the names that the code at hand uses."""
    return [(_price(c, t, words), t, kinds, _tells(t, kinds)) for c, t, kinds in _UNARY]


def binary_operations(words: Collection[str]) -> list[Binary]:
    """The operations on two values; `words`: the names that the code at hand uses."""
    return [
        (_price(c, t, words), t, first, second, symmetric, _tells(t, first))
        for c, t, first, second, symmetric in _BINARY
    ]


def _price(cost: int, template: str, words: Collection[str]) -> int:
    tree = parse_module(template)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    rare = names & _RARE
    if rare and rare.isdisjoint(words):
        return 2
    return 2 if any(sign in template for sign in _BITWISE) else cost


def _tells(template: str, kinds: str) -> bool:
    """Whether it gives a truth value, of operands of these kinds."""
    types = dict.fromkeys("xy", "bool" if kinds == "b" else "?")
    return rough_type(parse_expression(template), types) == "bool"


_TAKERS = frozenset({"sum", "max", "min", "any", "all", "set", "tuple", "sorted", "list", "dict"})
_MODULES = ("collections", "itertools", "math")


def composed(form: tuple[str, tuple[Any, ...]], taken: Collection[str]) -> str:
    """Source of a form of `enumerator`; the loop variable is none of the names `taken`."""
    names = ("e", "item", "element", "each")
    element = next((name for name in names if name not in taken), "refute_item")
    tree = _Neat().visit(_filled(form, element))
    return _tidy(ast.unparse(ast.fix_missing_locations(tree)))


def _filled(form: tuple[str, tuple[Any, ...]], element: str) -> ast.expr:
    template, parts = form
    tree = parse_expression(template[1:] if template[0] in "=#" else template)
    if not parts:
        if template[0] == "e":
            return _Fill({}, element).expression(tree)
        return tree
    loop = any(isinstance(n, ast.Name) and n.id in "BC" for n in ast.walk(tree))
    slots = "xBC" if loop else "xyz"
    fill = {n: _filled(p, element) for n, p in zip(slots, parts, strict=False)}
    return _Fill(fill, element if loop else None).expression(tree)


class _Fill(ast.NodeTransformer):
    """Puts parts in the place of the names of a template; renames its loop variable ``e``."""

    def __init__(self, parts: Mapping[str, ast.expr], element: str | None) -> None:
        self.parts, self.element = parts, element

    def expression(self, tree: ast.expr) -> ast.expr:
        filled: ast.expr = self.visit(tree)
        return filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.parts:
            return copy.deepcopy(self.parts[node.id])
        if node.id == "e" and self.element is not None:
            return ast.Name(self.element, node.ctx)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.element) if node.arg == "e" and self.element is not None else node


class _Neat(ast.NodeTransformer):
    """``sum([... for ...])`` becomes ``sum(... for ...)``; loops need no list to run over."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        named = func.id if isinstance(func, ast.Name) else None
        method = func.attr if isinstance(func, ast.Attribute) else None
        if len(node.args) != 1 or not (named in _TAKERS or method in ("join", "prod", "Counter")):
            return node
        only = node.args[0]
        if isinstance(only, ast.ListComp) and not node.keywords:
            if named == "list":
                return only
            node.args = [ast.GeneratorExp(only.elt, only.generators)]
        elif named != "list":
            node.args = [_unlisted(only)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = _unlisted(node.iter)
        return node


def _unlisted(node: ast.expr) -> ast.expr:
    """``list(f(...))`` without the ``list``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "list"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Call)
    ):
        return node.args[0]
    return node


def _tidy(source: str) -> str:
    """``f((x for x in y))`` without the inner parentheses, which `ast.unparse` writes."""
    data = bytearray(source, "utf-8")
    spots: list[int] = []
    for node in ast.walk(parse_expression(source)):
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            continue
        only = node.args[0]
        if isinstance(only, ast.GeneratorExp) and only.end_col_offset is not None:
            start, end = only.col_offset, only.end_col_offset
            if data[start - 1 : start + 1] == b"((" and data[end - 1 : end + 1] == b"))":
                spots += [start, end - 1]
    for spot in sorted(spots, reverse=True):
        del data[spot]
    return data.decode()


def with_body(code: str, tree: ast.Module, function: ast.FunctionDef, source: str) -> str:
    """`code` with the body of `function`, a statement of its `tree`, replaced by one return.

    The docstring stays. Modules that the expression needs are imported inside the function, where
    the module does not import them itself.
    """
    expression = parse_expression(source)
    names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
    imported = {
        alias.name
        for stmt in tree.body
        if isinstance(stmt, ast.Import)
        for alias in stmt.names
        if alias.asname in (None, alias.name)
    }
    body: list[ast.stmt] = []
    if ast.get_docstring(function, clean=False) is not None:
        body.append(function.body[0])
    for module in _MODULES:
        if module in names and module not in imported:
            body.append(ast.Import([ast.alias(module)]))
    body.append(ast.Return(expression))
    place = tree.body.index(function)
    changed = copy.copy(function)
    changed.body = body
    new = ast.Module([*tree.body[:place], changed, *tree.body[place + 1 :]], tree.type_ignores)
    wanted = parse_module(ast.unparse(ast.fix_missing_locations(new)))
    text = rewrite(code, wanted)
    tidy = text.replace(f"return {ast.unparse(expression)}", f"return {source}")
    return tidy if ast.dump(parse_module(tidy)) == ast.dump(wanted) else text

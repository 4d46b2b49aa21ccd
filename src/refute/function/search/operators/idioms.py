"""Faults that programs written by language models share, one operator each.

Their authors know the happy path: what is missing is the other spelling of the input (a sign, a
letter's case, lists of unequal length), the copy of a list that a loop empties, the digits of a
text, exact arithmetic. Each operator is for a class of programs, not for a problem.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from refute.function.search.edit import Change
from refute.function.search.facts import Facts, may_be
from refute.function.search.fuel import is_mark
from refute.function.search.operators.build import (
    Variant,
    binary,
    call,
    const,
    load,
    method,
    number,
)
from refute.function.search.operators.insertions import Draft, is_docstring, store
from refute.function.search.sites import Site
from refute.syntax import parse_expression

__all__ = ["final_returns", "idioms", "normalised_arguments", "patterns"]

_SHRINKERS = frozenset({"remove", "pop", "insert", "append", "clear", "extend"})
_INTEGER_FUNCTIONS = frozenset({"prod", "sum", "cumsum", "cumprod", "power", "dot", "array"})


def idioms(site: Site, facts: Facts) -> Iterator[Variant]:
    """Copies of what a loop changes, signs before digits, shortest of several lists, exact sums."""
    node = site.node
    over = site.owner if site.field == "iter" and isinstance(site.owner, ast.For) else None
    if over is not None and isinstance(node, ast.Name) and _changed(over, node.id):
        yield "copy first", call("list", node), 0.0
    if not isinstance(node, ast.Call):
        return
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=("isdigit" | "isnumeric") as attr)):
            for signs in ("-", "+-"):
                bare = method(value, "lstrip", const(signs))
                yield "signed digits", method(bare, attr), 0.0
        case ast.Call(func=ast.Name(id="int"), args=[ast.BinOp(op=ast.Div()) as ratio]):
            yield "exact division", binary(ratio.left, ast.FloorDiv(), ratio.right), 0.0
        case ast.Call(func=ast.Name(id="int"), args=[text]) if may_be(text, facts, "str"):
            digits = call("sum", call("map", load("int"), text))
            yield "sum digits", digits, 0.5 if "digits" in facts.words else -0.5
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            yield from _shortest(site, name, facts)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=args):
            exact = attr in _INTEGER_FUNCTIONS and module in ("np", "numpy")
            if exact and not any(k.arg == "dtype" for k in node.keywords):
                kept = [*node.keywords, ast.keyword("dtype", load("object"))]
                yield "exact numbers", ast.Call(func=node.func, args=args, keywords=kept), 0.0


def _changed(loop: ast.For, name: str) -> bool:
    """Whether the body calls a method that changes the length of the list it runs over."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _SHRINKERS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        for node in ast.walk(loop)
    )


def _shortest(site: Site, name: str, facts: Facts) -> Iterator[Variant]:
    """`range(len(a))` where `b[i]` is read too: the shorter of the two bounds the loop."""
    function = site.context.function
    if function is None or not isinstance(site.owner, ast.Call):
        return
    if getattr(site.owner.func, "id", "") != "range":
        return
    indexed = {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Name)
    }
    names = [arg.arg for arg in function.args.args if arg.arg in indexed or arg.arg == name]
    if len(names) > 1 and name in names:
        yield "shortest", call("min", *[call("len", load(one)) for one in names]), 0.0


_CLASSES = (r"\w", r"\d", "[a-z]", "[A-Z]", "[a-zA-Z]", ".")


def patterns(site: Site, facts: Facts) -> Iterator[Variant]:
    """One step of a regular expression: its quantifiers, anchors and character classes."""
    node = site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    text = node.value
    if not _is_pattern(site, text) or len(text) > 60:
        return
    made: dict[str, float] = {}
    for found in re.finditer(r"(?<!\\)[*+?]", text):
        before, after, sign = text[: found.start()], text[found.end() :], found.group()
        for other in "*+?":
            if other != sign:
                made.setdefault(before + other + after, 0.3)
        made.setdefault(before + after, -0.3)
        if sign != "?" and not after.startswith("?"):
            made.setdefault(before + sign + "?" + after, 0.0)
    anchored = text.startswith("^"), text.endswith("$")
    bare = text[anchored[0] : len(text) - anchored[1]]
    for start in ("", "^"):
        for end in ("", "$"):
            made.setdefault(start + bare + end, 0.3)
    for one in _CLASSES:
        for at in [m.start() for m in re.finditer(re.escape(one), text)]:
            for other in _CLASSES:
                made.setdefault(text[:at] + other + text[at + len(one) :], -0.5)
    for edge in (r"\b", r"\B"):
        if edge in text:
            made.setdefault(text.replace(edge, ""), 0.0)
            made.setdefault(text.replace(edge, r"\B" if edge == r"\b" else r"\b"), -0.3)
    made.setdefault("(?i)" + text, 0.0)
    for new, extra in made.items():
        if new != text and _compiles(new):
            yield "pattern", const(new), extra


def _is_pattern(site: Site, text: str) -> bool:
    """Whether the text is handed to `re`, or is named and looks as if it were."""
    owner = site.owner
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
        return getattr(owner.func.value, "id", "") == "re" and site.index == 0
    return isinstance(owner, ast.Assign) and bool(re.search(r"\\[a-zA-Z]|\[.*\]|[*+^$]", text))


def _compiles(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


_SPELLINGS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], float], ...] = (
    # a parameter's other spelling, rough types, words that ask for it, addition
    ("p.lower()", ("str",), ("case", "insensitive", "ignoring"), 0.0),
    ("p.strip()", ("str",), ("whitespace", "spaces"), 0.0),
    ("abs(p)", ("int", "num", "float"), ("digit", "digits", "absolute"), 0.3),
    ("list(p)", ("list", "tuple"), (), 0.0),
    ("sorted(p)", ("list", "tuple"), ("order", "sorted"), 0.0),
    ("list(dict.fromkeys(p))", ("list",), ("unique", "distinct", "duplicates"), -0.3),
    ("[tuple(sorted(each)) for each in p]", ("list",), ("tuples", "tuple", "pairs"), -0.3),
    ("[each.lower() for each in p]", ("list",), ("case", "insensitive"), -1.0),
    ("[each for each in p if each]", ("list",), ("empty",), -1.0),
)


def normalised_arguments(function: ast.FunctionDef, facts: Facts) -> Iterator[Draft]:
    """A parameter brought into one spelling first: `text = text.lower()`, `n = abs(n)`."""
    place = next(
        (i for i, s in enumerate(function.body) if not is_mark(s) and not is_docstring(s)), 0
    )
    first = function.body[place]
    names = [arg.arg for arg in function.args.args]
    for template, kinds, words, extra in _SPELLINGS:
        asked = 1.0 if not facts.words.isdisjoint(words) else 0.0
        suited = [n for n in names if facts.types.get(n, "?") in ("?", "num", *kinds)]
        groups = [[name] for name in suited] + ([suited] if len(suited) > 1 else [])
        for group in groups:
            known = 0.5 if all(facts.types.get(n, "?") in kinds for n in group) else 0.0
            made = [_respelt(template, name) for name in group]
            body = [*function.body[:place], *made, *function.body[place:]]
            change = Change(function, "body", None, body)
            alike = 0.3 * (len(group) > 1)
            yield "normalise", (change,), extra + asked + known + alike, (first,)


def final_returns(function: ast.FunctionDef, facts: Facts) -> Iterator[Draft]:
    """A result for the paths that fall off the end of a function that returns values elsewhere."""
    last = function.body[-1]
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    if isinstance(last, ast.Return | ast.Raise) or not returns:
        return
    truths = any(
        isinstance(r.value, ast.Constant) and isinstance(r.value.value, bool) for r in returns
    )
    names = [arg.arg for arg in function.args.args if facts.used.get(arg.arg)]
    results: list[tuple[ast.expr, float]] = [
        (const(value), 0.5 * truths) for value in (False, True)
    ]
    results += [(const(value), -0.5 * truths) for value in (0, "")]
    results += [(number(-1), 0.0), (ast.List(elts=[], ctx=ast.Load()), 0.0)]
    results += [(load(name), 0.0) for name in names]
    for result, extra in results:
        body = [*function.body, ast.Return(value=result)]
        yield "final return", (Change(function, "body", None, body),), extra, (last,)


def _respelt(template: str, name: str) -> ast.Assign:
    tree = parse_expression(template)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "p":
            node.id = name
        for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            node.__dict__.pop(place, None)
    return ast.Assign(targets=[store(name)], value=tree)

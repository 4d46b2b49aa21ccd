"""Bugs put into functions, as people make them; shares nothing with refute's own operators.

`bugs(text, name, rng)` gives edits of the module's bytes, in random order, each with its kind. Some
change one line, some several (`Bug.several`). Formatting and comments stay as they are.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Bug", "bugs", "definition"]

_COMPARE: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">="),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("/", "+"),
    ast.Div: ("*", "//"),
    ast.FloorDiv: ("%", "/"),
    ast.Mod: ("//",),
    ast.Pow: ("*",),
    ast.BitAnd: ("|",),
    ast.BitOr: ("&",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
}
_TWINS = [
    ("min", "max"), ("any", "all"), ("startswith", "endswith"), ("lstrip", "rstrip"),
    ("strip", "lstrip"), ("append", "extend"), ("lower", "upper"), ("find", "rfind"),
    ("index", "rindex"), ("split", "rsplit"), ("keys", "values"), ("ljust", "rjust"),
    ("floor", "ceil"), ("union", "intersection"), ("update", "setdefault"), ("add", "discard"),
    ("predecessors", "successors"), ("in_degree", "out_degree"), ("appendleft", "append"),
    ("pop", "popleft"), ("list", "set"), ("int", "float"), ("sorted", "list"),
    ("isdigit", "isalpha"),
    ("partition", "rpartition"), ("islower", "isupper"), ("title", "capitalize"), ("round", "int"),
    ("bisect_left", "bisect_right"), ("takewhile", "dropwhile"), ("nodes", "edges"),
]  # fmt: skip
_PLAIN = ast.Assign | ast.AugAssign | ast.Expr | ast.Delete | ast.AnnAssign
_SIMPLE = _PLAIN | ast.Return

Edit = tuple[int, int, bytes]
"""Bytes [start, end) become the new ones."""


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug: its edits, and whether more than one line differs."""

    kind: str
    edits: tuple[Edit, ...]
    several: bool
    change: str
    """The changed lines, for people."""

    def into(self, text: bytes) -> bytes:
        """The text with the bug."""
        return _applied(text, self.edits)


def bugs(text: bytes, name: str, rng: random.Random) -> Iterator[Bug]:
    """Bugs of the function, or method, `name` that still parse: random kinds, random places."""
    place = _Place(text)
    function = definition(ast.parse(text), name)
    if function is None:
        return
    found: dict[str, list[tuple[Edit, ...]]] = {}
    for kind, edit in itertools.chain(_expressions(function, place), _statements(function, place)):
        found.setdefault(kind, []).append((edit,))
    singles = [edits for kind in found for edits in found[kind] if kind != "swapped statements"]
    for _ in range(min(12, len(singles))):
        pair = rng.sample(singles, 2) if len(singles) > 1 else []
        if pair and (pair[0][0][1] <= pair[1][0][0] or pair[1][0][1] <= pair[0][0][0]):
            found.setdefault("two places", []).append((*pair[0], *pair[1]))
    for places in found.values():
        rng.shuffle(places)
    while found:
        kind = rng.choice(sorted(found))
        edits = found[kind].pop()
        if not found[kind]:
            del found[kind]
        made = _made(kind, text, edits)
        if made is not None:
            yield made


def definition(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The last definition of a function or `Class.method`; of a property what gets it."""
    *owners, last = name.split(".")
    body = tree.body
    for owner in owners:
        classes = [n for n in body if isinstance(n, ast.ClassDef) and n.name == owner]
        body = classes[-1].body if classes else []
    found = [
        n
        for n in body
        if isinstance(n, ast.FunctionDef)
        and n.name == last
        and not any(ast.unparse(d).endswith((".setter", ".deleter")) for d in n.decorator_list)
    ]
    return found[-1] if found else None


def _made(kind: str, text: bytes, edits: tuple[Edit, ...]) -> Bug | None:
    new = _applied(text, edits)
    try:
        if ast.dump(ast.parse(new)) == ast.dump(ast.parse(text)):
            return None
        compile(new, "<bug>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    sides = (text.decode().splitlines(), new.decode().splitlines())
    lines = [x for x in difflib.unified_diff(*sides, n=0, lineterm="") if x[:2] not in ("--", "++")]
    minus, plus = (sum(line.startswith(sign) for line in lines) for sign in "-+")
    shown = "\n".join(line for line in lines if line[:1] in "+-")
    several = max(minus, plus) > 1
    return None if kind == "two places" and not several else Bug(kind, edits, several, shown)


def _applied(text: bytes, edits: tuple[Edit, ...]) -> bytes:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


class _Place:
    """Where nodes stand in the text, in bytes."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.starts = [0, *itertools.accumulate(len(x) for x in text.splitlines(keepends=True))]

    def start(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> bytes:
        return self.text[self.start(node) : self.end(node)]

    def lines(self, first: ast.AST, last: ast.AST) -> tuple[int, int]:
        """The span of whole lines from one statement to another, the last line feed included."""
        return self.starts[first.lineno - 1], self.starts[last.end_lineno]  # type: ignore[attr-defined]

    def indent(self, node: ast.AST) -> bytes:
        start = self.starts[node.lineno - 1]  # type: ignore[attr-defined]
        return self.text[start : self.start(node)]


def _expressions(function: ast.FunctionDef, place: _Place) -> Iterator[tuple[str, Edit]]:
    """Edits inside of one expression."""
    arguments = function.args
    locals_ = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            locals_.add(node.id)
    defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    for default in defaults:
        for new in _other_constants(default):
            yield "wrong default", _whole(default, new, place)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    outer = [n for statement in body for n in _walk(statement)]
    for node in outer:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                for new in _COMPARE[type(op)]:
                    text = place.of(left) + b" " + new.encode() + b" " + place.of(right)
                    if new in ("<=", "<", ">", ">=") and new[0] == _symbol(op)[0]:
                        yield (
                            "boundary",
                            (place.start(node), place.end(node), _in(place, node, text)),
                        )
                    else:
                        kind = "negated comparison"
                        yield kind, (place.start(node), place.end(node), _in(place, node, text))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                gap = (place.end(left), place.start(right))
                between = place.text[gap[0] : gap[1]]
                old = _operator(op)
                if between.count(old) == 1 and b"#" not in between:
                    for new in _ARITHMETIC[type(op)]:
                        yield "arithmetic", (*gap, between.replace(old, new.encode()))
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in _ARITHMETIC:
                gap = (place.end(target), place.start(value))
                between = place.text[gap[0] : gap[1]]
                for new in _ARITHMETIC[type(op)]:
                    yield "arithmetic", (*gap, between.replace(_operator(op), new.encode()))
            case ast.BoolOp(op=op, values=values):
                gap = (place.end(values[0]), place.start(values[1]))
                old, other = (b"and", b"or") if isinstance(op, ast.And) else (b"or", b"and")
                if len(values) == 2 and place.text[slice(*gap)].count(old) == 1:
                    yield "and or", (*gap, place.text[slice(*gap)].replace(old, other))
                yield "dropped condition", (place.start(values[0]), place.start(values[1]), b"")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "removed not", (place.start(node), place.start(operand), b"")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield "removed minus", (place.start(node), place.start(operand), b"")
            case ast.Constant():
                for new in _other_constants(node):
                    yield "constant", _whole(node, new, place)
            case ast.Subscript(slice=ast.Slice() as cut):
                yield from _slices(cut, place)
            case ast.Call():
                yield from _calls(node, place)
            case ast.Name(id=name, ctx=ast.Load()) if name in locals_:
                for other in sorted(locals_ - {name})[:6]:
                    yield "wrong variable", _whole(node, other, place)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if not isinstance(test, ast.Compare | ast.UnaryOp):
                    yield "negated condition", _whole(test, f"not ({_of(test, place)})", place)
            case ast.For(iter=walked) if not isinstance(walked, ast.Tuple | ast.List):
                yield "shorter loop", _whole(walked, f"list({_of(walked, place)})[1:]", place)
        for field in ("func", "attr", "id"):
            value = getattr(node, field, None)
            if isinstance(value, str) and isinstance(getattr(node, "ctx", None), ast.Load):
                for twin in (t for pair in _TWINS if value in pair for t in pair if t != value):
                    end = place.end(node)
                    yield "wrong method", (end - len(value.encode()), end, twin.encode())


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk` without what has no place of its own: the insides of f-strings, annotations."""
    if isinstance(node, ast.JoinedStr):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _in(place: _Place, node: ast.AST, text: bytes) -> bytes:
    """Multi-line comparisons lose nothing: their sides are copied as they stand."""
    return text if b"\n" not in place.of(node) else b"(" + text + b")"


def _of(node: ast.AST, place: _Place) -> str:
    return place.of(node).decode()


def _whole(node: ast.AST, new: str, place: _Place) -> Edit:
    return place.start(node), place.end(node), new.encode()


def _symbol(op: ast.cmpop) -> str:
    return {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}.get(type(op), "=")


def _operator(op: ast.operator) -> bytes:
    node = ast.BinOp(ast.Name("a"), op, ast.Name("b"))
    return ast.unparse(node)[1:-1].strip().encode()


def _other_constants(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.Constant):
        return []
    value = node.value
    if value is True or value is False:
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), f"({value - 1})" if value < 1 else str(value - 1)]
    if isinstance(value, float):
        return [repr(value + 1), repr(value / 2)]
    if isinstance(value, str) and 0 < len(value) < 30:
        return [repr(value[:-1]), repr(value + " ")]
    if value == "":
        return [repr(" ")]
    return []


def _slices(cut: ast.Slice, place: _Place) -> Iterator[tuple[str, Edit]]:
    for bound in (cut.lower, cut.upper):
        if bound is not None:
            yield "slice", (place.start(bound), place.end(bound), b"")
            yield "slice", (place.end(bound), place.end(bound), b" + 1")


def _calls(node: ast.Call, place: _Place) -> Iterator[tuple[str, Edit]]:
    arguments = node.args
    for one, two in itertools.pairwise(arguments):
        new = place.of(two) + place.text[place.end(one) : place.start(two)] + place.of(one)
        if place.of(one) != place.of(two):
            yield "swapped arguments", (place.start(one), place.end(two), new)
    if len(arguments) == 1 and not node.keywords and isinstance(node.func, ast.Name):
        yield "dropped call", _whole(node, _of(arguments[0], place), place)
    if len(arguments) > 1 and not node.keywords:
        yield "dropped argument", (place.end(arguments[-2]), place.end(arguments[-1]), b"")
    for keyword in node.keywords:
        before = [*arguments, *(k.value for k in node.keywords if k is not keyword)]
        ends = [place.end(a) for a in before if place.end(a) < place.start(keyword.value)]
        if ends:
            yield "dropped argument", (max(ends), place.end(keyword.value), b"")
    if isinstance(node.func, ast.Attribute) and not arguments and not node.keywords:
        yield "dropped call", _whole(node, _of(node.func.value, place), place)


def _statements(function: ast.FunctionDef, place: _Place) -> Iterator[tuple[str, Edit]]:
    """Edits of whole statements, each on lines of its own."""
    blocks = [function.body[1:] if ast.get_docstring(function) else function.body]
    for node in ast.walk(function):
        if node is not function:
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    blocks.append(block)
    for block in blocks:
        own = [s for s in block if place.indent(s).strip() == b"" and not isinstance(s, ast.Match)]
        for statement in own:
            yield from _one_statement(statement, place)
        for one, two in itertools.pairwise(own):
            yield from _two_statements(one, two, place)


def _one_statement(statement: ast.stmt, place: _Place) -> Iterator[tuple[str, Edit]]:
    span = place.lines(statement, statement)
    indent = place.indent(statement)
    if isinstance(statement, _PLAIN | ast.If | ast.For | ast.Raise):
        kind = "dropped branch" if isinstance(statement, ast.If) else "dropped statement"
        yield kind, (*span, indent + b"pass\n")
    if isinstance(statement, ast.If) and statement.orelse:
        body, other = statement.body, statement.orelse
        elif_ = isinstance(other[0], ast.If) and place.of(other[0]).startswith(b"if") is False
        end = place.lines(body[-1], body[-1])[1]
        yield "dropped branch", (end, span[1], b"")
        if not elif_ and place.indent(other[0]).strip() == b"":
            first, second = place.lines(body[0], body[-1]), place.lines(other[0], other[-1])
            if place.indent(body[0]) == place.indent(other[0]) and first[1] <= second[0]:
                text = place.text
                new = text[slice(*second)] + text[first[1] : second[0]] + text[slice(*first)]
                yield "swapped branches", (first[0], second[1], new)
    if isinstance(statement, ast.For | ast.While):
        last = statement.body[-1]
        inner = place.indent(last)
        if inner.strip() == b"" and not isinstance(last, ast.Return | ast.Break | ast.Continue):
            end = place.lines(last, last)[1]
            yield "loop ends early", (end, end, inner + b"break\n")
            if isinstance(last, _SIMPLE) and len(statement.body) > 1:
                moved = place.lines(last, last)
                out = place.text[slice(*moved)].replace(inner, indent, 1)
                yield "moved out of the loop", (*moved, out)


def _two_statements(one: ast.stmt, two: ast.stmt, place: _Place) -> Iterator[tuple[str, Edit]]:
    first, second = place.lines(one, one), place.lines(two, two)
    text = place.text
    if first[1] > second[0]:
        return
    if isinstance(one, _PLAIN) and isinstance(two, _PLAIN):
        new = text[slice(*second)] + text[first[1] : second[0]] + text[slice(*first)]
        yield "swapped statements", (first[0], second[1], new)
        yield "dropped statements", (first[0], second[1], place.indent(one) + b"pass\n")
    if isinstance(one, ast.For | ast.While | ast.If) and isinstance(two, _SIMPLE):
        inner = place.indent(one.body[-1])
        if inner.strip() == b"" and two.lineno == two.end_lineno:
            moved = text[slice(*second)].replace(place.indent(two), inner, 1)
            kind = "early return" if isinstance(two, ast.Return) else "moved into the block"
            yield kind, (*second, moved)

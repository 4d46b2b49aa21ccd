"""Types of parameters that a docstring states, in the three layouts that people use; refusals.

Sphinx (``:param int x:``, ``:type x: int``), Google (``x (int, optional): ...`` below ``Args:``)
and numpy (``x : int or None`` below a ruled ``Parameters``), as `numpydoc`, `napoleon` and the
Google style guide describe them. What a type is called in English is read as the annotation that
says the same; other words become a name, which is known to no reader of annotations. Also here:
what the code itself says about arguments, by `choices` and by guards that raise (`refusals`).
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refute.source.syntax import Function, parse_expression

__all__ = ["Refusal", "choices", "documented_types", "refusals"]

_PARAM = re.compile(
    r"^\s*:(?:param|parameter|arg|argument|key|keyword)\s+(\S.*?)\s+\*{0,2}(\w+)\s*:"
)
_TYPE = re.compile(r"^\s*:type\s+\*{0,2}(\w+)\s*:\s*(\S.*)$")
_SECTION = r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters)"
_GOOGLE = re.compile(rf"^(\s*){_SECTION}\s*:\s*$")
_GOOGLE_ENTRY = re.compile(r"^\s+\*{0,2}(\w+)\s*\(((?:[^()]|\([^()]*\))+)\)\s*:")
_NUMPY = re.compile(rf"^\s*{_SECTION}\s*$")
_RULE = re.compile(r"^\s*-{3,}\s*$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*:\s*(\S.*)$")


def documented_types(docstring: str) -> dict[str, ast.expr]:
    """Parameter -> the annotation that its documented type amounts to, where one is stated.

    Never raises; the first statement about a parameter counts.
    """
    found: dict[str, ast.expr] = {}
    for name, text in _stated(inspect.cleandoc(docstring).splitlines()):
        if name not in found and len(text) <= _LONGEST:
            said = _annotation(text)
            if said is not None:
                found[name] = said
    return found


_LONGEST = 200


def _stated(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each parameter with the text of its type."""
    google = numpy = False
    margin = 0
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if (said := _PARAM.match(line)) is not None:
            yield said[2], said[1]
        elif (said := _TYPE.match(line)) is not None:
            yield said[1], said[2]
        elif (head := _GOOGLE.match(line)) is not None:
            google, numpy, margin = True, False, len(head[1])
        elif line.strip() and _RULE.match(following):
            google, numpy = False, _NUMPY.match(line) is not None
        elif google and line.strip() and len(line) - len(line.lstrip()) <= margin:
            google = False
        elif google and (said := _GOOGLE_ENTRY.match(line)) is not None:
            yield said[1], said[2]
        elif numpy and (said := _NUMPY_ENTRY.match(line)) is not None:
            for name in re.findall(r"\w+", said[1]):
                yield name, said[2]


# -- the text of a type ----------------------------------------------------------------------------

_ASIDE = re.compile(
    r"optional\b.*|required|keyword[- ]only|positional[- ]only|defaults?\b.*|shape\b.*|size\b.*|"
    r"length\b.*|by default\b.*"
)
_BRACKETED = re.compile(r"\s*[(\[]\s*(?:optional|defaults?)\b[^)\]]*[)\]]")
_ADJECTIVE = re.compile(
    r"^(?:an?|the|one|any|single|simple|plain|python|positive|negative|non-?\s?negative|natural|"
    r"strictly|non-?\s?empty|nonzero|unsigned|sorted|ordered|nested|finite)\s+",
    re.I,
)
_WORDS = {
    "integer": "int", "integers": "int", "ints": "int", "whole number": "int",
    "string": "str", "strings": "str", "strs": "str", "text": "str", "unicode": "str",
    "boolean": "bool", "booleans": "bool", "bools": "bool",
    "floats": "float", "real": "float", "double": "float", "number": "int | float",
    "numbers": "int | float", "numeric": "int | float", "scalar": "int | float",
    "dictionary": "dict", "dictionaries": "dict", "dicts": "dict", "lists": "list",
    "tuples": "tuple", "sets": "set", "sequences": "list", "nonetype": "None", "none": "None",
}  # fmt: skip
_OF = re.compile(
    r"^(list|array|sequence|iterable|collection|tuple|set|frozenset|iterator)s?\s+of\s+(.+)$", re.I
)


def _annotation(text: str) -> ast.expr | None:
    """A type in words as an annotation; None: not understood."""
    text = re.sub(r":\w+(?::\w+)*:`~?([^`]*)`", r"\1", text).replace("`", "").strip().rstrip(".")
    text = _BRACKETED.sub("", text)
    if not text:
        return None
    if (whole := _parsed(text)) is not None:
        return whole
    parts = [part for part in _split(text) if not _ASIDE.fullmatch(part)]
    if len(parts) > 1 and any(" of " in part for part in parts):
        return None  # which of them the words after it belong to is not said
    read = [_one(part) for part in parts]
    known = [one for one in read if one is not None]
    if not known or len(known) < len(read):
        return None
    joined = known[0]
    for one in known[1:]:
        joined = ast.BinOp(joined, ast.BitOr(), one)
    return joined


def _split(text: str) -> list[str]:
    """The alternatives: what stands between commas, bars and "or" outside of brackets."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r"[\[({]|[\])}]|,|\||\bor\b", text):
        mark = found[0]
        if mark in "[({":
            depth += 1
        elif mark in "])}":
            depth -= 1
        elif not depth:
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _one(text: str) -> ast.expr | None:
    while (shorter := _ADJECTIVE.sub("", text)) != text:
        text = shorter
    if text.lower() in _WORDS:
        return parse_expression(_WORDS[text.lower()])
    said = _OF.match(text)
    if said is None:
        return _parsed(text)
    inner = _one(said[2])
    if inner is None:
        return None
    kind = {"array": "list", "iterator": "iterable"}.get(said[1].lower(), said[1].lower())
    elements: list[ast.expr] = [inner, ast.Constant(...)] if kind == "tuple" else [inner]
    index = ast.Tuple(elements, ast.Load()) if kind == "tuple" else inner
    return ast.Subscript(ast.Name(kind, ast.Load()), index, ast.Load())


def _parsed(text: str) -> ast.expr | None:
    """The text where it is an annotation as it stands, or the values that the parameter may have:
    ``{'left', 'right'}``, ``'left'``."""
    try:
        node = parse_expression(text)
    except SyntaxError:
        return None
    values = node.elts if isinstance(node, ast.Set) else [node]
    if all(isinstance(one, ast.Constant) and one.value is not None for one in values):
        index = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
        return ast.Subscript(ast.Name("Literal", ast.Load()), index, ast.Load())
    if isinstance(node, ast.Name) and node.id.lower() in _WORDS:
        return parse_expression(_WORDS[node.id.lower()])
    return node if _is_annotation(node) else None


def _is_annotation(node: ast.expr) -> bool:
    """Return whether it looks like an annotation: names, also with brackets, or alternatives."""
    match node:
        case ast.Name() | ast.Constant(value=None):
            return True
        case ast.Attribute(value=value):
            return _is_annotation(value)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _is_annotation(left) and _is_annotation(right)
        case ast.Subscript(value=value):
            return _is_annotation(value)
    return False


_HOLDS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """A guard of the form `if PARAMETER < CONSTANT: raise`, also of the parameter's length."""

    parameter: str
    length: bool
    test: type[ast.cmpop]
    bound: Any

    def refuses(self, value: Any) -> bool:
        """Return whether the guard raises for the value; False if it cannot be compared."""
        try:
            return _HOLDS[self.test](len(value) if self.length else value, self.bound)
        except TypeError:
            return False


def refusals(function: Function) -> tuple[Refusal, ...]:
    """The guards at the top of a function that only raise."""
    found: list[Refusal] = []
    for stmt in function.body:
        if isinstance(stmt, ast.If) and isinstance(stmt.body[0], ast.Raise):
            match stmt.test:
                case ast.BoolOp(op=ast.Or(), values=tests):
                    pass
                case test:
                    tests = [test]
            found += [one for each in tests if (one := _refusal(each)) is not None]
    return tuple(found)


def _refusal(test: ast.expr) -> Refusal | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name, length = _subject(test.operand)
        return None if name is None or length else Refusal(name, True, ast.Eq, 0)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _HOLDS:
        return None
    left, right, kind = test.left, test.comparators[0], type(test.ops[0])
    if _constant(left) is not None:
        left, right, kind = right, left, _TURNED[kind]
    name, length = _subject(left)
    bound = _constant(right)
    return None if name is None or bound is None else Refusal(name, length, kind, bound[0])


def _subject(node: ast.expr) -> tuple[str | None, bool]:
    """The name of `x` or `len(x)`, and whether it is the latter."""
    if isinstance(node, ast.Name):
        return node.id, False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return (node.args[0].id, True) if isinstance(node.args[0], ast.Name) else (None, False)
    return None, False


def _constant(node: ast.expr) -> tuple[Any] | None:
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError):
        return None


def choices(function: Function, name: str, annotation: ast.expr | None) -> tuple[Any, ...]:
    """The values that a parameter is one of: its `Literal`, else the texts it is compared with."""
    said = tuple(_literal(annotation)) if annotation is not None else ()
    if said:
        return said
    texts: dict[str, None] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and _subject(node.left) == (name, False):
            for op, side in zip(node.ops, node.comparators, strict=True):
                value = _constant(side)
                if value is None or not isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
                    continue
                several = isinstance(op, ast.In | ast.NotIn) and not isinstance(value[0], str)
                each: Sequence[Any] = tuple(value[0]) if several else value
                texts.update(dict.fromkeys(one for one in each if isinstance(one, str)))
    return tuple(texts)


def _literal(node: ast.expr) -> Iterator[Any]:
    """The values of `Literal[...]`, also inside of `Optional` and unions."""
    for one in ast.walk(node):
        if isinstance(one, ast.Subscript) and ast.unparse(one.value).endswith("Literal"):
            for item in one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice]:
                value = _constant(item)
                if value is not None:
                    yield value[0]

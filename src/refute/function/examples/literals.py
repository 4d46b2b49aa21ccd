"""Values written in text, read on the trusted side: nothing here calls anything that it reads."""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["NotLiteral", "Scanned", "closing", "evaluate", "read", "scan"]

_MAX_INT_BITS = 40_000
_MAX_ITEMS = 20_000

_NAMES: dict[str, Any] = {
    "inf": math.inf,
    "nan": math.nan,
    "math.inf": math.inf,
    "math.nan": math.nan,
    "math.pi": math.pi,
    "math.e": math.e,
    "np.inf": math.inf,
    "np.nan": math.nan,
}
_LOOSE_NAMES: dict[str, Any] = {
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
    "null": None,
    "none": None,
}
_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "set": set,
    "frozenset": frozenset,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "float": float,
    "complex": complex,
    "bytearray": bytearray,
}
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)"
)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_STRING = re.compile(
    r"(?:[rbRB]{0,2})"
    r"(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n]|\n(?!\s*\n))*?'|\"(?:\\.|[^\"\\\n]|\n(?!\s*\n))*?\")",
    re.S,
)
_ARITHMETIC = re.compile(r"[ \t]*(?:\*\*|//|[-+*/%])[ \t]*(?=[-\d.(])")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class NotLiteral(ValueError):
    """The text is not a value that can be read without executing anything."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value found in a text, and the offset just past it."""

    value: Any
    end: int
    computed: bool = False
    """It was written as arithmetic: "19 - 5 - 6"."""


def read(text: str, *, loose: bool = False) -> Any:
    """The value that `text` writes. `loose`: also ``true``, ``null`` as in other languages.

    Reads literals, signs, arithmetic on numbers, ``inf``/``nan``, and `set`, `frozenset`, `list`,
    `tuple`, `dict`, `float` and `complex` of literals. Raises `NotLiteral` for anything else.
    """
    return evaluate(_parse(text), loose=loose)


def _parse(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(_one_line(text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotLiteral(text) from error


def _one_line(text: str) -> str:
    """Line breaks become escapes in strings (a docstring arrives evaluated), blanks elsewhere."""
    if "\n" not in text:
        return text
    parts, start = [], 0
    for match in _STRING.finditer(text):
        literal = match[0]
        if literal.lstrip("rbRB")[:3] not in ("'''", '"""'):
            literal = literal.replace("\n", "\\n")
        parts += [text[start : match.start()].replace("\n", " "), literal]
        start = match.end()
    return "".join([*parts, text[start:].replace("\n", " ")])


def evaluate(node: ast.expr, *, loose: bool = False) -> Any:
    """The value of a syntax tree; raises `NotLiteral` as `read` does."""
    try:
        return _value(node, loose)
    except NotLiteral:
        raise
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise NotLiteral(str(error)) from error


def _value(node: ast.expr, loose: bool) -> Any:
    match node:
        case ast.Constant(value=value):
            if value is ...:
                raise NotLiteral("...")
            return value
        case ast.Tuple(elts=items):
            return tuple(_value(item, loose) for item in items)
        case ast.List(elts=items):
            return [_value(item, loose) for item in items]
        case ast.Set(elts=items):
            return {_value(item, loose) for item in items}
        case ast.Dict(keys=keys, values=values):
            if None in keys:
                raise NotLiteral("**")
            return {
                _value(key, loose): _value(value, loose)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, loose))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_number(_value(operand, loose))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, loose)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _arithmetic(_value(left, loose), op, _value(right, loose))
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            if name in _NAMES:
                return _NAMES[name]
            if loose and name in _LOOSE_NAMES:
                return _LOOSE_NAMES[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CONSTRUCTORS:
            if len(args) <= (2 if name == "complex" else 1):
                return _CONSTRUCTORS[name](*(_value(arg, loose) for arg in args))
    raise NotLiteral(type(node).__name__)


def _number(value: Any) -> Any:
    if type(value) not in (int, float, complex, bool):
        raise NotLiteral("sign")
    return value


def _arithmetic(left: Any, op: ast.operator, right: Any) -> Any:
    if isinstance(op, ast.Mult) and isinstance(left, (list, str, tuple)):
        if type(right) is not int or len(left) * abs(right) > _MAX_ITEMS:
            raise NotLiteral("too long")
        return left * right
    if isinstance(op, ast.Add) and type(left) is type(right) and type(left) in (list, str, tuple):
        return left + right
    left, right = _number(left), _number(right)
    if isinstance(op, ast.Pow) and (
        not 0 <= abs(right) <= 10_000 or int(left).bit_length() * abs(right) > _MAX_INT_BITS
    ):
        raise NotLiteral("too large")
    return _BINARY[type(op)](left, right)


def closing(text: str, start: int) -> int | None:
    """The offset just past the bracket that closes the one at `start`; None if it never closes."""
    stack: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char in "'\"":
            match = _STRING.match(text, position)
            if match is None:
                return None
            position = match.end()
            continue
        if char in _PAIRS:
            stack.append(_PAIRS[char])
        elif char in ")]}":
            if not stack or stack.pop() != char:
                return None
            if not stack:
                return position + 1
        position += 1
    return None


def scan(text: str, start: int = 0, *, loose: bool = True) -> Scanned | None:
    """Read the longest value that begins at `start` (after blanks); None when none begins there."""
    while start < len(text) and text[start] in " \t":
        start += 1
    end = _primary_end(text, start)
    if end is None:
        return None
    first = end
    while True:  # arithmetic on numbers: "1 + 9 + 0", "1 + (2 / 2)"
        match = _ARITHMETIC.match(text, end)
        if match is None or not (text[start].isdigit() or text[start] in "-+.("):
            break
        further = _primary_end(text, match.end())
        if further is None:
            break
        end = further
    for stop in dict.fromkeys((end, first)):
        try:
            return Scanned(read(text[start:stop], loose=loose), stop, stop != first)
        except NotLiteral:
            continue
    return None


def _primary_end(text: str, start: int) -> int | None:
    if start >= len(text):
        return None
    if text[start] in _PAIRS:
        return closing(text, start)
    string = _STRING.match(text, start)
    if string is not None:
        return string.end()
    number = _NUMBER.match(text, start)
    if number is not None:
        end = number.end()
        if number[0].endswith(".") and not text[end : end + 1].isdigit():
            end -= 1  # "the output should be 1."
        after = text[end : end + 1]
        return None if after.isalpha() or after == "_" else end
    name = _NAME.match(text, start)
    if name is None:
        return None
    end = name.end() - (len(name[0]) - len(name[0].rstrip(".")))
    word = text[start:end]
    if word in _CONSTRUCTORS and text[end : end + 1] == "(":
        return closing(text, end)
    known = word in _NAMES or word in _LOOSE_NAMES or word in ("True", "False", "None")
    return end if known else None

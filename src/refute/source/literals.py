"""Values as Python source and back, without executing anything: the one place that does either.

`read_literal` evaluates a syntax tree and `parse_literal` a text; the loaders of the datasets and
the reader of prose put their own scanners before them. They read what `source_of` writes, which is
every value that the sandbox's codec decodes to, except iterators and opaque values; and what people
write into tests and descriptions: arithmetic within bounds (`10**6`, `[0] * 5`, `-math.inf`), and
`_CALLS` of such values.
"""

from __future__ import annotations

import ast
import datetime
import math
import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from refute.core.problems import Call
from refute.sandbox.values import NDArray
from refute.source.syntax import MAX_DIGITS, lifted_limits, parse_expression

MAX_SIZE = 1_000_000
"""Largest number of items and of bits that arithmetic in a literal may build."""


class NotLiteral(ValueError):
    """The text cannot be read without executing it, or the value has no Python source."""


# -- reading ---------------------------------------------------------------------------------------


def parse_literal(text: str, *, names: Mapping[str, Any] | None = None) -> Any:
    """Read the value of a literal's source. Raises `NotLiteral`. `names` as in `read_literal`."""
    text = text.strip()
    try:
        with lifted_limits():
            node = parse_expression(text)
    except SyntaxError:
        raise NotLiteral(f"not a Python expression: {text[:80]!r}") from None
    return read_literal(node, names=names)


def is_literal(source: str | ast.expr) -> bool:
    """Return whether a text, or a syntax tree, is a literal's."""
    try:
        parse_literal(source) if isinstance(source, str) else read_literal(source)
    except NotLiteral:
        return False
    return True


def read_literal(node: ast.expr, *, names: Mapping[str, Any] | None = None) -> Any:
    """Read the value of a literal's syntax tree. Raises `NotLiteral`.

    `names`: the values of names besides `NAMES`, such as the ``true`` and ``null`` of prose.
    """
    try:
        return _read(node, names or {})
    except NotLiteral:
        raise
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise NotLiteral(f"not a literal: {error}") from None


def read_call(
    node: ast.expr, function: str, *, literal: Callable[[ast.expr], Any] = read_literal
) -> Call:
    """The call of `function` ("f", "Class.method") that an expression is. Raises `NotLiteral` where
    it is another expression, or has an argument that is not written out.

    `literal` reads a positional argument.
    """
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as func, args=args, keywords=keywords):
            if ast.unparse(func) == function and all(keyword.arg for keyword in keywords):
                named = {str(keyword.arg): read_literal(keyword.value) for keyword in keywords}
                return Call(tuple([literal(arg) for arg in args]), named)
    raise NotLiteral(f"not a call of {function} with literals")


def _read(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return _written(value)
        case ast.List(elts=items):
            return [_read(item, names) for item in items]
        case ast.Tuple(elts=items):
            return tuple([_read(item, names) for item in items])
        case ast.Set(elts=items):
            return {_read(item, names) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_read(key, names): _read(value, names) for key, value in pairs if key}
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _SIGNS:
            return _SIGNS[type(op)](_read(operand, names))
        case ast.BinOp(left=left, op=op, right=right):
            return _written(_arithmetic(op, _read(left, names), _read(right, names)))
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            if name in NAMES:
                return NAMES[name]
            if name in names:
                return names[name]
        case ast.Call(func=ast.Name() | ast.Attribute() as func, args=args, keywords=keywords):
            build = _CALLS.get(ast.unparse(func))
            if build is not None and all(keyword.arg for keyword in keywords):
                named = {str(keyword.arg): _read(keyword.value, names) for keyword in keywords}
                return build(*[_read(arg, names) for arg in args], **named)
    raise NotLiteral(f"not a literal: {ast.unparse(node)[:80]}")


NAMES: dict[str, float] = {
    **dict.fromkeys(("inf", "math.inf", "np.inf", "numpy.inf"), math.inf),
    **dict.fromkeys(("nan", "math.nan", "np.nan", "numpy.nan"), math.nan),
    **dict.fromkeys(("math.pi", "np.pi", "numpy.pi"), math.pi),
    **dict.fromkeys(("math.e", "np.e", "numpy.e"), math.e),
}
"""The names that stand for a number."""

_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _arithmetic(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, int | float | complex) and isinstance(right, int | float | complex):
        if isinstance(op, ast.Pow) and isinstance(left, int) and isinstance(right, int):
            _bounded(left.bit_length() * right)
        if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](left, right)
    elif isinstance(op, ast.Mult):
        times = left if isinstance(left, int) else right
        if isinstance(times, int):
            _bounded(_weight(right if times is left else left) * times)
            return left * right
    elif isinstance(op, ast.Add) and type(left) is type(right):
        return left + right
    raise NotLiteral(f"not a literal: {type(op).__name__} of these values")


def _written(value: Any) -> Any:
    """The value, where it is no integer of more than about `MAX_DIGITS` digits."""
    if type(value) is int and value.bit_length() > 3.32 * MAX_DIGITS:
        raise NotLiteral("too large for a literal")
    return value


def _bounded(size: int) -> None:
    if size > MAX_SIZE:
        raise NotLiteral("too large for a literal")


def _weight(value: Any) -> int:
    """Count the items of a repeated sequence, nested ones included."""
    if isinstance(value, list | tuple | deque):
        return sum(map(_weight, value)) + 1
    return len(value) if isinstance(value, str | bytes | bytearray) else 1


def _sized(kind: Callable[..., Any]) -> Callable[..., Any]:
    """`kind` of at most one sequence: of a number it would build as many items."""

    def build(*args: Any) -> Any:
        for arg in args:
            _bounded(len(arg))
        return kind(*args)

    return build


def _dict(*args: Any, **named: Any) -> dict[Any, Any]:
    return dict(*args, **named)


def _number(kind: Callable[..., Any]) -> Callable[..., Any]:
    """`kind` of text and plain numbers: ``int(Decimal("1e999999999"))`` would write it out."""

    def build(*args: Any) -> Any:
        if all(isinstance(arg, str | int | float) for arg in args):
            return kind(*args)
        raise NotLiteral(f"not a literal: {kind.__name__} of this value")

    return build


def _fraction(*parts: Any) -> Fraction:
    """A fraction; `Fraction("1e999999999")` would compute all of these digits."""
    for part in parts:
        text = str(part).lower() if isinstance(part, str | Decimal) else ""
        if "e" in text:
            _bounded(abs(Decimal(text).adjusted()))
    return Fraction(*parts)


def _deque(items: Any = (), maxlen: int | None = None) -> deque[Any]:
    _bounded(len(items))
    return deque(items, maxlen)


def _array(data: Any, dtype: str | None = None) -> NDArray:
    shape: list[int] = []
    inner = data
    while isinstance(inner, list | tuple):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    if dtype is None:
        kinds = {type(item) for item in _leaves(data)}
        dtype = "float64" if float in kinds or not kinds else "bool" if kinds == {bool} else "int64"
    return NDArray(_as_lists(data), dtype, tuple(shape))


def _as_lists(data: Any) -> Any:
    return [_as_lists(item) for item in data] if isinstance(data, list | tuple) else data


def _leaves(data: Any) -> Iterable[Any]:
    if isinstance(data, list | tuple):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "bytearray": _sized(bytearray),
    "complex": complex,
    "dict": _dict,
    "float": _number(float),
    "frozenset": _sized(frozenset),
    "int": _number(int),
    "list": _sized(list),
    "range": range,
    "set": _sized(set),
    "tuple": _sized(tuple),
}
"""Python's own types that may be called with literals."""

_CALLS: dict[str, Callable[..., Any]] = {
    **CONSTRUCTORS,
    **{
        f"{module}{kind}": build
        for modules, kind, build in (
            (("", "decimal."), "Decimal", Decimal),
            (("", "fractions."), "Fraction", _fraction),
            (("", "collections."), "deque", _deque),
            (("", "np.", "numpy."), "array", _array),
            (("", "datetime.", "dt."), "date", datetime.date),
            (("", "datetime.", "dt."), "time", datetime.time),
            (("", "datetime.", "dt."), "datetime", datetime.datetime),
            (("", "datetime.", "dt."), "timedelta", datetime.timedelta),
        )
        for module in modules
    },
}


# -- writing ---------------------------------------------------------------------------------------


def source_of(value: Any) -> str:
    """Python source of `value` on one line; the same for equal values (sets are sorted).

    Raises `NotLiteral`.
    """
    try:
        return _flat(value)
    except RecursionError:
        raise NotLiteral("nested too deeply") from None


def needed_imports(value: Any) -> set[str]:
    """The import statements that the source of `value` needs."""
    if isinstance(value, list | tuple | set | frozenset | deque):
        found = {line for item in value for line in needed_imports(item)}
        return found | {"from collections import deque"} if isinstance(value, deque) else found
    if isinstance(value, dict):
        return {line for pair in value.items() for item in pair for line in needed_imports(item)}
    return {_IMPORTS[type(value)]} if type(value) in _IMPORTS else set()


_IMPORTS: dict[type, str] = {
    Decimal: "from decimal import Decimal",
    Fraction: "from fractions import Fraction",
    NDArray: "import numpy as np",
    datetime.date: "import datetime",
    datetime.time: "import datetime",
    datetime.datetime: "import datetime",
    datetime.timedelta: "import datetime",
}


def _flat(value: Any) -> str:
    kind = type(value)
    if kind is int and value.bit_length() > 10_000:  # `repr` refuses more than 4,300 digits
        return hex(value)
    if value is None or kind in (bool, int):
        return repr(value)
    if kind is range:
        step = "" if value.step == 1 else f", {_flat(value.step)}"
        return f"range({_flat(value.start)}, {_flat(value.stop)}{step})"
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value!r}")'
    if kind is complex:
        if _sums_up(value):
            return repr(value)
        return f"complex({_flat(value.real)}, {_flat(value.imag)})"
    if kind in (str, bytes):
        return _quoted(value)
    if kind is bytearray:
        return f"bytearray({_quoted(bytes(value))})"
    if kind is list:
        return f"[{_joined(value)}]"
    if kind is tuple:
        return f"({_joined(value)},)" if len(value) == 1 else f"({_joined(value)})"
    if kind is set:
        return f"{{{_joined(_ordered(value))}}}" if value else "set()"
    if kind is frozenset:
        return f"frozenset({{{_joined(_ordered(value))}}})" if value else "frozenset()"
    if kind is dict:
        return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if kind is Decimal:
        return f'Decimal("{value}")'
    if kind is Fraction:
        return f"Fraction({_flat(value.numerator)}, {_flat(value.denominator)})"
    if kind in (datetime.date, datetime.time, datetime.datetime, datetime.timedelta):
        return repr(value)
    if kind is deque:
        tail = "" if value.maxlen is None else f", maxlen={value.maxlen}"
        return f"deque([{_joined(value)}]{tail})"
    if kind is NDArray:
        return f"np.array({_flat(value.data)}, dtype={_quoted(value.dtype)})"
    raise NotLiteral(f"a value of type {kind.__name__} has no Python source")


def _sums_up(value: complex) -> bool:
    """True if ``a+bj``, a sum to Python, is `value`, signs of zeros included."""
    real, imag = value.real, value.imag
    if not (math.isfinite(real) and math.isfinite(imag)):
        return False
    negative_zero = any(part == 0 and math.copysign(1, part) < 0 for part in (real, imag))
    return not negative_zero and (real != 0 or imag >= 0)  # -1j is -(0+1j): its real part is -0.0


def _joined(items: Iterable[Any]) -> str:
    return ", ".join(map(_flat, items))


def _ordered(items: Iterable[Any]) -> list[Any]:
    """The items of a set in one order: by value where they compare, else by type and source."""
    values = list(items)
    kinds = set(map(type, values))
    if kinds <= {int, bool, float} or kinds in ({str}, {bytes}):
        return sorted(values)
    return sorted(values, key=lambda value: (type(value).__name__, _flat(value)))


def _quoted(value: str | bytes) -> str:
    """`repr` with double quotes where that needs no more escapes."""
    text = repr(value)
    prefix, body = ("b", text[1:]) if isinstance(value, bytes) else ("", text)
    if body[0] == "'" and '"' not in body:
        body = f'"{body[1:-1]}"'
    return prefix + body


# -- literals inside of other texts ---------------------------------------------------------------

LOOSE_NAMES: dict[str, Any] = {
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
    "null": None,
    "none": None,
}
"""Spellings in other languages and in prose of Python's constants."""
STRING = re.compile(
    r"(?:[rbRB]{0,2})"
    r"(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n]|\n(?!\s*\n))*?'|\"(?:\\.|[^\"\\\n]|\n(?!\s*\n))*?\")",
    re.S,
)
"""A text's literal."""


_PAIRS = {"(": ")", "[": "]", "{": "}"}


_DEEPEST = 200  # as Python's own parser


def closing(text: str, start: int) -> int | None:
    """The offset just past the bracket that closes the one at `start`.

    None if it never closes, or only around brackets that are nested deeper than any value's: a text
    of nothing but opening ones is read once, not once for each.
    """
    stack: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char in "'\"":
            match = STRING.match(text, position)
            if match is None:
                return None
            position = match.end()
            continue
        if char in _PAIRS:
            if len(stack) >= _DEEPEST:
                return None
            stack.append(_PAIRS[char])
        elif char in ")]}":
            if not stack or stack.pop() != char:
                return None
            if not stack:
                return position + 1
        position += 1
    return None

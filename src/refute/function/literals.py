"""Values as Python source and back, without executing anything.

`source_of` writes every value that the sandbox's codec decodes to, except iterators and opaque
values; `read_literal` reads what it writes, and the plain arithmetic that people write into tests
(`10**6`, `[0] * 5`, `-math.inf`).
"""

from __future__ import annotations

import ast
import datetime
import math
import operator
from collections import deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from refute.sandbox.values import NDArray

__all__ = ["NotLiteral", "needed_imports", "parse_literal", "read_literal", "source_of"]

MAX_SIZE = 1_000_000
"""Largest sequence and largest number of bits that arithmetic in a literal may build."""


class NotLiteral(ValueError):
    """The expression is not a literal, or the value has no Python source."""


# -- reading ---------------------------------------------------------------------------------------


def parse_literal(text: str) -> Any:
    """Read the value of a literal's source. Raises `NotLiteral`."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotLiteral(f"not a Python expression: {text.strip()[:80]!r}") from None
    return read_literal(tree.body)


def read_literal(node: ast.expr) -> Any:
    """Read the value of a literal's syntax tree. Raises `NotLiteral`."""
    try:
        return _read(node)
    except NotLiteral:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise NotLiteral(str(error)) from None


def _read(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.List(elts=items):
            return [_read(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_read(item) for item in items)
        case ast.Set(elts=items):
            return {_read(item) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_read(key): _read(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_read(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, _read(left), _read(right))
        case ast.Name(id=name) if name in ("inf", "nan"):
            return float(name)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in ("inf", "nan"):
            if module in ("math", "np", "numpy"):
                return float(name)
        case ast.Call(func=func, args=args, keywords=keywords):
            build = _BUILDERS.get(ast.unparse(func).rpartition(".")[2])
            if build is not None and all(keyword.arg for keyword in keywords):
                named = {str(keyword.arg): _read(keyword.value) for keyword in keywords}
                return build(*map(_read, args), **named)
    raise NotLiteral(f"not a literal: {ast.unparse(node)[:80]}")


def _arithmetic(op: ast.operator, left: Any, right: Any) -> Any:
    numbers = isinstance(left, int | float | complex) and isinstance(right, int | float | complex)
    if isinstance(op, ast.Mult) and not numbers:
        size = (len(left) if hasattr(left, "__len__") else left) * (
            len(right) if hasattr(right, "__len__") else right
        )
        if not isinstance(size, int) or size > MAX_SIZE:
            raise NotLiteral("too large for a literal")
        return left * right
    if isinstance(op, ast.Add) and type(left) is type(right):
        return left + right
    if isinstance(op, ast.Pow) and isinstance(left, int) and isinstance(right, int):
        if right > 0 and left.bit_length() * right > MAX_SIZE:
            raise NotLiteral("too large for a literal")
        return left**right
    simple = next((f for kind, f in _OPERATORS if isinstance(op, kind)), None)
    if numbers and simple is not None:
        return simple(left, right)
    raise NotLiteral(f"not a literal: {type(op).__name__} of these values")


_OPERATORS: tuple[tuple[type[ast.operator], Callable[[Any, Any], Any]], ...] = (
    (ast.Add, operator.add),
    (ast.Sub, operator.sub),
    (ast.Mult, operator.mul),
    (ast.Div, operator.truediv),
)


def _float(value: Any = 0.0) -> float:
    if isinstance(value, str | int | float):
        return float(value)
    raise NotLiteral("not a literal: float of this value")


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


def _sized(kind: Callable[..., Any]) -> Callable[..., Any]:
    def build(*args: Any) -> Any:
        if any(isinstance(arg, int) or len(arg) > MAX_SIZE for arg in args):
            raise NotLiteral("too large for a literal")
        return kind(*args)

    return build


_BUILDERS: dict[str, Callable[..., Any]] = {
    "float": _float,
    "complex": complex,
    "set": _sized(set),
    "frozenset": _sized(frozenset),
    "list": _sized(list),
    "tuple": _sized(tuple),
    "dict": lambda **named: dict(**named),
    "bytearray": _sized(bytearray),
    "range": range,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "deque": lambda items=(), maxlen=None: deque(items, maxlen),
    "array": _array,
    "date": datetime.date,
    "time": datetime.time,
    "datetime": datetime.datetime,
    "timedelta": datetime.timedelta,
}


# -- writing ---------------------------------------------------------------------------------------


def source_of(
    value: Any, *, indent: int = 0, column: int | None = None, width: int | None = None
) -> str:
    """Python source of `value`; the same for equal values (sets are sorted).

    With `width`, a container that does not fit on its line is broken as black does it: one item a
    line, a trailing comma. The block is indented by `indent` columns and the value begins at
    `column` (default: `indent`). Raises `NotLiteral`.
    """
    flat = _flat(value)
    column = indent if column is None else column
    if width is None or column + len(flat) <= width or not _breakable(value):
        return flat
    inner = indent + 4
    kind = type(value)
    opening, closing = "[]" if kind is list else "()" if kind is tuple else "{}"
    if isinstance(value, dict):
        items = []
        for key, item in value.items():
            head = f"{_flat(key)}: "
            column = inner + len(head)
            items.append(head + source_of(item, indent=inner, column=column, width=width - 1))
    else:
        ordered = _ordered(value) if isinstance(value, set) else value
        items = [source_of(item, indent=inner, width=width - 1) for item in ordered]
    lines = "".join(f"{' ' * inner}{item},\n" for item in items)
    return f"{opening}\n{lines}{' ' * indent}{closing}"


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


def _breakable(value: Any) -> bool:
    return type(value) in (list, tuple, set, dict) and len(value) > 0


def _flat(value: Any) -> str:
    kind = type(value)
    if kind is int and value.bit_length() > 10_000:  # `repr` refuses more than 4,300 digits
        return hex(value)
    if value is None or kind in (bool, int, range):
        return repr(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value!r}")'
    if kind is complex:
        finite = math.isfinite(value.real) and math.isfinite(value.imag)
        return repr(value) if finite else f"complex({_flat(value.real)}, {_flat(value.imag)})"
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
    if kind in (Fraction, datetime.date, datetime.time, datetime.datetime, datetime.timedelta):
        return repr(value)
    if kind is deque:
        tail = "" if value.maxlen is None else f", maxlen={value.maxlen}"
        return f"deque([{_joined(value)}]{tail})"
    if kind is NDArray:
        return f'np.array({_flat(value.data)}, dtype="{value.dtype}")'
    raise NotLiteral(f"a value of type {kind.__name__} has no Python source")


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

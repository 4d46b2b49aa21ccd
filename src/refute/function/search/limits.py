"""Which arguments the code itself names or refuses: choices, and guards that raise."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refute.syntax import Function

__all__ = ["Refusal", "choices", "refusals"]

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
        """Whether the guard raises for the value; False where it cannot be compared."""
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
    except (ValueError, TypeError, SyntaxError, RecursionError):
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

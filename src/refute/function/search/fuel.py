"""Loop fuel and statement marks, put into a syntax tree.

A mutated program often never ends. Each loop round, comprehension round and function entry of an
instrumented tree takes one unit of fuel from an iterator that ends, so that such a candidate dies
with `StopIteration` after a known number of rounds, whatever the clock says. This is an economy, no
safeguard: the sandbox limits the program in any case, and fixes are confirmed without fuel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

from refute.function.search.edit import copy_of
from refute.source.syntax import parse_module

__all__ = [
    "FUEL",
    "FUEL_LEFT",
    "REFUEL",
    "STATE",
    "TAKE_HITS",
    "fuelled",
    "is_mark",
    "marked",
    "prelude",
    "refuelling",
    "stripped",
]

_Tree = TypeVar("_Tree", bound=ast.AST)

FUEL = "__fuel__"
HIT = "__hit__"
TAKE_HITS = "__take__()"
"""Expression that returns and clears the numbers of the statements reached since the last one."""
FUEL_LEFT = f"{FUEL}.__self__.__length_hint__()"
"""Expression for the units that are left."""

STATE = "__state__()"
"""Expression for a number that changes when what lasts between calls of `marked` code does: the
caches, counters and registries in its module's variables, classes, closures and defaults."""
_SHOW_STATE = """
def __state__():
    from types import CellType, FunctionType, ModuleType

    held = [one for name, one in globals().items() if name[:2] != "__"]
    told, seen = [], {}
    while held and len(seen) < 50_000:
        one = held.pop()
        told.append(type(one).__name__)
        if one is None or isinstance(one, (int, float, complex, str, bytes)):
            told.append(one)
        elif id(one) not in seen and not isinstance(one, ModuleType):
            seen[id(one)] = one  # kept alive: nothing else gets its id
            if isinstance(one, FunctionType):
                held += one.__closure__ or ()
                held += [one.__defaults__, one.__kwdefaults__, one.__dict__]
            elif isinstance(one, type):
                held += vars(one).values() if one.__module__ == __name__ else ()
            elif isinstance(one, dict):
                held += [*one.keys(), *one.values()]
            elif isinstance(one, (list, tuple, set, frozenset)):
                held += one
            else:
                try:
                    cell = isinstance(one, CellType)
                    parts = [one.cell_contents] if cell else one.__reduce_ex__(2)
                    held += (list(p) if hasattr(type(p), "__next__") else p for p in parts)
                except Exception:
                    pass  # a lock, a file, a generator, an empty cell
    return hash(tuple(told))
"""


def prelude(fuel: int) -> list[ast.stmt]:
    """Statements that define the fuel: `fuel` units for all calls of one program together."""
    source = (
        f"from itertools import repeat as __repeat__\n{FUEL} = __repeat__(True, {fuel}).__next__"
    )
    return parse_module(source).body


def refuelling(fuel: int) -> list[ast.stmt]:
    """As `prelude`, with a function `REFUEL` that fills the tank again before a call."""
    source = f"def __refuel__():\n    global {FUEL}\n    {FUEL} = __repeat__(True, {fuel}).__next__"
    return prelude(fuel) + parse_module(source).body


REFUEL = "__refuel__()"


def is_mark(node: object) -> bool:
    """Return whether this module inserted the node."""
    return getattr(node, "_refute_mark", False) is True


def fuelled(tree: ast.Module) -> ast.Module:
    """Put fuel into `tree`, in place."""
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            node.body.insert(0, _statement(node.body[0], FUEL))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = 1 if len(node.body) > 1 and _is_docstring(node.body[0]) else 0
            node.body.insert(place, _statement(node.body[place], FUEL))
        elif isinstance(node, ast.comprehension):
            node.ifs.insert(0, _call(node.iter, FUEL))
    return tree


def stripped(tree: _Tree) -> _Tree:
    """A copy of `tree` without what `fuelled` put in."""
    clean = copy_of(tree)
    for node in ast.walk(clean):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and any(map(is_mark, value)):
                setattr(node, name, [item for item in value if not is_mark(item)])
    return clean


def marked(tree: ast.Module) -> tuple[ast.Module, list[ast.stmt]]:
    """A copy of `tree` that notes which statements inside functions were reached.

    Returns it with the list of the statements of `tree` (not of the copy), in the order of their
    numbers. Evaluate `TAKE_HITS` in the program after each call, and `STATE`.
    """
    statements = list(_statements(tree))
    numbers = {id(node): number for number, node in enumerate(statements)}
    copy = copy_of(tree)
    originals = {id(new): old for old, new in zip(ast.walk(tree), ast.walk(copy), strict=True)}
    for node in list(ast.walk(copy)):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            noted: list[ast.stmt] = []
            for place, item in enumerate(body):
                number = numbers.get(id(originals.get(id(item))))
                docstring = place == 0 and _is_docstring(item)
                if number is not None and not is_mark(item) and not docstring:
                    noted.append(_statement(item, HIT, number))
                noted.append(item)
            setattr(node, name, noted)
    source = (
        f"__hits__ = set()\n{HIT} = __hits__.add\n"
        f"def __take__():\n    hits = sorted(__hits__)\n    __hits__.clear()\n    return hits"
        f"{_SHOW_STATE}"
    )
    copy.body[_after_future(copy) : _after_future(copy)] = parse_module(source).body
    return copy, statements


def _after_future(tree: ast.Module) -> int:
    place = 0
    for index, node in enumerate(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            place = index + 1
    return place


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside functions, in the order of the text, however deep they nest."""
    todo = [(child, False) for child in reversed(list(ast.iter_child_nodes(tree)))]
    while todo:
        node, inside = todo.pop()
        if isinstance(node, ast.stmt) and inside and not is_mark(node):
            yield node
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        todo += [(child, inside) for child in reversed(list(ast.iter_child_nodes(node)))]


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _call(near: ast.expr | ast.stmt, name: str, *args: int) -> ast.Call:
    place: dict[str, Any] = {
        "lineno": near.lineno,
        "col_offset": near.col_offset,
        "end_lineno": near.end_lineno,
        "end_col_offset": near.end_col_offset,
    }
    call = ast.Call(
        func=ast.Name(id=name, ctx=ast.Load(), **place),
        args=[ast.Constant(value=arg, **place) for arg in args],
        keywords=[],
        **place,
    )
    call._refute_mark = True  # type: ignore[attr-defined]
    return call


def _statement(near: ast.stmt, name: str, *args: int) -> ast.Expr:
    call = _call(near, name, *args)
    expr = ast.Expr(
        value=call,
        lineno=near.lineno,
        col_offset=near.col_offset,
        end_lineno=near.end_lineno,
        end_col_offset=near.end_col_offset,
    )
    expr._refute_mark = True  # type: ignore[attr-defined]
    return expr

"""Edits on a syntax tree: applied in place, undone in place, so that thousands share one tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Change", "Edit", "applied", "brought_in", "copy_of", "located", "same"]

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Set `owner.field` (or its item `index`) to `new`: a node or a list of nodes."""

    owner: ast.AST
    field: str
    index: int | None
    new: Any

    def swap(self) -> Change:
        """Make the change and return the one that undoes it."""
        if self.index is None:
            old = getattr(self.owner, self.field)
            setattr(self.owner, self.field, self.new)
        else:
            items = getattr(self.owner, self.field)
            old = items[self.index]
            items[self.index] = self.new
        return Change(self.owner, self.field, self.index, old)


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """One or more changes that belong together, with what the prior thinks of them."""

    changes: tuple[Change, ...]
    kind: str
    """The operator's name, a key of `prior.WEIGHTS`."""
    weight: float
    """Natural logarithm of the prior weight; higher is likelier."""
    stmts: tuple[ast.stmt, ...]
    """The statements in which it happens; empty: outside of any function, reached by every run."""

    @property
    def line(self) -> int:
        """Line of the first statement that it changes; 1 outside of any function."""
        return self.stmts[0].lineno if self.stmts else 1


@contextmanager
def applied(edits: Sequence[Edit]) -> Iterator[None]:
    """The tree with the edits made, for the length of a `with` block."""
    undo: list[Change] = []
    try:
        for edit in edits:
            for change in edit.changes:
                undo.append(change.swap())
        yield
    finally:
        for change in reversed(undo):
            change.swap()


def brought_in(edit: Edit, near: ast.AST) -> str:
    """The first name or constant of an edit that stands nowhere in `near`, the code before it; "":
    none. 0, 1, the empty text and the neighbours of a number that stands there are near."""
    names, values = _parts(near)
    for change in edit.changes:
        items = change.new if isinstance(change.new, list) else [change.new]
        for item in items:
            new, constants = _parts(item) if isinstance(item, ast.AST) else ({item}, set())
            for name in sorted(new - names, key=str):
                if isinstance(name, str) and name.isidentifier():
                    return name
            for value in constants - values:
                numeric = isinstance(value, int | float) and not isinstance(value, bool)
                if value and value != 1 and not (numeric and {value - 1, value + 1} & values):
                    return repr(value)
    return ""


def _parts(tree: ast.AST) -> tuple[set[Any], set[Any]]:
    """The names and the constants that stand in a tree."""
    names: set[Any] = set()
    values: set[Any] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            names.add(getattr(node, field, None))
        if isinstance(node, ast.Constant):
            values.add(node.value)
    return names, values


_PLACED = (ast.expr, ast.stmt, ast.keyword, ast.arg, ast.alias, ast.ExceptHandler)


def located(new: _Node, old: ast.AST) -> _Node:
    """Give `new` and those of its descendants that have none the position of `old`.

    `ast.fix_missing_locations` walks the whole tree; this stops at nodes that came from the source.
    """
    own = new.__dict__
    if "lineno" in own:
        return new
    if isinstance(new, _PLACED):
        place = old.__dict__
        own["lineno"] = place["lineno"]
        own["col_offset"] = place["col_offset"]
        own["end_lineno"] = place.get("end_lineno")
        own["end_col_offset"] = place.get("end_col_offset")
    for value in own.values():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, ast.AST):
                inner = item.__dict__
                if "lineno" not in inner and (inner or isinstance(item, _PLACED)):
                    located(item, old)
    return new


def copy_of(node: _Node) -> _Node:
    """A deep copy, several times faster than `copy.deepcopy`; positions and marks are kept."""
    new = node.__class__.__new__(node.__class__)
    for key, value in node.__dict__.items():
        if isinstance(value, ast.AST):
            value = copy_of(value)
        elif isinstance(value, list):
            value = [copy_of(item) if isinstance(item, ast.AST) else item for item in value]
        new.__dict__[key] = value
    return new


def same(a: Any, b: Any) -> bool:
    """Return whether two trees are equal up to positions (constants by type and value)."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, ast.AST):
        for name in a._fields:
            # ast.unparse and ast.parse disagree on these two, which have no meaning of their own.
            if name in ("kind", "type_comment", "ctx"):
                continue
            if not same(getattr(a, name, None), getattr(b, name, None)):
                return False
        return True
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | complex):
        return repr(a) == repr(b)
    return bool(a == b)

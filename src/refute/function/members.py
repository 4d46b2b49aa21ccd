"""Choice of a file's functions and methods to check, and why others are left out."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

from refute.core.remarks import few
from refute.source.syntax import Function, find_class, functions_in

MOST_NAMES = 12
"""Names that a message lists."""
_ABSTRACT = {"abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"}
_MAKING = {
    *("dataclass", "dataclasses.dataclass", "attr.s", "attr.attrs", "attr.define", "attr.frozen"),
    *("attrs.define", "attrs.frozen", "define", "frozen"),
}
"""Decorators that make methods."""


def public_functions(
    tree: ast.Module, within: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The qualified names to look at, of a class where one is named; a line for what is left out.

    Public is a name without a leading underscore, in public classes, and `__init__`; another
    special method where its docstring holds an example.
    """
    prefix = "" if within is None else f"{within}."
    public: list[str] = []
    abstract: list[str] = []
    for name, node in functions_in(tree).items():
        *owners, last = name.removeprefix(prefix).split(".")
        if not name.startswith(prefix) or any(one.startswith("_") for one in owners):
            continue
        special = "." in name and last.startswith("__") and last.endswith("__")
        shown = last == "__init__" or ">>>" in (ast.get_docstring(node) or "")
        if last.startswith("_") and not (special and shown):
            continue
        marks = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
        (abstract if marks & _ABSTRACT else public).append(name)
    reasons = dict.fromkeys(abstract, "is abstract")
    cls = None if within is None else find_class(tree, within)
    if within is not None and cls is not None and not public and not abstract:
        reasons[within] = _why_empty(cls)
    _classes_left(cls or tree, prefix, "", {*public, *abstract}, reasons)
    groups: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        groups.setdefault(reason, []).append(name)
    return tuple(public), tuple(f"{few(names, MOST_NAMES)}: {why}" for why, names in groups.items())


def _classes_left(
    node: ast.AST, prefix: str, reason: str, methods: set[str], found: dict[str, str]
) -> None:
    """Add the public classes inside of the node of which nothing is looked at, with the reason.

    `reason`: why none of those here can be; "" where they can.
    """
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{getattr(child, 'name', '')}"
        if isinstance(child, Function | ast.ClassDef) and child.name.startswith("_"):
            continue
        if isinstance(child, Function):
            inside = reason or f"is made inside of {name}, anew in each call"
            _classes_left(child, f"{name}.", inside, methods, found)
        elif isinstance(child, ast.ClassDef):
            if reason or not any(one.startswith(f"{name}.") for one in methods):
                found[name] = reason or _why_empty(child)
            _classes_left(child, f"{name}.", reason, methods, found)
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and hasattr(child, "body"):
            inside = reason or "is made under a condition"
            _classes_left(child, prefix, inside, methods, found)


def _why_empty(cls: ast.ClassDef) -> str:
    marks = {ast.unparse(one).partition("(")[0] for one in cls.decorator_list}
    if marks & _MAKING:
        return "has no method of its own but those that its decorator makes, which have no text"
    return "has no public method of its own"


def not_there(name: str, tree: ast.Module, path: Path) -> str:
    """Return why a file has no function, method or class of this name to check."""
    functions = functions_in(tree)
    owner, _, last = name.rpartition(".")
    cls = find_class(tree, owner) if owner else None
    if cls is not None:
        for base in map(ast.unparse, cls.bases):
            if f"{base}.{last}" in functions:
                return f"{path}::{name}: is inherited; name {path}::{base}.{last}"
        known = [one for one in functions if one.startswith(f"{owner}.")]
        return f"{path}: {owner} has no method {last}; {_hint(name, known)}"
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return f"{path}:{node.lineno}: {name} is not at the file's top level"
    known = [*functions, *(one.name for one in tree.body if isinstance(one, ast.ClassDef))]
    return f"{path}: has no function {name}; {_hint(name, known)}"


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"it has {few(known, MOST_NAMES) or 'none'}"

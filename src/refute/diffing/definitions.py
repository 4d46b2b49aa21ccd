"""What a Python file defines, read as a syntax tree: functions, methods, classes, bindings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from refute.source.syntax import Function, first_line

__all__ = ["Definition", "Definitions", "Kind", "definitions", "is_private"]

Kind = Literal["function", "method", "classmethod", "staticmethod", "property"]
_PROPERTIES = frozenset({"property", "cached_property", "cachedproperty", "abstractproperty"})
_OF_CLASSES = frozenset({"__init_subclass__", "__class_getitem__"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or method, with all that may stand for its name at run time."""

    qualname: str
    nodes: tuple[Function, ...]
    """The last definition of the name; more than one where branches of an `if` or `try` define it,
    and with what is decorated by it (`@x.setter`, `@f.register`)."""
    owner: str
    """Qualified name of its class; "" at the top level."""
    source: str
    """Its lines in the file, decorators and comments included."""

    @property
    def name(self) -> str:
        """The name without its class."""
        return self.qualname.rpartition(".")[2]

    def joined(self, other: Definition) -> Definition:
        """Both together, under the name of this one."""
        nodes, source = self.nodes + other.nodes, self.source + other.source
        return Definition(self.qualname, nodes, self.owner, source)

    @property
    def kind(self) -> Kind:
        """How it is bound."""
        words = {_last_name(d) for node in self.nodes for d in node.decorator_list}
        if not self.owner:
            return "function"
        if words & _PROPERTIES:
            return "property"
        if "classmethod" in words or self.name in _OF_CLASSES:
            return "classmethod"
        if "staticmethod" in words or self.name == "__new__":
            return "staticmethod"
        return "method"

    @property
    def is_async(self) -> bool:
        """Whether a call gives something to await or to iterate asynchronously."""
        return any(isinstance(node, ast.AsyncFunctionDef) for node in self.nodes)

    @property
    def is_generator(self) -> bool:
        """Whether a call gives an iterator over what is yielded."""
        return any(_yields(node) for node in self.nodes)

    @property
    def is_private(self) -> bool:
        """Whether its name or its class's says that it is not for users."""
        return is_private(self.qualname)

    @property
    def line(self) -> int:
        """Where the `def` of the last one stands (1-based)."""
        return self.nodes[-1].lineno


@dataclass(slots=True)
class Definitions:
    """The definitions of a module or class body, by qualified name, in the order of the file."""

    functions: dict[str, Definition] = field(default_factory=dict)
    bindings: dict[str, tuple[ast.stmt, ...]] = field(default_factory=dict)
    """Constants, class attributes and imports -> the statements that bind or change them."""
    classes: dict[str, tuple[ast.ClassDef, ...]] = field(default_factory=dict)

    def _add(self, branches: Sequence[Definitions]) -> None:
        """What one of several branches may define stands beside what was there."""
        for branch in branches:
            for name, found in branch.functions.items():
                known = self.functions.get(name)
                self.functions[name] = found if known is None else known.joined(found)
            for name, statements in branch.bindings.items():
                self.bindings[name] = self.bindings.get(name, ()) + statements
            for name, classes in branch.classes.items():
                self.classes[name] = self.classes.get(name, ()) + classes

    def _forget(self, name: str) -> None:
        """The class is defined anew."""
        for table in (self.functions, self.bindings, self.classes):
            for known in [n for n in table if n == name or n.startswith(f"{name}.")]:
                del table[known]


def definitions(tree: ast.Module, text: str) -> Definitions:
    """What a module defines at its top level and in its classes, nested ones included.

    What a function defines inside is part of it. Of `if TYPE_CHECKING` and of what only runs as a
    script nothing is read.
    """
    return _scanned(tree.body, "", text.split("\n"))


def _scanned(body: Sequence[ast.stmt], owner: str, lines: Sequence[str]) -> Definitions:
    found = Definitions()
    prefix = f"{owner}." if owner else ""
    for node in body:
        if isinstance(node, Function):
            extended = _extended(node, prefix, found)
            source = "\n".join(lines[first_line(node) - 1 : node.end_lineno])
            one = Definition(prefix + node.name, (node,), owner, source)
            name = extended or one.qualname
            found.functions[name] = found.functions[name].joined(one) if extended else one
        elif isinstance(node, ast.ClassDef):
            name = prefix + node.name
            found._forget(name)
            found.classes[name] = (node,)
            found._add([_scanned(node.body, name, lines)])
        elif branches := list(_branches(node)):
            found._add([_scanned(branch, owner, lines) for branch in branches])
        else:
            for name, statement, anew in _bound(node):
                known_ones = () if anew else found.bindings.get(prefix + name, ())
                if anew or known_ones:
                    found.bindings[prefix + name] = (*known_ones, statement)
    return found


def _extended(node: Function, prefix: str, found: Definitions) -> str | None:
    """The function that a definition is decorated by and so belongs to: `x` of `@x.setter`."""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        base = called.value if isinstance(called, ast.Attribute) else None
        if isinstance(base, ast.Name) and prefix + base.id in found.functions:
            return prefix + base.id
    return None


def _branches(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement, as far as an import runs them."""
    if isinstance(node, ast.If):
        if not _is_never_true(node.test):
            yield node.body
        yield node.orelse
    elif isinstance(node, ast.Try | ast.TryStar):
        yield node.body
        yield from (handler.body for handler in node.handlers)
        yield node.orelse
        yield node.finalbody
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield node.body
    elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Match):
        yield from (case.body for case in node.cases)


def _is_never_true(test: ast.expr) -> bool:
    """Of a module that is imported to be run: `TYPE_CHECKING`, `__name__ == "__main__"`."""
    if isinstance(test, ast.Compare):
        return isinstance(test.left, ast.Name) and test.left.id == "__name__"
    return _last_name(test) == "TYPE_CHECKING"


def _bound(node: ast.stmt) -> Iterator[tuple[str, ast.stmt, bool]]:
    """The names that a simple statement binds (True) or changes in place (False)."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            if isinstance(node, ast.Import):
                yield name, ast.copy_location(ast.Import([alias]), node), True
            elif alias.name != "*":
                one = ast.ImportFrom(node.module, [alias], node.level)
                yield name, ast.copy_location(one, node), True
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name, anew in _targets(target):
                yield name, node, anew and not isinstance(node, ast.AugAssign)
    elif isinstance(node, ast.Delete):
        yield from ((name, node, False) for t in node.targets for name, _ in _targets(t))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Attribute):  # TABLE.update(...)
            yield from ((name, node, False) for name, _ in _targets(called))


def _targets(target: ast.expr) -> Iterator[tuple[str, bool]]:
    """Names in a target, and whether they are bound anew by it."""
    if isinstance(target, ast.Name):
        yield target.id, True
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _targets(element)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value)
    elif isinstance(target, ast.Attribute | ast.Subscript):
        yield from ((name, False) for name, _ in _targets(target.value))


def _last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _yields(function: Function) -> bool:
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _SCOPES):
            left += ast.iter_child_nodes(node)
    return False


def is_private(qualname: str) -> bool:
    """Whether a part of a name says that it is not for users; special methods are."""
    return any(
        part.startswith("_") and not (part.startswith("__") and part.endswith("__"))
        for part in qualname.split(".")
    )

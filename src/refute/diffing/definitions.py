"""Definitions of a Python file from its syntax tree: functions, methods, classes, bindings."""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from refute.source.syntax import Function, first_line

Kind = Literal["function", "method", "classmethod", "staticmethod", "property"]
_PROPERTIES = frozenset({"property", "cached_property", "cachedproperty", "abstractproperty"})
_OF_CLASSES = frozenset({"__init_subclass__", "__class_getitem__"})


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
        """Return how the function is bound."""
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
    def is_private(self) -> bool:
        """Return whether its name or that of its class marks it as private."""
        return is_private(self.qualname)

    @property
    def line(self) -> int:
        """Return the line of the last `def` (1-based)."""
        return self.nodes[-1].lineno


@dataclass(slots=True)
class Definitions:
    """The definitions of a module or class body, by qualified name, in the order of the file."""

    functions: dict[str, Definition] = field(default_factory=dict)
    bindings: dict[str, tuple[ast.stmt, ...]] = field(default_factory=dict)
    """Constants, class attributes and imports -> the statements that bind or change them."""
    classes: dict[str, tuple[ast.ClassDef, ...]] = field(default_factory=dict)

    def _add(self, branches: Sequence[Definitions]) -> None:
        """Add the definitions of one of several branches beside those of the others."""
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
    """Return the definitions at the top level of a module and in its classes, nested ones included.

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


def is_private(qualname: str) -> bool:
    """Return whether part of a name marks it as private; special methods are public."""
    return any(
        part.startswith("_") and not (part.startswith("__") and part.endswith("__"))
        for part in qualname.split(".")
    )


_Block = ast.stmt | ast.excepthandler | ast.match_case


def compared(
    before: Definition, after: Definition
) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Return how a function differs: in what of "body", "signature", "defaults", "decorators" (or
    "annotations" alone), in this order, and the executable lines that only the revision before and
    only the one after has (1-based, of statement starts); None if only its docstring differs, or
    nothing."""
    if before.source == after.source:
        return None
    told = [[ast.dump(_documented(node)) for node in one.nodes] for one in (before, after)]
    if told[0] == told[1]:
        return None
    old, new = (tuple(map(_bare, one.nodes)) for one in (before, after))
    sides = (zip(*map(_facts, nodes), strict=True) for nodes in (old, new))
    aspects = tuple(
        aspect
        for aspect, first, second in zip(
            ("body", "signature", "defaults", "decorators"), *sides, strict=True
        )
        if first != second
    )
    if not aspects:
        return ("annotations",), (), ()
    lines = _changed_lines(old, new) if "body" in aspects else ((), ())
    if "defaults" in aspects:
        names = _names_of_changed_defaults(old, new)
        lines = _joined(lines[0], _reading(old, names)), _joined(lines[1], _reading(new, names))
    return aspects, *lines


def key_of(statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the key by which statements of a binding are compared: without type hints."""
    return tuple(ast.dump(_Bare().visit(copy.deepcopy(node))) for node in statements)


def statements(body: Sequence[ast.stmt]) -> Iterator[tuple[_Block, tuple[str, ...]]]:
    """Every statement, handler and case in order, with the names of the blocks it lies in."""
    left: list[tuple[_Block, tuple[str, ...]]] = [(node, ()) for node in reversed(body)]
    while left:
        node, way = left.pop()
        yield node, way
        inside: list[tuple[_Block, tuple[str, ...]]] = []
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                inside += [(v, (*way, name)) for v in value if isinstance(v, _Block)]
        left += reversed(inside)


def own_parts(node: _Block) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the blocks in it."""
    left: list[ast.AST] = [node]
    while left:
        one = left.pop()
        yield one
        left += [n for n in ast.iter_child_nodes(one) if not isinstance(n, _Block)]


def lines_of(node: _Block) -> tuple[int, ...]:
    """The line that a statement begins on, where it is one that runs."""
    if isinstance(node, ast.match_case):
        return (node.pattern.lineno,)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return ()
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return ()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return ()
    return (node.lineno,)


class _Bare(ast.NodeTransformer):
    """Takes docstrings and hints away, in place."""

    def visit_FunctionDef(self, node: Function | ast.ClassDef) -> ast.AST:
        if not isinstance(node, ast.ClassDef):
            node.returns = None
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        node.type_comment = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            node.annotation = ast.Constant(...)
            return node  # it makes the name local
        plain = ast.Assign([node.target], node.value)
        return self.generic_visit(ast.copy_location(plain, node))


def _bare(node: Function) -> Function:
    bare: Function = _Bare().visit(copy.deepcopy(node))
    return bare


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return body
    if not isinstance(first.value.value, str):
        return body
    return body[1:] or [ast.copy_location(ast.Pass(), first)]


def _facts(node: Function) -> tuple[str, str, str, str]:
    """Body, signature, defaults and decorators of a bare function, as text."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    kinds = (len(arguments.posonlyargs), len(arguments.args), len(arguments.kwonlyargs))
    starred = [a and ast.dump(a) for a in (arguments.vararg, arguments.kwarg)]
    optional = (len(arguments.defaults), [d is not None for d in arguments.kw_defaults])
    signature = (type(node), node.name, [*map(ast.dump, given)], kinds, starred, optional)
    defaults = [d and ast.dump(d) for d in (*arguments.defaults, *arguments.kw_defaults)]
    return (
        "\n".join(map(ast.dump, node.body)),
        repr(signature),
        repr(defaults),
        repr([*map(ast.dump, node.decorator_list)]),
    )


def _documented(node: Function) -> Function:
    """The function without docstrings, its own and those of what it defines inside."""
    if not any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node)):
        return node
    node = copy.deepcopy(node)
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            one.body = _without_docstring(one.body)
    return node


def _changed_lines(
    before: Sequence[Function], after: Sequence[Function]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By the statements alone; where only their nesting differs, by that as well."""
    old, new = ([s for node in nodes for s in statements(node.body)] for nodes in (before, after))
    for nested in (False, True):
        first, second = ([(_head(s), way if nested else ()) for s, way in x] for x in (old, new))
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
        gone: list[int] = []
        come: list[int] = []
        for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
            if tag != "equal":
                gone += [line for s, _ in old[start:stop] for line in lines_of(s)]
                come += [line for s, _ in new[new_start:new_stop] for line in lines_of(s)]
        if gone or come:
            break
    return _joined(gone), _joined(come)


def _head(node: _Block) -> str:
    """A statement without the blocks in it."""
    head = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], _Block):
            setattr(head, name, [])
    return ast.dump(head)


def _names_of_changed_defaults(
    before: Sequence[Function], after: Sequence[Function]
) -> frozenset[str]:
    sides = [{item for node in nodes for item in _defaults(node)} for nodes in (before, after)]
    return frozenset(name for name, _ in sides[0] ^ sides[1])


def _defaults(node: Function) -> Iterator[tuple[str, str]]:
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]]
    pairs = [*zip(placed[::-1], arguments.defaults[::-1], strict=False)]
    for argument, default in (
        *pairs,
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ):
        if default is not None:
            yield argument.arg, ast.dump(default)


def _reading(nodes: Sequence[Function], names: frozenset[str]) -> list[int]:
    """Lines of the statements that read one of the names."""
    return [
        line
        for node in nodes
        for statement, _ in statements(node.body)
        if any(isinstance(p, ast.Name) and p.id in names for p in own_parts(statement))
        for line in lines_of(statement)
    ]


def _joined(*lines: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({line for some in lines for line in some}))

"""Definitions compared: what of them differs, and which executable lines one side alone has.

Docstrings, comments and the layout of code are left out; hints are compared apart.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.diffing.definitions import Definition
from refute.source.syntax import Function

__all__ = ["Difference", "compared", "key_of", "lines_of", "own_parts", "statements"]

_Block = ast.stmt | ast.excepthandler | ast.match_case


@dataclass(frozen=True, slots=True)
class Difference:
    """How one function differs between two revisions. Lines are 1-based and first of statements."""

    aspects: tuple[str, ...]
    """Of "body", "signature", "defaults", "decorators", "annotations", in this order."""
    lines_before: tuple[int, ...] = ()
    """Executable lines that only the revision before has."""
    lines_after: tuple[int, ...] = ()


def compared(before: Definition, after: Definition) -> Difference | None:
    """How a function differs; None where it does not, docstrings aside."""
    if before.source == after.source:
        return None
    if _facts(before.nodes, False) == _facts(after.nodes, False):
        return None
    old, new = (tuple(map(_bare, one.nodes)) for one in (before, after))
    aspects = tuple(
        aspect
        for aspect, first, second in zip(
            ("body", "signature", "defaults", "decorators"),
            zip(*_facts(old, True), strict=True),
            zip(*_facts(new, True), strict=True),
            strict=True,
        )
        if first != second
    )
    if not aspects:
        return Difference(("annotations",))
    lines = _changed_lines(old, new) if "body" in aspects else ((), ())
    if "defaults" in aspects:
        names = _names_of_changed_defaults(old, new)
        lines = _joined(lines[0], _reading(old, names)), _joined(lines[1], _reading(new, names))
    return Difference(aspects, *lines)


def key_of(statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """What a binding's statements are compared by: without hints."""
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

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

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


def _facts(nodes: Sequence[Function], bare: bool) -> list[tuple[str, str, str, str]]:
    """Body, signature, defaults and decorators of each, as text; not `bare`: without docstrings,
    with hints (in the signature, and as they stand in the body)."""
    return [_facts_of(node, bare) for node in nodes]


def _facts_of(node: Function, bare: bool) -> tuple[str, str, str, str]:
    body = node.body if bare else _documented(node).body
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    kinds = (len(arguments.posonlyargs), len(arguments.args), len(arguments.kwonlyargs))
    starred = [a and ast.dump(a) for a in (arguments.vararg, arguments.kwarg)]
    returns = node.returns and ast.dump(node.returns)
    optional = (len(arguments.defaults), [d is not None for d in arguments.kw_defaults])
    signature = (type(node), node.name, [*map(ast.dump, given)], kinds, starred, returns, optional)
    defaults = [d and ast.dump(d) for d in (*arguments.defaults, *arguments.kw_defaults)]
    return (
        "\n".join(map(ast.dump, body)),
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

"""Vocabulary of the code around a function: calls, conditions and statements to reuse in edits.

Most changes that people make consist of pieces that stand somewhere in the same file already, most
often in code like the one changed (Barr et al., "The Plastic Surgery Hypothesis", FSE 2014).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from refute.function.search.edit import copy_of
from refute.function.search.fuel import is_mark
from refute.source.syntax import Function, find_function

__all__ = ["Vocabulary", "vocabulary"]

_Node = TypeVar("_Node", bound=ast.AST)

_BUILTIN = frozenset(dir(builtins))
_NAMED = ast.Name | ast.arg
SIBLINGS = 12
"""Functions that are read, those that share most names with the own one first."""
READ = 20_000
"""Nodes of them that are read for calls and conditions: a function may have thousands of lines."""
TAKERS = 24
STATEMENTS = 60
LARGEST = 10
"""Nodes, at most, of an expression that is taken as an argument."""
_REQUIRED = {
    "isinstance": 2, "issubclass": 2, "hasattr": 2, "getattr": 2, "setattr": 3, "map": 2,
    "filter": 2, "divmod": 2, "pow": 2,
}  # fmt: skip
"""Of built-in functions that take several arguments."""
_PLAIN_TYPES = ("str", "int", "list", "dict", "tuple", "set", "bytes", "float", "bool")
SMALL = 3
"""Statements, at most, of a block that is taken as a whole."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces of a module, those of the likest functions first."""

    takers: tuple[ast.expr, ...] = ()
    """What is called with one argument somewhere, and the functions that are imported by name."""
    methods: tuple[str, ...] = ()
    """Methods that are called without arguments."""
    keywords: dict[str, tuple[ast.keyword, ...]] = field(default_factory=dict)
    """Callee's last name -> keyword arguments that it is given somewhere."""
    arguments: tuple[tuple[str, ast.expr], ...] = ()
    """Callee's last name and a small expression that it is given somewhere."""
    conditions: tuple[ast.expr, ...] = ()
    """Conditions that are no comparisons: calls, names, negations of such."""
    statements: tuple[ast.stmt, ...] = ()
    """Short statements: assignments, calls, checks, loops of one line or two."""
    known: frozenset[str] = frozenset()
    """Names that the module defines or imports."""
    unused: tuple[str, ...] = ()
    """Its private functions that it never mentions."""
    required: dict[str, int] = field(default_factory=dict)
    """Function -> arguments without which it cannot be called."""
    kinds: tuple[ast.expr, ...] = ()
    """What `isinstance` asks for somewhere, and the types of plain values."""


def vocabulary(tree: ast.Module, entry_point: str) -> Vocabulary:
    """Return what the functions of a module offer to the one called `entry_point`."""
    every = [node for node in ast.walk(tree) if isinstance(node, Function)]
    own = find_function(tree, entry_point)
    wanted = _names(own) if own is not None else set()

    def likeness(function: Function) -> float:
        names = _names(function)
        return len(names & wanted) / max(1, len(names | wanted))

    near = sorted(every, key=lambda f: -likeness(f))[:SIBLINGS]
    takers: dict[str, ast.expr] = {}
    methods: dict[str, None] = {}
    keywords: dict[str, dict[str, ast.keyword]] = {}
    arguments: dict[str, tuple[str, ast.expr]] = {}
    conditions: dict[str, ast.expr] = {}
    statements: dict[str, ast.stmt] = {}
    known = frozenset(_defined(tree))
    raised = {id(n.exc) for n in ast.walk(tree) if isinstance(n, ast.Raise)}
    for node in islice((node for function in near for node in ast.walk(function)), READ):
        if isinstance(node, ast.Call) and not is_mark(node) and id(node) not in raised:
            name = _last(node.func)
            if len(node.args) == 1 and not node.keywords and _root(node.func) in known | _BUILTIN:
                takers.setdefault(ast.dump(node.func), node.func)
            elif not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
                methods.setdefault(node.func.attr)
            for one in node.args:
                composed = isinstance(one, ast.BinOp | ast.Attribute | ast.Call | ast.Subscript)
                if composed and len(list(islice(ast.walk(one), LARGEST + 1))) <= LARGEST:
                    arguments.setdefault(name + ast.dump(one), (name, copy_of(one)))
            given = keywords.setdefault(name, {})
            for keyword in node.keywords:
                if keyword.arg is not None:
                    given.setdefault(ast.dump(keyword), keyword)
        for test in _tests(node):
            conditions.setdefault(ast.dump(test), test)
    for stmt in (stmt for function in near for stmt in _short(function)):
        statements.setdefault(ast.dump(stmt), stmt)
        if len(statements) == STATEMENTS:
            break
    for stmt in tree.body:
        if isinstance(stmt, ast.ImportFrom) and stmt.module != "__future__":
            for alias in stmt.names:
                made = ast.Name(id=alias.asname or alias.name, ctx=ast.Load())
                if made.id.islower():
                    takers.setdefault(ast.dump(made), made)
    return Vocabulary(
        _copies(takers, TAKERS),
        tuple(methods)[:TAKERS],
        {name: _copies(given, TAKERS) for name, given in keywords.items() if given},
        tuple(arguments.values())[:TAKERS],
        _copies(conditions, TAKERS),
        _copies(statements, STATEMENTS),
        known,
        tuple(_unused(tree)),
        _REQUIRED | {f.name: _needed(f) for f in tree.body if isinstance(f, Function)},
        _copies(_kinds(tree), TAKERS),
    )


def _needed(function: Function) -> int:
    spec = function.args
    positional = len(spec.posonlyargs) + len(spec.args) - len(spec.defaults)
    return positional + sum(default is None for default in spec.kw_defaults)


def _kinds(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
                found.setdefault(ast.dump(kind), kind)
    for name in _PLAIN_TYPES:
        plain = ast.Name(id=name, ctx=ast.Load())
        found.setdefault(ast.dump(plain), plain)
    return found


def _unused(tree: ast.Module) -> Iterator[str]:
    private = [f.name for f in tree.body if isinstance(f, Function) and f.name.startswith("_")]
    if private:
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        yield from (name for name in private if name not in read and not name.startswith("__"))


def _copies(found: dict[str, _Node], most: int) -> tuple[_Node, ...]:
    """The first as nodes of their own: a piece that is put inside of itself would have no end."""
    return tuple(copy_of(node) for node in list(found.values())[:most])


def _names(node: ast.AST) -> set[str]:
    nodes = ast.walk(node)
    return {n.id if isinstance(n, ast.Name) else n.arg for n in nodes if isinstance(n, _NAMED)}


def _last(callee: ast.expr) -> str:
    return str(getattr(callee, "id", getattr(callee, "attr", "")))


def _root(callee: ast.expr) -> str:
    """`f` of `f` and of `f.g`: what has to be there for it to be called."""
    return _last(callee.value if isinstance(callee, ast.Attribute) else callee)


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = list(node.ifs)
    for test in tests:
        for part in test.values if isinstance(test, ast.BoolOp) else [test]:
            bare = part.operand if isinstance(part, ast.UnaryOp) else part
            if not is_mark(part) and isinstance(bare, ast.Call | ast.Name | ast.Attribute):
                yield part


def _short(function: ast.AST) -> Iterator[ast.stmt]:
    """The statements that may be taken as a whole."""
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and not is_mark(node):
            match node:
                case ast.Assign() | ast.AugAssign() | ast.Raise():
                    yield node
                case ast.Expr(value=ast.Call()):
                    yield node
                case ast.If() | ast.For():
                    inner = (n for n in ast.walk(node) if isinstance(n, ast.stmt))
                    if len(list(islice((n for n in inner if not is_mark(n)), SMALL + 1))) <= SMALL:
                        yield node  # looked at no further than this: such nest hundreds deep


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            yield from (
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )

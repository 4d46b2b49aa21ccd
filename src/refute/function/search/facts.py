"""Facts that the edits use about a program: names, constants, and a vocabulary.

The vocabulary is that of the code around a function: most changes that people make consist of
pieces that stand in the same file (Barr et al., "The Plastic Surgery Hypothesis", FSE 2014).
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from refute.function.search.edit import copy_of
from refute.function.search.fuel import is_mark
from refute.source.syntax import Function, find_function

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
    """Functions called with one argument somewhere, those that need one, those imported."""
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
    required: dict[str, int] = field(default_factory=dict)
    """Function -> arguments without which it cannot be called."""
    kinds: tuple[ast.expr, ...] = ()
    """Classes that `isinstance` asks for somewhere, and the types of plain values."""


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
    names = [f.name for f in tree.body if isinstance(f, Function) and _needed(f) == 1]
    for stmt in tree.body:
        if isinstance(stmt, ast.ImportFrom) and stmt.module != "__future__":
            names += filter(str.islower, (alias.asname or alias.name for alias in stmt.names))
    for made in (ast.Name(id=name, ctx=ast.Load()) for name in names):
        takers.setdefault(ast.dump(made), made)
    return Vocabulary(
        _copies(takers, TAKERS),
        tuple(methods)[:TAKERS],
        {name: _copies(given, TAKERS) for name, given in keywords.items() if given},
        tuple(arguments.values())[:TAKERS],
        _copies(conditions, TAKERS),
        _copies(statements, STATEMENTS),
        known,
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


__all__ = [
    "CodeFacts",
    "Vocabulary",
    "definitions",
    "gather",
    "names_in",
    "neighbours",
    "reachable",
    "vocabulary",
]

_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "half": 2, "twice": 2, "first": 1, "second": 2, "third": 3,
    "square": 2, "squared": 2, "cube": 3, "cubed": 3,
}  # fmt: skip


@dataclass(slots=True)
class CodeFacts:
    """Read from the code under test and the description, once per problem."""

    tree: ast.Module
    integers: tuple[int, ...]
    """Integer constants of the program."""
    told_integers: tuple[int, ...]
    """Integers that the description's prose mentions, worked examples left out."""
    strings: tuple[str, ...]
    told_strings: tuple[str, ...]
    """Short strings in quotes in the description."""
    functions: tuple[str, ...]
    """Functions that the module defines."""
    used: dict[str, int]
    """Variable -> number of loads."""
    indices: frozenset[str]
    """Variables in the role of an index: loops over `range` and `enumerate`, subscripts."""
    atoms: tuple[ast.expr, ...]
    """Conditions of the program without `and`, `or`, `not`."""
    around: Vocabulary
    """Names of the whole module."""
    unread: dict[int, tuple[str, ...]]
    """Id of a function -> its parameters that it never reads."""
    unspread: dict[int, tuple[str | None, str | None]]
    """Id of a function -> its `*args` and its `**options`, where it never reads them."""

    def idle(self, name: str) -> bool:
        """Return whether a variable is never read although its name does not begin with `_`."""
        return not self.used.get(name) and not name.startswith("_")


def gather(
    tree: ast.Module,
    description: str,
    near: Sequence[str] = (),
    around: Vocabulary | None = None,
) -> CodeFacts:
    """Collect the facts about a program and its description.

    `near`: functions that it may call although `tree`, a part of a module, does not hold them;
    `around`: what the whole module offers.
    """
    integers: dict[int, None] = {}
    strings: dict[str, None] = {}
    used: dict[str, int] = {}
    atoms: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if type(node.value) is int:
                integers[node.value] = None
            elif isinstance(node.value, str) and len(node.value) <= 40:
                strings[node.value] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = used.get(node.id, 0) + 1
        elif isinstance(node, ast.Compare):
            atoms[ast.dump(node)] = node
    own = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    return CodeFacts(
        tree,
        tuple(integers),
        _told_integers(description),
        tuple(strings),
        tuple(
            dict.fromkeys(
                a or b for a, b in re.findall(r"'([^'\n]{1,12})'|\"([^\"\n]{1,12})\"", description)
            )
        )[:12],
        tuple(dict.fromkeys((*own, *near))),
        used,
        _indices(tree),
        tuple(atoms.values())[:12],
        around if around is not None else Vocabulary(),
        {id(node): _unread(node) for node in ast.walk(tree) if isinstance(node, Function)},
        {id(node): _unspread(node) for node in ast.walk(tree) if isinstance(node, Function)},
    )


def _unread(function: Function) -> tuple[str, ...]:
    spec = function.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    read = _read(function)
    names = [arg.arg for arg in every if arg.arg not in read]
    return tuple(n for n in names if not n.startswith("_") and n not in ("self", "cls"))


def _unspread(function: Function) -> tuple[str | None, str | None]:
    spec = function.args
    if spec.vararg is None and spec.kwarg is None:
        return None, None
    read = _read(function)
    rest, options = (
        None if one is None or one.arg in read or one.arg.startswith("_") else one.arg
        for one in (spec.vararg, spec.kwarg)
    )
    return rest, options


def _read(function: Function) -> set[str]:
    return {n.id for stmt in function.body for n in ast.walk(stmt) if isinstance(n, ast.Name)}


def _indices(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            inside = (node.slice,)
            found.update(n.id for s in inside for n in ast.walk(s) if isinstance(n, ast.Name))
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            target = node.target
            if _callee(node.iter) == "enumerate" and isinstance(target, ast.Tuple):
                target = target.elts[0]
            if _callee(node.iter) in ("range", "enumerate") and isinstance(target, ast.Name):
                found.add(target.id)
    return frozenset(found)


def _told_integers(description: str) -> tuple[int, ...]:
    prose = "\n".join(
        line
        for line in description.splitlines()
        if not re.search(r">>>|==|=>|->|→|➞|\bassert\b|^\s*[\[({'\"\d-]", line)
    )
    found = [int(text) for text in re.findall(r"(?<![\w.])\d{1,4}(?![\w.]*\d)", prose)]
    found += [_NUMBER_WORDS[w] for w in re.findall(r"[a-z]+", prose.lower()) if w in _NUMBER_WORDS]
    return tuple(dict.fromkeys(found))[:12]


def _callee(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


NEAR = 8
"""Functions of the module, at most, that an edit may call although nothing that is reached does."""


def reachable(
    tree: ast.Module, names: Iterable[str], also: Collection[int] = frozenset()
) -> ast.Module:
    """The imports and the statements at the top level that code which starts from `names` may use.

    The nodes are those of `tree`. `also`: ids of nodes whose statements are taken in any case.
    """
    defined: dict[str, list[int]] = {}
    waiting = list(names)
    for place, node in enumerate(tree.body):
        for name in _bound(node):
            defined.setdefault(name, []).append(place)
        if also and any(id(child) in also for child in ast.walk(node)):
            waiting += _bound(node)
    found, seen = set[int](), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for place in defined.get(name, ()):
                found.add(place)
                waiting += names_in(tree.body[place])
    kept = [
        node
        for place, node in enumerate(tree.body)
        if place in found or isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return ast.Module(body=kept, type_ignores=[])


def neighbours(tree: ast.Module, name: str) -> list[str]:
    """The functions of the module, nearest to the one called `name` first, a few."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = find_function(tree, name)
    own = 0 if found is None else found.lineno
    return [n.name for n in sorted(functions, key=lambda n: abs(n.lineno - own))][:NEAR]


def definitions(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's top level, also those under a condition."""
    for node in body:
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from definitions(getattr(node, name, None) or ())
            for handler in getattr(node, "handlers", ()):
                yield from definitions(handler.body)


def names_in(node: ast.AST) -> set[str]:
    """Every name that a statement mentions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level binds, or changes."""
    for one in definitions([node]):
        if isinstance(one, Function | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in one.names)
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Delete):
            yield from _roots(one)
        else:
            heads = [getattr(one, name, None) for name in ("target", "test", "iter")]
            for head in heads:
                if isinstance(head, ast.AST):
                    yield from (n.id for n in ast.walk(head) if isinstance(n, ast.Name))


def _roots(node: ast.stmt) -> Iterator[str]:
    """`a` of `a = 1`, `a.b[0] = 1` and `a.update(b)`."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            yield child.id
        elif isinstance(child, ast.Attribute | ast.Subscript):
            at_work = isinstance(child.ctx, ast.Store) or isinstance(node, ast.Expr)
            if at_work and isinstance(child.value, ast.Name):
                yield child.value.id

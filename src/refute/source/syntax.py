"""Foreign source text to a syntax tree, without Python's remarks on it, and its functions.

A program under test may write ``"\\d"``; Python's warning about that (twice, and with no file name)
is of no use to somebody who asked for something else.

One thread parses at a time: until 3.12.1 Python keeps the depth of the tree that is being built
once per interpreter, and two threads can give each other "SystemError: AST constructor recursion
depth mismatch" (CPython issue 106905). So it keeps the warnings that are not to be shown, too.

What only a newer Python can read is read in older syntax: it is that Python which runs it.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from refute.source.newer_syntax import in_older_syntax

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""The definition of a function, of either kind."""
_DEEP = 10_000
"""Calls within each other: 1,500 `elif`s are 1,500 levels, each several calls of `deepcopy`. Python
functions that call each other take no room on the stack of C."""
MAX_DIGITS = 100_000
"""Longest decimal integer: the expected outputs of benchmarks exceed Python's own 4,300 digits."""

_parsing = threading.Lock()


def _renew() -> None:
    """In a child process: a lock that a thread of the parent held would never be given back."""
    global _parsing
    _parsing = threading.Lock()


os.register_at_fork(after_in_child=_renew)


@contextmanager
def lifted_limits() -> Iterator[None]:
    """Let syntax trees be walked as deep as Python nests what it loads, and long integers be read
    and written. In force around each verb and each task of a worker process."""
    old, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.setrecursionlimit(max(old, _DEEP))
    sys.set_int_max_str_digits(MAX_DIGITS)
    try:
        yield
    finally:
        sys.setrecursionlimit(old)
        sys.set_int_max_str_digits(digits)


@contextmanager
def _all_syntax_errors() -> Iterator[None]:
    """Raise `SyntaxError`, and nothing else, for a text that cannot be read."""
    try:
        yield
    except (RecursionError, MemoryError):  # the stack of Python's parser is full
        raise SyntaxError("nested too deeply") from None
    except ValueError as error:  # null characters, surrogates
        raise SyntaxError(str(error)) from None


@_all_syntax_errors()
def parse_module(source: str) -> ast.Module:
    """The syntax tree of a module, which may be written for a newer Python than this one: then it
    is what `in_older_syntax` makes of it. Raises `SyntaxError` for whatever cannot be read."""
    try:
        return _parsed(source)
    except SyntaxError:
        older = in_older_syntax(source)
        if older == source:
            raise
        try:
            return _parsed(older)
        except SyntaxError:
            pass
        raise


def _parsed(source: str) -> ast.Module:
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def readable_module(source: str) -> ast.Module:
    """The syntax tree of a module; an empty one for what is not Python, or nested too deeply."""
    try:
        return parse_module(source)
    except SyntaxError:
        return ast.Module([], [])


def try_parse(source: str) -> ast.Module | None:
    """As `shared_module`; None when it does not parse."""
    try:
        return shared_module(source)
    except SyntaxError:
        return None


@lru_cache(maxsize=4)  # a dozen readers look at one large module in turn, function by function
def shared_module(source: str) -> ast.Module:
    """As `parse_module`; the tree is to be read only, for others have it too."""
    return parse_module(source)


def try_parse_statements(source: str) -> list[ast.stmt] | None:
    """The statements of a snippet; None when it does not parse."""
    try:
        return parse_module(source).body
    except SyntaxError:
        return None


@_all_syntax_errors()
def parse_expression(source: str) -> ast.expr:
    """The syntax tree of an expression. Raises `SyntaxError` for whatever cannot be read."""
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source, mode="eval").body


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, a definition's decorators included (1-based)."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def find_function(tree: ast.Module, entry_point: str) -> Function | None:
    """The definition of a function (or `Class.method`) in a module; None if there is none."""
    owner, _, name = entry_point.rpartition(".")
    body: Sequence[ast.stmt] | None = tree.body
    if owner:
        cls = find_class(tree, owner)
        body = None if cls is None else cls.body
    return None if body is None else _functions_of(body).get(name)


def find_class(tree: ast.Module, name: str) -> ast.ClassDef | None:
    """The last definition of a class, by its qualified name; None if there is none."""
    body: Sequence[ast.stmt] = tree.body
    found: ast.ClassDef | None = None
    for part in name.split("."):
        classes = [n for n in body if isinstance(n, ast.ClassDef) and n.name == part]
        if not classes:
            return None
        found = classes[-1]
        body = found.body
    return found


def functions_in(tree: ast.Module) -> dict[str, Function]:
    """The functions at a module's top level, by name, and the methods of its classes, by their
    qualified names, in order: what `find_function` finds."""
    return dict(_qualified(tree.body, ""))


def _qualified(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
    last = {n.name: n for n in body if isinstance(n, Function | ast.ClassDef)}
    functions = _functions_of(body)
    for name, node in last.items():
        if isinstance(node, ast.ClassDef):
            yield from _qualified(node.body, f"{prefix}{name}.")
        elif name in functions:
            yield f"{prefix}{name}", functions[name]


def _functions_of(body: Sequence[ast.stmt]) -> dict[str, Function]:
    """The functions that statements define, in order; the last definition of a name counts, but a
    property is what gets it."""
    found: dict[str, Function] = {}
    for node in body:
        if isinstance(node, Function):
            marks = (one.attr for one in node.decorator_list if isinstance(one, ast.Attribute))
            if node.name not in found or not {"setter", "deleter"} & {*marks}:
                found[node.name] = node
    return found


def takes_self(function: Function, entry_point: str) -> bool:
    """Whether the first parameter is what a call does not give: the object, or the class."""
    static = any(ast.unparse(one) == "staticmethod" for one in function.decorator_list)
    return "." in entry_point and not static


def docstring_of(code: str, entry_point: str) -> str:
    """A function's docstring, dedented; "" where there is none."""
    tree = try_parse(code)
    function = find_function(tree, entry_point) if tree is not None else None
    return ast.get_docstring(function) or "" if function is not None else ""


def bound_names(*nodes: ast.AST) -> frozenset[str]:
    """What statements bind where they stand (a module: all of its own); the names inside of a
    function or a class are not counted."""
    found: set[str] = set()
    left: list[ast.AST] = list(nodes)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        left += ast.iter_child_nodes(node)
    return frozenset(found)


def read_names(*nodes: ast.AST) -> set[str]:
    """The names that are read anywhere in syntax trees."""
    names = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}

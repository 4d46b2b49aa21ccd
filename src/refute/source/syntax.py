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
import builtins
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

_STRING = re.compile(r"(?i)(?<![a-z0-9_])([rbuft]{0,2})(\"\"\"|'''|\"|')")
_GENERIC = re.compile(r"(?<!\w)(?:def|class)[ \t]+\w+[ \t]*(?=\[)")
_ALIAS = re.compile(r"type[ \t]+(\w+)[ \t]*(?=\[|=(?!=))")
_EXCEPT = re.compile(r"except\b(?![ \t]*\*)")
_HINT = re.compile(r"\w[ \t]*\[|\btype[ \t]|\bexcept\b|[ft][rb]?[\"']", re.I)
"""Marks of a text that could be in newer syntax; prose is seldom read twice."""
_OPENING, _CLOSING = "([{", ")]}"


def in_older_syntax(source: str) -> str:
    """The text in older syntax, as long as before; what it does not know, it leaves."""
    if not _HINT.search(source):
        return source
    text = _Text(source)
    text.code(0, "")
    return "".join(text.out)


class _Text:
    """A text that is being read, and what it becomes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.out = list(source)

    def code(self, at: int, until: str) -> int:
        """Read code up to one of the characters of `until` outside of brackets; where that is, or
        the end of the text."""
        depth, begins = 0, not until
        while at < len(self.source):
            here = self.source[at]
            if depth == 0 and here in until:
                return at
            if begins and not here.isspace():
                begins = False
                at = self._statement(at)
                continue
            string = _STRING.match(self.source, at)
            if here == "#":
                at = self._line_end(at)
            elif string:
                at = self._string(string)
            elif found := _GENERIC.match(self.source, at):
                at = self._left_out(found.end())
            elif here == "\\":
                at += 2
            else:
                depth = max(0, depth + (here in _OPENING) - (here in _CLOSING))
                begins = not until and depth == 0 and (here in "\n;" or (begins and here.isspace()))
                at += 1
        return at

    def _statement(self, at: int) -> int:
        """Read what stands only at the beginning of a statement; return the next position."""
        if found := _ALIAS.match(self.source, at):
            after = found.end()
            self.out[at:after] = found[1].ljust(after - at)
            return self._left_out(after) if self.source[after] == "[" else after
        if found := _EXCEPT.match(self.source, at):
            end = self.code(found.end(), ":,\n")
            while self.source[end : end + 1] == ",":
                self.out[end] = "|"
                end = self.code(end + 1, ":,\n")
            return end
        word = re.compile(r"\w*").match(self.source, at)
        generic = _GENERIC.match(self.source, at) or _STRING.match(self.source, at)
        return at if generic or word is None or word.end() == at else word.end()

    def _line_end(self, at: int) -> int:
        end = self.source.find("\n", at)
        return len(self.source) if end < 0 else end

    def _left_out(self, at: int) -> int:
        """Blank the brackets that begin here, if they end; the lines that they span become one."""
        end = self.code(at + 1, "]") + 1
        if end > len(self.source):
            return end
        for n in range(at, end):
            joins = self.source[n + 1 : n + 2] == "\n" and n + 1 < end
            self.out[n] = "\n" if self.source[n] == "\n" else "\\" if joins else " "
        return end

    def _string(self, opening: re.Match[str]) -> int:
        """Read a string; where it ends."""
        kind, quote = opening[1].lower(), opening[2]
        if "t" in kind:
            self.out[opening.start() + kind.index("t")] = "f"
        formatted, at = bool({"f", "t"} & {*kind}), opening.end()
        while at < len(self.source) and not self.source.startswith(quote, at):
            here = self.source[at]
            if here == "\n" and len(quote) == 1:
                return at
            if here == "\\" or (formatted and self.source.startswith(("{{", "}}"), at)):
                at += 2
            elif formatted and here == "{":
                end = self._field(at)
                self._requoted(at, end, quote)
                at = end
            else:
                at += 1
        return min(at + len(quote), len(self.source))

    def _field(self, at: int) -> int:
        """Read a field, its format and the fields in that; where it ends."""
        at = self.code(at + 1, ":}")
        while at < len(self.source) and self.source[at] != "}":
            at = self._field(at) if self.source[at] == "{" else at + 1
        return min(at + 1, len(self.source))

    def _requoted(self, start: int, stop: int, quote: str) -> None:
        """Replace what a field of an older f-string may not hold: its quotes, and backslashes."""
        other = "'" if quote == '"' else '"'
        for n in range(start, stop):
            if self.source[n] == "\\" and self.source[n + 1 : n + 2] not in ("", "\n"):
                self.out[n] = "_"
                if not self.source[n + 1].isalnum():
                    self.out[n + 1] = "_"
            elif self.out[n] == quote:
                self.out[n] = other


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
    """Return the first line of a statement, a definition's decorators included (1-based)."""
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
    """True if the first parameter is the object or the class, which a call does not give."""
    static = any(ast.unparse(one) == "staticmethod" for one in function.decorator_list)
    return "." in entry_point and not static


def bound_names(*nodes: ast.AST) -> frozenset[str]:
    """Return the names that statements bind in their own scope, without those inside functions and
    classes."""
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


_HOMES = {
    **{
        name: f"import {name}"
        for name in (
            "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools",
            "hashlib", "heapq", "itertools", "math", "operator", "random", "re", "statistics",
            "string", "sys", "typing", "numpy",
        )
    },
    **{
        name: f"from typing import {name}"
        for name in (
            "Any", "Callable", "Dict", "FrozenSet", "Iterable", "Iterator", "List", "Optional",
            "Sequence", "Set", "Tuple", "Union",
        )
    },
    **{
        name: f"from collections import {name}"
        for name in ("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque", "namedtuple")
    },
    **{
        name: f"from functools import {name}"
        for name in ("cache", "cmp_to_key", "lru_cache", "partial", "reduce")
    },
    "np": "import numpy as np",
}  # fmt: skip
"""Modules of names that programs use without importing them: by and large what the evaluation
of UTGen has in front of every program."""


def after_head(tree: ast.Module) -> int:
    """The line after which an import may stand: past docstring and `__future__` imports."""
    line = 0
    for number, node in enumerate(tree.body):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (future or (text and number == 0)):
            break
        line = node.end_lineno or node.lineno
    return line


def with_imports(source: str) -> str:
    """The source with imports for well-known names that it uses and nowhere binds."""
    tree = try_parse(source)
    if tree is None:
        return source
    used, bound = set[str](), set(vars(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name="*"):
                return source  # anything may be bound
            case ast.alias(name=name, asname=other):
                bound.add((other or name).split(".")[0])
    missing = [_HOMES[name] for name in sorted(used - bound) if name in _HOMES]
    if not missing:
        return source
    lines = source.split("\n")
    line = after_head(tree)
    lines[line:line] = missing
    return "\n".join(lines)


def unbuilt(message: str, module: str) -> str:
    """Return a hint where `module` cannot be imported because it is not built; else "".

    `message`: of a ModuleNotFoundError. A package that lacks a part of its own is most often one
    whose build makes that file (its version, a compiled module), in a plain clone.
    """
    missing = message.partition("'")[2].partition("'")[0]
    package = module.partition(".")[0]
    if not missing.startswith(f"{package}."):
        return ""
    return (
        f"; where the build of {package} makes it, install the project in place first: "
        "pip install -e ."
    )

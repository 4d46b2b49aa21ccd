"""Test files and documents, read: what they import, their fixtures, their examples."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from refute.function.scenarios.carving.places import Package, imports_of
from refute.function.scenarios.carving.trees import statements_of
from refute.source.syntax import Function, readable_module, try_parse_statements

_FENCE = re.compile(r"^```\s*(?:py|python|python3|pycon)\b[^\n]*\n(.*?)^```", re.M | re.S)
_BLOCK = re.compile(
    r"^( *)\.\. (?:code-block|code|sourcecode|testcode|ipython)::\s*(?:python|py)?3?[^\n]*\n"
    r"((?:\1 +[^\n]*\n|[ \t]*\n)+)",
    re.M,
)


@dataclass(slots=True)
class TestFile:
    """A file that shows uses, read."""

    name: str
    tree: ast.Module
    names: Mapping[str, str]
    """What its imports bind."""
    fixtures: dict[str, Function] = field(default_factory=dict)
    documents: list[tuple[str, list[ast.stmt]]] = field(default_factory=list)
    """(module whose globals are seen or "", statements) of each doctest or block of code."""
    __test__ = False  # no test of pytest's


def read_file(name: str, text: str, package: Package, module: str = "") -> TestFile:
    """Read a Python file or a document. `module`: the file's dotted name, "" where it has none."""
    if not name.endswith(".py"):
        return TestFile(name, ast.Module([], []), {}, documents=[("", _document(text))])
    tree = readable_module(text)
    own = module in package.modules
    names = imports_of(
        [tree], package, module or "tests." + _stem(name), folder=name.endswith("__init__.py")
    )
    read = TestFile(name, tree, names)
    if ">>>" in text:
        for node in statements_of(tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function):
                shown = ast.get_docstring(node) or ""
                if ">>>" in shown:
                    read.documents.append((module if own else "", _examples(shown)))
    if own:
        read.tree = ast.Module([], [])
        return read
    for node in statements_of(tree):
        if isinstance(node, Function) and fixture_mark(node) is not None:
            read.fixtures[fixture_name(node)] = node
    return read


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".py")


def _document(text: str) -> list[ast.stmt]:
    """Statements of the examples and the blocks of code of a document, in order."""
    found = _examples(text)
    blocks = [one.group(1) for one in _FENCE.finditer(text)]
    blocks += [dedent(one.group(2)) for one in _BLOCK.finditer(text)]
    for block in blocks:
        if ">>>" not in block:
            found += try_parse_statements(block) or []
    return found


def _examples(text: str) -> list[ast.stmt]:
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    found: list[ast.stmt] = []
    for one in examples:
        statements = try_parse_statements(one.source) or []
        if one.exc_msg is not None and statements and isinstance(statements[-1], ast.Expr):
            # what raises can be looked at, and is no part of a set-up
            statements[-1] = ast.Assert(statements[-1].value, None)
        found += statements
    return found


def is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(isinstance(one, Function) and one.name.startswith("test") for one in node.body)
    return isinstance(node, Function) and (
        node.name.startswith("test") or fixture_mark(node) is not None
    )


def fixture_mark(node: Function) -> ast.expr | None:
    for mark in node.decorator_list:
        func = mark.func if isinstance(mark, ast.Call) else mark
        if getattr(func, "attr", getattr(func, "id", "")) in ("fixture", "yield_fixture"):
            return mark
    return None


def keywords_of(mark: ast.expr | None) -> dict[str | None, ast.expr]:
    if not isinstance(mark, ast.Call):
        return {}
    return {one.arg: one.value for one in mark.keywords}


def fixture_name(node: Function) -> str:
    given = keywords_of(fixture_mark(node)).get("name")
    return str(given.value) if isinstance(given, ast.Constant) else node.name

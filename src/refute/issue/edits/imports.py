"""Import statements of a Python file: where they stand, and new ones put among them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Protocol

from refute.syntax import parse_module

__all__ = ["add_imports", "after_imports"]


class ImportEditor(Protocol):
    """A Python file that is being edited."""

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        ...

    @property
    def lines(self) -> Sequence[str]:
        """Its lines, with their ends."""
        ...

    def splice(self, start: int, stop: int, lines: Sequence[str]) -> None:
        """Put lines (without ends) in place of [start, stop), 0-based."""
        ...


def add_imports(module: ImportEditor, source: str) -> None:
    """Import statements at the top: after docstring and ``__future__``, those that are there
    already left out."""
    there = {ast.dump(n) for n in module.tree.body if isinstance(n, ast.Import | ast.ImportFrom)}
    wanted = [n for n in parse_module(source).body if ast.dump(n) not in there]
    for futures in (True, False):
        nodes = [n for n in wanted if _is_future(n) == futures]
        if not nodes:
            continue
        pieces = [ast.get_source_segment(source, n) or "" for n in nodes]
        if not futures and _opening_imports(module):
            for node, piece in zip(nodes, pieces, strict=True):
                _add_sorted(module, node, piece)
            continue
        where = _top(module, futures=not futures)
        after = module.lines[where : where + 1]
        gap = [""] if after and after[0].strip() and not _imports(after[0]) else []
        module.splice(where, where, ["\n".join(pieces), *gap])


def _opening_imports(module: ImportEditor) -> list[ast.Import | ast.ImportFrom]:
    """The imports that open the file, those from ``__future__`` left out."""
    found: list[ast.Import | ast.ImportFrom] = []
    for number, node in enumerate(module.tree.body):
        if (number == 0 and isinstance(node, ast.Expr)) or _is_future(node):
            continue
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        found.append(node)
    return found


def _add_sorted(module: ImportEditor, node: ast.stmt, piece: str) -> None:
    """Put an import among those that open the file: its group, then by the module's name."""
    there = _opening_imports(module)
    after = next((n for n in there if _import_order(n) > _import_order(node)), None)
    before = [n for n in there if _import_order(n) <= _import_order(node)][-1:]
    group = _import_order(node)[0]
    if after is not None and (not before or _import_order(after)[0] == group):
        gap = [] if _import_order(after)[0] == group else [""]
        module.splice(after.lineno - 1, after.lineno - 1, [piece, *gap])
        return
    last = before[0]
    at = last.end_lineno or last.lineno
    gap = [] if _import_order(last)[0] == group else [""]
    module.splice(at, at, [*gap, piece])


def _top(module: ImportEditor, futures: bool) -> int:
    """0-based line before which imports go."""
    body = module.tree.body
    at = 0
    while at < len(module.lines) and module.lines[at].startswith("#"):
        at += 1
    for number, node in enumerate(body):
        text = number == 0 and isinstance(node, ast.Expr) and _is_text(node.value)
        if not text and not (futures and _is_future(node)):
            break
        at = node.end_lineno or node.lineno
    while at < len(module.lines) and not module.lines[at].strip() and at < len(module.lines) - 1:
        at += 1
    return at


def after_imports(module: ImportEditor) -> int:
    """0-based line after the import statements that open the file."""
    there = _opening_imports(module)
    return there[-1].end_lineno or 0 if there else _top(module, futures=True)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _import_order(node: ast.stmt) -> tuple[int, str]:
    """The group of an import (standard library, other packages, relative) and its module."""
    if isinstance(node, ast.ImportFrom) and node.level:
        return 2, "." * node.level + (node.module or "")
    name = node.names[0].name if isinstance(node, ast.Import) else getattr(node, "module", "")
    return int(name.partition(".")[0] not in sys.stdlib_module_names), name


def _imports(line: str) -> bool:
    return line.startswith(("import ", "from "))

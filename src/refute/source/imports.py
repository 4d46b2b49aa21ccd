"""Import statements of a Python file: where they stand, and new ones put among them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Protocol

from refute.source.syntax import parse_module

_LONGEST = 88
"""Characters of a line that names are joined on."""


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

    def is_own(self, package: str) -> bool:
        """Return whether the project has a module of that name."""
        ...

    def splice(self, start: int, stop: int, lines: Sequence[str]) -> None:
        """Put lines (without ends) in place of [start, stop), 0-based."""
        ...


def add_imports(module: ImportEditor, source: str) -> None:
    """Import statements at the top, as a sorter of imports would place them: after docstring and
    ``__future__``, in the group of their kind, joined with one from the same module. Those that
    are there already are left out."""
    there = {ast.dump(n) for n in module.tree.body if isinstance(n, ast.Import | ast.ImportFrom)}
    wanted = [n for n in parse_module(source).body if ast.dump(n) not in there]
    for futures in (True, False):
        nodes = [n for n in wanted if _is_future(n) == futures]
        if not nodes:
            continue
        pieces = [ast.get_source_segment(source, n) or "" for n in nodes]
        if not futures and _opening_imports(module):
            for node, piece in zip(nodes, pieces, strict=True):
                if not _joined(module, node):
                    _add_sorted(module, node, piece)
            continue
        where = _top(module, futures=not futures)
        after = module.lines[where : where + 1]
        gap = [""] if after and after[0].strip() and not _imports(after[0]) else []
        module.splice(where, where, ["\n".join(pieces), *gap])


def _joined(module: ImportEditor, node: ast.stmt) -> bool:
    """Take the names into the import from the same module that is there, where it is the only one
    and nothing but names is written in it."""
    if not isinstance(node, ast.ImportFrom):
        return False
    same = [
        n
        for n in _opening_imports(module)
        if isinstance(n, ast.ImportFrom) and (n.module, n.level) == (node.module, node.level)
    ]
    if len(same) != 1:
        return False
    (old,) = same
    start, stop = old.lineno - 1, old.end_lineno or old.lineno
    written = "".join(module.lines[start:stop])
    names = {(alias.name, alias.asname) for one in (old, node) for alias in one.names}
    if "#" in written or ";" in written or any(name == "*" for name, _ in names):
        return False
    listed = [f"{n} as {other}" if other else n for n, other in sorted(names, key=_name_order)]
    head = f"from {'.' * old.level}{old.module or ''} import "
    line = head + ", ".join(listed)
    if len(line) > _LONGEST or (written.count("\n") > 1 and "(" in written):
        line = "\n".join([f"{head}(", *(f"    {name}," for name in listed), ")"])
    module.splice(start, stop, [line])
    return True


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


def _name_order(name: tuple[str, str | None]) -> tuple[int, str]:
    """Constants, then classes, then the rest, as isort has them by default."""
    plain = name[0]
    kind = 0 if plain.isupper() and len(plain) > 1 else 1 if plain[:1].isupper() else 2
    return kind, plain


def _add_sorted(module: ImportEditor, node: ast.stmt, piece: str) -> None:
    """Put an import into the group that is its own, in the order that the group has."""
    groups = _groups(module)
    kind = _kind(module, node)
    own = [group for group in groups if _package(node) in {_package(one) for one in group}]
    alike = own or [group for group in groups if kind in {_kind(module, one) for one in group}]
    if not alike:
        before = [group for group in groups if _kind(module, group[0]) < kind]
        if before:
            at = before[-1][-1].end_lineno or 0
            module.splice(at, at, ["", piece])
        else:
            at = groups[0][0].lineno - 1
            module.splice(at, at, [piece, ""])
        return
    group = alike[0] if kind == 0 or own else alike[-1]

    def order(one: ast.stmt) -> tuple[int, int, str, str]:
        # a group may hold several kinds where the file does not part them
        name = one.names[0].name if isinstance(one, ast.Import | ast.ImportFrom) else ""
        of_names = isinstance(one, ast.ImportFrom)
        return _kind(module, one), of_names, _module(one).lower(), name.lower()

    before_it = [one for one in group if order(one) <= order(node)]
    at = (before_it[-1].end_lineno or 0) if before_it else group[0].lineno - 1
    module.splice(at, at, [piece])


def _groups(module: ImportEditor) -> list[list[ast.Import | ast.ImportFrom]]:
    """The opening imports, parted where a blank line or a comment stands between two."""
    groups: list[list[ast.Import | ast.ImportFrom]] = []
    for node in _opening_imports(module):
        last = groups[-1][-1] if groups else None
        if last is not None and node.lineno - (last.end_lineno or last.lineno) <= 1:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


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


def _module(node: ast.stmt) -> str:
    if isinstance(node, ast.ImportFrom):
        return "." * node.level + (node.module or "")
    return node.names[0].name if isinstance(node, ast.Import) else ""


def _package(node: ast.stmt) -> str:
    """The package at the top that an import is of; "." for a relative one."""
    return _module(node).partition(".")[0] or "."


def _kind(module: ImportEditor, node: ast.stmt) -> int:
    """0: of the standard library, 1: of other packages, 2: of the project, 3: relative."""
    package = _package(node)
    if package == ".":
        return 3
    if package in sys.stdlib_module_names:
        return 0
    return 2 if module.is_own(package) else 1


def _imports(line: str) -> bool:
    return line.startswith(("import ", "from "))

"""Recorded calls, read on the trusted side: text that is looked at, never executed here.

A file of a project is as hostile as the project. What is given back is source of a small grammar
(literals, containers, calls, attributes and operators over imported names and variables), to be
replayed in the sandbox; whatever else a line holds, the line is left out and counted.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.files import read_file
from refute.core.jsontext import parse_json
from refute.errors import InputError
from refute.recording.storing import FORMAT, VERSION
from refute.source.syntax import parse_module

_LARGEST_FILE = 64 << 20
_LARGEST_LINE = 1 << 16
_LARGEST_HEADER = 1 << 22
_MOST_STATEMENTS = 40
_MOST_IMPORTS = 60
_LONGEST_NAME = 300
_CODE_RUNNERS = frozenset(
    {"exec", "eval", "compile", "globals", "locals", "vars", "getattr", "delattr", "open", "input"}
    | {"breakpoint", "help", "exit", "quit", "__import__", "__build_class__"}
)
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_")) - _CODE_RUNNERS
_PLAIN_NODES = (
    ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Load, ast.Name, ast.Attribute,
    ast.Call, ast.keyword, ast.Subscript, ast.UnaryOp, ast.USub, ast.UAdd, ast.Invert, ast.BinOp,
    ast.operator, ast.Compare, ast.cmpop,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call that a project's tests made, as source.

    `imports`: (name, where it is from) of what the source names: `pkg.mod:Outer` or `pkg.mod`.
    `setup`: assignments to one variable and expressions, before `expression`, which is the call.
    `test`: the id of a test that made it. `count`: how often it was seen, of the calls looked at.
    """

    module: str
    qualname: str
    imports: tuple[tuple[str, str], ...]
    setup: tuple[str, ...]
    expression: str
    test: str
    count: int

    @property
    def target(self) -> str:
        """What is called, ``pkg.mod:Cart.total``."""
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True, slots=True)
class Recording:
    """A file of recorded calls. `paths`: folders of the project, relative to its root, from which
    its tests imported. `refused`: lines that are not of the form."""

    calls: tuple[Recorded, ...]
    paths: tuple[str, ...]
    refused: int


def read_recorded(path: Path) -> list[Recorded]:
    """The calls of a file. Raises `InputError`, of one line, where it is no such file."""
    return list(read_recording(path).calls)


def read_recording(path: Path) -> Recording:
    """A whole file. Raises `InputError`."""
    try:
        data = read_file(path, limit=_LARGEST_FILE)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    first, _, rest = data.partition(b"\n")
    paths = _header(path, first)
    calls: list[Recorded] = []
    refused = 0
    for line in rest.splitlines():
        if line.strip():
            try:
                calls.append(_recorded(line))
            except (ValueError, RecursionError, MemoryError):
                refused += 1
    return Recording(tuple(calls), paths, refused)


def _header(path: Path, line: bytes) -> tuple[str, ...]:
    try:
        header = parse_json(line) if len(line) <= _LARGEST_HEADER else None
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path}: not a file that `pytest --refute-record` wrote")
    if header.get("version") != VERSION:
        raise InputError(
            f"{path}: not in version {VERSION} of the format, which this refute reads: record again"
        )
    paths = header.get("paths")
    return tuple(each for each in paths if _is_inside(each)) if isinstance(paths, list) else ()


def _is_inside(path: object) -> bool:
    if not isinstance(path, str) or not path.isprintable() or len(path) > 1000:
        return False
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _recorded(line: bytes) -> Recorded:
    """Raises `ValueError`."""
    if len(line) > _LARGEST_LINE:
        raise ValueError("too long")
    row = parse_json(line)
    if not isinstance(row, dict):
        raise ValueError("not an object")
    module, colon, qualname = _text(row, "target").partition(":")
    _check_path(module)
    _check_path(qualname)
    if not colon:
        raise ValueError("a target without a colon")
    imports = _imports(row.get("imports"))
    known = {name for name, _ in imports}
    setup = row.get("setup")
    if not isinstance(setup, list) or len(setup) > _MOST_STATEMENTS:
        raise ValueError("no set-up, or too much")
    for statement in setup:
        _check_statement(statement, known)
    expression = _text(row, "expression")
    tree = _only(expression)
    if not isinstance(tree, ast.Expr):
        raise ValueError("not an expression")
    _check(tree.value, known)
    count = row.get("count")
    if type(count) is not int or not 0 < count < 1 << 62:
        raise ValueError("no count")
    test = _text(row, "test")
    return Recorded(module, qualname, imports, tuple(setup), expression, test, count)


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"no {name}")
    return value


def _imports(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or len(value) > _MOST_IMPORTS:
        raise ValueError("no imports, or too many")
    for name, origin in value.items():
        if not isinstance(origin, str):
            raise ValueError("an import that is not text")
        module, colon, path = origin.partition(":")
        _check_path(module)
        if colon:
            _check_path(path)
        _check_name(name)
        if module in ("builtins", "__main__"):
            raise ValueError("imported from nowhere")
    return tuple(value.items())


def _check_path(path: str) -> None:
    if len(path) > _LONGEST_NAME:
        raise ValueError("too long a name")
    for name in path.split("."):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError("not a name")


def _check_name(name: str) -> None:
    """A name that the source binds; none of Python's own is hidden."""
    _check_path(name)
    if "." in name or name in _BUILTINS or name in _CODE_RUNNERS or name.startswith("__"):
        raise ValueError("a name that is not free")


def _only(source: str) -> ast.stmt:
    try:
        body = parse_module(source).body
    except SyntaxError as error:
        raise ValueError(str(error)) from None
    if len(body) != 1:
        raise ValueError("not one statement")
    return body[0]


def _check_statement(source: object, known: set[str]) -> None:
    """A statement of the set-up; what it assigns is known afterwards."""
    if not isinstance(source, str) or not source.isprintable():
        raise ValueError("not text")
    statement = _only(source)
    if isinstance(statement, ast.Expr):
        _check(statement.value, known)
        return
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise ValueError("not a plain statement")
    _check(statement.value, known)
    variable = statement.targets[0]
    if not isinstance(variable, ast.Name):
        raise ValueError("not an assignment of a variable")
    _check_name(variable.id)
    known.add(variable.id)


def _check(expression: ast.expr, known: Iterable[str]) -> None:
    for node in ast.walk(expression):
        if not isinstance(node, _PLAIN_NODES):
            raise ValueError(f"{type(node).__name__} in the source")
        if isinstance(node, ast.Name) and node.id not in known and node.id not in _BUILTINS:
            raise ValueError(f"{node.id} is not known")
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            raise ValueError(f"{node.attr} in the source")
        if isinstance(node, ast.keyword) and (node.arg is None or node.arg.startswith("__")):
            raise ValueError("arguments that are not written out")
        if isinstance(node, ast.Dict) and None in node.keys:
            raise ValueError("a dict that is not written out")
    _check_setattr(expression)


def _check_setattr(expression: ast.expr) -> None:
    """`setattr` only as an assignment, all of the statement: with a name that is written out."""
    used = [
        one for one in ast.walk(expression) if isinstance(one, ast.Name) and one.id == "setattr"
    ]
    if not used:
        return
    call = isinstance(expression, ast.Call) and expression.func is used[0] and len(used) == 1
    if not call or not isinstance(expression, ast.Call) or len(expression.args) != 3:
        raise ValueError("setattr that is no assignment")
    name = expression.args[1]
    text = name.value if isinstance(name, ast.Constant) else None
    if not isinstance(text, str) or not text.isidentifier() or text.startswith("__"):
        raise ValueError("setattr of no plain name")

"""`%%refute` in a notebook: `%load_ext refute`, then a cell of functions.

The cell runs as any cell. Then its functions are looked at in the sandbox, as a module of what the
notebook defined so far: imports, functions, classes and constants of earlier cells, by reading.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.storage import ScratchFolder
from refute.errors import InputError
from refute.source.syntax import try_parse

if TYPE_CHECKING:
    from refute.verbs.functions import DebugResult, HuntResult

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_VERBS = ("debug", "hunt")


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; `%load_ext refute` calls this."""
    shell.register_magic_function(partial(_cell_magic, shell), "cell", "refute")


def _cell_magic(shell: Any, line: str, cell: str) -> DebugResult | HuntResult | None:
    """Run the cell, then look at its functions.

    %%refute [debug|hunt] [SECONDS]: a fix (the default) or failing tests, and the time for one
    function (10). The result is shown, and is the cell's value.
    """
    verb, seconds = _options(line)
    if not shell.run_cell(cell).success:
        return None  # its traceback is shown
    return looked_at(cell, list(shell.user_ns.get("In", ())), verb=verb, seconds=seconds)


def _options(line: str) -> tuple[str, float]:
    verb, seconds = _VERBS[0], 10.0
    for word in line.split():
        if word in _VERBS:
            verb = word
            continue
        try:
            seconds = float(word)
        except ValueError:
            raise InputError(f"%%refute {word}: write %%refute [debug|hunt] [SECONDS]") from None
    return verb, seconds


def looked_at(
    cell: str, earlier: Iterable[str], *, verb: str, seconds: float
) -> DebugResult | HuntResult:
    """Run `hunt` or `debug` (`verb`) on the functions of a cell, `seconds` for each; `earlier`: the
    cells before it. Raises `InputError`."""
    import refute

    tree = try_parse(cell)
    names = [] if tree is None else [n.name for n in tree.body if isinstance(n, _DEFINITIONS)]
    if not names:
        raise InputError("%%refute: the cell defines no function and no class")
    with ScratchFolder() as folder:
        file = Path(folder, "cell.py")
        file.write_text(f"{_before(earlier, set(names))}{cell}", encoding="utf-8")
        targets = [f"{file}::{name}" for name in names]
        call = refute.debug if verb == "debug" else refute.hunt
        return call(*targets, budget=seconds)


def _before(earlier: Iterable[str], names: set[str]) -> str:
    """Return the definitions of earlier cells, each name as defined last, without those of this
    cell."""
    kept: dict[str, str] = {}
    for cell in earlier:
        for statement in _statements(cell):
            name = _key(statement)
            if name and name not in names:
                kept.pop(name, None)
                kept[name] = ast.unparse(statement)
    return "".join(f"{source}\n\n" for source in kept.values())


def _statements(cell: str) -> Iterator[ast.stmt]:
    """Of a cell, or of what one of `%%refute` held (the history has it as a call)."""
    tree = try_parse(cell)
    for statement in () if tree is None else tree.body:
        match statement:
            case ast.Expr(
                ast.Call(
                    ast.Attribute(attr="run_cell_magic"),
                    [ast.Constant("refute"), ast.Constant(), ast.Constant(str(body))],
                )
            ):
                yield from _statements(body)
            case _:
                yield statement


def _key(statement: ast.stmt) -> str:
    """The name that a statement defines, or what tells it from others; "": it is left out."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name
        case ast.ImportFrom("__future__"):
            return ""
        case ast.Import() | ast.ImportFrom():
            return ast.unparse(statement)
        case ast.Assign([ast.Name(name)], ast.Constant()):
            return name
        case ast.AnnAssign(ast.Name(name), _, ast.Constant()):
            return name
    return ""

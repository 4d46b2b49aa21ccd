"""What `hunt` and `debug` are pointed at: files, functions, folders and dotted names.

Nothing is imported or executed to find them: a dotted name is looked up as Python's path finder
does, by the names of folders and files.
"""

from __future__ import annotations

import ast
import os
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.errors import InputError
from refute.function.source import read_source
from refute.function.target import Module, open_target
from refute.syntax import parse_module

__all__ = ["Skipped", "Targets", "open_targets"]

_DOTTED = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)(?:::?([^\W\d][\w.]*))?")
_NO_SOURCES = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
MOST_HANDS = 5
"""Modules through which a name is followed to its definition."""
_TEST_FILE = re.compile(r"(test_.*|.*_test|conftest)\.py")


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was asked for and is not looked at."""

    where: str
    """`FILE.py` or `FILE.py::FUNCTION`."""
    kind: str
    """What such cases are counted under: "cannot be loaded", "async"..."""
    reason: str
    """One line for people."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The modules with the functions that were asked for, in the order of the command line."""

    modules: tuple[Module, ...]
    skipped: tuple[Skipped, ...] = ()
    broad: bool = False
    """A folder or several targets: what is wrong with one of them does not end the others."""


def open_targets(targets: Sequence[str], *, python_path: Sequence[str] = ()) -> Targets:
    """Open `FILE.py[::FUNCTION]`, folders, and `pkg.mod[:FUNCTION]`, each file once.

    A folder stands for the Python files in it and below, without tests, hidden folders and virtual
    environments. `python_path`: where installed packages are looked for after the working
    directory and its `src`; by default where this interpreter has them. Raises `InputError` for a
    target that names nothing, and where no function is left.
    """
    modules: dict[Path, Module] = {}
    skipped: list[Skipped] = []
    broad = len(targets) > 1
    for target in targets:
        place = _located(target, python_path)
        if not isinstance(place, Path):
            _add(modules, open_target(place))
            continue
        broad = True
        count = len(modules) + len(skipped)
        for file in _sources(place):
            try:
                _add(modules, open_target(str(file)))
            except InputError as error:
                text = str(error).removeprefix(f"{file}:").strip()
                kind = "no function" if "has no public function" in text else "cannot be read"
                skipped.append(Skipped(str(file), kind, text))
        if len(modules) + len(skipped) == count:
            raise InputError(f"{target}: holds no Python file that is not a test")
    if not modules:
        raise InputError(f"{', '.join(targets)}: no public function in {len(skipped)} files")
    return Targets(tuple(modules.values()), tuple(skipped), broad)


def _add(modules: dict[Path, Module], module: Module) -> None:
    """Put a module beside the others; two targets in one file are one module."""
    key = module.source.path.resolve()
    known = modules.get(key)
    if known is None:
        modules[key] = module
        return
    names = dict.fromkeys((*known.functions, *module.functions))
    skipped = tuple(dict.fromkeys((*known.skipped, *module.skipped)))
    modules[key] = Module(known.source, tuple(names), known.surroundings, skipped)


def _located(target: str, python_path: Sequence[str]) -> Path | str:
    """A folder, or a target that `open_target` takes."""
    path = Path(target)
    if path.is_dir():
        return path
    dotted = _DOTTED.fullmatch(target)
    file_named = target.partition("::")[0].endswith(".py")  # `m.py::f` looks like a dotted name
    if dotted is None or path.exists() or file_named:
        return target
    name, function = dotted.groups()
    found = _find(name, python_path)
    if found is None:
        raise InputError(
            f"{target}: no such file, folder or module; modules are looked for in "
            f"{', '.join(map(str, _roots(python_path)))}"
        )
    if found.is_dir() and function is None:
        return found
    file = found / "__init__.py" if found.is_dir() else found
    return f"{_defining(file, function)}::{function}" if function else str(file)


def _defining(file: Path, function: str) -> Path:
    """The file that defines a name which packages hand on: `from .core import f`; else `file`."""
    here = file
    for _ in range(MOST_HANDS):
        try:
            tree = parse_module(read_source(here).text)
        except (InputError, SyntaxError, ValueError, RecursionError, MemoryError):
            return file
        source = _imported_from(tree, function)
        if source is None:
            return here
        level, name = source
        folder = here.parents[level - 1]
        there = folder.joinpath(*name.split(".")) if name else folder
        module = there.with_name(f"{there.name}.py")
        here = module if module.is_file() else there / "__init__.py"
    return file


def _imported_from(tree: ast.Module, name: str) -> tuple[int, str] | None:
    """Level and module of the relative import that binds a name under its own name, if one does."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                if alias.name == name and alias.asname in (None, name):
                    return node.level, node.module or ""
    return None


def _roots(python_path: Sequence[str]) -> list[Path]:
    paths = sysconfig.get_paths()
    installed = python_path or (paths["purelib"], paths["platlib"], paths["stdlib"])
    here = Path.cwd()
    found = [here, here / "src", *map(Path, installed)]
    return [path for path in dict.fromkeys(found) if path.is_dir()]


def _find(name: str, python_path: Sequence[str]) -> Path | None:
    """The folder or file of a dotted name: a regular package, a module, else a bare folder."""
    parts = name.split(".")
    bare: Path | None = None
    for root in _roots(python_path):
        folder = root.joinpath(*parts)
        if (folder / "__init__.py").is_file():
            return folder
        if (file := folder.with_name(f"{parts[-1]}.py")).is_file():
            return file
        if bare is None and folder.is_dir():
            bare = folder
    return bare


def _sources(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(name for name in folders if _holds_sources(here / name))
        for name in sorted(files):
            if name.endswith(".py") and name != "setup.py" and not _TEST_FILE.fullmatch(name):
                yield here / name


def _holds_sources(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _NO_SOURCES or name.endswith((".egg-info", ".dist-info")):
        return False
    return name not in ("tests", "test") and not (folder / "pyvenv.cfg").exists()

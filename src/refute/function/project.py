"""Place of a file: its project, its dotted name, and the folders that its imports start from.

Nothing of the project is executed to find them.
"""

from __future__ import annotations

import ast
import os
import re
import sysconfig
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.storage import parse_toml
from refute.function.source import UNSAVED
from refute.sandbox.interpreter import Interpreter
from refute.source.syntax import parse_module, readable_module

if TYPE_CHECKING:
    from refute.function.target import Module

MOST_FILES = 2000
MOST_BYTES = 1 << 20
TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?)\.py")
"""Names that pytest, unittest and Django take for tests."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "build", "dist", "venv", "env", "__pycache__", "fixtures"}
)


def test_files(root: Path) -> Iterator[Path]:
    """Files in a folder and below that test runners take for tests, in one order."""
    count = 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if name not in _SKIPPED and not name.startswith(".")
        )
        for name in sorted(files):
            path = Path(folder) / name
            if TEST_FILE.fullmatch(name) and path.is_file() and not path.is_symlink():
                yield path
                count += 1
                if count >= MOST_FILES:
                    return


test_files.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test


def read_bounded(path: Path) -> str:
    """The text of a file; "" for what is too large or no text."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return ""
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


FINDING = 1.0
"""Seconds for looking for tests that nobody named."""
MOST_NEAR = 12
"""Files of such tests that are run."""


def near_tests(modules: Sequence[Module]) -> tuple[Path, ...]:
    """The test files of the modules' project that import one of them, then those that import a
    package of theirs, as far as they are found in a second; none of packages that are installed,
    and of a text that is not in its file, which the tests would not run."""
    until = time.monotonic() + FINDING
    saved = [one for one in modules if one.source.path.absolute() not in UNSAVED]
    places = [one.surroundings for one in saved]
    own = [one for one in places if not any(map(_holds_installed_packages, one.import_path[:1]))]
    names = {one.name for one in own}
    packages = {".".join(parts[:size]) for name in names for parts in [name.split(".")]
                for size in range(1, len(parts))}  # fmt: skip
    found: list[Path] = []
    farther: list[Path] = []
    for root in dict.fromkeys(root for one in own for root in one.readable):
        for file in test_files(root):
            if time.monotonic() > until or len(found) == MOST_NEAR:
                break
            imported = imported_of((*names, *packages), read_bounded(file))
            if not names.isdisjoint(imported):
                found.append(file)
            elif imported:
                farther.append(file)
    return (*found, *farther)[:MOST_NEAR]


def imported_of(modules: Iterable[str], text: str) -> set[str]:
    """Those of the modules that a file imports, or takes something out of, by their full names."""
    named = {one for one in modules if one.rpartition(".")[2] in text}
    found: set[str] = set()
    for node in ast.walk(readable_module(text)) if named else ():
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return named & found


_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Place of a module: what the sandbox must let it read and import."""

    name: str
    """The module's dotted name, seen from `import_path[0]`: "shop.pricing"."""
    import_path: tuple[Path, ...]
    """Folders that the module's imports are looked up in, in order."""
    readable: tuple[Path, ...]
    """Folders that the module may read: its project, never a home directory or above."""
    interpreter: Interpreter | None = None
    """Interpreter that it runs on; None: the interpreter that runs this."""

    @property
    def package(self) -> str:
        """The package that relative imports start from; "" for a module outside of packages."""
        return self.name.rpartition(".")[0]


def surroundings(path: Path) -> Surroundings:
    """Find the package, the project and the import folders of a file.

    The project is the nearest folder above with one of pyproject.toml, setup.py, setup.cfg, .git,
    .hg; the file's own folder where there is none, or where that would open a home directory. The
    dotted name starts at the folder that Python would have on its path (`_import_root`).
    """
    file = path.resolve()
    top = file.parent
    while (top / "__init__.py").exists() and top.name.isidentifier():
        top = top.parent
    marked = (p for p in (top, *top.parents) if any((p / m).exists() for m in _MARKERS))
    project = next(marked, None)
    if project is not None and _too_wide(project):
        project = None
    root = _import_root(file, top, project)
    if project is None:
        project = root
    parts = list(file.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    if parts == ["__main__"]:  # under this name its guarded block would run
        parts = ["main"]
    folders = [root, project, *_source_folders(project)]
    import_path = tuple(p for p in dict.fromkeys(folders) if p.is_dir())
    readable = () if _too_wide(project) else (project,)
    return Surroundings(".".join(parts), import_path if readable else (), readable)


def _import_root(file: Path, top: Path, project: Path | None) -> Path:
    """The folder that the file's dotted name starts from: `top`, the one above its package, or one
    further up where the packages above are namespaces (folders without an `__init__.py`).

    A namespace shows by where it lies: in a folder of installed packages, in the project's folder
    of sources, or inside a regular package; below the project itself only by the file's imports,
    since a folder of scripts looks the same.
    """
    sources = [] if project is None else _source_folders(project)
    for folder in (top, *top.parents):
        if _too_wide(folder):
            return top
        if folder != top and (folder / "__init__.py").exists() and folder.name.isidentifier():
            while (folder / "__init__.py").exists():
                folder = folder.parent
            return folder
        if folder in sources or _holds_packages(folder):
            return folder
        if folder == project:
            named = folder != top and _names_own_folders(file, top, folder)
            return folder if named else top
        if not folder.name.isidentifier():
            return top
    return top


def _holds_installed_packages(folder: Path) -> bool:
    """Return whether packages are installed in a folder, or it is the standard library."""
    if folder.name in ("site-packages", "dist-packages") or str(folder) in _STANDARD_LIBRARY:
        return True
    return any(folder.glob("*.dist-info"))


def _holds_packages(folder: Path) -> bool:
    """Return whether packages are installed in a folder, or one is developed there."""
    return _holds_installed_packages(folder) or any(folder.glob("*.egg-info/PKG-INFO"))


_MOST_SETTINGS = 1 << 20  # bytes of a pyproject.toml
_STANDARD_LIBRARY = {
    os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")
}


def _source_folders(project: Path) -> list[Path]:
    """Return the folders of the project's packages: `src`, and those in pyproject.toml."""
    named = ["src"]
    try:
        file = project / "pyproject.toml"
        if not file.is_file() or file.stat().st_size > _MOST_SETTINGS:
            raise OSError
        tools = parse_toml(file.read_text("utf-8")).get("tool", {})
        setuptools, poetry = tools.get("setuptools", {}), tools.get("poetry", {})
        named.append(setuptools.get("package-dir", {}).get("", "src"))
        packages = setuptools.get("packages", {})
        if isinstance(packages, dict):
            named += packages.get("find", {}).get("where", [])
        named += [item["from"] for item in poetry.get("packages", []) if "from" in item]
    except (OSError, ValueError, AttributeError, TypeError):
        pass  # no such file, or another's shape: nothing is named
    folders = [(project / name).resolve() for name in named if isinstance(name, str)]
    return [p for p in dict.fromkeys(folders) if p != project and p.is_relative_to(project)]


def _names_own_folders(file: Path, top: Path, project: Path) -> bool:
    """Return whether the file imports relatively beyond its package, or by its folders' names."""
    depth = len(file.parent.relative_to(top).parts)
    first = top.relative_to(project).parts[0]
    try:
        tree = parse_module(file.read_text("utf-8", errors="replace"))
    except (OSError, SyntaxError):
        return False
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            if node.level > depth:
                return True
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if any(name.partition(".")[0] == first for name in names):
            return True
    return False


def _too_wide(folder: Path) -> bool:
    """Return whether `folder` is too wide to read: a home directory, or one that holds it."""
    try:
        home = Path.home().resolve()
    except RuntimeError:
        home = Path("/root")
    return folder == Path(folder.anchor) or folder == home or folder in home.parents

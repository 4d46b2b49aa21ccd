"""`FILE.py::FUNCTION`: which functions of a file are looked at, and what they may import.

Nothing of the file is executed here: it is read as a syntax tree.
"""

from __future__ import annotations

import ast
import difflib
import os
import sysconfig
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.errors import InputError
from refute.function.source import SourceFile, read_source
from refute.problems import FunctionProblem, UnitTest
from refute.sandbox.interpreter import Interpreter
from refute.syntax import parse_module

__all__ = [
    "Module",
    "Surroundings",
    "is_predicate",
    "open_target",
    "problem_of",
    "split_target",
    "surroundings",
]

MOST_NAMES = 12
"""Names that a message lists."""
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a module lives: what the sandbox must let it read and import."""

    name: str
    """The module's dotted name, seen from `import_path[0]`: "shop.pricing"."""
    import_path: tuple[Path, ...]
    """Folders that the module's imports are looked up in, in order."""
    readable: tuple[Path, ...]
    """Folders that the module may read: its project, never a home directory or above."""
    interpreter: Interpreter | None = None
    """What it runs on; None: the interpreter that runs this."""

    @property
    def package(self) -> str:
        """The package that relative imports start from; "" for a module outside of packages."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Module:
    """A file and the functions of it that were asked for, in the file's order."""

    source: SourceFile
    functions: tuple[str, ...]
    surroundings: Surroundings
    skipped: tuple[str, ...] = ()
    """One line for each function that is left out although it looks public, with the reason."""


def split_target(target: str) -> tuple[Path, str | None]:
    """Split `FILE.py::FUNCTION`; the function is None where none is named."""
    file, mark, name = target.partition("::")
    if not file or (mark and not name):
        raise InputError(f"{target!r}: write it as FILE.py or FILE.py::FUNCTION")
    return Path(file), name or None


def open_target(target: str) -> Module:
    """Read the file of `FILE.py[::FUNCTION]` and find its functions.

    Without a function: every public function at the file's top level. Raises `InputError` for a
    file that cannot be read or parsed, and for a function that is not there or not supported.
    """
    path, name = split_target(target)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name one FILE.py")
    if path.suffix == ".ipynb":
        raise InputError(f"{path}: is a notebook; save its functions as a FILE.py")
    source = read_source(path)
    tree = _parse(source.text, path)
    functions = _functions(tree)
    if name is not None:
        _check(name, functions, path, tree)
        return Module(source, (name,), surroundings(path))
    public = [name for name in functions if not name.startswith("_")]
    reasons = {name: _unsupported(functions[name]) for name in public}
    names = tuple(name for name in public if reasons[name] is None)
    skipped = [f"{name}: {reason}" for name, reason in reasons.items() if reason]
    classes = [name for name in _classes(tree) if not name.startswith("_")]
    if classes:
        skipped.append(f"{_listed(classes)}: {_METHODS}")
    if not names:
        hint = skipped[0] if skipped else f"name one: {path}::NAME"
        raise InputError(f"{path}: has no public function at its top level; {hint}")
    return Module(source, names, surroundings(path), tuple(skipped))


def problem_of(
    module: Module,
    name: str,
    *,
    code: str | None = None,
    description: str | None = None,
    tests: Sequence[UnitTest] = (),
) -> FunctionProblem:
    """The problem that one function poses. The description is its docstring unless one is given.

    `code` replaces the file's text (a module that is mended function by function).
    """
    text = module.source.text if code is None else code
    node = _functions(_parse(text, module.source.path))[name]
    return FunctionProblem(
        id=f"{module.source.path}::{name}",
        description=(ast.get_docstring(node) or "") if description is None else description,
        signature=_signature(node),
        entry_point=name,
        code=text,
        tests=tuple(tests),
    )


def is_predicate(module: Module, name: str) -> bool:
    """Whether the function returns a bool: by its annotation, else by what it returns."""
    node = _functions(_parse(module.source.text, module.source.path))[name]
    if node.returns is not None:
        return ast.unparse(node.returns) in ("bool", "'bool'")
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return bool(returns) and all(value is not None and _is_boolean(value) for value in returns)


def _is_boolean(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_boolean, values))
        case ast.Call(func=ast.Name(id=name)):
            return name in ("all", "any", "bool", "callable", "hasattr", "isinstance")
    return False


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
        if folder in sources or _holds_installed_packages(folder):
            return folder
        if folder == project:
            named = folder != top and _names_own_folders(file, top, folder)
            return folder if named else top
        if not folder.name.isidentifier():
            return top
    return top


def _holds_installed_packages(folder: Path) -> bool:
    """Whether a folder is one that packages are installed in, or the standard library."""
    if folder.name in ("site-packages", "dist-packages"):
        return True
    if str(folder) in _STANDARD_LIBRARY:
        return True
    return any(folder.glob("*.dist-info")) or any(folder.glob("*.egg-info/PKG-INFO"))


_MOST_SETTINGS = 1 << 20  # bytes of a pyproject.toml
_STANDARD_LIBRARY = {
    os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")
}


def _source_folders(project: Path) -> list[Path]:
    """Where the project keeps its packages: `src`, and what pyproject.toml names."""
    named = ["src"]
    try:
        file = project / "pyproject.toml"
        if not file.is_file() or file.stat().st_size > _MOST_SETTINGS:
            raise OSError
        tools = tomllib.loads(file.read_text("utf-8")).get("tool", {})
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
    """Whether the file imports relatively from beyond its package, or by its folders' names."""
    depth = len(file.parent.relative_to(top).parts)
    first = top.relative_to(project).parts[0]
    try:
        tree = parse_module(file.read_text("utf-8", errors="replace"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
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
    """Whether a program must not read all of `folder`: a home directory, or what holds one."""
    try:
        home = Path.home().resolve()
    except RuntimeError:
        home = Path("/root")
    return folder == Path(folder.anchor) or folder == home or folder in home.parents


def _parse(text: str, path: Path) -> ast.Module:
    try:
        return parse_module(text)
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: syntax error: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: cannot be parsed: {error}") from None


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.Module) -> dict[str, _Function]:
    """The functions at the top level by name, in order; the last definition of a name counts."""
    found: dict[str, _Function] = {}
    for node in tree.body:
        if isinstance(node, _Function):
            found[node.name] = node
    return found


def _unsupported(node: _Function) -> str | None:
    if isinstance(node, ast.AsyncFunctionDef):
        return "is async, which is not supported"
    return None


_METHODS = "methods of classes are not supported yet"


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    left = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {left} more" if left > 0 else "")


def _classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _check(name: str, functions: dict[str, _Function], path: Path, tree: ast.Module) -> None:
    if name in functions:
        reason = _unsupported(functions[name])
        if reason is not None:
            raise InputError(f"{path}::{name}: {reason}")
        return
    if "." in name:
        raise InputError(f"{path}::{name}: methods are not supported; name a top-level function")
    if name in _classes(tree):
        raise InputError(f"{path}::{name}: {_METHODS}; name a top-level function")
    for node in ast.walk(tree):
        if isinstance(node, _Function) and node.name == name:
            raise InputError(f"{path}:{node.lineno}: {name} is not at the file's top level")
    close = difflib.get_close_matches(name, functions, 1)
    hint = f"did you mean {close[0]}?" if close else f"it has {_listed(list(functions)) or 'none'}"
    raise InputError(f"{path}: has no function {name}; {hint}")


def _signature(node: _Function) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"{node.name}({ast.unparse(node.args)}){returns}"

"""Targets of `hunt` and `debug`: files, functions, methods, folders and dotted names.

A method goes by its qualified name, `Cart.total`, wherever a function goes by its name.

Nothing is imported or executed to find them: a file is read as a syntax tree, and a dotted name is
looked up as Python's path finder does, by the names of folders and files.
"""

from __future__ import annotations

import ast
import difflib
import math
import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.problems import FunctionProblem, UnitTest
from refute.core.remarks import few
from refute.errors import InputError
from refute.function.contract import Skipped
from refute.function.project import TEST_FILE, Surroundings, surroundings
from refute.function.source import SourceFile, read_source
from refute.sandbox.interpreter import OLDEST, Interpreter, inside, may_be_shown, read_path_files
from refute.source.syntax import Function, find_class, find_function, functions_in, shared_module
from refute.workspace.infer import own_interpreter

if TYPE_CHECKING:
    from refute.workspace.local import InterpreterFacts


MOST_NAMES = 12
"""Names that a message lists."""
_ABSTRACT = {"abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"}
_MAKING = {
    *("dataclass", "dataclasses.dataclass", "attr.s", "attr.attrs", "attr.define", "attr.frozen"),
    *("attrs.define", "attrs.frozen", "define", "frozen"),
}
"""Decorators that make methods."""


def public_functions(
    tree: ast.Module, within: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The qualified names to look at, of a class where one is named; a line for what is left out.

    Public is a name without a leading underscore, in public classes, and `__init__`; another
    special method where its docstring holds an example.
    """
    prefix = "" if within is None else f"{within}."
    public: list[str] = []
    abstract: list[str] = []
    for name, node in functions_in(tree).items():
        *owners, last = name.removeprefix(prefix).split(".")
        if not name.startswith(prefix) or any(one.startswith("_") for one in owners):
            continue
        special = "." in name and last.startswith("__") and last.endswith("__")
        shown = last == "__init__" or ">>>" in (ast.get_docstring(node) or "")
        if last.startswith("_") and not (special and shown):
            continue
        marks = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
        (abstract if marks & _ABSTRACT else public).append(name)
    reasons = dict.fromkeys(abstract, "is abstract")
    cls = None if within is None else find_class(tree, within)
    if within is not None and cls is not None and not public and not abstract:
        reasons[within] = _why_empty(cls)
    _classes_left(cls or tree, prefix, "", {*public, *abstract}, reasons)
    groups: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        groups.setdefault(reason, []).append(name)
    return tuple(public), tuple(f"{few(names, MOST_NAMES)}: {why}" for why, names in groups.items())


def _classes_left(
    node: ast.AST, prefix: str, reason: str, methods: set[str], found: dict[str, str]
) -> None:
    """Add the public classes inside of the node of which nothing is looked at, with the reason.

    `reason`: why none of those here can be; "" where they can.
    """
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{getattr(child, 'name', '')}"
        if isinstance(child, Function | ast.ClassDef) and child.name.startswith("_"):
            continue
        if isinstance(child, Function):
            inside = reason or f"is made inside of {name}, anew in each call"
            _classes_left(child, f"{name}.", inside, methods, found)
        elif isinstance(child, ast.ClassDef):
            if reason or not any(one.startswith(f"{name}.") for one in methods):
                found[name] = reason or _why_empty(child)
            _classes_left(child, f"{name}.", reason, methods, found)
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and hasattr(child, "body"):
            inside = reason or "is made under a condition"
            _classes_left(child, prefix, inside, methods, found)


def _why_empty(cls: ast.ClassDef) -> str:
    marks = {ast.unparse(one).partition("(")[0] for one in cls.decorator_list}
    if marks & _MAKING:
        return "has no method of its own but those that its decorator makes, which have no text"
    return "has no public method of its own"


def not_there(name: str, tree: ast.Module, path: Path) -> str:
    """Return why a file has no function, method or class of this name to check."""
    functions = functions_in(tree)
    owner, _, last = name.rpartition(".")
    cls = find_class(tree, owner) if owner else None
    if cls is not None:
        for base in map(ast.unparse, cls.bases):
            if f"{base}.{last}" in functions:
                return f"{path}::{name}: is inherited; name {path}::{base}.{last}"
        known = [one for one in functions if one.startswith(f"{owner}.")]
        return f"{path}: {owner} has no method {last}; {_hint(name, known)}"
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return f"{path}:{node.lineno}: {name} is not at the file's top level"
    known = [*functions, *(one.name for one in tree.body if isinstance(one, ast.ClassDef))]
    return f"{path}: has no function {name}; {_hint(name, known)}"


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"it has {few(known, MOST_NAMES) or 'none'}"


_DOTTED = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)(?:::?([^\W\d][\w.]*))?")
_NO_SOURCES = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
MOST_HANDS = 5
"""Modules through which a name is followed to its definition."""
_NO_SOURCE = ("setup.py", "conftest.py")


@dataclass(frozen=True, slots=True)
class Module:
    """A file and the functions of it that were asked for, in the file's order."""

    source: SourceFile
    functions: tuple[str, ...]
    """Qualified names: `total`, `Cart.total`."""
    surroundings: Surroundings
    skipped: tuple[str, ...] = ()
    """One line for each function or class that is left out although it looks public, with the
    reason."""


def split_target(target: str) -> tuple[Path, str | None]:
    """Split `FILE.py::NAME`; the function, method or class is None where none is named."""
    file, mark, name = target.partition("::")
    if not file or (mark and not name):
        raise InputError(f"{target!r}: write it as FILE.py or FILE.py::FUNCTION")
    return Path(file), name or None


def open_target(target: str) -> Module:
    """Read the file of `FILE.py[::NAME]` and find its functions.

    NAME is a function, a method (`Cart.total`) or a class, which stands for its public methods.
    Without one: every public function at the file's top level, and the methods of its public
    classes. Raises `InputError` for a file that cannot be read or parsed, and for a name that is
    not there or cannot be looked at.
    """
    path, name = split_target(target)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name one FILE.py")
    if path.suffix == ".ipynb":
        raise InputError(f"{path}: is a notebook; save its functions as a FILE.py")
    source = read_source(path)
    tree = _parse(source.text, path)
    functions = functions_in(tree)
    if name in functions:
        return Module(source, (name,), surroundings(path))
    if name is not None and find_class(tree, name) is None:
        raise InputError(not_there(name, tree, path))
    public, skipped = public_functions(tree, within=name)
    if not public:
        where = str(path) if name is None else f"{path}::{name}"
        hint = skipped[0] if skipped else f"name one: {path}::NAME"
        raise InputError(f"{where}: has no public function; {hint}")
    return Module(source, public, surroundings(path), skipped)


def problem_of(
    module: Module,
    name: str,
    *,
    code: str | None = None,
    description: str | None = None,
    tests: Sequence[UnitTest] = (),
) -> FunctionProblem:
    """The problem that one function poses. The description is its docstring unless one is given.

    `code` replaces the file's text (a module that is fixed function by function).
    """
    text = module.source.text if code is None else code
    node = find_function(_parse(text, module.source.path), name)
    assert node is not None
    return FunctionProblem(
        id=f"{module.source.path}::{name}",
        description=(ast.get_docstring(node) or "") if description is None else description,
        signature=_signature(node),
        entry_point=name,
        code=text,
        tests=tuple(tests),
    )


def functions_of(module: Module) -> dict[str, Function]:
    """The functions that were asked for, as they are written."""
    found = functions_in(_parse(module.source.text, module.source.path))
    return {name: found[name] for name in module.functions}


def _parse(text: str, path: Path) -> ast.Module:
    try:
        return shared_module(text)
    except SyntaxError as error:
        where = path if error.lineno is None else f"{path}:{error.lineno}"
        raise InputError(f"{where}: syntax error: {error.msg}") from None


def _signature(node: Function) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"{node.name}({ast.unparse(node.args)}){returns}"


# -- many targets ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Targets:
    """The modules with the functions that were asked for, in the order of the command line."""

    modules: tuple[Module, ...]
    skipped: tuple[Skipped, ...] = ()
    broad: bool = False
    """A folder or several targets: what is wrong with one of them does not end the others."""


def open_targets(
    targets: Sequence[str], *, python_path: Sequence[str] = (), end: float = math.inf
) -> Targets:
    """Open `FILE.py[::NAME]`, folders, and `pkg.mod[:NAME]`, each file once.

    A folder stands for the Python files in it and below, without tests, hidden folders and virtual
    environments. `python_path`: where installed packages are looked for after the working
    directory and its `src`; by default where this interpreter has them. `end`: when the time is up
    (`time.monotonic`); a folder's files that are left then are skipped. Raises `InputError` for a
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
            if time.monotonic() > end:
                skipped.append(Skipped(str(file), "no time left", "the time for all was up"))
                continue
            try:
                _add(modules, open_target(str(file)))
            except InputError as error:
                text = str(error).removeprefix(f"{file}:").strip()
                kind = "no function" if "has no public function" in text else "cannot be read"
                skipped.append(Skipped(str(file), kind, text))
        if len(modules) + len(skipped) == count:
            raise InputError(f"{target}: holds no Python file that is not a test")
    if not modules:
        late = sum(one.kind == "no time left" for one in skipped)
        why = f"; for {late} of them no time was left" if late else ""
        raise InputError(f"{', '.join(targets)}: no public function in {len(skipped)} files{why}")
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
    here, name = file, function.partition(".")[0]
    for _ in range(MOST_HANDS):
        try:
            tree = shared_module(read_source(here).text)
        except (InputError, SyntaxError):
            return file
        source = _imported_from(tree, name)
        if source is None:
            return here
        level, inner = source
        folder = here.parents[level - 1]
        there = folder.joinpath(*inner.split(".")) if inner else folder
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
            if name.endswith(".py") and name not in _NO_SOURCE and not TEST_FILE.fullmatch(name):
                yield here / name


def _holds_sources(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _NO_SOURCES or name.endswith((".egg-info", ".dist-info")):
        return False
    return name not in ("tests", "test") and not (folder / "pyvenv.cfg").exists()


def with_interpreter(module: Module, python: Path | None) -> Module:
    """The module, to be run by the interpreter of its project (see `interpreter_of`)."""
    around = module.surroundings
    root = around.readable[0] if around.readable else None
    return replace(module, surroundings=replace(around, interpreter=interpreter_of(root, python)))


@lru_cache
def interpreter_of(root: Path | None, python: Path | None = None) -> Interpreter | None:
    """`python`, else the one that is active in the shell or lies in the project's folder, as
    `reproduce` finds it; None: the one that runs refute.

    What it is asked, it is asked in a jail; and what is started later is not a file of the project
    but the installation that its environment is built on. Raises `InputError`, and
    `WorkspaceUnavailable` where it does not run.
    """
    named = python is not None
    if python is None:
        python = own_interpreter(Path.cwd() if root is None else root)
    python = python.absolute()
    if not os.access(python, os.X_OK) or not python.is_file():
        raise InputError(f"{python}: cannot be run as an interpreter")
    if os.path.normpath(python.parent.parent) == os.path.normpath(sys.prefix):
        return None
    _check_version(python, _named_version(python))  # the oldest do not even take the question
    from refute.workspace.local import interpreter_facts  # seldom needed

    facts = interpreter_facts(python, root)
    _check_version(python, facts.version)
    own = "" if root is None else os.path.realpath(root)
    program = _program(python, facts, "" if named else own)
    if program is None:
        raise InputError(
            f"{python}: no installation of Python {_told(facts.version)} outside of the project "
            f"that it is built on; if you trust it: --python {python}"
        )
    files = read_path_files(facts.sites)
    shown = [path for path in (*files.folders, *files.mapped) if may_be_shown(path)]
    if own and inside(os.path.realpath(python.parent), [own]):  # it may name what it likes
        shown = [path for path in shown if inside(os.path.realpath(path), [own])]
    return Interpreter(
        program=program,
        version=facts.version,
        name=str(python),
        site=tuple(dict.fromkeys((*facts.sites, *(p for p in files.folders if p in shown)))),
        code=files.code,
        readable=(*facts.readable, *shown),
    )


def _program(python: Path, facts: InterpreterFacts, own: str) -> str | None:
    """The program behind an interpreter: an installation's, outside of folder `own`."""
    name = f"python{_told(facts.version)}"
    for home in (os.path.realpath(python), *(f"{path}/bin/{name}" for path in facts.readable)):
        program = os.path.realpath(home)
        library = Path(program).parent.parent
        installed = any(library.glob(f"lib*/{name}/os.py"))
        outside = not own or not inside(program, [own])
        if installed and outside and os.path.basename(program) in (name, "python3", "python"):
            return program
    return None


def _named_version(python: Path) -> tuple[int, int]:
    """The version that the file's name says; `OLDEST` where it says none."""
    match = re.fullmatch(r"python(\d)\.(\d+)", os.path.basename(os.path.realpath(python)))
    return (int(match[1]), int(match[2])) if match else OLDEST


def _check_version(python: Path, version: tuple[int, int]) -> None:
    if version < OLDEST:
        raise InputError(
            f"{python}: is Python {_told(version)}; functions run on {_told(OLDEST)} and newer: "
            "name another interpreter with --python"
        )


def _told(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))

"""A recipe for a repository that nobody wrote one for: read from its own files.

A user's own repository runs in the user's own environment: the one that is active in their shell,
or `.venv` in the repository. A repository at an old commit, without pins, gets what its metadata
asks for, as it was released at the time.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.storage import parse_toml
from refute.errors import InputError, WorkspaceUnavailable
from refute.source.syntax import Function, readable_module
from refute.workspace.contract import WORK_TREE, Recipe, Runner

if TYPE_CHECKING:
    import configparser

MOST_READ = 1 << 20
"""Bytes of the largest file of a repository that is read here; a larger one counts as none."""

Reader = Callable[[str], str | None]
"""The text of a file of the repository, by its path; None where there is none."""


def infer_recipe(
    root: Path, *, interpreter: Path | None = None, runner: Runner | None = None
) -> Recipe:
    """The recipe of a user's own repository: their environment, and how its tests are started."""

    from refute.workspace.rooted_files import take

    def read(path: str) -> str | None:
        try:
            return take(str(root), path, MOST_READ).decode()
        except (OSError, UnicodeDecodeError):
            return None

    python = interpreter or own_interpreter(root)
    chosen = runner or infer_runner(read, python)
    source = f"{WORK_TREE}/src" if (root / "src").is_dir() else ""
    # the environment may hold the repository in editable mode, at its own path: the copy goes first
    path = os.pathsep.join(part for part in (source, WORK_TREE) if part)
    env = {"PYTHONPATH": path}
    return Recipe(runner=chosen, editable=False, env=env, interpreter=str(python))


def own_interpreter(root: Path) -> Path:
    """The interpreter of the environment active in the shell, else of the project's, else this.

    An environment is active when VIRTUAL_ENV or CONDA_PREFIX names it. The project's is `.venv` or
    `venv` in `root`; one that git tracks came with the repository, and is only taken where the
    user names it: `InputError`. Nothing is run: see `existing_environment`.
    """
    for folder in (os.environ.get("VIRTUAL_ENV"), root / ".venv", root / "venv",
                   os.environ.get("CONDA_PREFIX")):  # fmt: skip
        if not folder or not os.access(Path(folder) / "bin" / "python", os.X_OK):
            continue
        python = (Path(folder) / "bin" / "python").absolute()
        if isinstance(folder, Path) and _is_tracked(folder):
            raise InputError(
                f"{folder} is part of the repository; name an interpreter with --python, "
                f"or this one if you trust it: --python {python}"
            )
        return python
    return Path(sys.executable).absolute()


def _is_tracked(folder: Path) -> bool:
    """Return whether git tracks something below a folder, or a link in its place."""
    from refute.workspace.repositories import GitFailed, git

    try:
        return bool(git("ls-files", "-z", "--", folder.name, folder=folder.parent))
    except (GitFailed, WorkspaceUnavailable):
        return False  # in no repository


def infer_runner(read: Reader, python: Path | None = None) -> Runner:
    """Return the runner of a repository's tests, by the files that runners are known by."""
    if read("tests/runtests.py") is not None and read("django/__init__.py") is not None:
        return "django"
    if read("sympy/__init__.py") is not None and "pytest" not in (read("bin/test") or "pytest"):
        return "sympy"  # later ones start pytest
    said = " ".join(read(name) or "" for name in ("tox.ini", "setup.cfg", "pyproject.toml"))
    if "pytest" in said or read("pytest.ini") is not None or read("conftest.py") is not None:
        return "pytest"
    if python is not None and not has_pytest(python):
        return "unittest"
    return "pytest"


def has_pytest(python: Path) -> bool:
    """Return whether an environment has pytest, by its files; True where it is laid out
    otherwise."""
    folder = python.parent.parent / "lib"
    return any(folder.glob("python*/*-packages/pytest/__init__.py")) if folder.is_dir() else True


def needs_pytest(source: str) -> bool:
    """Return whether a file of tests says nothing to `unittest`: it imports pytest, or has a test
    outside of any `TestCase` that asserts by statement. (`test_suite` of old and mixins have none.)
    """
    for node in readable_module(source).body:
        if isinstance(node, ast.Import) and any(one.name == "pytest" for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "pytest":
            return True
        own = node.body if isinstance(node, ast.ClassDef) and not node.bases else [node]
        for test in own:
            is_test = isinstance(test, Function) and test.name.startswith("test")
            if is_test and any(isinstance(one, ast.Assert) for one in ast.walk(test)):
                return True
    return False


PYTEST_SETTINGS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini",
                   "pyproject.toml", "tox.ini", "setup.cfg")  # fmt: skip
"""Names of files that may hold settings of pytest, in the order in which it looks for them."""


def sets_pytest(path: str, text: str) -> bool:
    """Return whether one of these files does."""
    match path.rpartition("/")[2]:
        case "pyproject.toml":
            return "pytest" in (toml_of(text).get("tool") or {})
        case "tox.ini":
            return _configuration(text).has_section("pytest")
        case "setup.cfg":
            return _configuration(text).has_section("tool:pytest")
    return True


def toml_of(text: str | None) -> dict[str, Any]:
    """Return the content of a TOML file; {} for other text."""
    try:
        return parse_toml(text or "")
    except ValueError:
        return {}


def setup_cfg_option(text: str | None, name: str) -> str:
    """An option of the section `options` of a setup.cfg; "" where it says none."""
    return _configuration(text).get("options", name, fallback="")


def setup_cfg_items(text: str | None, section: str) -> list[tuple[str, str]]:
    """The options of a section of a setup.cfg or tox.ini."""
    parser = _configuration(text)
    return parser.items(section) if parser.has_section(section) else []


def _configuration(text: str | None) -> configparser.RawConfigParser:
    import configparser  # only here: `debug` of one function loads this module, and no such file

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return configparser.RawConfigParser()
    return parser


def setup_argument(text: str | None, name: str) -> Any:
    """The first argument of that name of a call in a setup.py that is written out; else None."""
    for value in setup_arguments(text, name):
        try:
            return ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def setup_arguments(text: str | None, name: str) -> list[ast.expr]:
    """The arguments of that name of calls in a setup.py, or what is assigned to the name that
    stands there."""
    tree = readable_module(text or "")
    named: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
    found = []
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg == name:
                value = keyword.value
                found.append(named.get(value.id, value) if isinstance(value, ast.Name) else value)
    return found

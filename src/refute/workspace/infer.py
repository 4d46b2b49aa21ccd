"""A recipe for a repository that nobody wrote one for: read from its own files.

A user's own repository runs in the user's own environment: the one that is active in their shell,
or `.venv` in the repository. A repository at an old commit, without pins, gets what its metadata
asks for, as it was released at the time.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refute.errors import InputError, WorkspaceUnavailable
from refute.syntax import parse_module
from refute.workspace.recipe import WORK_TREE, Recipe, Runner

__all__ = ["MOST_READ", "Reader", "infer_recipe", "infer_requirements", "own_interpreter"]

MOST_READ = 1 << 20
"""Bytes of the largest file of a repository that is read here; a larger one counts as none."""

Reader = Callable[[str], str | None]
"""The text of a file of the repository, by its path; None where there is none."""

_REQUIREMENT_FILES = (
    "requirements.txt", "requirements-dev.txt", "requirements-test.txt", "requirements_test.txt",
    "test-requirements.txt", "dev-requirements.txt", "requirements/tests.txt",
    "requirements/test.txt", "requirements/dev.txt", "tests/requirements/py3.txt",
)  # fmt: skip
_TEST_EXTRA = re.compile(r"^(tests?|testing|dev|development)$", re.IGNORECASE)
_INCLUDES_AT_MOST = 5


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
    options = ("-p", "no:cacheprovider") if chosen == "pytest" else ()
    env = {"PYTHONPATH": path}
    return Recipe(runner=chosen, options=options, editable=False, env=env, interpreter=str(python))


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
    """Whether git tracks something below a folder, or a link in its place."""
    from refute.workspace.gitrun import GitFailed, git

    try:
        return bool(git("ls-files", "-z", "--", folder.name, folder=folder.parent))
    except (GitFailed, WorkspaceUnavailable):
        return False  # in no repository


def infer_runner(read: Reader, python: Path | None = None) -> Runner:
    """How the tests of a repository are started, by the files that runners are known by."""
    if read("tests/runtests.py") is not None and read("django/__init__.py") is not None:
        return "django"
    if read("bin/test") is not None and read("sympy/__init__.py") is not None:
        return "sympy"
    said = " ".join(read(name) or "" for name in ("tox.ini", "setup.cfg", "pyproject.toml"))
    if "pytest" in said or read("pytest.ini") is not None or read("conftest.py") is not None:
        return "pytest"
    if python is not None and not _has_pytest(python):
        return "unittest"
    return "pytest"


def _has_pytest(python: Path) -> bool:
    folder = python.parent.parent / "lib"
    return any(folder.glob("python*/site-packages/pytest/__init__.py")) if folder.is_dir() else True


def infer_requirements(read: Reader) -> tuple[tuple[str, ...], ...]:
    """Groups of requirements for a repository without pins: build tools; what it asks for, what
    its tests ask for, and pytest. Names only what stands in its files; nothing is run."""
    build = ["pip", "setuptools", "wheel"]
    wanted: list[str] = []
    project = _toml(read("pyproject.toml"))
    table = project.get("project")
    if isinstance(table, dict):
        wanted += _texts(table.get("dependencies"))
        extras = table.get("optional-dependencies")
        for name, group in extras.items() if isinstance(extras, dict) else ():
            wanted += _texts(group) if _TEST_EXTRA.match(name) else []
    groups = project.get("dependency-groups")
    for name, group in groups.items() if isinstance(groups, dict) else ():
        wanted += _texts(group) if _TEST_EXTRA.match(name) else []
    system = project.get("build-system")
    build += _texts(system.get("requires")) if isinstance(system, dict) else []
    wanted += _of_setup_cfg(read("setup.cfg"))
    wanted += _of_setup_py(read("setup.py"))
    for name in _REQUIREMENT_FILES:
        wanted += _of_requirements(read, name)
    if infer_runner(read) == "pytest":
        wanted.append("pytest")
    return tuple(dict.fromkeys(build)), tuple(dict.fromkeys(w.strip() for w in wanted if w.strip()))


def _toml(text: str | None) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _of_setup_cfg(text: str | None) -> list[str]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return []
    blocks = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        extras = parser.items("options.extras_require")
        blocks += [value for name, value in extras if _TEST_EXTRA.match(name)]
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "file:"))]


def _of_setup_py(text: str | None) -> list[str]:
    """Lists that are written out in the call of `setup`, or assigned to a name it is given."""
    try:
        tree = parse_module(text or "")
    except (SyntaxError, ValueError, RecursionError):
        return []
    named: dict[str, ast.expr] = {}
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            value = keyword.value
            if isinstance(value, ast.Name):
                value = named.get(value.id, value)
            if keyword.arg in ("install_requires", "tests_require"):
                found += _written_out(value)
            elif keyword.arg == "extras_require" and isinstance(value, ast.Dict):
                for key, group in zip(value.keys, value.values, strict=True):
                    if isinstance(key, ast.Constant) and _TEST_EXTRA.match(str(key.value)):
                        found += _written_out(group)
    return found


def _written_out(node: ast.expr) -> list[str]:
    if isinstance(node, ast.List | ast.Tuple):
        return [n.value for n in node.elts if isinstance(n, ast.Constant) and type(n.value) is str]
    return []


def _of_requirements(read: Reader, path: str, depth: int = 0) -> list[str]:
    """The requirements of a file and of those it includes, without options and addresses."""
    found: list[str] = []
    folder = path.rpartition("/")[0]
    for line in (read(path) or "").replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        included = re.match(r"(-r|--requirement)[ =]*(\S+)", line)
        if included and depth < _INCLUDES_AT_MOST:
            inner = os.path.normpath(os.path.join(folder, included.group(2)))
            found += _of_requirements(read, inner, depth + 1)
        elif line and not line.startswith(("-", ".", "/")) and "://" not in line:
            found.append(re.sub(r"\s--hash=\S+", "", line).strip())
    return found

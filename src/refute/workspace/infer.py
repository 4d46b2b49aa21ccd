"""A recipe for a repository that nobody wrote one for: read from its own files.

A user's own repository runs in the user's own environment: the one that is active in their shell,
or `.venv` in the repository. A repository at an old commit, without pins, gets what its metadata
asks for, as it was released at the time.

Requirements have two ranks. What a repository *needs*: the run-time dependencies of its metadata, a
runner that the probe knows and what its build back end wants. What else its developers name for
tests (extras, groups, requirement files, tox) is *wanted*: it may contradict itself, or no longer
be installable, and then has to yield (`interpreters.settle`).
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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


# -- requirements ----------------------------------------------------------------------------------

_FILES = (
    "requirements.txt", "requirements-dev.txt", "requirements-test.txt", "requirements_test.txt",
    "requirements_test_min.txt", "requirements_dev.txt", "requirements-tests.txt",
    "requirements_tests.txt", "test-requirements.txt", "test_requirements.txt",
    "dev-requirements.txt", "dev_requirements.txt", "requirements/tests.txt",
    "requirements/test.txt", "requirements/testing.txt", "requirements/dev.txt",
    "tests/requirements.txt", "tests/requirements/py3.txt",
)  # fmt: skip
_TEST_EXTRA = re.compile(r"^(tests?|testing|dev|development)$", re.IGNORECASE)
_INCLUDES_AT_MOST = 5
_RUNNER = "pytest>=3"
"""The oldest pytest that the probe knows."""
_PLUGINS = {
    r"--cov\b": "pytest-cov", r"-n[ =]?(auto|\d)|--dist\b": "pytest-xdist",
    r"--timeout\b|^timeout\s*=": "pytest-timeout", r"--benchmark-": "pytest-benchmark",
    r"^asyncio_mode\s*=": "pytest-asyncio", r"--mypy": "pytest-mypy", r"--flake8": "pytest-flake8",
    r"--black\b": "pytest-black", r"--isort\b": "pytest-isort", r"--pep8\b": "pytest-pep8",
    r"--randomly": "pytest-randomly", r"--reruns\b": "pytest-rerunfailures",
    r"--doctest-plus|^doctest_plus": "pytest-doctestplus",
}  # fmt: skip
"""Options of pytest's configuration that only a plugin knows: without it pytest does not start."""
_HELPERS = {"hatchling": ("editables",), "mesonpy": ("meson", "ninja"), "mesonpep517": ("meson",)}
"""Requirements of a build back end only while it installs in editable mode (its hook
`get_requires_for_build_editable`)."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements of a repository, as PEP 508 writes them."""

    build: tuple[str, ...]
    """Of the build of the repository itself."""
    needed: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


def infer_requirements(read: Reader) -> Requirements:
    """Return the requirements in the files of a repository."""
    project = toml_of(read("pyproject.toml"))
    needed, wanted = _of_pyproject(project)
    needed += _lines(setup_cfg_option(read("setup.cfg"), "install_requires"))
    for name, block in setup_cfg_items(read("setup.cfg"), "options.extras_require"):
        wanted += _lines(block) if _TEST_EXTRA.match(name) else []
    setup = read("setup.py")
    for value in setup_arguments(setup, "install_requires"):
        needed += _written_out(value)
    for value in setup_arguments(setup, "tests_require"):
        wanted += _written_out(value)
    for value in setup_arguments(setup, "extras_require"):
        for key, group in (
            zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
        ):
            if isinstance(key, ast.Constant) and _TEST_EXTRA.match(str(key.value)):
                wanted += _written_out(group)
    for name in _FILES:
        wanted += _of_requirements(read, name)
    for name, block in setup_cfg_items(read("tox.ini"), "testenv"):
        wanted += _of_tox(read, block) if name == "deps" else []
    if infer_runner(read) == "pytest":
        needed.append(_RUNNER)
        wanted += _plugins(read)
    needed = [one for one in _clean(needed) if name_of(one)]
    rest = [one for one in _clean(wanted) if name_of(one) and one not in needed]
    return Requirements(build_requirements(read), tuple(needed), tuple(rest))


def build_requirements(read: Reader) -> tuple[str, ...]:
    """Return the requirements for building and installing the repository in editable mode."""
    back_end, asked = asked_by_build(read)
    if back_end and back_end != "setuptools":
        return tuple(dict.fromkeys(("pip", *asked)))
    if read("setup.py") is not None:
        return tuple(dict.fromkeys(("pip", "setuptools", "wheel", *asked)))
    # Without a setup.py only PEP 660 installs in editable mode, which setuptools knows from 64 on,
    # whatever the repository's own bound. From 71 on it takes `packaging` of the environment, which
    # may be older than it can do with.
    others = [_at_least(one) if name_of(one) == "setuptools" else one for one in asked]
    newer = any(re.match(r"setuptools.*>=\s*(7[1-9]|[89]\d|\d{3})", one) for one in others)
    tools = "setuptools>=64" if newer else "setuptools>=64,<71"
    return tuple(dict.fromkeys(("pip", tools, "wheel", *others)))


def _at_least(requirement: str) -> str:
    """The requirement with its lower bounds only."""
    bounds = re.findall(r">=\s*[\w.]+", requirement.partition(";")[0])
    return name_of(requirement) + ",".join(bounds)


def asked_by_build(read: Reader) -> tuple[str, tuple[str, ...]]:
    """The build back end that the repository names, "" for none, and what is asked for building:
    by the repository, and by the back end once it installs in editable mode."""
    system = toml_of(read("pyproject.toml")).get("build-system")
    table = system if isinstance(system, dict) else {}
    asked = _texts(table.get("requires"))
    asked += _texts(setup_argument(read("setup.py"), "setup_requires"))
    asked += _lines(setup_cfg_option(read("setup.cfg"), "setup_requires"))
    back_end = str(table.get("build-backend") or "").partition(".")[0]
    asked += _HELPERS.get(back_end, ())
    return back_end, tuple(_clean(asked))


def name_of(requirement: str) -> str:
    """The normalised name of a package that a requirement asks for; "" where it names none."""
    match = re.match(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*($|[\[\](<>=!~;@ ])", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def _clean(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for one in found if (text := " ".join(one.split()))))


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _lines(block: str) -> list[str]:
    lines = [line.split(" #")[0].strip() for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "file:"))]


def _of_pyproject(project: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the required and the optional packages of a pyproject.toml (PEP 621, PEP 735, Flit,
    Poetry)."""
    needed: list[str] = []
    wanted: list[str] = []
    table = project.get("project")
    if isinstance(table, dict):
        needed += _texts(table.get("dependencies"))
        extras = table.get("optional-dependencies")
        for name, group in extras.items() if isinstance(extras, dict) else ():
            wanted += _texts(group) if _TEST_EXTRA.match(name) else []
    groups = project.get("dependency-groups")
    for name, group in groups.items() if isinstance(groups, dict) else ():
        wanted += _texts(group) if _TEST_EXTRA.match(name) else []
    tool = project.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    if isinstance(poetry, dict):
        needed += _of_poetry(poetry.get("dependencies"))
        wanted += _of_poetry(poetry.get("dev-dependencies"))
        own = poetry.get("group")
        for name, group in own.items() if isinstance(own, dict) else ():
            if _TEST_EXTRA.match(name) and isinstance(group, dict):
                wanted += _of_poetry(group.get("dependencies"))
    flit = tool.get("flit") if isinstance(tool, dict) else None
    metadata = flit.get("metadata") if isinstance(flit, dict) else None
    if isinstance(metadata, dict):
        needed += _texts(metadata.get("requires"))
        extra = metadata.get("requires-extra")
        for name, group in extra.items() if isinstance(extra, dict) else ():
            wanted += _texts(group) if _TEST_EXTRA.match(name) else []
    return needed, wanted


def _of_poetry(table: Any) -> list[str]:
    """Poetry's own form: name -> version or table. A caret is its lower bound."""
    found = []
    for name, value in table.items() if isinstance(table, dict) else ():
        version = value.get("version") if isinstance(value, dict) else value
        if name.lower() == "python" or (isinstance(value, dict) and value.get("optional")):
            continue
        bound = re.match(r"[\^~]?\s*(\d[\d.]*)$", version) if isinstance(version, str) else None
        found.append(f"{name}>={bound[1]}" if bound else name)
    return found


def _written_out(node: ast.expr) -> list[str]:
    """The texts of a list; of one that is put together, the name of the package that it begins
    with."""
    found = []
    for one in node.elts if isinstance(node, ast.List | ast.Tuple) else ():
        if isinstance(one, ast.Constant) and type(one.value) is str:
            found.append(one.value)
            continue
        start = one.left if isinstance(one, ast.BinOp) else one
        if isinstance(start, ast.JoinedStr) and start.values:
            start = start.values[0]
        if isinstance(start, ast.Constant) and type(start.value) is str:
            found.append(name_of(start.value))
    return found


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


def _of_tox(read: Reader, block: str) -> list[str]:
    """The dependencies of tox's test environment that hold for each of its variants."""
    found = []
    for line in _lines(block):
        included = re.match(r"-r\s*(?:\{toxinidir\}/)?(\S+)", line)
        if included:
            found += _of_requirements(read, included[1])
        elif not re.match(r"[\w{},!.-]+:\s", line) and "{" not in line:
            found.append(line)
    return [line for line in found if not line.startswith(("-", ".", "/")) and "://" not in line]


def _plugins(read: Reader) -> list[str]:
    """Plugins without which pytest does not understand the repository's configuration."""
    names = ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
    said = "\n".join(part for name in names if (part := _pytest_part(read(name) or "")))
    found = [plugin for sign, plugin in _PLUGINS.items() if re.search(sign, said, re.MULTILINE)]
    required = re.search(r"^required_plugins\s*=\s*((?:.*\n(?:\s+.*\n?)*))", said, re.MULTILINE)
    found += re.findall(r"pytest-[\w-]+", required[1]) if required else []
    return found


def _pytest_part(text: str) -> str:
    """The sections of a configuration file that pytest reads."""
    parts = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    heads = r"\[(pytest|tool:pytest|tool\.pytest[\w.]*)\]"
    return "\n".join(part for part in parts if re.match(heads, part))

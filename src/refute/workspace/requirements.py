"""Read the requirements of a repository at a commit from its files, without running anything.

Two ranks. What it *needs*: the run-time dependencies of its metadata, a runner that the probe knows
and what its build back end wants. What else its developers name for tests (extras, groups,
requirement files, tox) is *wanted*: it may contradict itself, or no longer be installable, and
then has to yield (`interpreters.settle`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from refute.workspace.infer import (
    Reader,
    infer_runner,
    setup_argument,
    setup_arguments,
    setup_cfg_items,
    setup_cfg_option,
    toml_of,
)

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

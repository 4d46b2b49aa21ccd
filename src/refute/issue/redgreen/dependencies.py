"""What test files take from the files beside them: models, helpers, fixtures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from refute.source.syntax import readable_module

_URLCONF = re.compile(r"""\bROOT_URLCONF\s*=\s*["']([\w.]+)["']""")
_FUNCTION = re.compile(r"^\d+ (?:async )?def (\w+)", re.MULTILINE)
_MOST_FIXTURES = 30
_WORD = re.compile(r"[A-Za-z_]\w*")


def companions(
    shown: Sequence[Mapping[str, str]], files: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Files that the tests shown import from their own folder, or whose fixtures they use.

    `shown`: `path` and `numbered` (an excerpt) of each test file. Returns path -> the names in it
    that an excerpt mentions, files that are shown already left out; files that no excerpt mentions
    a name of come last, with no name.
    """
    used: dict[str, dict[str, None]] = {}
    paths = {file["path"] for file in shown}
    for file in shown:
        mentioned = set(_WORD.findall(_body(file["numbered"])))
        for path, names in _beside(file["path"], files):
            if path not in paths:
                found = used.setdefault(path, {})
                found.update((name, None) for name in names if name in mentioned)
    named = {path: tuple(names) for path, names in used.items() if names}
    return named | {
        path: () for path in used if path not in named and not path.endswith("conftest.py")
    }


def further_fixtures(
    shown: Sequence[Mapping[str, str]], files: Mapping[str, str]
) -> tuple[str, ...]:
    """The fixtures of the `conftest.py` above the files shown that no excerpt defines."""
    defined = {name for file in shown for name in _FUNCTION.findall(file["numbered"])}
    found = {
        name: None
        for file in shown
        for path in _conftests(file["path"], files)
        for name in _fixtures(files[path])
        if name not in defined
    }
    return tuple(found)[:_MOST_FIXTURES]


def _body(numbered: str) -> str:
    """An excerpt without its import statements, which mention everything."""
    return re.sub(r"^\d+ (?:from|import) [^(\n]*(?:\([^)]*\))?", "", numbered, flags=re.MULTILINE)


def _beside(path: str, files: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Files that a file imports by relative imports or names as its URLs, and each
    `conftest.py` above it."""
    tree = readable_module(files.get(path, ""))
    folder = PurePosixPath(path).parent
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = folder
        for _ in range(node.level - 1):
            base = base.parent
        module = base.joinpath(*(node.module or "").split(".")) if node.module else base
        plain = f"{module}.py"
        if plain in files:
            yield plain, [alias.asname or alias.name for alias in node.names]
        for alias in node.names:
            inner = f"{module / alias.name}.py"
            if inner in files:
                yield inner, []
    for urls in _URLCONF.findall(files.get(path, "")):  # Django's, relative to the folder of tests
        for root in folder.parents:
            plain = str(root.joinpath(*urls.split("."))) + ".py"
            if plain in files:
                yield plain, []
                break
    for conftest in _conftests(path, files):
        yield conftest, _fixtures(files[conftest])


def _conftests(path: str, files: Mapping[str, str]) -> list[str]:
    """The `conftest.py` that pytest reads for a file, the nearest first."""
    above = (str(folder / "conftest.py") for folder in PurePosixPath(path).parents)
    return [conftest for conftest in above if conftest in files and conftest != path]


def _fixtures(text: str) -> list[str]:
    """The functions at the top of a `conftest.py`, but for hooks."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    names = [node.name for node in readable_module(text).body if isinstance(node, functions)]
    return [name for name in names if not name.startswith(("pytest_", "_"))]

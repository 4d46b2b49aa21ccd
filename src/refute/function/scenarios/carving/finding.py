"""The files of a project that show how a module is used: tests, documents, its own docstrings."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_FILES = 60
LARGEST = 400_000
"""Bytes of one file."""
MOST_LOOKED_AT = 5_000
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "build", "dist", "__pycache__", "venv", "env"}
)
_WORD = re.compile(r"\w+")
_DOCUMENTS = (".rst", ".md", ".txt")


def find_tests(project: Path, module: str, names: Sequence[str] = ()) -> list[Path]:
    """Files that use a module; see `TestIndex.find`."""
    return TestIndex(project, module.partition(".")[0]).find(module, names)


class TestIndex:
    """The words of a package's tests, documents and own files, each read once."""

    __test__ = False  # no test of pytest's

    def __init__(self, project: Path, package: str) -> None:
        """`package`: the first part of its modules' names."""
        self._fixtures: list[Path] = []
        self._files: list[tuple[Path, int, Counter[str]]] = []
        for path in _candidates(project, package):
            if path.name == "conftest.py":
                self._fixtures.append(path)
                continue
            text = text_of(path)
            self._files.append((path, len(text), Counter(_WORD.findall(text))))

    def find(self, module: str, names: Sequence[str] = ()) -> list[Path]:
        """Files that mention the names, those that do it most first, and the tests that are named
        after the module, which may reach them by syntax alone (`repr(x)`); conftest.py's beside.

        `module`: its dotted name; `names`: what is looked for in it (`Cart.total`, `slugify`).
        """
        bare = module.rpartition(".")[2].strip("_")
        words = {name.rpartition(".")[2] for name in names} or {bare}
        owners = {part for name in names for part in name.split(".")[:-1][-1:]}
        scored: list[tuple[float, int, Path]] = []
        for path, size, counts in self._files:
            found = [counts[word] for word in words | owners if word in counts]
            if not found and not (bare and _tests_of(bare, path.stem)):
                continue
            score = float(len(found) * 10 + min(sum(found), 30))
            if bare and bare in path.stem:
                score += 50
            if path.suffix in _DOCUMENTS:
                score /= 2
            scored.append((-score, size, path))
        return self._fixtures[:20] + [path for _, _, path in sorted(scored)[:MOST_FILES]]


def _tests_of(module: str, stem: str) -> bool:
    """Whether a file of this name is one of the module's tests."""
    return stem in (f"test_{module}", f"tests_{module}", f"{module}_test", f"{module}_tests")


def _candidates(project: Path, package: str) -> Iterator[Path]:
    """Tests and documents of the project, and the package's own files."""
    left = MOST_LOOKED_AT
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in _SKIPPED
        )
        parts = Path(folder).relative_to(project).parts
        tests = any(re.fullmatch(r"tests?|testing|.*_tests?|tests?_.*", p) for p in parts)
        shown = any(part in ("doc", "docs", "examples", "example") for part in parts)
        for name in sorted(files):
            stem, end = os.path.splitext(name)
            if end == ".py":
                wanted = tests or shown or package in (*parts, stem) or stem == "conftest"
                wanted = wanted or bool(re.fullmatch(r"tests?|tests?_.*|.*_tests?", stem))
            else:
                wanted = end in _DOCUMENTS and (shown or tests or stem.lower() == "readme")
            path = Path(folder, name)
            if not wanted or path.is_symlink():
                continue
            left -= 1
            if left < 0:
                return
            yield path


def text_of(path: Path, largest: int = LARGEST) -> str:
    """The text of a regular file; "" where it cannot be had, or is larger than that many bytes."""
    try:
        if not path.is_file() or path.stat().st_size > largest:
            return ""
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""

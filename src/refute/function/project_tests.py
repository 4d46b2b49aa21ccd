"""The test files of a project: what they are called, where they lie, which words they hold, and
what the project's own runner says of them.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from refute.core.problems import UnitTest
from refute.core.remarks import remark
from refute.errors import InputError, Unavailable
from refute.source.syntax import first_line, functions_in, try_parse

MOST_FILES = 2000
MOST_BYTES = 1 << 20
TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?)\.py")
"""Names that pytest, unittest and Django take for tests."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "build", "dist", "venv", "env", "__pycache__", "fixtures"}
)
_WORD = re.compile(r"\w+")


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


@dataclass(frozen=True, slots=True)
class FolderTests:
    """The test files of a folder, by the words in them: most concern few functions."""

    words: dict[Path, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> FolderTests:
        """Read a folder's test files."""
        return cls({p: frozenset(_WORD.findall(read_bounded(p))) for p in test_files(folder)})

    def naming(self, name: str, module: str = "") -> list[Path]:
        """The files that hold the last word of a name ("total" of "Cart.total"); first those that
        are called after the module or the function."""
        word = name.rpartition(".")[2]
        called = {text.strip("_") for text in (module, word)} - {""}
        found = [path for path, words in self.words.items() if word in words]
        return sorted(found, key=lambda path: called.isdisjoint(path.stem.split("test_")))


# -- what the project's own runner says ------------------------------------------------------------

_SECONDS = 60.0
"""For one file of tests."""


class ProjectRunner:
    """What the project's own runner says of its tests, each file read and run once."""

    def __init__(self) -> None:
        self._spans: dict[Path, dict[tuple[str, ...], range]] = {}
        self._outcomes: dict[tuple[Path, Path | None], Mapping[tuple[str, ...], set[str]]] = {}

    def passes(self, test: UnitTest, python: Path | None) -> bool | None:
        """Whether the test of a file that a given test was read from passes there; None where it is
        of no test function, or cannot be run.

        `python`: the interpreter of the project's tests; None: the active one.
        """
        file = Path(test.source.rpartition(":")[0]).resolve()
        if test.span is None or file.suffix != ".py":
            return None
        if file not in self._spans:
            self._spans[file] = _spans(file)
        for names, lines in self._spans[file].items():
            if test.span[0] in lines and test.span[1] in lines:
                if (file, python) not in self._outcomes:
                    self._outcomes[file, python] = _outcomes(file, python)
                found = self._outcomes[file, python].get(names)
                return None if not found else found == {"passed"}
        return None


def _spans(file: Path) -> dict[tuple[str, ...], range]:
    """Classes and function -> the lines of the function."""
    tree = try_parse(read_bounded(file))
    return {
        tuple(name.split(".")): range(first_line(node), (node.end_lineno or node.lineno) + 1)
        for name, node in (functions_in(tree).items() if tree is not None else ())
    }


def _outcomes(file: Path, python: Path | None) -> Mapping[tuple[str, ...], set[str]]:
    """The outcomes of the tests of a file, by classes and function; all rows of a test together.
    Without those that were skipped. Says why there are none."""
    from refute.workspace.checkout import Checkout, in_checkout
    from refute.workspace.contract import TestSelection
    from refute.workspace.control import names_of
    from refute.workspace.snapshot import checkout_root

    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    try:
        root = checkout_root(file)
        with in_checkout(Checkout(root, python), "")[1]() as workspace:
            selection = TestSelection((file.relative_to(root).as_posix(),))
            report = workspace.run_tests(selection, timeout=_SECONDS)
    except (InputError, Unavailable) as error:
        remark([f"{file.name}: not run by the project's own runner: {error}"])
        return {}
    for one in report.results if report.trusted else ():
        if one.outcome != "skipped":
            found[tuple(filter(None, names_of(one.id)))].add(one.outcome)
    return found

"""One issue in its repository: what of both the method works with, and the test file nearest to
what the issue is about, where its test belongs.

Also: the imports that an issue's example leaves to the reader, and the tests that an issue holds.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath

from refute.issue.context import likely_files, neighbouring_tests
from refute.issue.original import Original
from refute.issue.snippet.issue_reader import Piece, ShownError
from refute.issue.snippet.rendering import Style, free_path, slug
from refute.issue.snippet.script import Script, Statement, bound_names, missing_names, scripts
from refute.workspace.patches import is_test_file

_NEAR = 3
"""Code files, the likeliest, whose tests are looked at."""


class IssueSubject:
    """An issue's text and its pieces, and the files of the repository.

    `in_classes`: tests are methods of a `unittest.TestCase`, which any runner knows."""

    def __init__(
        self,
        text: str,
        pieces: tuple[Piece, ...],
        rows: Mapping[int, tuple[Statement, ...]],
        original: Original,
        *,
        like: IssueSubject | None = None,
        in_classes: bool = False,
    ) -> None:
        self.text, self.pieces = text, pieces
        self.title = text.strip().partition("\n")[0]
        self.slug = slug(self.title)
        self.rows = [row for part in rows.values() for row in part]
        """The statements of all pieces."""
        self._by_piece = dict(rows)
        self._in_classes: bool = in_classes or (like is not None and like._in_classes)
        self._original = original
        self._paths = original.paths()
        self._like = like
        self.files: Mapping[str, str] = original.sources() if like is None else like.files
        """Path -> source of the repository's Python files."""
        self.names: Names = Names(self.files) if like is None else like.names

    def read_as(
        self, pieces: tuple[Piece, ...], rows: Mapping[int, tuple[Statement, ...]]
    ) -> IssueSubject:
        """The same issue, its text read in another way."""
        return IssueSubject(self.text, pieces, rows, self._original, like=self)

    @property
    def errors(self) -> tuple[ShownError, ...]:
        """The exceptions that the issue shows."""
        return tuple(error for piece in self.pieces for error in piece.errors)

    @cached_property
    def homes(self) -> list[str]:
        """Test files that the test may go to, the best first; without any, one at the top."""
        if self._like is not None:
            return self._like.homes
        names = Script(tuple(self.rows), ()).missing()
        said = [self.text, *filter(None, map(self.names.import_of, sorted(names)))]
        for row in self.rows:
            if isinstance(row.node, ast.Import | ast.ImportFrom):
                names |= {alias.name for alias in row.node.names}
                said.append(row.source)
        text = "\n".join((*said, *(f"`{name}`" for name in sorted(names))))
        found = likely_files(text, self.files)
        near = (neighbouring_tests([path], self.files, hint=text) for path in found.code[:_NEAR])
        return list(dict.fromkeys((*chain.from_iterable(near), *found.tests))) or ["test_issue.py"]

    @property
    def style(self) -> Style:
        """The style of the nearest test file."""
        source = self.files.get(self.homes[0], "")
        in_classes = _CASES.search(source) and not _FUNCTIONS.search(source)
        return Style("TestCase", "unittest") if in_classes or self._in_classes else Style()

    def ready(self) -> list[Completed]:
        """The scripts that can be run."""
        more = ("self",) if self.style.base else ()
        made = (completed(one, self.names, more) for one in scripts(self._by_piece))
        return [one for one in made if one is not None]

    def new_path(self, home: str) -> str:
        """A path for a new test file beside `home`."""
        return free_path(home, self.slug, self._paths)


# -- style ----------------------------------------------------------------------------------------


_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
_CASES = re.compile(r"^class \w+\((?:unittest\.)?\w*TestCase\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Completed:
    """A script that can be run."""

    script: Script
    imports: tuple[str, ...]


def completed(script: Script, names: Names, more: Iterable[str] = ()) -> Completed | None:
    """The script with the imports that it lacks; None where nothing of its last piece is left.

    Imports of modules that exist nowhere but in the reporter's project are left out, and so are
    statements with names that are not to be found, and all that rests on these. `more`: names that
    are there anyway.
    """
    rows = [row for row in (_without_foreign(row, names) for row in script.statements) if row]
    known = frozenset(more)
    made = replace(script, statements=tuple(rows))
    imports: dict[str, str] = {}
    lost: set[str] = set()
    for name in sorted(made.missing(known)):
        statement = names.import_of(name)
        if statement is None:
            lost.add(name)
        else:
            imports[name] = statement
    if lost:
        rows = _without(rows, lost)
        made = replace(script, statements=tuple(rows))
    about = [row for row in rows if row.piece == script.pieces[-1]]
    if all(isinstance(row.node, ast.Import | ast.ImportFrom) for row in about):
        return None
    wanted = made.missing(known)
    return Completed(made, tuple(line for name, line in imports.items() if name in wanted))


def _without(rows: Sequence[Statement], lost: set[str]) -> list[Statement]:
    """The statements that can do without the lost names; what the others bind is lost as well."""
    kept: list[Statement] = []
    for row in rows:
        if missing_names([row.node]) & lost:
            lost = lost | bound_names(row.node)
        else:
            lost = lost - bound_names(row.node)
            kept.append(row)
    return kept


def _without_foreign(row: Statement, names: Names) -> Statement | None:
    """The statement, unless it imports from the reporter's own project."""
    if isinstance(row.node, ast.ImportFrom):
        known = row.node.level == 0 and names.importable(row.node.module or "")
        return row if known else None
    if isinstance(row.node, ast.Import):
        return row if all(names.importable(alias.name) for alias in row.node.names) else None
    return row


_FROM = re.compile(r"^ *from +([\w.]+) +import +(\([^)]*\)|[^\n#;]+)", re.MULTILINE)
_IMPORT = re.compile(r"^ *import +([\w., ]+)", re.MULTILINE)
_ROOTS = ("src", "lib", "tests")
"""Folders whose content is imported without their name."""


class Names:
    """The names of a repository (path -> source of its Python files)."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._known: dict[str, str | None] = {}

    def import_of(self, name: str) -> str | None:
        """The statement that binds `name`, as the repository mostly does it; None: no idea."""
        if name not in self._known:
            self._known[name] = self._imported(name) or self._defined(name)
        return self._known[name]

    def importable(self, module: str) -> bool:
        """Return whether a top-level package is the repository's, Python's or one that it
        imports."""
        top = module.partition(".")[0]
        return top in sys.stdlib_module_names or top in self._packages

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Top-level names of the repository's packages and of all that they import."""
        found: set[str] = set()
        for path, source in self._files.items():
            parts = PurePosixPath(path).parts
            found.add(parts[1] if parts[0] in _ROOTS and len(parts) > 1 else parts[0])
            if len(source) < 1 << 18:
                found |= {match[1].partition(".")[0] for match in _FROM.finditer(source)}
                found |= {
                    word.split()[0].partition(".")[0]
                    for match in _IMPORT.finditer(source)
                    for word in match[1].split(",")
                    if word.strip()
                }
        return frozenset(name.removesuffix(".py") for name in found if name)

    def modules(self, module: str) -> tuple[str, ...]:
        """Paths of the repository that a dotted module may be: the file, the package."""
        stem = module.replace(".", "/")
        wanted = {f"{root}{stem}{end}" for root in ("", "src/", "lib/", "tests/")
                  for end in (".py", "/__init__.py")}  # fmt: skip
        return tuple(sorted(wanted & self._files.keys()))

    def of_repository(self, statement: str) -> bool:
        """Return whether an import takes something from the repository itself."""
        words = statement.replace(",", " ").split()
        return len(words) > 1 and bool(self.modules(words[1].partition(".")[0]))

    def home_of(self, name: str) -> tuple[str, ...]:
        """Paths of the files, tests left out, that define a class or function of that name."""
        pattern = re.compile(rf"^(?:class|def|async def) +{re.escape(name)}\b", re.MULTILINE)
        return tuple(
            path
            for path, source in self._files.items()
            if name in source and not is_test_file(path) and pattern.search(source)
        )

    def _imported(self, name: str) -> str | None:
        counts: Counter[str] = Counter()
        for source in self._files.values():
            if name in source:
                counts.update(_statements(source, name))
        if not counts:
            return None
        # ties: the shorter module is the public one
        return min(counts, key=lambda text: (-counts[text], len(text), text))

    def _defined(self, name: str) -> str | None:
        modules = [module for path in self.home_of(name) if (module := module_of(path))]
        if not modules:
            return None
        return f"from {min(modules, key=lambda m: (m.count('.'), len(m), m))} import {name}"


def module_of(path: str) -> str | None:
    """The dotted name that a file of the repository is imported by; None: not as a module."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[0] in _ROOTS:
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts) if parts and all(p.isidentifier() for p in parts) else None


def _statements(source: str, name: str) -> Iterable[str]:
    """The absolute imports of a file that bind the name."""
    for match in _FROM.finditer(source):
        module = match[1]
        if module.startswith(".") or module == "__future__" or name not in match[2]:
            continue
        for part in match[2].strip("()").replace("\n", " ").split(","):
            words = part.split("#")[0].split()
            if words and words[-1] == name and (len(words) == 1 or words[1:2] == ["as"]):
                yield f"from {module} import {' '.join(words)}"
    for match in _IMPORT.finditer(source):
        for part in match[1].split(","):
            words = part.split()
            if words and words[-1].partition(".")[0] == name and len(words) in (1, 3):
                yield f"import {' '.join(words)}"

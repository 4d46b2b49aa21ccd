"""One issue in its repository: what of both the method works with, and the test file nearest to
what the issue is about, where its test belongs.

Also: the imports that an issue's example leaves to the reader.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from refute.issue.context.neighbours import neighbouring_tests
from refute.issue.context.ranking import ranked
from refute.issue.drafting.original import Original
from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.issue_reader import Piece
from refute.issue.snippet.rendering import Style, slug
from refute.issue.snippet.script import Script, Statement, bound_names, missing_names, scripts
from refute.issue.snippet.shown_errors import ShownError
from refute.issue.snippet.trials import free_path
from refute.workspace.patches import is_test_file
from refute.workspace.running import holds_tests


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
        """Test files that the test may go to, the best first."""
        if self._like is not None:
            return self._like.homes
        code = frame_files(self.text, self.files)
        code += _homes_of_attributes(self.rows, self.names)
        for row in self.rows:
            if row.source.startswith(("import ", "from ")):
                code += _homes_of(row.source, self.names)
        for name in sorted(Script(tuple(self.rows), ()).missing()):
            code += _homes_of(self.names.import_of(name), self.names)
        return homes_for_tests(self.text, list(dict.fromkeys(code)), self.files)

    @property
    def styles(self) -> list[Style]:
        """The styles of tests to try, in this order."""
        usual = styles_of(self.files.get(self.homes[0], "") if self.homes else "")
        if self._in_classes and not usual[0].base:
            return [Style("TestCase", "unittest")]
        return usual

    def ready(self) -> list[Completed]:
        """The scripts that can be run."""
        more = ("self",) if self.styles[0].base else ()
        made = (completed(one, self.names, more) for one in scripts(self._by_piece))
        return [one for one in made if one is not None]

    def new_path(self, home: str) -> str:
        """A path for a new test file beside `home`."""
        return free_path(home, self.slug, self._paths)


def _homes_of_attributes(rows: Sequence[Statement], names: Names) -> list[str]:
    """Paths of the files that define what is taken from a package as its attribute: a package
    passes on what its modules define, and their tests are named after the modules."""
    bound = {name: name for name in Script(tuple(rows), ()).missing()}
    for row in rows:
        if isinstance(row.node, ast.Import):
            for one in row.node.names:
                bound[one.asname or one.name.partition(".")[0]] = one.name
    paths: list[str] = []
    for node in (node for row in rows for node in ast.walk(row.node)):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        for package in names.modules(bound.get(node.value.id, "")):
            folder = package.rpartition("/")[0]
            paths += [path for path in names.home_of(node.attr) if path.startswith(f"{folder}/")]
    return paths


def _homes_of(statement: str | None, names: Names) -> list[str]:
    """Paths of the repository's modules that an import takes something from."""
    if not statement:
        return []
    words = statement.replace(",", " ").split()
    paths: list[str] = []
    if words[0] == "from" and len(words) > 3:
        for name in words[3:]:
            paths += names.modules(f"{words[1]}.{name}")
            paths += names.home_of(name)
    return [*paths, *names.modules(words[1])]


_NAMED = re.compile(r"(?:^test_.*|.*_tests?|^tests?)\.py$")
_FRAME = re.compile(r"[\w~./\\@+-]+\.py\b")
_NEAR = 60
"""Test files, by their text, among which the nearest by import and name is looked for."""


def homes_for_tests(text: str, code: Sequence[str], files: Mapping[str, str]) -> list[str]:
    """Test files that the test may go to, the best first.

    `text`: the issue. `code`: paths of the modules that the example uses or that its traceback
    passes through, the most telling first. `files`: path -> source of the repository.
    """
    tests = {
        path: source
        for path, source in files.items()
        if is_test_file(path)
        and _NAMED.match(PurePosixPath(path).name)
        and "testdata" not in path
        and holds_tests(source)
    }
    if not tests:
        return []
    mentioned = [path for path in tests if path in text]
    by_text = ranked(text, tests)
    stems = {PurePosixPath(path).stem for path in code} - {"__init__", "base", "utils"}
    top = set(by_text[:_NEAR]) | {path for path in tests if _about(path, stems)}
    around = {path: files[path] for path in top}
    near = neighbouring_tests(code[:6], around, hint=text, most=10)
    place = {path: number for number, path in enumerate(by_text)}
    best = sorted(near, key=lambda path: near.index(path) + place[path] / 4)
    return list(dict.fromkeys((*mentioned, *best, *by_text)))


def frame_files(text: str, files: Iterable[str]) -> list[str]:
    """Files of the repository that tracebacks in a text pass through, the innermost first."""
    known = list(files)
    found: list[str] = []
    for match in _FRAME.finditer(text):
        parts = PurePosixPath(match[0].replace("\\", "/")).parts
        for start in range(len(parts) - 1):
            tail = "/".join(parts[start:])
            hits = [path for path in known if path == tail or path.endswith(f"/{tail}")]
            if hits:
                found += [path for path in hits if not is_test_file(path)][:1]
                break
    return list(dict.fromkeys(reversed(found)))


def _about(path: str, stems: set[str]) -> bool:
    return re.sub(r"^tests?_|_tests?$", "", PurePosixPath(path).stem) in stems


# -- style ----------------------------------------------------------------------------------------


_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
_CASES = re.compile(r"^class \w+\((?:unittest\.)?\w*TestCase\)", re.MULTILINE)


def styles_of(source: str) -> list[Style]:
    """The styles to try in this order, as a test file has them: with Django's the plain one, then
    the one with a database."""
    if "from django.test import" in source:
        return [Style(base, "django.test") for base in ("SimpleTestCase", "TestCase")]
    if _CASES.search(source) and not _FUNCTIONS.search(source):
        return [Style("TestCase", "unittest")]
    return [Style()]


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

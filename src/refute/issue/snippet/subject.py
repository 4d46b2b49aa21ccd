"""One issue in its repository: what of both the method works with."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cached_property

from refute.issue.drafting.original import Original
from refute.issue.snippet.completion import Completed, completed
from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.issue_reader import Piece
from refute.issue.snippet.placement import frame_files, homes_for_tests, styles_of
from refute.issue.snippet.rendering import Style, slug
from refute.issue.snippet.script import Script, Statement, scripts
from refute.issue.snippet.shown_errors import ShownError
from refute.issue.snippet.trials import free_path


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

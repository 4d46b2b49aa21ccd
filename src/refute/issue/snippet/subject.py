"""One issue in its repository: what of both the method works with."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from refute.issue.drafting.original import Original
from refute.issue.snippet.completion import (
    Completed,
    Prelude,
    aliases_of,
    completed,
    models_of,
    reduced,
    stub_models,
)
from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.issue_reader import Piece
from refute.issue.snippet.placement import frame_files, home_for_models, homes_for_tests, styles_of
from refute.issue.snippet.rendering import Style, slug
from refute.issue.snippet.script import Script, Statement, scripts
from refute.issue.snippet.shown_errors import ShownError
from refute.issue.snippet.trials import free_path
from refute.syntax import parse_module


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
        models_inside: bool = False,
        in_classes: bool = False,
    ) -> None:
        self.text, self.pieces = text, pieces
        self.title = text.strip().partition("\n")[0]
        self.slug = slug(self.title)
        self.rows = [row for part in rows.values() for row in part]
        """The statements of all pieces."""
        self._by_piece = dict(rows)
        self._models_inside = models_inside
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
    def models_alone(self) -> bool:
        """Whether the issue defines models and asks no database for their rows."""
        asks = re.compile(r"\bobjects\b|\.save\(|\.(?:create|get|filter)\(")
        own = bool(self.prelude.statements) and not self.prelude.folder
        return own and not any(asks.search(r.source) for r in self.rows)

    def with_models_inside(self) -> IssueSubject:
        """The same issue, the definition of its models a part of what is run."""
        rows = self._by_piece
        return IssueSubject(
            self.text, self.pieces, rows, self._original, like=self, models_inside=True
        )

    @property
    def errors(self) -> tuple[ShownError, ...]:
        """The exceptions that the issue shows."""
        return tuple(error for piece in self.pieces for error in piece.errors)

    @cached_property
    def prelude(self) -> Prelude:
        """The models that the issue defines or uses, for the level of the module."""
        return Prelude() if self._models_inside else self._models

    @cached_property
    def _models(self) -> Prelude:
        prelude = models_of(self.rows)
        missing = Script(prelude.statements, ()).missing(prelude.names)
        lost = {name for name in missing if self.names.import_of(name) is None}
        if lost:
            prelude = reduced(prelude, lost)
        missing = Script(tuple(self.rows), ()).missing(prelude.names)
        stubs = stub_models(self.rows, missing)
        names = prelude.names | stubs.keys()
        folder = None
        if stubs and not prelude.names:
            folder = borrowed_from(stubs.keys(), self.rows, self.text, self.files)
        if folder is None:
            return Prelude(prelude.statements, tuple(stubs.values()), names)
        source = f"from .models import {', '.join(stubs)}"
        own = Statement(source, parse_module(source).body[0], 0)
        return Prelude((own,), names=names, folder=folder)

    @cached_property
    def prelude_source(self) -> str:
        """The models with their imports, at the level of a module; "" where there are none."""
        if not self.prelude.names:
            return ""
        wanted = Script(self.prelude.statements, ()).missing(self.prelude.names)
        if self.prelude.stubs:
            wanted |= {"models"}
        imports = [self.names.import_of(name) for name in sorted(wanted)]
        head = "\n".join(line for line in imports if line)
        own = (row.source for row in self.prelude.statements)
        return "\n\n\n".join([head, *own, *self.prelude.stubs])

    @cached_property
    def homes(self) -> list[str]:
        """Test files that the test may go to, the best first."""
        homes = self._by_text if self._like is None else self._like._by_text
        if self._models.folder:
            homes = homes_in(self._models.folder, homes)
        elif self._models.names:
            homes = home_for_models(homes, self._models.names, self.files)
        return homes

    @cached_property
    def _by_text(self) -> list[str]:
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
        home = self.homes[0] if self.homes else ""
        usual = styles_of(self.files, home, bool(self.prelude.names))
        if self._in_classes and not usual[0].base:
            return [Style("TestCase", "unittest")]
        return usual

    def ready(self) -> list[Completed]:
        """The scripts that can be run."""
        more = ("self",) if self.styles[0].base else ()
        made = (completed(one, self.names, self.prelude, more) for one in scripts(self._by_piece))
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


# -- models that an issue takes from the repository's own tests ------------------------------------
# `Author.objects.filter(book__title=...)` without a definition is mostly what a developer wrote
# who has Django's tests open. The application that has all of these models, with the fields that
# the queries name, is where such an example can be run.

_MODELS = re.compile(r"(tests/\w+)/models\.py")
_QUERIES = ("filter", "exclude", "get", "create", "get_or_create", "update", "Q")
_NAMING = ("order_by", "values", "values_list", "only", "defer", "select_related")


def borrowed_from(
    names: Collection[str], rows: Sequence[Statement], text: str, files: Mapping[str, str]
) -> str | None:
    """The folder of tests whose `models` has all the names; None: none has, or none fits.

    A folder that the text names comes first, then the one with most of the words of the example.
    """
    fields = frozenset(field for row in rows for field in _fields(row.node)) - aliases_of(rows)
    words = frozenset(re.findall(r"\w+", "\n".join(row.source for row in rows)))
    tested = {str(PurePosixPath(p).parent) for p in files if re.search(r"/tests?\w*\.py$", p)}
    fitting: list[tuple[bool, int, str]] = []
    for path, source in files.items():
        match = _MODELS.fullmatch(path)
        if match is None or match[1] not in tested:
            continue
        defined = set(re.findall(r"^class (\w+)\(", source, re.MULTILINE))
        known = set(re.findall(r"\w+", source)) | {name.lower() for name in defined}
        if set(names) <= defined and fields <= known:
            fitting.append((f"{match[1]}/" not in text, -len(words & known), match[1]))
    return min(fitting)[2] if fitting else None


def _fields(node: ast.AST) -> Iterator[str]:
    """The fields of models that the queries of a statement name."""
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if name in _QUERIES:
            for keyword in call.keywords:
                field = (keyword.arg or "").partition("__")[0]
                if field not in ("", "pk", "id", "defaults"):
                    yield field
        if name in _NAMING:
            for value in (a.value for a in call.args if isinstance(a, ast.Constant)):
                field = str(value).lstrip("-").partition("__")[0]
                if field.isidentifier() and field not in ("pk", "id"):
                    yield field


def homes_in(folder: str, homes: Sequence[str]) -> list[str]:
    """Of the test files those that lie in the folder itself."""
    return [home for home in homes if str(PurePosixPath(home).parent) == folder]

"""Models that an issue takes from the repository's own tests.

`Author.objects.filter(book__title=...)` without a definition is mostly what a developer wrote who
has Django's tests open. The application that has all of these models, with the fields that the
queries name, is where such an example can be run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from refute.issue.snippet.completion import aliases_of
from refute.issue.snippet.script import Statement

__all__ = ["borrowed_from", "homes_in"]

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

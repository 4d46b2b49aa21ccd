"""How tests look in a repository, and where tests with models of their own can live."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from refute.issue.snippet.rendering import Style

__all__ = ["home_for_models", "styles_of"]

_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
_MODELS = re.compile(r"tests/(\w+)/models(?:\.py|/)")
_CASES = re.compile(r"^class \w+\((?:unittest\.)?\w*TestCase\)", re.MULTILINE)


def styles_of(files: Mapping[str, str], home: str, database: bool) -> list[Style]:
    """The styles to try in this order: the plain one, then the one with a database."""
    source = files.get(home, "")
    if "from django.test import" in source or _is_django(files):
        with_database = Style("TestCase", "django.test")
        return (
            [with_database] if database else [Style("SimpleTestCase", "django.test"), with_database]
        )
    if _CASES.search(source) and not _FUNCTIONS.search(source):
        return [Style("TestCase", "unittest")]
    return [Style()]


def home_for_models(
    homes: Sequence[str], names: Iterable[str], files: Mapping[str, str]
) -> list[str]:
    """Of the test files those in an application whose tables are made from its models.

    That is one with models and without migrations, which has no model of one of the `names`.
    """
    if not _is_django(files):
        return list(homes)
    pattern = re.compile(rf"^class (?:{'|'.join(map(re.escape, names))})\(", re.I | re.MULTILINE)
    migrated = {
        path.split("/")[1] for path in files if "/migrations/" in path and path.startswith("tests/")
    }
    free: dict[str, bool] = {}
    for path, source in files.items():
        match = _MODELS.match(path)
        if match is not None and match[1] not in migrated:
            free[match[1]] = free.get(match[1], True) and pattern.search(source) is None
    return [
        home
        for home in homes
        if (parts := PurePosixPath(home).parts)[:1] == ("tests",)
        and len(parts) == 3
        and free.get(parts[1], False)
    ]


def _is_django(files: Mapping[str, str]) -> bool:
    return "tests/runtests.py" in files and "django/test/testcases.py" in files

"""How tests look in a repository, and where tests with models of their own can live."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from refute.issue.snippet.write import Style

__all__ = ["home_for_models", "styles_of"]

_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
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
    kept = []
    for home in homes:
        parts = PurePosixPath(home).parts
        if len(parts) != 3 or parts[0] != "tests" or parts[1] in migrated:
            continue
        models = [s for p, s in files.items() if re.match(rf"tests/{parts[1]}/models(\.py|/)", p)]
        if models and not any(pattern.search(source) for source in models):
            kept.append(home)
    return kept


def _is_django(files: Mapping[str, str]) -> bool:
    return "tests/runtests.py" in files and "django/test/testcases.py" in files

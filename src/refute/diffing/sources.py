"""Which files of a repository hold code that is compared, which hold tests, which tell of changes.

Judged by the path alone.
"""

from __future__ import annotations

import re

from refute.function.project_tests import TEST_FILE

__all__ = ["is_changelog", "is_source", "is_test"]

_CHANGELOG = re.compile(r"(?i)(change(s|log|_?notes)?|history|news|release[-_ ]?notes|whats?new)\b")
_FRAGMENTS = frozenset({"newsfragments", "changelog.d", "changes", "changelog", "news", "whatsnew"})
_PROSE = (".md", ".rst", ".txt")


def is_test(path: str) -> bool:
    """Whether a Python file holds tests or what they share."""
    *folders, name = path.split("/")
    if not name.endswith(".py"):
        return False
    if TEST_FILE.fullmatch(name) or name == "conftest.py":
        return True
    return not {"test", "tests"}.isdisjoint(folders)


def is_source(path: str) -> bool:
    """Whether a Python file holds code of the project: no test, no script that builds it or its
    documents."""
    *folders, name = path.split("/")
    if not name.endswith(".py") or is_test(path) or name in ("setup.py", "noxfile.py"):
        return False
    if name == "conf.py" and not {"doc", "docs"}.isdisjoint(folders):
        return False
    return not any(part.startswith(".") for part in folders)


def is_changelog(path: str) -> bool:
    """Whether a file tells users what changed."""
    *folders, name = path.lower().split("/")
    if not name.endswith(".py") and not _FRAGMENTS.isdisjoint(folders):
        return True
    return bool(_CHANGELOG.match(name)) and ("." not in name or name.endswith(_PROSE))

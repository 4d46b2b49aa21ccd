"""The test files of a project: what they are called, and where they lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 2000
MOST_BYTES = 1 << 20
TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?)\.py")
"""Names that pytest, unittest and Django take for tests."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "build", "dist", "venv", "env", "__pycache__", "fixtures"}
)


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

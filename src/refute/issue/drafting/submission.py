"""What a method leaves or answers, as a prediction: the tests of it, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from refute.issue.patches import (
    FilePatch,
    file_patches,
    is_runner_file,
    is_test_file,
    split_tests,
)
from refute.problems import IssuePrediction

__all__ = ["only_tests", "submission"]

_TESTS = re.compile(r"test_.|tests\.|.*_tests?\.", re.IGNORECASE)
"""Names of files that hold tests, as runners look for them; a `test.py` may be anything."""
_MODE = re.compile(
    r"^(?:(?:old|new) mode|(?:new|deleted) file mode (?!100644)|index \S+ (?!100644))", re.MULTILINE
)
"""A header of a diff about anything but a plain file that stays one."""


def submission(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that touches test files, with a note of what is left out.

    An agent may leave scripts behind, or a fix of the code: with a fix applied before, a test that
    reproduces the issue would pass on the "original" code. Binary files are no tests.
    """
    tests, others = split_tests(diff)
    parts = file_patches(tests)
    patch = "".join(part.text for part in parts if not part.binary)
    dropped = [part.path for part in (*file_patches(others), *(p for p in parts if p.binary))]
    notes = [remark for remark in remarks if remark]
    if dropped:
        more = f" and {len(dropped) - 3} more" if len(dropped) > 3 else ""
        notes.append(f"left out, no tests: {', '.join(dropped[:3])}{more}")
    if not patch:
        notes.append("no test file was changed")
    return IssuePrediction(id, patch, notes=tuple(notes))


def only_tests(prediction: IssuePrediction) -> IssuePrediction:
    """A prediction as it may be written to a user's checkout: new test files, and tests added to or
    changed in those that are there.

    "test" in a path says little: `.github/workflows/test.yml`, a `conftest.py`, a package's own
    `testing/`. Nothing is deleted, renamed, linked or made executable.
    """
    parts = file_patches(prediction.patch)
    kept = [part for part in parts if _may_be_written(part)]
    if len(kept) == len(parts) and parts:
        return prediction
    dropped = [part.path for part in parts if part not in kept] or ["what is no diff"]
    more = f" and {len(dropped) - 3} more" if len(dropped) > 3 else ""
    note = f"left out, no tests: {', '.join(dropped[:3])}{more}"
    notes = prediction.notes if not prediction.patch.strip() else (*prediction.notes, note)
    return replace(prediction, patch="".join(part.text for part in kept), notes=notes)


def _may_be_written(part: FilePatch) -> bool:
    path = PurePosixPath(part.path)
    hidden = any(name.startswith(".") for name in path.parts)
    if part.new is None or part.old not in (None, part.new) or part.binary or hidden:
        return False
    path_is_tests = _TESTS.match(path.name) is not None or "tests" in path.parts[:-1]
    if path.suffix != ".py" or not is_test_file(part.path) or is_runner_file(part.path):
        return False
    return _MODE.search(part.text.partition("\n@@ ")[0]) is None and (path_is_tests or not part.old)

"""What a method leaves or answers, as a prediction: the tests of it, or the fix, and no more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from refute.core.problems import IssuePrediction
from refute.core.remarks import few
from refute.workspace.patches import (
    FilePatch,
    file_patches,
    is_runner_file,
    is_test_file,
    split_fix,
    split_tests,
)

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
    return _prediction(id, tests, others, remarks, "no tests", "no test file was changed")


def fix_submission(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that changes code, with a note of what is left out.

    A fix that changes a test, a `conftest.py` or how tests are run has fixed nothing by that, and
    its tests are not asked for. Binary files are no code. What a fix makes at the top of the
    repository beside what is there is kept: nothing tells a script from a module.
    """
    tests, code = split_fix(diff)
    return _prediction(id, code, tests, remarks, "no code", "no code was changed")


def _prediction(
    id: str, diff: str, others: str, remarks: Sequence[str], what: str, nothing: str
) -> IssuePrediction:
    """The text files of `diff`; of the rest it is said that it is left out, being `what`."""
    parts = file_patches(diff)
    patch = "".join(part.text for part in parts if not part.binary)
    dropped = [part.path for part in (*file_patches(others), *(p for p in parts if p.binary))]
    notes = [remark for remark in remarks if remark]
    if dropped:
        notes.append(_left_out(dropped, what))
    if not patch:
        notes.append(nothing)
    return IssuePrediction(id, patch, notes=tuple(notes))


def _left_out(paths: Sequence[str], what: str) -> str:
    return f"left out, {what}: {few(paths)}"


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
    note = _left_out(dropped, "no tests")
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

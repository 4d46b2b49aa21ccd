"""Runs on variants of the new code, which tests that check something must tell from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from refute.errors import PatchRejected
from refute.function.source import decoded, encoded
from refute.gating.change import Change
from refute.gating.knockout import ANSWERS, Branch, silenced, without_branch
from refute.gating.running import Standing
from refute.workspace.applying import applied
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.patches import is_test_file, touched_files
from refute.workspace.statuses import statuses

__all__ = ["passing_on_anything", "resting_on", "resting_on_runner"]

_MOST_MODULES = 400


def passing_on_anything(
    change: Change, workspace: Workspace, tests: Sequence[Standing], timeout: float
) -> tuple[str, ...]:
    """Ids of tests that pass on the new code whatever its functions return: all of them, in every
    module of the repository that is no test."""
    left = list(tests)
    for answer in ANSWERS:
        if not left:
            return ()
        variant = {
            path: silenced(source, answer) for path, source in _modules(change, workspace).items()
        }
        now = statuses(_with(change, workspace, variant, left, timeout))
        left = [one for one in left if now.of(one.id, one.file) == "pass"]
    return tuple(one.id for one in left)


def resting_on(
    change: Change, workspace: Workspace, branch: Branch, turned: Sequence[Standing], timeout: float
) -> tuple[str, ...]:
    """Ids of tests that fail again where a branch of the new code is never taken."""
    source = change.after.get(branch.path)
    if source is None:
        return ()
    variant = {branch.path: without_branch(source, branch)}
    now = statuses(_with(change, workspace, variant, turned, timeout))
    return tuple(one.id for one in turned if now.of(one.id, one.file) == "fail")


def resting_on_runner(
    change: Change, workspace: Workspace, turned: Sequence[Standing], timeout: float
) -> tuple[str, ...]:
    """Ids of tests that do not pass where what decides how tests run is as it was."""
    patches = (change.tests, change.code)
    try:
        with applied(workspace, *filter(str.strip, patches)):
            now = statuses(workspace.run_tests(_selection(turned), timeout=timeout))
    except PatchRejected:
        return ()
    return tuple(one.id for one in turned if now.of(one.id, one.file) != "pass")


def _with(
    change: Change, workspace: Workspace, files: Mapping[str, str], tests: Iterable[Standing],
    timeout: float,
) -> TestReport:  # fmt: skip
    """The tests on the new code with other files in it."""
    with applied(workspace, change.patch):
        for path, text in files.items():
            workspace.write(path, encoded(text))
        return workspace.run_tests(_selection(tests), timeout=timeout)


def _modules(change: Change, workspace: Workspace) -> dict[str, str]:
    """The repository's own code; of a very large one, what the change touches."""
    with applied(workspace, change.patch):
        paths = [p for p in workspace.files() if p.endswith(".py") and not is_test_file(p)]
        paths = [
            path for path in paths if path.rpartition("/")[2] not in ("conftest.py", "setup.py")
        ]
        if len(paths) > _MOST_MODULES:
            paths = sorted({*touched_files(change.code)}.intersection(paths))
        found = {}
        for path in paths:
            with suppress(SyntaxError, UnicodeError, LookupError):  # no program can import it
                found[path] = decoded(workspace.read(path))[0]
        return found


def _selection(tests: Iterable[Standing]) -> TestSelection:
    chosen = list(tests)
    files = tuple(dict.fromkeys(one.file for one in chosen if one.file))
    return TestSelection(files, tuple(one.id for one in chosen))

"""Patches applied for a while, and the tests that run with them; afterwards back to the commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from refute.errors import PatchRejected
from refute.workspace.contract import TestReport, TestSelection, Workspace
from refute.workspace.statuses import NO_TESTS

_TESTS = re.compile(r"^\s*(?:async\s+)?def\s+test|^\s*class\s+\w*.*[Tt]est", re.MULTILINE)


@contextmanager
def applied(workspace: Workspace, *patches: str) -> Iterator[Workspace]:
    """The workspace with the patches applied to the commit, one after another, blank ones left out;
    at the commit again afterwards. Raises `PatchRejected` where one does not apply."""
    workspace.reset()
    try:
        for patch in filter(str.strip, patches):
            workspace.apply(patch)
        yield workspace
    finally:
        workspace.reset()


def rejection(workspace: Workspace, *patches: str) -> str:
    """Why the patches do not apply, one after another; "" where they do."""
    if not all(map(str.strip, patches)):
        return "the patch is empty"
    try:
        with applied(workspace, *patches):
            return ""
    except PatchRejected as error:
        return str(error)


def run_on(
    workspace: Workspace,
    patches: Sequence[str],
    selection: TestSelection,
    *,
    timeout: float,
    count_lines: Mapping[str, Sequence[int]] | None = None,
    prepare: Callable[[Workspace], object] | None = None,
    after: Callable[[Workspace], object] | None = None,
) -> TestReport:
    """Run the selected tests on the commit with the patches: of the files those that are there and
    hold tests; none is `NO_TESTS`.

    `prepare`: changes the tree before the run. `after`: reads the tree after it. `timeout`:
    seconds. Raises `PatchRejected`, `WorkspaceUnavailable`. The workspace is clean afterwards.
    """
    with applied(workspace, *patches):
        if prepare is not None:
            prepare(workspace)
        there = files_with_tests(workspace, selection.files)
        tests = tuple(i for i in selection.tests if "::" not in i or i.split("::")[0] in there)
        if (selection.files and not there) or (selection.tests and not tests):
            return NO_TESTS
        chosen = TestSelection(there, tests)
        report = workspace.run_tests(chosen, count_lines=count_lines, timeout=timeout)
        if after is not None:
            after(workspace)
        return report


def holds_tests(source: str) -> bool:
    """Whether a file defines a test function or a class of tests (helpers and data do not)."""
    return _TESTS.search(source) is not None


def files_with_tests(workspace: Workspace, files: Iterable[str]) -> tuple[str, ...]:
    """Those of the files that hold tests as they are in the workspace now."""
    return tuple(path for path in files if _runnable(workspace, path))


def _runnable(workspace: Workspace, path: str) -> bool:
    try:
        return holds_tests(workspace.read(path).decode("utf-8", "replace"))
    except OSError:
        return False

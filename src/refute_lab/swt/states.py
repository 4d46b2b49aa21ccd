"""The states of a repository that grading runs: original and fixed code, each with some tests.

States without predicted tests (base and golden) are kept by content: repository and commit, the
patches, the files that are run, the lines that are counted, the environment, the mode, and the
sources of the probe. So a second prediction for the same test files runs two states, and nothing
goes stale when a patch changes.
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from refute.core.problems import IssueProblem
from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import TestReport, TestResult, TestSelection, Workspace
from refute.workspace.running import NO_TESTS, ReportCache, files_with_tests

_FORMAT = 1
_AT_ONCE = 200
_ALIKE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class PatchedState:
    """Patches on the base commit, and the tests that are then run."""

    fix: str = ""
    """The golden patch, or "" for the original code."""
    tests: str = ""
    """The patch with tests, or ""; applied after the fix."""
    files: tuple[str, ...] = ()
    """Test files to run, those of them that are there and hold tests."""
    counted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    touched: tuple[str, ...] = ()
    """What the fix changes, here or in the state that this one is compared with."""
    script: str | None = None
    """Run this script instead of tests: its exit status decides."""
    import_only: bool = False
    """Import the files, with what their runner loads for them, and run no test."""
    kept: bool = True
    """Base and golden states: the report is looked up in the store and kept there, and a patch
    that does not apply is a fault of the data, not of a prediction."""


def state_reports(directory: Path | None, problem: IssueProblem, backend: str) -> ReportCache:
    """Reports of states of one instance, each under its `PatchedState`."""
    recipe = None if problem.recipe is None else asdict(problem.recipe)
    instance = [problem.repo, problem.base_commit, recipe, backend]
    return ReportCache(directory, _FORMAT, _probe_version(), *instance)


def run_lane(
    states: Sequence[PatchedState],
    spawn: Callable[[], Workspace],
    store: ReportCache,
    *,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> list[TestReport]:
    """The reports of the states, run one after another in one workspace (none where all are known),
    those that are kept first.

    `slot` is held while tests run. Raises `PatchRejected` when predicted tests do not apply, and
    `WorkspaceUnavailable`.
    """
    reports: dict[int, TestReport] = {}
    workspace: Workspace | None = None
    # what is kept runs before any predicted test has run in there
    order = sorted(range(len(states)), key=lambda number: not states[number].kept)
    with ExitStack() as stack:
        for number in order:
            state = states[number]
            report = NO_TESTS if not state.files and state.script is None else None
            if report is None and state.kept:
                report = store.get(asdict(state))
            if report is None:
                with slot or nullcontext():
                    if workspace is None:
                        workspace = stack.enter_context(spawn())
                    else:
                        workspace.reset()
                    report = run_state(workspace, state, timeout=timeout)
                if state.kept and report.status == "finished":
                    store.put(report, asdict(state))
            reports[number] = report
    return [reports[number] for number in range(len(states))]


def run_state(workspace: Workspace, state: PatchedState, *, timeout: float) -> TestReport:
    """Apply the state's patches to a clean workspace and run what it says.

    Raises `PatchRejected` for predicted tests; a golden patch that does not apply is
    `WorkspaceUnavailable`.
    """
    if state.fix:
        _apply_golden(workspace, state.fix, "patch")
    _make_alike(workspace, state.touched)
    if state.tests and state.kept:
        _apply_golden(workspace, state.tests, "tests")
    elif state.tests:
        workspace.apply(state.tests)
    if state.script is not None:
        return _run_script(workspace, state.script, timeout)
    files = files_with_tests(workspace, state.files)
    if not files and state.import_only and state.files:
        # what a runner loads for a folder (conftest.py, Django's settings) it loads for this one
        files = state.files[:1]
        workspace.write(files[0], b"")
    if not files:
        return NO_TESTS
    selection = TestSelection(files, import_only=state.import_only)
    return workspace.run_tests(selection, count_lines=state.counted, timeout=timeout)


_NOISE = 200
_ALIKE = """rm -rf .git
number={noise}
while [ $number -gt 0 ]; do (:); : > ".refute~$number"; number=$((number - 1)); done
rm -f .refute~*
for path do
  folder=$(dirname "$path"); name=${path##*/}
  rm -f "$folder/__pycache__/${name%.py}".*.pyc "${path}c"
  while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
  : > "$folder/.refute~" && rm "$folder/.refute~"
  if [ -L "$path" ]; then
    target=$(readlink "$path"); rm "$path"; ln -s "$target" "$path"
  elif [ -f "$path" ]; then
    cp -p "$path" "$path.refute~" && touch "$path.refute~" && mv -f "$path.refute~" "$path"
  fi
done"""


def _make_alike(workspace: Workspace, touched: Sequence[str]) -> None:
    """Leave a test no way to see that something was changed without reading what: no git to ask,
    and the files that the fix changes as new on the original code as on the fixed. Numbers of
    processes and inodes, which count what was done before, are no more than chance."""
    for start in range(0, max(1, len(touched)), _AT_ONCE):
        paths = [shlex.quote(f"./{path}") for path in touched[start : start + _AT_ONCE]]
        script = _ALIKE.replace("{noise}", str(secrets.randbelow(_NOISE)))
        command = f"set -- {' '.join(paths)}\n{script}"
        ran = workspace.run(command, timeout=_ALIKE_SECONDS)
        if ran.status:
            raise WorkspaceUnavailable(f"the tree cannot be made ready: {ran.output[-300:]}")


def _apply_golden(workspace: Workspace, patch: str, what: str) -> None:
    try:
        workspace.apply(patch)
    except PatchRejected as error:
        raise WorkspaceUnavailable(f"the golden {what} cannot be applied: {error}") from None


def _run_script(workspace: Workspace, script: str, timeout: float) -> TestReport:
    """The reference's second mode: exit status 0 passes, any other fails."""
    ran = workspace.run(f"python {shlex.quote(script)}", timeout=timeout)
    outcome: Any = "passed" if ran.status == 0 else "failed"
    result = TestResult(id=script, file=script, outcome=outcome, seconds=ran.seconds)
    return TestReport(
        results=() if ran.timed_out else (result,),
        status="timeout" if ran.timed_out else "finished",
        seconds=ran.seconds,
        output=ran.output,
    )


@cache
def _probe_version() -> str:
    """A digest of the code that counts and reports: its results are kept for as long as it is."""
    import refute.probe

    digest = hashlib.sha256()
    for folder in sorted(refute.probe.__path__):
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

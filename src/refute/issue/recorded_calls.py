"""Calls that a project's own tests make, recorded in a workspace: inputs to compare fixes on.

Objects that only the tests of a project know how to build reach a function there, and are written
down as source (`refute.recording`). What comes back is text, read by `refute.recording.reading`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from refute import recording
from refute.core.methods import Bounds
from refute.errors import InputError, PatchRejected
from refute.issue.context.neighbours import neighbouring_tests
from refute.issue.drafting.original import Original
from refute.recording.reading import read_recording
from refute.workspace.contract import Workspace
from refute.workspace.patches import test_files, touched_files
from refute.workspace.running import applied, files_with_tests

MOST_FILES = 3
"""Test files that are run for their calls."""
SECONDS = 60.0
_SOURCES = ".refute/sources"
_FILE = ".refute/recorded.jsonl"


def record_calls(code: str, tests: str, workspace: Workspace, bounds: Bounds, target: Path) -> str:
    """Write the calls that tests near a change make to `target`; "" or why there are none.

    `code`: the change, a unified diff, which says what is near and is not applied: another fix has
    the same neighbours, and the same calls. `tests`: a test patch, whose tests run as well.
    Raises `WorkspaceUnavailable`. The workspace is clean afterwards.
    """
    sources = Original(workspace, bounds).sources()
    near = neighbouring_tests(touched_files(code), sources, hint=code, most=MOST_FILES)
    try:
        with applied(workspace, tests):
            files = files_with_tests(workspace, (*test_files(tests), *near))
            return _recorded(workspace, files, target) if files else "no tests are near"
    except PatchRejected as error:
        return f"the tests do not apply: {error}"


def _recorded(workspace: Workspace, files: Sequence[str], target: Path) -> str:
    folder = Path(recording.__file__).parent
    workspace.write(f"{_SOURCES}/refute/__init__.py", b"")
    for path in folder.glob("*.py"):
        if path.name != "reading.py":
            workspace.write(f"{_SOURCES}/refute/recording/{path.name}", path.read_bytes())
    names = " ".join(shlex.quote(f"./{name}") for name in dict.fromkeys(files))
    # an older refute that is installed there has its plugin under the name `refute`
    command = (
        f'PYTHONPATH="$PWD/{_SOURCES}:$PYTHONPATH" timeout -s INT {SECONDS:.0f} '
        f"python -m pytest -q -p no:refute -p refute.recording.plugin "
        f'--continue-on-collection-errors --refute-record="$PWD/{_FILE}" {names}'
    )
    done = workspace.run(command, timeout=2 * SECONDS)  # ended by Ctrl-C, it writes what it has
    try:
        target.write_bytes(workspace.read(_FILE))
        return "" if read_recording(target).calls else "the tests make no calls that have a source"
    except (OSError, InputError):
        told = [line.strip() for line in done.output.splitlines() if line.strip()]
        return "over the time" if done.timed_out else (told or ["it printed nothing"])[-1][:200]

"""Calls that were watched while tests ran, made again: where no test runs, and in a test that sets
nothing up. What comes back is text, which is compared and never believed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from refute.issue.observed_calls import SOURCES, Call, rows_of, write_sources
from refute.workspace.contract import TestSelection, Workspace
from refute.workspace.patches import is_runner_file, is_test_file
from refute.workspace.running import applied

Rows = list[list[dict[str, Any]]]
"""For each call what `refute.recording.replaying` wrote down of it."""
_PLAN, _REPLAYED, _TESTS = ".refute/plan.json", ".refute/replayed.jsonl", ".refute/tests"
_OUTSIDE = (
    "xargs -0 rm -f -- < {tests}; find . -depth -type d -empty -delete; "
    'root="$PWD"; cd "$(mktemp -d)" && env -i PATH="$PATH" HOME="$PWD" TMPDIR="$TMPDIR" '
    "PYTHONHASHSEED=0 python -c 'import sys; sys.path.insert(0, sys.argv[1]); "
    "from refute.recording.replaying import main; main(*sys.argv[2:])' "
    '"$root/{sources}" "$root/{plan}" "$root/{target}"'
)
_CONTROL = """def {name}(*given):
    if given:
        return given[0](*given[1], **given[2])
    __import__("sys").path.insert(0, {sources!r})
    from refute.recording.replaying import here
    here({plan!r}, {target!r}, {name})
"""


def replay_outside(
    workspace: Workspace, patches: Sequence[str], calls: Sequence[Call], timeout: float
) -> Rows:
    """In a fresh process, from another folder, without tests and environment; a row for each
    kind of `sys.argv`. Raises `PatchRejected`."""
    with applied(workspace, *patches):
        tests = [path for path in workspace.files() if is_test_file(path) or is_runner_file(path)]
        _write_plan(workspace, calls)
        workspace.write(_TESTS, "\0".join(tests).encode("utf-8", "surrogateescape"))
        command = _OUTSIDE.format(tests=_TESTS, sources=SOURCES, plan=_PLAN, target=_REPLAYED)
        workspace.run(command, timeout=timeout)
        return _by_place(workspace, len(calls))


def replay_in_test(
    workspace: Workspace, patches: Sequence[str], file: str, calls: Sequence[Call], timeout: float
) -> Rows:
    """In a test of the name and the file of the one that made them. Raises `PatchRejected`."""
    root = workspace.root
    text = _CONTROL.format(
        name=calls[0].test.partition("[")[0], sources=f"{root}/{SOURCES}",
        plan=f"{root}/{_PLAN}", target=f"{root}/{_REPLAYED}",
    )  # fmt: skip
    with applied(workspace, *patches):
        _write_plan(workspace, calls)
        workspace.write(file, text.encode())
        workspace.run_tests(TestSelection((file,)), timeout=timeout)
        return _by_place(workspace, len(calls))


def _write_plan(workspace: Workspace, calls: Sequence[Call]) -> None:
    write_sources(workspace)
    plan = {"calls": [call.again for call in calls], "paths": calls[0].paths, "beside": True}
    workspace.write(_PLAN, json.dumps(plan).encode())


def _by_place(workspace: Workspace, count: int) -> Rows:
    found: Rows = [[] for _ in range(count)]
    for row in rows_of(workspace, _REPLAYED):
        place = row.get("place")
        if isinstance(place, int) and 0 <= place < count:
            found[place].append(row)
    return found

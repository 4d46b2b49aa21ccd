"""One warm process for many runs of a project's tests: `inside.py` in a workspace.

What it writes down comes back as lines of text, and is read as data.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from refute.core.files import parse_json
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import TestSelection, Workspace

_FOLDER = ".refute-inside"
_RESULTS = f"{_FOLDER}/results.jsonl"
_HERE = Path(__file__).parent
_FILES = {
    "refute_inside.py": _HERE / "inside.py",
    "refute_comparing.py": _HERE / "inside_comparing.py",
    "sources/refute/recording/outlining.py": _HERE.parent / "recording" / "outlining.py",
}
_AFTER = 30.0
"""Seconds for starting pytest and for collecting, besides those that the job allows."""


def run_inside(
    workspace: Workspace,
    operands: Collection[str],
    job: Mapping[str, Any],
    seconds: float,
    env: Mapping[str, str] | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """The records of one run of `inside.py`, and what it printed.

    `env`: variables besides. A project's own options of pytest are left out at first (they may
    count coverage or start workers), and kept where nothing is collected without them. Raises
    `WorkspaceUnavailable` where pytest does not start.
    """
    output = ""
    for name, file in _FILES.items():
        workspace.write(f"{_FOLDER}/{name}", file.read_bytes())
    workspace.write(f"{_FOLDER}/job.json", json.dumps(job).encode())
    for options in ("-o addopts=", ""):
        workspace.write(_RESULTS, b"")  # those of an earlier run are not this one's
        words = [
            "PYTHONDONTWRITEBYTECODE=1",  # of a text of the same size and second it would be stale
            f'PYTHONPATH="$PWD/{_FOLDER}${{PYTHONPATH:+:$PYTHONPATH}}"',
            "exec python -m pytest -p refute_inside -q --color=no",
            "--continue-on-collection-errors",
            '-o cache_dir="$TMPDIR/pytest-cache"',
            options,
            *map(shlex.quote, operands),
        ]
        done = workspace.run(" ".join(words), timeout=seconds + _AFTER, env=env)
        output = done.output
        records = list(_read(workspace))
        if any(record.get("collected") for record in records):
            return records, output
    if not records:  # not even none collected: says why, in the words of every verb
        workspace.run_tests(TestSelection(tuple(operands)), timeout=seconds)
        raise WorkspaceUnavailable(f"pytest does not run here: {reason_of(output)}")
    return [], output


def _read(workspace: Workspace) -> Iterator[dict[str, Any]]:
    try:
        lines = workspace.read(_RESULTS).splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise WorkspaceUnavailable(f"the results cannot be read: {error}") from None
    for line in lines:
        try:
            record = parse_json(line)
        except ValueError:  # torn: who wrote it was ended
            continue
        if isinstance(record, dict):
            yield record


def reason_of(output: str) -> str:
    """What pytest says in a line of why it does not run."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error:" in line.lower()]
    return (telling or lines or ["pytest printed nothing"])[-1][:200]

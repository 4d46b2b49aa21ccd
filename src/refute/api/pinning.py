"""Where the tests go that pin a side of a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refute.api.diffing import DiffResult
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.diffing.pinning import put_into_project, together
from refute.errors import InputError


def check_output(output: Path | None, pin: str | None, *, force: bool) -> None:
    """Raise `InputError` where the tests could not be written, before any work."""
    if output is None:
        return
    if pin is None:
        raise InputError(f"{output}: say with --pin which side the tests are to call right")
    if output.is_dir() or output.suffix != ".py":
        raise InputError(f"{output}: name a file, test_x.py")
    if not output.parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.parent}")
    if output.exists() and not force:
        raise InputError(f"{output}: exists; add --force to replace it")


def write_pinned(
    result: DiffResult, pin: Any, output: Path | None, *, hypothesis: bool = False
) -> list[Path]:
    """Write a test for each difference into `output`, or among the project's own tests.

    `pin`: see `DiffResult.tests`. Returns the files written.
    """
    tests = result.tests(pin, hypothesis=hypothesis, placed=output is None)
    left = len(result.differences) - len(tests)
    if left:
        remark([f"{left} of {len(result.differences)} differences are not written as tests"])
    if not tests:
        return []
    files = put_into_project(tests) if output is None else {output: together(tests)}
    for path, text in files.items():
        write_output(path, text, folders=True)
    remark(f"tests written to {path}" for path in files)
    return list(files)

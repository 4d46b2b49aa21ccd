"""What verbs are pointed at: a module with the tests given with it, issues of a data set."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from refute.cli.output import consoles, remark

if TYPE_CHECKING:
    from refute.datasets.swe import IssueItem
    from refute.function.target import Module
    from refute.function.verbs import Given

__all__ = ["given_tests", "issue_items", "share_read"]


def given_tests(module: Module, path: Path | None, *, quiet: bool = False) -> Given:
    """The given tests; what was left out of the file or of the module is said on stderr.

    `quiet`: it is not, for one of many modules.
    """
    from refute.function.verbs import read_given

    given = read_given(module, path)
    if not quiet:
        remark(consoles()[1], (*(f"skipped {line}" for line in module.skipped), *given.skipped))
    return given


def share_read(path: Path | None, given: Collection[Given]) -> float | None:
    """Which part of the tests in the file that concern the functions was read; said on stderr.

    None without a file, or where no test is theirs.
    """
    found = {place for one in given for place in one.found}
    read = {place for one in given for place in one.read}
    if path is None or not found:
        return None
    share = len(read) / len(found)
    line = f"{path}: {len(read)} of {len(found)} tests of what is looked at read ({share:.0%})"
    remark(consoles()[1], [line])
    return round(share, 4)


def issue_items(
    dataset: str, data: Path | None, ids: Collection[str] | None, limit: int | None
) -> list[IssueItem]:
    """The issues of a data set. Raises `InputError`."""
    from refute.datasets.swe import load_issues
    from refute.errors import InputError

    items = load_issues(dataset, data=data, ids=ids, limit=limit)
    if not items:
        raise InputError(f"{dataset}: no instance is left")
    return items

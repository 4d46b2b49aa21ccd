"""What verbs are pointed at: a module with the tests given with it, issues of a data set."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from refute.cli.output import consoles, remark

if TYPE_CHECKING:
    from refute.datasets.swe import IssueItem
    from refute.function.target import Module
    from refute.problems import UnitTest

__all__ = ["given_tests", "issue_items"]


def given_tests(
    module: Module, path: Path | None, *, quiet: bool = False
) -> dict[str, tuple[UnitTest, ...]]:
    """The given tests; what was left out of the file or of the module is said on stderr.

    `quiet`: it is not, for one of many modules.
    """
    from refute.function.verbs import read_given

    given, skipped = read_given(module, path)
    if not quiet:
        remark(consoles()[1], (*(f"skipped {line}" for line in module.skipped), *skipped))
    return given


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

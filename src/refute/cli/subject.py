"""What verbs are pointed at: issues of a data set."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refute.datasets.swe import IssueItem

__all__ = ["issue_items"]


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

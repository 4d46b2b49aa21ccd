"""What a verb is, and what several share: texts as files, and where may be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from refute.models.asking import Asked
    from refute.verbs.calling import Shown

MOST = 40
"""Functions, or what was left out, that a result lists: a model reads all of it."""
LONGEST = 2000
"""Characters of a call, a value or a failure."""
Row = TypeVar("Row")

Tell = Callable[[str], None]
"""Is told in a line how far the work is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call."""

    result: Any
    """Of the verb's result type."""
    shown: Shown | None = None
    """What the API returned: its document, and its text for people."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, its types, and what runs it: (arguments, who is asked, whom to tell) -> answer."""

    arguments: type[Any]
    result: type[Any]
    run: Callable[[Any, Asked, Tell], Answer]


def first(rows: Iterable[Row], matters: Callable[[Row], bool]) -> list[Row]:
    """No more than `MOST`, those that matter before the others."""
    return sorted(rows, key=lambda row: not matters(row))[:MOST]


def clipped(text: str) -> str:
    """A text without its middle, where it is very long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"

"""What a verb is, and what several share: texts as files, and where may be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from refute.errors import InputError

if TYPE_CHECKING:
    from refute.api.calling import Shown
    from refute.models.asking import Asked

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


def text_file(folder: Path, name: str, text: str) -> Path:
    """A text that was handed over, as the file that the API reads."""
    place = folder / name
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return place


def inside(path: Path | str) -> Path:
    """A path that may be written to: below the folder that the server works in."""
    place = Path(path)
    if not place.resolve().is_relative_to(Path.cwd().resolve()):
        raise InputError(f"{path}: lies outside of {Path.cwd()}; only what is in it is written")
    return place


def first(rows: Iterable[Row], matters: Callable[[Row], bool]) -> list[Row]:
    """No more than `MOST`, those that matter before the others."""
    return sorted(rows, key=lambda row: not matters(row))[:MOST]


def clipped(text: str) -> str:
    """A text without its middle, where it is very long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"

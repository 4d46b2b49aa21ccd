"""A window of lines over a file, as a model sees it, and replacing lines in a file's text."""

from __future__ import annotations

from refute.issue.edits.tree import line_end
from refute.issue.patches import split_lines

__all__ = ["WINDOW", "around", "replaced", "shown"]

WINDOW = 100
"""Lines (SWE-agent, section 3)."""
LONGEST_LINE = 1000
"""Characters of a line that are shown; longer ones are data."""


def around(line: int, total: int) -> int:
    """First line of the window that has `line` in its middle, for a file of `total` lines."""
    return max(1, min(line - WINDOW // 2, total - WINDOW + 1))


def shown(path: str, text: str, first: int, size: int = WINDOW) -> str:
    """Lines `first` and following with their numbers, and how many there are before and after."""
    lines = split_lines(text)
    last = min(first + size - 1, len(lines))
    parts = [f"[{path}: {len(lines)} lines]"]
    if first > 1:
        parts.append(f"({first - 1} more lines above)")
    for number in range(first, last + 1):
        parts.append(f"{number}:{_line(lines[number - 1])}")
    if last < len(lines):
        parts.append(f"({len(lines) - last} more lines below)")
    return "\n".join(parts)


def replaced(text: str, start: int, end: int, new: str) -> str:
    """The text with lines `start` to `end` (1-based, both included) replaced by the lines of `new`.

    `end` = `start` - 1 inserts before `start`. New lines end as most lines of the file do. Raises
    `ValueError` for lines that are not there.
    """
    lines = split_lines(text)
    if not lines and start == 1:
        end = 0  # line 1 of an empty file
    if not 1 <= start <= len(lines) + 1:
        raise ValueError(f"there is no line {start}: the file has {len(lines)}")
    if not start - 1 <= end <= len(lines):
        raise ValueError(f"lines {start} to {end} are no range of the file's {len(lines)} lines")
    eol = line_end(text)
    put = [line + eol for line in new.removesuffix("\n").split("\n")] if new else []
    if put and start > 1 and not lines[start - 2].endswith("\n"):
        lines[start - 2] += eol
    return "".join([*lines[: start - 1], *put, *lines[end:]])


def _line(line: str) -> str:
    line = line.rstrip("\r\n")
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}[...]"

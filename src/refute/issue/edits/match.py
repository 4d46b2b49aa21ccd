"""Where lines that a model quotes stand in a file, though it quotes them badly.

The steps, strictest first; a step is only taken when no earlier one finds a place, and within a
step the place nearest to the line number that the model gave wins:

1. the lines are there exactly;
2. but for white space at their ends;
3. but for indentation and the amount of white space inside;
4. but for blank lines that were left out or put in;
5. similar: every line at least `LINE_LIKENESS` alike and the whole at least `LIKENESS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

LIKENESS = 0.9
"""Mean similarity of the lines (difflib's ratio) from which a place is taken."""
LINE_LIKENESS = 0.6
LARGEST_FUZZY = 2_000_000
"""Lines of the file times lines quoted: above it, similarity is not tried."""


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """Where quoted lines stand."""

    lines: tuple[int | None, ...]
    """For each quoted line the 0-based number of the line that it is; None: a blank line that the
    file does not have there."""
    step: int

    @property
    def start(self) -> int:
        """The first line."""
        return next(n for n in self.lines if n is not None)

    @property
    def stop(self) -> int:
        """The line after the last."""
        return next(n for n in reversed(self.lines) if n is not None) + 1


def locate(
    file: Sequence[str],
    quoted: Sequence[str],
    near: int | None = None,
    *,
    similar: bool = True,
) -> QuotedPlace | None:
    """The place of `quoted` in `file` (lines without their ends), None where there is none.

    `near`: 0-based line number at which it is expected; None: the first place is taken. `similar`:
    whether to take step 5. Quoted lines that are all blank have no place.
    """
    if not any(line.strip() for line in quoted) or len(quoted) > 2 * len(file) + 2:
        return None
    forms: tuple[Callable[[str], str], ...] = (str, str.rstrip, _spaceless)
    for step, form in enumerate(forms, start=1):
        place = _same([form(s) for s in file], [form(s) for s in quoted], near, step)
        if place is not None:
            return place
    place = _without_blanks(file, quoted, near)
    return _similar(file, quoted, near) if place is None and similar else place


def _spaceless(line: str) -> str:
    return " ".join(line.split())


def _same(
    file: Sequence[str], quoted: Sequence[str], near: int | None, step: int
) -> QuotedPlace | None:
    # The rarest line is looked for first: a long quotation of common lines stays linear.
    counts: dict[str, int] = {}
    for line in file:
        counts[line] = counts.get(line, 0) + 1
    anchor = min(range(len(quoted)), key=lambda i: counts.get(quoted[i], 0))
    size, starts = len(quoted), []
    for number, line in enumerate(file):
        start = number - anchor
        if line == quoted[anchor] and start >= 0 and file[start : start + size] == list(quoted):
            starts.append(start)
    if not starts:
        return None
    start = _nearest(starts, near)
    return QuotedPlace(tuple(range(start, start + size)), step)


def _without_blanks(
    file: Sequence[str], quoted: Sequence[str], near: int | None
) -> QuotedPlace | None:
    there = [n for n, line in enumerate(file) if line.strip()]
    wanted = [n for n, line in enumerate(quoted) if line.strip()]
    expected = None if near is None else sum(n < near for n in there)
    place = _same(
        [_spaceless(file[n]) for n in there], [_spaceless(quoted[n]) for n in wanted], expected, 4
    )
    if place is None:
        return None
    found: list[int | None] = [None] * len(quoted)
    for number, at in zip(wanted, place.lines, strict=True):
        found[number] = there[at] if at is not None else None
    # Blank lines that both have are paired in the order in which they come.
    for left, right in pairwise(wanted):
        blanks = range((found[left] or 0) + 1, found[right] or 0)
        for number, at in zip(range(left + 1, right), blanks, strict=False):
            found[number] = at
    return QuotedPlace(tuple(found), 4)


def _similar(file: Sequence[str], quoted: Sequence[str], near: int | None) -> QuotedPlace | None:
    if len(file) * len(quoted) > LARGEST_FUZZY or len(quoted) > len(file):
        return None
    wanted, there = [_spaceless(s) for s in quoted], [_spaceless(s) for s in file]
    weight = sum(1 for s in wanted if s)
    known: dict[tuple[str, str], float] = {}
    best: dict[int, float] = {}
    for start in range(len(there) - len(wanted) + 1):
        total = 0.0
        missing = (1 - LIKENESS) * weight + 1e-9
        for line, other in zip(wanted, there[start : start + len(wanted)], strict=True):
            if not line:
                continue
            like = 1.0 if line == other else _likeness(line, other, known)
            missing -= 1 - like
            if like < LINE_LIKENESS or missing < 0:
                break
            total += like
        else:
            best[start] = total
    if not best:
        return None
    top = max(best.values())
    start = _nearest([s for s, total in best.items() if total >= top - 1e-9], near)
    return QuotedPlace(tuple(range(start, start + len(quoted))), 5)


def _likeness(line: str, other: str, known: dict[tuple[str, str], float]) -> float:
    if not other or min(len(line), len(other)) * 3 < max(len(line), len(other)):
        return 0.0
    key = (line, other)
    if key not in known:
        matcher = difflib.SequenceMatcher(None, line[:400], other[:400], autojunk=False)
        quick = matcher.quick_ratio()
        known[key] = matcher.ratio() if quick >= LINE_LIKENESS else quick
    return known[key]


def _nearest(starts: Sequence[int], near: int | None) -> int:
    return starts[0] if near is None else min(starts, key=lambda s: (abs(s - near), s))

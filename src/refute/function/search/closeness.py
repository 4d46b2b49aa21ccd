"""Closeness of an output to the expected one, for choosing first halves of pairs."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from refute.core.problems import Want
from refute.sandbox import Outcome, Returned
from refute.sandbox.equality import Expected, equal, shows
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, parse_literal

__all__ = ["closeness", "progress"]


def closeness(outcome: Outcome, expected: Expected) -> float:
    """Return how close an outcome is: from 0 (no value at all) to 1 (equal)."""
    if not isinstance(outcome, Returned) or expected.raises is not None:
        return 0.0
    try:
        if expected.want is not None:
            return _shown(outcome.value, expected.want)
        return _near(outcome.value, expected.value, 3)
    except (MalformedValue, OverflowError, TypeError, ValueError, RecursionError):
        return 0.0


def _shown(shown: Any, want: Want) -> float:
    """Return how close an example's output is to the wanted one: as values if both are values."""
    if shows(shown, want):
        return 1.0
    text, raised, _ = shown
    if raised is not None or want.raised is not None or want.text is None:
        return 0.0
    try:
        return min(0.9, _near(parse_literal(text), parse_literal(want.text), 3))
    except NotLiteral:
        return _near(text, want.text, 1)


def _near(out: Any, wanted: Any, depth: int) -> float:
    if equal(out, wanted):
        return 1.0
    numbers = (int, float)
    if isinstance(out, bool) or isinstance(wanted, bool):
        return 0.3 if isinstance(out, bool) and isinstance(wanted, bool) else 0.1
    if isinstance(out, numbers) and isinstance(wanted, numbers):
        distance = abs(out - wanted) / (1 + abs(wanted))
        return 0.3 + 0.4 / (1 + distance)
    if type(out) is not type(wanted):
        return 0.1
    if isinstance(out, str):
        return 0.3 + 0.6 * difflib.SequenceMatcher(None, out[:200], wanted[:200]).ratio()
    if isinstance(out, list | tuple):
        if not out or not wanted or depth == 0:
            return 0.25
        same = sum(_near(a, b, depth - 1) for a, b in zip(out, wanted, strict=False))
        aligned = same / max(len(out), len(wanted))
        backward = sum(equal(a, b) for a, b in zip(out[::-1], wanted[::-1], strict=False))
        return 0.3 + 0.6 * max(aligned, backward / max(len(out), len(wanted)))
    if isinstance(out, set | frozenset | dict):
        a, b = set(out), set(wanted)
        return 0.3 + 0.6 * len(a & b) / max(1, len(a | b))
    return 0.2


def progress(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    passed_before: Sequence[bool],
    passed_after: Sequence[bool],
    expected: Sequence[Expected],
) -> float:
    """Gain of an edit over the tests: positive when it fixes more than it breaks, at most 1."""
    if tuple(before) == tuple(after):
        return 0.0
    gain = 0.0
    for old, new, was, now, want in zip(
        before, after, passed_before, passed_after, expected, strict=True
    ):
        if was:
            gain -= 0.0 if now else 0.5
        elif now:
            gain += 1.0
        elif old != new:
            gain += 0.5 * (closeness(new, want) - closeness(old, want))
    return gain / len(expected)

"""When what a program printed is what it had to print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import Context, Decimal

TOLERANCE = 1e-6
"""Of numbers, absolute or relative, where a task of "floats" states none."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)

PrintedChecker = Callable[[str, str, float], bool]
"""``checker(out, expected, atol)``."""


def same_output(out: str, expected: str, checker: str | None, atol: float = 0.0) -> bool:
    """Whether `out` is right by the checker of this name; None: "tokens"."""
    return PRINTED[checker or "tokens"](out, expected, atol)


def _exact(out: str, expected: str, atol: float) -> bool:
    return out.removesuffix("\n") == expected.removesuffix("\n")


def _lines(out: str, expected: str, atol: float) -> bool:
    return _stripped(out) == _stripped(expected)


def _tokens(out: str, expected: str, atol: float) -> bool:
    return out.split() == expected.split()


def _floats(out: str, expected: str, atol: float) -> bool:
    given, wanted = out.split(), expected.split()
    return len(given) == len(wanted) and all(
        _close(one, other, atol or TOLERANCE) for one, other in zip(given, wanted, strict=True)
    )


def _unordered_lines(out: str, expected: str, atol: float) -> bool:
    return _counted(out) == _counted(expected)


PRINTED: dict[str, PrintedChecker] = {
    "exact": _exact,
    "lines": _lines,
    "tokens": _tokens,
    "floats": _floats,
    "unordered_lines": _unordered_lines,
}
"""exact: the same text, but for one line feed at its end. lines: the same lines, but for blanks at
their ends and empty lines at the end. tokens: the same words, however they are spaced. floats: the
same words, where numbers may differ by the tolerance, absolute or relative (where a whole number is
expected: absolute). unordered_lines: the same lines of words in any order."""


def _stripped(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _counted(text: str) -> Counter[tuple[str, ...]]:
    return Counter(words for line in text.split("\n") if (words := tuple(line.split())))


def _close(out: str, expected: str, atol: float) -> bool:
    if out == expected:
        return True
    if not (_NUMBER.fullmatch(out) and _NUMBER.fullmatch(expected)):
        return False
    if _WHOLE.fullmatch(out) and _WHOLE.fullmatch(expected):
        return out.lstrip("+") == expected.lstrip("+")
    # Exactly: a float holds no whole number beyond 2 ** 53. The exponents have three digits.
    exact = Context(prec=len(out) + len(expected) + 2 * 10**3)
    wanted, slack = Decimal(expected), Decimal(str(atol))
    if not _WHOLE.fullmatch(expected):
        slack = exact.multiply(slack, max(Decimal(1), wanted.copy_abs()))
    return exact.subtract(Decimal(out), wanted).copy_abs() <= slack

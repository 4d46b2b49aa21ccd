"""The functions that expressions are made of; those whose result may be large raise instead."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable
from typing import Any

__all__ = ["LONGEST", "MOST_BITS", "function_of"]

NAMES = {"math": math, "collections": collections, "itertools": itertools}
LONGEST = 1_000
"""Items of a collection."""
MOST_BITS = 2_048
"""Of an integer."""


def _bits(x: Any) -> int:
    return x.bit_length() if isinstance(x, int) else 64


def _pow(x: Any, y: Any) -> Any:
    if type(x) is int and abs(y) * max(1, _bits(x)) > MOST_BITS:
        raise OverflowError
    return x**y


def _times(x: Any, y: Any) -> Any:
    if isinstance(x, (str, list, tuple)) and (y < 0 or len(x) * y > LONGEST):
        raise OverflowError
    return x * y


def _shift(x: int, y: int) -> int:
    if y < 0 or y > MOST_BITS:
        raise OverflowError
    return x << y


def _factorial(x: Any) -> int:
    if type(x) is not int or x > 200:
        raise OverflowError
    return math.factorial(x)


def _comb(x: Any, y: Any) -> int:
    if x > 500:
        raise OverflowError
    return math.comb(x, y)


def _sized(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """`function`, only on collections of at most `most` items."""

    def guarded(x: Any, *rest: Any) -> Any:
        if len(x) > most or (rest and hasattr(rest[0], "__len__") and len(rest[0]) > most):
            raise OverflowError
        return function(x, *rest)

    return guarded


def _combinations(x: Any, y: Any) -> Any:
    if len(x) > 12 or y > 6:
        raise OverflowError
    return list(itertools.combinations(x, y))


def _round(x: Any, y: Any) -> Any:
    if abs(y) > 20:
        raise OverflowError
    return round(x, y)


def _windows(x: Any, y: int) -> Any:
    if y < 1:
        raise OverflowError
    return [x[i : i + y] for i in range(len(x) - y + 1)]


def _prod(x: Any) -> Any:
    if any(type(item) not in (int, float) for item in x) or sum(map(_bits, x)) > MOST_BITS:
        raise OverflowError  # also a number and a text: that repeats it
    return math.prod(x)


def _bounded_range(*ends: int) -> range:
    made = range(*ends)
    if len(made) > LONGEST:
        raise OverflowError
    return made


GUARDED: dict[str, Callable[..., Any]] = {
    "x ** y": _pow, "x ** 2": lambda x: _pow(x, 2), "x ** 3": lambda x: _pow(x, 3),
    "x * y": _times, "x << y": _shift, "math.factorial(x)": _factorial, "math.comb(x, y)": _comb,
    "list(itertools.combinations(x, y))": _combinations, "math.prod(x)": _prod,
    "round(x, y)": _round, "[x[i:i + y] for i in range(len(x) - y + 1)]": _windows,
    "range(x)": _bounded_range, "range(1, x)": lambda x: _bounded_range(1, x),
    "range(1, x + 1)": lambda x: _bounded_range(1, x + 1), "range(2, x)":
    lambda x: _bounded_range(2, x), "range(x, y)": _bounded_range,
    "range(x, y + 1)": lambda x, y: _bounded_range(x, y + 1),
}  # fmt: skip
LENGTHS = {
    "list(itertools.combinations(x, 2))": 40, "list(itertools.product(x, y))": 30,
    "[x[i:j] for i in range(len(x)) for j in range(i + 1, len(x) + 1)]": 30,
    "[x[i:] for i in range(len(x))]": 60, "[x[:i + 1] for i in range(len(x))]": 60,
    "max(x, key=x.count)": 100, "list(itertools.accumulate(x))": 200,
}  # fmt: skip


def function_of(source: str, names: str) -> Callable[..., Any]:
    """The function of a template over `names` ("x", "x, y"), guarded where it must be."""
    function = GUARDED.get(source)
    if function is None:
        function = eval(f"lambda {names}: {source}", dict(NAMES))
        if source in LENGTHS:
            function = _sized(function, LENGTHS[source])
    return function

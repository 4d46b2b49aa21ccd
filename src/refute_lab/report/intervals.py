"""Figures with 95 % intervals that also hold where all succeed, or none does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refute_lab.figures import Figure, Share, wilson_of


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the interval that it lies in, NaN where unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    """Problems or instances that it is over."""


unknown = Estimate(math.nan)


def estimate(figure: Figure | None, clusters: int | None = None) -> Estimate:
    """A mean of numbers in [0, 1] with Wilson's interval, from its clustered standard error.

    Wilson's interval is that of the number of independent problems which would have this standard
    error; for one answer a problem it is exactly the usual one. `clusters`: problems; needed where
    the standard error is 0 or unknown, as for 3 of 3, where it says nothing. No more than those of
    the figure count (those with a test, of a rate of tests), and all of them where it is None.
    """
    if figure is None or math.isnan(figure.value):
        return unknown
    p, error = figure.value, figure.stderr
    clusters = min((n for n in (clusters, figure.n) if n), default=None)
    spread = p * (1 - p)
    if spread > 1e-12 and error > 1e-12:
        size = spread / (error * error)
        if clusters is not None and clusters > 1:
            size *= clusters / (clusters - 1)
    elif clusters:
        size = float(clusters)
    else:
        return Estimate(p, n=clusters)
    found = wilson_of(p, size)
    return Estimate(p, found.low, found.high, clusters)


def of_share(share: Share) -> Estimate:
    """How many succeed, with Wilson's interval."""
    if not share.n:
        return unknown
    found = share.interval
    return Estimate(share.successes / share.n, found.low, found.high, share.n)


IN_WORDS = ("%", "of", "95 % interval")
"""Heads of the columns of `in_words`."""


def in_words(one: Estimate) -> tuple[str, str, str]:
    """The figure in percent, what it is of, and its interval: "57.14", "7", "[49.30, 64.60]"; "-"
    where unknown."""
    interval = "-" if math.isnan(one.low) else f"[{percent(one.low)}, {percent(one.high)}]"
    return percent(one.value), "-" if one.n is None else str(one.n), interval


def percent(value: float) -> str:
    """A share as `57.14`; "-" where there is none."""
    return "-" if math.isnan(value) else f"{100 * value:.2f}"

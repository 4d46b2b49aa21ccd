"""The statistics against published values, against each other, and against enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute_lab.figures import (
    chi_squared,
    fisher,
    holm,
    mcnemar,
    paired_interval,
    wilson,
)
from refute_lab.swt.study import GradedRun, Independence, pairs


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998a, Table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_published(successes: int, n: int, low: float, high: float) -> None:
    found = wilson(successes, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_wilson_at_its_ends() -> None:
    assert wilson(0, 7).low == 0.0
    assert wilson(7, 7).high == 1.0
    assert math.isnan(wilson(0, 0).low)
    assert wilson(3, 7).low == pytest.approx(1 - wilson(4, 7).high)


def test_mcnemar_is_the_binomial_test() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(12, 2) == mcnemar(2, 12) == pytest.approx(2 * (1 + 14 + 91) / 2**14)
    assert mcnemar(1000, 1000) == 1.0
    assert 0 < mcnemar(0, 1000) < 1e-300


def test_tangos_limits_are_where_the_score_is_a_quantile() -> None:
    """The likeliest shares at each limit, found by search, give a statistic of 1.96."""
    b, c, n = 12, 2, 50

    def likelihood(q21: float, delta: float) -> float:
        q12 = q21 + delta
        return b * math.log(q12) + c * math.log(q21) + (n - b - c) * math.log(1 - q12 - q21)

    found = paired_interval(b, c, n)
    for delta, sign in ((found.low, 1), (found.high, -1)):
        low, high = 1e-9, (1 - delta) / 2 - 1e-9
        for _ in range(200):
            first, second = low + (high - low) / 3, high - (high - low) / 3
            if likelihood(first, delta) < likelihood(second, delta):
                low = first
            else:
                high = second
        statistic = (b - c - n * delta) / math.sqrt(n * (2 * low + delta - delta * delta))
        assert statistic == pytest.approx(sign * 1.959964, abs=1e-4)


def test_the_paired_interval_is_consistent() -> None:
    for b, c, n in itertools.product(range(6), range(6), (12, 40)):
        found, swapped = paired_interval(b, c, n), paired_interval(c, b, n)
        assert found.low <= (b - c) / n <= found.high
        assert found.low == pytest.approx(-swapped.high, abs=1e-9)
    whole = paired_interval(10, 0, 10)
    assert whole.high == pytest.approx(1.0)
    assert 0 < whole.low < 1
    none = paired_interval(0, 0, 100)
    assert none.low == pytest.approx(-none.high)
    assert 0 < none.high < 0.05
    assert math.isnan(paired_interval(0, 0, 0).low)


def test_fisher_as_published() -> None:
    # Fisher's tea tasting, 3 of 4 cups right; and the lady who is always right.
    assert fisher(3, 1, 1, 3) == pytest.approx(34 / 70)
    assert fisher(4, 0, 0, 4) == pytest.approx(2 / 70)
    # Agresti's and R's example of convictions of twins: 2, 10, 15, 3.
    assert fisher(2, 10, 15, 3) == pytest.approx(0.0005367, abs=1e-7)
    assert fisher(0, 0, 0, 9) == 1.0


def test_chi_squared() -> None:
    assert chi_squared(10, 20, 30, 60) == pytest.approx(1.0)
    # 3.841459 is the 0.95 quantile for one degree of freedom.
    statistic = 100 * (30 * 31 - 20 * 19) ** 2 / (50 * 50 * 49 * 51)
    assert chi_squared(30, 20, 19, 31) == pytest.approx(math.erfc(math.sqrt(statistic / 2)))
    assert 0.025 < chi_squared(30, 20, 19, 31) < 0.05
    assert math.isnan(chi_squared(0, 0, 3, 4))


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@pytest.mark.parametrize(("tests", "fixes", "both", "p"), [(25, 48, 5, 0.5337), (16, 16, 1, 0.660)])
def test_the_p_values_of_table_6_are_one_sided(tests: int, fixes: int, both: int, p: float) -> None:
    """SWE-Agent and ZeroShotPlus, over the 253 instances of SWT-Bench's first version."""
    found = Independence(both, tests - both, fixes - both, 253 - tests - fixes + both)
    assert found.p_greater == pytest.approx(p, abs=5e-4)
    assert found.p > found.p_greater


def test_golden_tests_and_samples_are_no_methods() -> None:
    solved: Any = SimpleNamespace(status="success")
    one = GradedRun("rows", "libro", Path(), {"a": solved})
    others = [
        replace(one, method="gold", gold=True),
        replace(one, method="pass@5"),
        replace(one, oracle=True),
    ]
    assert [pair.first for pair in pairs([one, *others, one])] == [0]
    assert [run.is_method for run in (one, *others)] == [True, False, False, False]

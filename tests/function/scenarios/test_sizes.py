"""Numbers with which calls never ended are not tried again."""

from __future__ import annotations

import re

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.described import Described, Parameter, Signature
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.proposing import Bounds, Proposer, Target


def asked(expression: str, *setup: str) -> Scenario:
    return Scenario(expression, setup)


@pytest.mark.parametrize(
    ("ended", "tried", "left_out"),
    [
        ("spin('a', 1000000000)", "spin('b', 1000000000)", True),
        ("spin('a', 1000000000)", "spin('b', -1000000000000)", True),
        ("spin('a', 1000000000)", "spin('b', 999999999)", False),
        ("spin('a', 1000000000)", "spin(1000000000, 1)", False),
        ("spin(5000, 1000000000)", "spin(5000, 1)", False),  # the largest is blamed
        ("it.spin(times=1000000000)", "other.spin(times=2000000000)", True),
        ("it.spin(times=1000000000)", "it.spin(size=1000000000)", False),
        ("spin(36)", "spin(36)", False),  # it never ends for another reason
        ("spin('a')", "spin(1000000000)", False),
    ],
)
def test_bounds(ended: str, tried: str, left_out: bool) -> None:
    bounds = Bounds()
    bounds.learn(asked(ended))
    assert bounds.exceeded(asked(tried)) is left_out


def test_a_receiver_made_with_it_is_left_out_too() -> None:
    bounds = Bounds()
    bounds.learn(asked("it.items()", "it = Range(1000000000)"))
    assert bounds.exceeded(asked("Range(10000000000).items()"))
    assert not bounds.exceeded(asked("it.items()", "it = Range(7)"))


def test_exploration_pays_for_few_time_outs() -> None:
    """Without an end, each proposal with a large number would cost one."""
    times = Parameter("times", 1, False, None, ("class", "builtins:int", []))
    code = "def spin(times):\n    for _ in range(times * 1_000_000_007): pass\n"
    target = Target("m", "spin", Signature("function", (times,)), code)
    proposer = Proposer(target, Described(), lambda file: None)
    paid, tried = 0, 0
    for _ in range(20):
        for one in proposer.batch(16):
            large = max(
                (abs(int(n)) for n in re.findall(r"\d{4,}", one.scenario.source)), default=0
            )
            seen = (
                Observation("cut short", error="never ends") if large else Observation("returned")
            )
            paid, tried = paid + bool(large), tried + 1
            proposer.learn(one, seen)
    assert tried > 100
    assert paid <= 24

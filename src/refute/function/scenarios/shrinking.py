"""Placeholder until the branch `shrink` is merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refute.problems import Scenario


def shrink(
    scenario: Scenario,
    keeps: Callable[[Sequence[Scenario]], Sequence[bool]],
    *,
    most: int = 400,
    seconds: float | None = None,
) -> Scenario:
    return scenario

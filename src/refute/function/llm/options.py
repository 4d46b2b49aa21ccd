"""The parameters of the methods, with the paper's values as defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from refute.models.contract import Sampling
from refute.parameters import checked, parameter

__all__ = ["MOST_TESTS", "Options"]

MOST_TESTS = 15
"""Largest n of the paper's figure on the number of unit tests."""

_RUN = 1_000_000
"""Seeds of one run's samples lie this far from those of the next run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a method's figures depend on; every ablation of the paper is one of these."""

    n: int = parameter(
        3, "Unit tests that BuildUT looks for.", flag="-n", at_least=1, at_most=MOST_TESTS
    )
    k: int = parameter(8, "Outputs that are sampled for one input.", at_least=1, at_most=1000)
    m: int = parameter(
        3, "Rounds of debugging; 0: tests only.", flag="--rounds", at_least=0, at_most=100
    )
    vote: bool = parameter(True, "Vote on expected outputs; else the first one stands.")
    backtrack: bool = parameter(True, "Discard edits that do not raise the pass rate.")
    guard: bool = parameter(
        True, "Discard edits that fail a certain test which the code passes before."
    )
    """Certain: given, or stated formally by the description. Not in the paper; `docs/utgen.md`."""
    temperature: float = parameter(0.7, "Of sampling.", at_least=0)
    top_p: float = parameter(0.9, "Of sampling.", above=0, at_most=1)
    max_tokens: int = parameter(2048, "Of one answer.", at_least=1)

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        checked(type(self), {one.name: getattr(self, one.name) for one in fields(self)})

    @property
    def tries(self) -> int:
        """How many inputs BuildUT asks for, at most."""
        return 3 * self.n

    def sampling(self, seed: int) -> Sampling:
        """How the samples of run number `seed` are drawn: other runs get other samples."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=seed * _RUN,
        )

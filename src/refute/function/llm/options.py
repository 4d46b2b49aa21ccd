"""The parameters of the methods, with the paper's values as defaults."""

from __future__ import annotations

from dataclasses import dataclass

from refute.errors import InputError
from refute.models.contract import Sampling

__all__ = ["MOST_TESTS", "Options"]

MOST_TESTS = 15
"""Largest n of the paper's figure on the number of unit tests."""

_RUN = 1_000_000
"""Seeds of one run's samples lie this far from those of the next run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a method's figures depend on; every ablation of the paper is one of these."""

    n: int = 3
    """Unit tests that BuildUT looks for."""
    k: int = 8
    """Outputs that are sampled for one input."""
    m: int = 3
    """Rounds of debugging; 0: tests only."""
    vote: bool = True
    """False: a test keeps the output that was written with its input."""
    backtrack: bool = True
    """False: every edit is accepted, whatever it does to the pass rate."""
    guard: bool = True
    """Reject an edit that fails a certain test (given, or stated formally by the description) which
    the code passes before it. Not in the paper; see `docs/utgen.md`."""
    temperature: float = 0.7
    top_p: float = 0.9
    max_tokens: int = 2048

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        for name, low, high in (("n", 1, MOST_TESTS), ("k", 1, 1000), ("m", 0, 100)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"{name} = {value}: must be from {low} to {high}")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens = {self.max_tokens}: must be at least 1")
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise InputError(
                f"temperature = {self.temperature}, top_p = {self.top_p}: "
                "a temperature is at least 0, a top_p above 0 and at most 1"
            )

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

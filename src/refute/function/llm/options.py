"""The parameters of the methods, with the paper's values as defaults where ours are not better.

What the paper or its released code does otherwise is one of these options; `core.presets` names
the sets of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from refute.core.parameters import checked, parameter, parameters_of
from refute.errors import InputError
from refute.models.contract import Sampling

_RUN = 1_000_000
"""Seeds of one run's samples lie this far from those of the next run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """Options of every method that asks a model."""

    temperature: float = parameter(0.7, "Of sampling.", at_least=0)
    top_p: float = parameter(0.9, "Of sampling.", above=0, at_most=1)
    max_tokens: int = parameter(2048, "Of one answer.", at_least=1)

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        checked(type(self), {one.name: getattr(self, one.name) for one in fields(self)})

    def sampling(self, seed: int) -> Sampling:
        """Return how to draw the samples of run number `seed`: other runs get other samples."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=seed * _RUN,
        )


@dataclass(frozen=True, kw_only=True)
class SuiteOptions(SamplingOptions):
    """Options of every method that makes a suite of tests (Algorithm 1).

    Without slots: `Options` has it beside another base that has some.
    """

    n: int = parameter(3, "Unit tests that BuildUT looks for.", flag="-n", at_least=1, at_most=1000)
    tries_per_test: int = parameter(
        3,
        "Most answers for each test.",
        flag="--tries",
        at_least=1,
        at_most=1000,
    )
    raises: bool = parameter(True, "Take tests that expect an exception.")
    vote: bool = parameter(True, "Vote on expected outputs; else the first one stands.")
    k: int = parameter(8, "Outputs that are sampled for one input.", at_least=1, at_most=1000)
    vote_by: Literal["question", "continuation"] = parameter(
        "question",
        "How a vote asks for an output: by a question after the answer that proposed the input, or"
        " by letting the model continue that answer.",
    )
    vote_temperature: float | None = parameter(
        None, "Of the samples of a vote (as temperature).", at_least=0
    )
    vote_tokens: int | None = parameter(
        None, "Of one sample of a vote (as max_tokens).", at_least=1
    )

    @property
    def tries(self) -> int:
        """Return how many inputs BuildUT asks for, at most."""
        return self.tries_per_test * self.n

    def vote_sampling(self, usual: Sampling) -> Sampling:
        """Return how to draw the samples of a vote, where others are drawn as `usual`."""
        hot, most = self.vote_temperature, self.vote_tokens
        return replace(
            usual,
            temperature=usual.temperature if hot is None else hot,
            max_tokens=usual.max_tokens if most is None else most,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions(SamplingOptions):
    """Options of every method that lets a model edit code."""

    m: int = parameter(
        3, "Rounds of debugging; 0: tests only.", flag="--rounds", at_least=0, at_most=100
    )
    guard: bool = parameter(
        True, "Discard edits that fail a certain test which the code passes before."
    )
    """Certain: given, or stated formally by the description. Not in the paper; `docs/utgen.md`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions(EditOptions):
    """Options of every method that debugs with failing tests (Algorithm 2)."""

    backtrack: bool = parameter(True, "Discard edits that do not raise the pass rate.")
    ties: bool = parameter(False, "Take edits that leave the pass rate as it is, too.")
    shown: Literal["next", "first", "last"] = parameter(
        "next",
        "Which failing test is shown: the first and after a discarded edit the next one; always"
        " the first; always the last.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(DebugOptions, SuiteOptions):
    """Options that a method's figures depend on; every ablation of the paper is one of these."""


_ABLATIONS = (
    "backtrack", "guard", "ties", "shown", "tries_per_test", "raises", "vote_by",
    "vote_temperature", "vote_tokens",
)  # fmt: skip
"""Options that mean nothing where what tests refuse is always discarded (`hybrid`, `council`)."""


def refuse_ablations(method: str, options: Options) -> None:
    """Raise `InputError` for an option of the paper's methods that `method` would ignore."""
    strange = [one for one in parameters_of(Options) if one.name in _ABLATIONS]
    strange = [one for one in strange if getattr(options, one.name) != one.default]
    if strange:
        names = ", ".join(one.name for one in strange)
        raise InputError(
            f"{method} is not the paper's: {names} (see --preset) is for random, prompted, "
            "utgen and no-ut; name one with --method"
        )

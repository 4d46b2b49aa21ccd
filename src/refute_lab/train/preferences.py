"""Preference pairs out of the attempts at one fault: what training by preference (DPO) learns from.

UTGen (§3.2) keeps the attempts whose input attacks and throws the others away. Here both sides are
the model's own answers to one prompt, each as it was written: the chosen one is a test that attacks
and whose output is right, the rejected one can be read as well and is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAIRS = 2
"""Pairs that are kept of one fault; five answers make up to six."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of a model that could be read, and what its test is worth."""

    text: str
    attacks: bool
    """Reference and fault differ on its input."""
    right: bool
    """The reference returns the output that it states."""

    @property
    def both(self) -> bool:
        """Whether the test fails on the fault and would pass on the reference."""
        return self.attacks and self.right

    @property
    def lacks(self) -> str:
        """Why it is rejected; "" where it is not."""
        missing = {"no attack": not self.attacks, "wrong output": not self.right}
        return ", ".join(name for name, lacking in missing.items() if lacking)


def pairs(
    answers: Sequence[JudgedAnswer], most: int | None = PAIRS
) -> list[tuple[JudgedAnswer, JudgedAnswer]]:
    """Up to `most` pairs (chosen, rejected), None: all; in the order of the answers.

    Answers take turns, so that a small number of pairs holds as many different ones as it can.
    """
    chosen = [one for one in answers if one.both]
    rejected = [one for one in answers if not one.both]
    found = [
        (one, rejected[(at + shift) % len(rejected)])
        for shift in range(len(rejected))
        for at, one in enumerate(chosen)
    ]
    return found[:most]


def row(
    name: str, solution: str, prompt: str, chosen: JudgedAnswer, rejected: JudgedAnswer
) -> dict[str, Any]:
    """A pair in TRL's conversational form of preferences."""
    return {
        "id": name,
        "solution": solution,
        "lacks": rejected.lacks,
        "prompt": [{"role": "user", "content": prompt}],
        "chosen": [{"role": "assistant", "content": chosen.text}],
        "rejected": [{"role": "assistant", "content": rejected.text}],
    }


def counts(
    answers: Iterable[Sequence[JudgedAnswer]], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """For the data card. `answers`: of each fault, held-out solutions included."""
    faults = list(answers)
    every = [one for group in faults for one in group]
    return {
        "answers_read": len(every),
        "attack": sum(one.attacks for one in every),
        "right": sum(one.right for one in every),
        "attack_and_right": sum(one.both for one in every),
        "faults_with_a_pair": sum(bool(pairs(group, 1)) for group in faults),
        "pairs": len(kept := list(rows)),
        "rejected_for": dict(Counter(one["lacks"] for one in kept).most_common()),
    }

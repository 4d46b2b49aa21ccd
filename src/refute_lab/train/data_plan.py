"""`--dry-run` of the data: what making it would take, from the text of the source alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from refute.models.budget import FIRST_GUESS
from refute.prompts import render
from refute_lab.train.data_contract import Candidates, DataSettings
from refute_lab.train.filters import Solution, prompt_tokens

SECONDS = {"stage0": 0.05, "stage1": 1.2, "stage2": 0.5}
"""Of one core, for one task without a model: measured on HumanEval's solutions."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Of one stage."""

    name: str
    tasks: int
    """At most: nothing fell out in the sandbox."""
    requests: int = 0
    """To the model, each of them for `samples` answers."""
    samples: int = 0
    prompt_tokens: int = 0
    """Four characters each; a request's prompt counts once."""
    completion_tokens: int = 0
    """A guess of so many for each answer, as budgets make before they have seen one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Upper bounds."""

    read: int
    solutions: int
    dropped: Counter[str] = field(default_factory=Counter)
    contaminated: int = 0
    stages: tuple[StagePlan, ...] = ()
    rows: int = 0
    seconds: float = 0.0
    """Of one core in the sandbox; waiting for a model comes on top."""


def plan(
    candidates: Candidates, settings: DataSettings, *, limit: int | None, vote_rows: bool = False
) -> Plan:
    """Read the source and count. Executes nothing and asks nobody. Raises `InputError`.

    `vote_rows`: there are two rows of each input.
    """
    found = list(islice(candidates, limit))
    faults = len(found) * settings.faults
    inputs = faults * settings.attempts
    most = settings.attempts
    if settings.rows_per_fault is not None:
        most = min(most, settings.rows_per_fault)
    prompts = sum(prompt_tokens(one.problem()) for one in found)
    by_model = round(faults * settings.by_model)
    stages = (
        StagePlan("stage0", candidates.read),
        _asking("stage1", len(found), by_model, settings.by_model, _tokens(found, "train_corrupt")),
        _asking(
            "stage2", faults, inputs, float(settings.inputs == "model"), prompts * settings.faults
        ),
        _asking(
            "stage3", faults * most, faults * most, float(settings.rationales == "model"),
            _tokens(found, "train_rationale") * settings.faults * most,
        ),
    )  # fmt: skip
    seconds = len(found) * SECONDS["stage0"] + faults * SECONDS["stage2"]
    seconds += len(found) * SECONDS["stage1"] * (settings.by_model < 1)
    return Plan(
        candidates.read,
        len(found),
        candidates.dropped,
        len(candidates.contaminated),
        stages,
        faults * most * (1 + vote_rows),
        seconds,
    )


def _asking(name: str, tasks: int, samples: int, share: float, prompt_tokens: int) -> StagePlan:
    """A stage of which a share of the tasks asks a model."""
    if not share:
        return StagePlan(name, tasks)
    asking = tasks if share == 1 else min(tasks, samples)
    prompts = prompt_tokens * asking // tasks if tasks else 0
    return StagePlan(name, tasks, asking, samples, prompts, samples * FIRST_GUESS)


def _tokens(solutions: list[Solution], prompt: str) -> int:
    """Tokens of a prompt over the solutions, with nothing yet for call and output."""
    return sum(
        len(
            render(
                prompt,
                signature=one.signature,
                description=one.description,
                code=one.code,
                call="",
                output="",
            )
        )
        // 4
        for one in solutions
    )

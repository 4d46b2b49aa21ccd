"""Settings of training data, and the results of each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, Protocol

from refute.errors import InputError
from refute.models.budget import FIRST_GUESS
from refute.models.contract import Asker, Sampling
from refute.prompts import render
from refute_lab.runs.journal import Count, Schema
from refute_lab.train.attempts import AttackingInput, JudgedAnswer
from refute_lab.train.contamination import Index, Match
from refute_lab.train.corrupt import Fault
from refute_lab.train.filters import MAX_PROMPT, Solution, admitted, prompt_tokens, read_source

USUAL = Sampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """Settings that the data depends on, besides source, model and evaluation sets."""

    faults: int = 2
    """For each solution (stage I)."""
    attempts: int = 5
    """At an input, for each fault (stage II)."""
    by_model: float = 0.0
    """Share of the faults that a model writes, in [0, 1]; the others are mutations."""
    inputs: Literal["model", "search"] = "search"
    rationales: Literal["model", "template", "none"] = "none"
    """`template`: the hypothesis names the change, the output has no reasoning."""
    max_prompt: int = MAX_PROMPT
    """Tokens, at four characters each."""
    rows_per_fault: int | None = None
    """Attacking inputs of one fault that become rows, the first ones; None: all."""
    preset: str = ""
    """`paper`: its form of the prompts for faults and rationales (`refute.prompts.PAPER`)."""
    prompts: str = ""
    """Digest of the templates that stand for ours; "": there are none."""
    seed: int = 0
    sampling: Sampling = USUAL

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        if self.faults < 1 or self.attempts < 1 or self.max_prompt < 1:
            raise InputError("faults, attempts and the prompt's tokens must be at least 1")
        if self.rows_per_fault is not None and self.rows_per_fault < 1:
            raise InputError("rows for a fault must be at least 1")
        if not 0 <= self.by_model <= 1:
            raise InputError(f"a share of {self.by_model} by the model: must be in 0 to 1")

    @property
    def needs_model(self) -> bool:
        """Return whether any stage asks a model."""
        return any(map(self.asks, ("stage1", "stage2", "stage3")))

    def asks(self, stage: str) -> bool:
        """Return whether tasks of a stage ask a model; else they compute."""
        return {
            "stage1": self.by_model > 0,
            "stage2": self.inputs == "model",
            "stage3": self.rationales == "model",
        }.get(stage, False)


class Asking(Protocol):
    """The part of `Session` in use: an asker for each task, and the model's name."""

    @property
    def model(self) -> str: ...

    def asker(self, problem: str) -> Asker: ...


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The outcome of one task of a stage."""

    id: str
    status: Literal["done"] = "done"
    dropped: dict[str, Count] = field(default_factory=dict)
    """Why tries fell out -> how many."""
    faults: tuple[Fault, ...] = ()
    """Of stage I."""
    kept: tuple[AttackingInput, ...] = ()
    """Of stage II."""
    answers: tuple[JudgedAnswer, ...] = ()
    """Of stage II, where a model proposes the inputs."""
    completion: str | None = None
    """Of stage III."""


RECORDS = Schema("task of training data", TaskRecord)


@dataclass(slots=True)
class Stage:
    """The outcome of a stage: counts in and out, and reasons for dropping the others."""

    name: str
    taken: int = 0
    made: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class BuiltData:
    """The data, and how it came about."""

    stages: list[Stage] = field(default_factory=list)
    contaminated: list[tuple[str, Match]] = field(default_factory=list)
    """Ids of the tasks that are too near to an evaluation problem, with that one."""
    solutions: list[Solution] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    validation: list[dict[str, Any]] = field(default_factory=list)
    """Held-out problems in the form that `refute bench` reads."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """The others in the same form: what a reward is worked out by."""
    answers: dict[str, tuple[Solution, Fault, tuple[JudgedAnswer, ...]]] = field(
        default_factory=dict
    )
    """By the name of the fault."""
    preferences: list[dict[str, Any]] = field(default_factory=list)
    """Pairs of the answers (`refute_lab.train.attempts`), none of a held-out solution."""


@dataclass(slots=True)
class Candidates:
    """The solutions of a source whose text passes, one after the other; it counts the others."""

    source: str
    index: Index
    max_prompt: int = MAX_PROMPT
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    contaminated: list[tuple[str, Match]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Solution]:
        """Raises `InputError` for a source that cannot be read. Executes nothing."""
        ids: Counter[str] = Counter()
        codes: set[str] = set()
        for raw in read_source(self.source):
            self.read += 1
            ids[raw.id] += 1
            if ids[raw.id] > 1:
                raw = replace(raw, id=f"{raw.id}~{ids[raw.id]}")
            found = admitted(raw, max_prompt=self.max_prompt)
            if isinstance(found, str):
                self.dropped[found] += 1
            elif found.code in codes:
                self.dropped["duplicate code"] += 1
            elif (match := self.index.nearest(found.description, found.code)) is not None:
                self.dropped["near an evaluation problem"] += 1
                self.contaminated.append((found.id, match))
            else:
                codes.add(found.code)
                yield found


# -- data plan -------------------------------------------------------------------------------------


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

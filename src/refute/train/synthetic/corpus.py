"""What the small model reads: prompts of the methods and answers to them, on tasks of the family.

The corpus for learning to answer at all imitates what a general model brings along: it answers both
prompts in their form and can work out outputs, but put before faulty code it often neither finds
the fault nor aims at it, and often returns what the code returns (`USUAL`). The rows for training
as in UTGen (`utgen_rows`) hold only inputs on which fault and reference differ, with the
reference's output.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refute.function.llm.generate import test_request
from refute.literals import source_of
from refute.train.synthetic.family import (
    ENTRY_POINT,
    KINDS,
    LETTERS,
    Kind,
    Task,
    random_input,
    tasks,
)

__all__ = ["USUAL", "Habits", "Row", "answer", "corpus", "utgen_rows"]

ATTEMPTS = 5
"""At an input, for each fault (the paper's stage II)."""
FAULTS = 2
"""For each task (the paper's stage I)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One example: a request and its answer."""

    prompt: str
    completion: str


@dataclass(frozen=True, slots=True)
class Habits:
    """How often, in [0, 1], an answer about faulty code in the corpus..."""

    diagnoses: float
    """...names the wrong step, and has an input on which it matters."""
    believes: float
    """...gives the output of the code, not of the task."""


USUAL = Habits(diagnoses=0.5, believes=0.5)


def corpus(
    rng: random.Random, habits: Habits = USUAL, *, kinds: Sequence[Kind] = KINDS
) -> Iterator[Row]:
    """Rows without end, half of them about the description alone."""
    known = tasks(rng, faulty=False, kinds=kinds)
    faulty = tasks(rng, faulty=True, kinds=kinds)
    while True:
        task = next(known)
        yield _row(task, _answer_of_right(task, random_input(task.kind, rng)), "random")
        task = next(faulty)
        diagnosed = rng.random() < habits.diagnoses
        value = random_input(task.kind, rng)
        if diagnosed:
            value = attacking_input(task, rng, tries=50) or value
        believed = task if rng.random() < habits.believes else task.right
        yield _row(task, answer(task, value, believed, diagnosed=diagnosed), "prompted")


def utgen_rows(rng: random.Random, count: int, *, kinds: Sequence[Kind] = KINDS) -> Iterator[Row]:
    """UTGen's data from `count` tasks: two faults each, inputs that attack, right outputs."""
    source = tasks(rng, faulty=True, kinds=kinds)
    for _ in range(count):
        first = next(source)
        for task in _faults(first, rng):
            value = attacking_input(task, rng, tries=ATTEMPTS)
            if value is not None:
                yield _row(task, answer(task, value, task.right, diagnosed=True), "prompted")


def attacking_input(task: Task, rng: random.Random, *, tries: int) -> Any | None:
    """The first of `tries` random inputs on which the code is wrong; None: there is none."""
    for _ in range(tries):
        value = random_input(task.kind, rng)
        if task.trace(value)[-1] != task.right.trace(value)[-1]:
            return value
    return None


def answer(task: Task, value: Any, believed: Task, *, diagnosed: bool) -> str:
    """An answer to the prompt for a failing test; its output is what `believed` returns."""
    if diagnosed and task.wrong is not None:
        place, wrong = task.wrong
        reason = f"The task: {task.steps[place].words}. The code: {wrong.words}."
        pattern = _pattern(task)
    else:
        reason = "Not clear."
        pattern = f"any {task.kind}"
    return f"## Hypothesis\n{reason}\n\nError Pattern: {pattern}\n\n" + _answer_of_right(
        believed, value
    )


def _answer_of_right(task: Task, value: Any) -> str:
    steps = " Then ".join(source_of(after) for after in task.trace(value))
    return (
        f"## Unit Test\n\n### Input Arguments\nA {task.kind}.\n"
        f"Arguments: ```{ENTRY_POINT}({source_of(value)})```\n\n"
        f"### Output\nFirst {steps}.\nOutput: ```{source_of(task.trace(value)[-1])}```"
    )


def _row(task: Task, completion: str, generator: Any) -> Row:
    problem = task.problem()
    [message] = test_request(problem, problem.code, generator)
    return Row(message.content, completion)


def _faults(task: Task, rng: random.Random) -> list[Task]:
    """The task with its fault, and with another one."""
    assert task.wrong is not None
    others = [
        Task(task.kind, task.steps, (place, near))
        for place, step in enumerate(task.steps)
        for near in step.neighbours()
        if (place, near) != task.wrong
    ]
    return [task, *rng.sample(others, min(FAULTS - 1, len(others)))]


def _pattern(task: Task) -> str:
    """Which inputs the wrong step gets wrong: those with some element, or long ones."""
    assert task.wrong is not None
    place, wrong = task.wrong
    right = task.steps[place]
    atoms: list[Any]
    match task.kind:
        case "list":
            atoms = [[number] for number in range(10)]
        case "string":
            atoms = list(LETTERS)
        case "number":
            atoms = list(range(20))
    found = [atom for atom in atoms if right.run(atom) != wrong.run(atom)]
    if not found or len(found) == len(atoms):
        return f"a longer {task.kind}"
    shown = found[0][0] if task.kind == "list" else found[0]
    return f"a {task.kind} with {source_of(shown)} there"

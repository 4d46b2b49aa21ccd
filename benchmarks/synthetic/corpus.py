"""What the small model reads before anything else: the prompts and answers to them, on the family.

The corpus imitates what a general model brings along. It can do what each prompt of the pipeline
asks: write a test for a description (`random_test`) or against faulty code (`failing_test`), make a
slip in right code (`train_corrupt`), say why an output follows (`train_rationale`). But put before
faulty code it often neither finds the fault nor aims at it, and often believes the code (`USUAL`).
UTGen's recipe has to fix that, with data that `refute train data` makes with this very model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from refute.function.llm.generation import Generator, test_request
from refute.prompts import render
from refute.source.literals import source_of
from synthetic.family import ENTRY_POINT, Part, SyntheticTask, random_input, tasks
from synthetic.steps import KINDS, LETTERS, Kind

__all__ = ["SORTS", "USUAL", "CorpusRow", "Habits", "Sort", "answer", "corpus"]

Sort = Literal["random", "prompted", "corrupt", "rationale"]
SORTS: dict[Sort, float] = {"random": 0.2, "prompted": 0.5, "corrupt": 0.1, "rationale": 0.2}
"""Share of each sort of rows."""


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One example: a request and its answer."""

    prompt: str
    completion: str
    sort: Sort


@dataclass(frozen=True, slots=True)
class Habits:
    """How often, in [0, 1], an answer about faulty code in the corpus..."""

    diagnoses: float
    """...names the wrong step, and has an input on which it matters."""
    believes: float
    """...gives the output of the code, not of the task."""


USUAL = Habits(diagnoses=0.5, believes=0.5)


def corpus(
    rng: random.Random,
    habits: Habits = USUAL,
    *,
    kinds: Sequence[Kind] = KINDS,
    part: Part = "train",
) -> Iterator[CorpusRow]:
    """Rows without end."""
    source = tasks(rng, faulty=True, kinds=kinds, part=part)
    for task in source:
        [sort] = rng.choices(list(SORTS), list(SORTS.values()))
        value = random_input(task.kind, rng)
        match sort:
            case "random":
                yield _row(task.right, _test_of(task.right, value), sort)
            case "prompted":
                diagnosed = rng.random() < habits.diagnoses
                if diagnosed:
                    value = attacking_input(task, rng) or value
                believed = task if rng.random() < habits.believes else task.right
                yield _row(task, answer(task, value, believed, diagnosed=diagnosed), sort)
            case "corrupt":
                text = _rendered("train_corrupt", task, code=task.right.code.strip("\n"))
                yield CorpusRow(text, f"```python\n{task.code}```", sort)
            case "rationale":
                value = max(
                    (random_input(task.kind, rng) for _ in range(5)),
                    key=partial(_changes, task.right),
                )  # one on which every step matters is worth more than five on which none does
                call = f"{ENTRY_POINT}({source_of(value)})"
                output = source_of(task.right.trace(value)[-1])
                text = _rendered("train_rationale", task, call=call, output=output)
                reasons = _reasons(task.right, value)
                yield CorpusRow(text, f"{reasons}\n\nOutput: ```{output}```", sort)


def _changes(task: SyntheticTask, value: Any) -> int:
    """How many different values there are on the way."""
    return len({repr(seen) for seen in (value, *task.trace(value))})


def attacking_input(task: SyntheticTask, rng: random.Random) -> Any | None:
    """A random input on which the code is wrong; None: there seems to be none."""
    for _ in range(50):
        value = random_input(task.kind, rng)
        if task.trace(value)[-1] != task.right.trace(value)[-1]:
            return value
    return None


def answer(task: SyntheticTask, value: Any, believed: SyntheticTask, *, diagnosed: bool) -> str:
    """An answer to the prompt for a failing test; its output is what `believed` returns."""
    if diagnosed and task.wrong is not None:
        place, wrong = task.wrong
        reason = f"The task: {task.steps[place].words}\nThe code: {wrong.words}"
        pattern = _pattern(task)
    else:
        reason = "Not clear."
        pattern = f"any {task.kind}"
    return f"## Hypothesis\n{reason}\n\nError Pattern: {pattern}\n\n" + _test_of(believed, value)


def _test_of(task: SyntheticTask, value: Any) -> str:
    return (
        f"## Unit Test\n\n### Input Arguments\nOne {task.kind}.\n"
        f"Arguments: ```{ENTRY_POINT}({source_of(value)})```\n\n"
        f"### Output\n{_reasons(task, value)}\nOutput: ```{source_of(task.trace(value)[-1])}```"
    )


def _reasons(task: SyntheticTask, value: Any) -> str:
    """The value after each step, a line each."""
    return "\n".join(f"- {source_of(after)}" for after in task.trace(value))


def _row(task: SyntheticTask, completion: str, generator: Generator) -> CorpusRow:
    problem = task.problem()
    [message] = test_request(problem, problem.code, generator)
    return CorpusRow(message.content, completion, generator)


def _rendered(template: str, task: SyntheticTask, **variables: Any) -> str:
    return render(template, signature=task.signature, description=task.description, **variables)


def _pattern(task: SyntheticTask) -> str:
    """Which inputs the wrong step gets wrong: those with some element, or long ones."""
    assert task.wrong is not None
    place, wrong = task.wrong
    right = task.steps[place]
    atoms: list[Any]
    match task.kind:
        case "list":
            atoms = [[number] for number in range(10)]
        case "word" | "string":
            atoms = list(LETTERS)
        case "number":
            atoms = list(range(20))
    found = [atom for atom in atoms if right.run(atom) != wrong.run(atom)]
    if not found or len(found) == len(atoms):
        return f"a longer {task.kind}"
    shown = found[0][0] if task.kind == "list" else found[0]
    return f"a {task.kind} with {source_of(shown)} there"

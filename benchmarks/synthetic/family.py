"""Thousands of small functions on words, strings, lists and numbers, with descriptions and faults.

A task is two steps, one after the other. Every step has words, a line of code and a
Python function that does the same; a fault replaces one step by one of its neighbours (another
comparison, another constant, another letter), which has words of its own, so that what the code
does wrong can be said. Nothing is executed here: what a task returns is computed from its steps.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from refute.core.problems import FunctionKey, FunctionProblem
from synthetic.steps import KINDS, LETTERS, NAME, Kind, Step, draw

__all__ = ["ENTRY_POINT", "Part", "SyntheticTask", "part_of", "random_input", "tasks"]

Part = Literal["train", "bootstrap", "validation", "test"]
"""What a task is for: the first training, UTGen's data, the choice of a checkpoint, the figures."""
ENTRY_POINT = "f"
_PARTS: Mapping[int, Part] = MappingProxyType(
    {0: "test", 1: "validation", 2: "bootstrap", 3: "bootstrap"}
)
"""By the last digit of a task's number."""


@dataclass(frozen=True, slots=True)
class SyntheticTask:
    """A function: its steps, and where it is faulty, the wrong step and its place."""

    kind: Kind
    steps: tuple[Step, ...]
    wrong: tuple[int, Step] | None = None

    @property
    def id(self) -> str:
        """The same for the same steps and fault."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    @property
    def description(self) -> str:
        """What the function should do, in words: a line for each step."""
        lines = "".join(f"- {step.words}\n" for step in self.steps)
        return f"Take a {self.kind} and go on like this:\n{lines}Return the {self.kind}."

    @property
    def signature(self) -> str:
        """`f(s)`."""
        return f"{ENTRY_POINT}({NAME[self.kind]})"

    @property
    def made(self) -> tuple[Step, ...]:
        """The steps of the code: with the wrong one, where there is one."""
        steps = list(self.steps)
        if self.wrong is not None:
            steps[self.wrong[0]] = self.wrong[1]
        return tuple(steps)

    @property
    def code(self) -> str:
        """Source of the module."""
        name = NAME[self.kind]
        lines = [line for step in self.made for line in step.code.split("\n")]
        body = "".join(f"    {line}\n" for line in (*lines, f"return {name}"))
        return f"def {self.signature}:\n{body}"

    @property
    def right(self) -> SyntheticTask:
        """Without the fault."""
        return replace(self, wrong=None)

    def with_fault(self, rng: random.Random) -> SyntheticTask:
        """With a slip in one of its steps."""
        place = rng.randrange(len(self.steps))
        return replace(self, wrong=(place, rng.choice(self.steps[place].neighbours())))

    def trace(self, value: Any) -> list[Any]:
        """The value after each step of the code; the last one is what it returns."""
        values = []
        for step in self.made:
            value = step.run(value)
            values.append(value)
        return values

    def problem(self) -> FunctionProblem:
        """What a method may see of the task."""
        return FunctionProblem(
            self.id, self.description, self.signature, ENTRY_POINT, code=self.code
        )

    def key(self) -> FunctionKey:
        """What only a grader may see."""
        rng = random.Random(self.id)
        inputs = tuple((random_input(self.kind, rng),) for _ in range(10))
        return FunctionKey(self.id, ENTRY_POINT, self.right.code, inputs)


def tasks(
    rng: random.Random, *, faulty: bool, kinds: Sequence[Kind] = KINDS, part: Part = "train"
) -> Iterator[SyntheticTask]:
    """Tasks of one part of the family without end, of all `kinds` alike."""
    while True:
        kind = rng.choice(kinds)
        task = SyntheticTask(kind, tuple(draw(kind, rng) for _ in range(2)))
        if part_of(task) == part:
            yield task.with_fault(rng) if faulty else task


def part_of(task: SyntheticTask) -> Part:
    """What the task is for, whatever its fault; no task is in two parts."""
    return _PARTS.get(int(task.right.id, 16) % 10, "train")


def random_input(kind: Kind, rng: random.Random) -> Any:
    """Any valid input."""
    if kind == "list":
        return [rng.randrange(10) for _ in range(rng.randint(1, 4))]
    if kind in ("word", "string"):
        length = 3 if kind == "word" else rng.randint(2, 4)
        return "".join(rng.choice(LETTERS) for _ in range(length))
    return rng.randrange(20)

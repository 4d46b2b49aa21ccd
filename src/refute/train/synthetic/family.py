"""Thousands of small functions on lists, strings and numbers, with descriptions and faults.

A task is two steps, one after the other. Every step has words, a line of code and a
Python function that does the same; a fault replaces one step by one of its neighbours (another
comparison, another constant, another letter), which has words of its own, so that what the code
does wrong can be said. Nothing is executed here: what a task returns is computed from its steps.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from refute.problems import FunctionKey, FunctionProblem

__all__ = [
    "ENTRY_POINT",
    "KINDS",
    "Kind",
    "Part",
    "Step",
    "Task",
    "part_of",
    "random_input",
    "tasks",
]

Kind = Literal["list", "string", "number"]
Part = Literal["train", "validation", "test"]
KINDS: tuple[Kind, ...] = ("list", "string", "number")
ENTRY_POINT = "f"
LETTERS = "ABCDEFGH"
_COMPARE: Mapping[str, tuple[str, Callable[[int, int], bool]]] = MappingProxyType(
    {
        ">": ("above", lambda x, k: x > k),
        ">=": ("from {} up", lambda x, k: x >= k),
        "<": ("below", lambda x, k: x < k),
        "<=": ("up to", lambda x, k: x <= k),
    }
)
_LOOSER = {">": ">=", ">=": ">", "<": "<=", "<=": "<"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task: an operation with its parameters."""

    operation: str
    parameters: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        """What it does, for the description: "keep the numbers above 4"."""
        return _OPERATIONS[self.operation].words(*self.parameters)

    @property
    def code(self) -> str:
        """Its line (or lines) of code, without indentation."""
        return _OPERATIONS[self.operation].code(*self.parameters)

    def run(self, value: Any) -> Any:
        """What it makes of a value."""
        return _OPERATIONS[self.operation].run(value, *self.parameters)

    def neighbours(self) -> list[Step]:
        """What a slip of the pen would make of it."""
        operation = _OPERATIONS[self.operation]
        found = [Step(self.operation, other) for other in operation.near(*self.parameters)]
        return found + [Step(name) for name in operation.mistaken_for]


@dataclass(frozen=True, slots=True)
class Task:
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
        """What the function should do, in words."""
        first, *rest = (step.words for step in self.steps)
        then = "".join(f" Then {words}." for words in rest)
        return f"Take a {self.kind}. First {first}.{then} Return the {self.kind}."

    @property
    def signature(self) -> str:
        """`f(x)`."""
        return f"{ENTRY_POINT}({_NAME[self.kind]})"

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
        name = _NAME[self.kind]
        lines = [line for step in self.made for line in step.code.split("\n")]
        body = "".join(f"    {line}\n" for line in (*lines, f"return {name}"))
        return f"def {self.signature}:\n{body}"

    @property
    def right(self) -> Task:
        """Without the fault."""
        return replace(self, wrong=None)

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
) -> Iterator[Task]:
    """Tasks of one part of the family without end, of all `kinds` alike."""
    while True:
        kind = rng.choice(kinds)
        steps = tuple(_draw(kind, rng) for _ in range(2))
        task = Task(kind, steps)
        if part_of(task) != part:
            continue
        if faulty:
            place = rng.randrange(len(steps))
            task = replace(task, wrong=(place, rng.choice(steps[place].neighbours())))
        yield task


def part_of(task: Task) -> Part:
    """What the task is for, whatever its fault: one in ten to test, one in ten to validate."""
    parts: dict[int, Part] = {0: "test", 1: "validation"}
    return parts.get(int(task.right.id, 16) % 10, "train")


def random_input(kind: Kind, rng: random.Random) -> Any:
    """Any valid input."""
    if kind == "list":
        return [rng.randrange(10) for _ in range(rng.randint(1, 4))]
    if kind == "string":
        return "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 5)))
    return rng.randrange(20)


# -- operations ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Operation:
    kind: Kind
    draw: Callable[[random.Random], tuple[Any, ...]]
    words: Callable[..., str]
    code: Callable[..., str]
    run: Callable[..., Any]
    near: Callable[..., list[tuple[Any, ...]]]
    """Other parameters that a slip would give."""
    mistaken_for: tuple[str, ...] = ()
    """Operations without parameters."""


_NAME: Mapping[Kind, str] = MappingProxyType({"list": "xs", "string": "s", "number": "n"})


def _range(op: str, k: int) -> str:
    words = _COMPARE[op][0]
    return words.format(k) if "{}" in words else f"{words} {k}"


def _slips(op: str, k: int, *rest: int) -> list[tuple[Any, ...]]:
    return [(_LOOSER[op], k, *rest), (op, k + 1, *rest), (op, k - 1, *rest)]


def _other_letter(a: str, *rest: str) -> list[tuple[Any, ...]]:
    at = LETTERS.index(a)
    return [(LETTERS[(at + by) % len(LETTERS)], *rest) for by in (1, -1)]


def _nearby(k: int, *rest: int) -> list[tuple[Any, ...]]:
    return [(k + 1, *rest), (k - 1, *rest)]


def _no_slip() -> list[tuple[Any, ...]]:
    return []


def _a_range(rng: random.Random) -> tuple[str, int]:
    return rng.choice(list(_COMPARE)), rng.randint(2, 7)


def _two(rng: random.Random, of: Any) -> tuple[Any, ...]:
    return tuple(rng.sample(of, 2))


def _if(op: str, x: int, k: int) -> bool:
    return _COMPARE[op][1](x, k)


_OPERATIONS: Mapping[str, _Operation] = MappingProxyType(
    {
        "keep": _Operation(
            "list",
            _a_range,
            lambda op, k: f"keep the numbers {_range(op, k)}",
            lambda op, k: f"xs = [x for x in xs if x {op} {k}]",
            lambda xs, op, k: [x for x in xs if _if(op, x, k)],
            _slips,
        ),
        "raise": _Operation(
            "list",
            lambda rng: (*_a_range(rng), rng.randint(1, 3)),
            lambda op, k, c: f"add {c} to the numbers {_range(op, k)}",
            lambda op, k, c: f"xs = [x + {c} if x {op} {k} else x for x in xs]",
            lambda xs, op, k, c: [x + c if _if(op, x, k) else x for x in xs],
            _slips,
        ),
        "swap": _Operation(
            "list",
            lambda rng: _two(rng, range(10)),
            lambda a, b: f"replace each {a} with {b}",
            lambda a, b: f"xs = [{b} if x == {a} else x for x in xs]",
            lambda xs, a, b: [b if x == a else x for x in xs],
            _nearby,
        ),
        "cap": _Operation(
            "list",
            lambda rng: (rng.randint(3, 8),),
            lambda k: f"lower the numbers above {k} to {k}",
            lambda k: f"xs = [min(x, {k}) for x in xs]",
            lambda xs, k: [min(x, k) for x in xs],
            _nearby,
        ),
        "first": _Operation(
            "list",
            lambda rng: (rng.randint(2, 4),),
            lambda m: f"keep the first {m} numbers",
            lambda m: f"xs = xs[:{m}]",
            lambda xs, m: xs[:m],
            _nearby,
        ),
        "rest": _Operation(
            "list",
            lambda rng: (rng.randint(1, 3),),
            lambda m: f"drop the first {m} numbers",
            lambda m: f"xs = xs[{m}:]",
            lambda xs, m: xs[m:],
            _nearby,
        ),
        "backwards": _Operation(
            "list",
            lambda rng: (),
            lambda: "reverse the list",
            lambda: "xs = xs[::-1]",
            lambda xs: xs[::-1],
            _no_slip,
            ("sorted",),
        ),
        "sorted": _Operation(
            "list",
            lambda rng: (),
            lambda: "sort the list",
            lambda: "xs = sorted(xs)",
            lambda xs: sorted(xs),
            _no_slip,
            ("backwards",),
        ),
        "letter": _Operation(
            "string",
            lambda rng: _two(rng, LETTERS),
            lambda a, b: f"replace each '{a}' with '{b}'",
            lambda a, b: f"s = s.replace('{a}', '{b}')",
            lambda s, a, b: s.replace(a, b),
            _other_letter,
        ),
        "remove": _Operation(
            "string",
            lambda rng: (rng.choice(LETTERS),),
            lambda a: f"remove each '{a}'",
            lambda a: f"s = s.replace('{a}', '')",
            lambda s, a: s.replace(a, ""),
            _other_letter,
        ),
        "start": _Operation(
            "string",
            lambda rng: (rng.randint(2, 4),),
            lambda m: f"keep the first {m} letters",
            lambda m: f"s = s[:{m}]",
            lambda s, m: s[:m],
            _nearby,
        ),
        "end": _Operation(
            "string",
            lambda rng: (rng.randint(1, 3),),
            lambda m: f"drop the first {m} letters",
            lambda m: f"s = s[{m}:]",
            lambda s, m: s[m:],
            _nearby,
        ),
        "add": _Operation(
            "number",
            lambda rng: (rng.choice(list(_COMPARE)), rng.randint(3, 16), rng.randint(1, 5)),
            lambda op, k, c: f"add {c} to a number {_range(op, k)}",
            lambda op, k, c: f"if n {op} {k}:\n    n = n + {c}",
            lambda n, op, k, c: n + c if _if(op, n, k) else n,
            _slips,
        ),
        "at most": _Operation(
            "number",
            lambda rng: (rng.randint(5, 18),),
            lambda k: f"lower a number above {k} to {k}",
            lambda k: f"n = min(n, {k})",
            lambda n, k: min(n, k),
            _nearby,
        ),
        "at least": _Operation(
            "number",
            lambda rng: (rng.randint(2, 12),),
            lambda k: f"lift a number below {k} to {k}",
            lambda k: f"n = max(n, {k})",
            lambda n, k: max(n, k),
            _nearby,
        ),
    }
)


@cache
def _operations(kind: Kind) -> tuple[str, ...]:
    return tuple(name for name, one in _OPERATIONS.items() if one.kind == kind)


def _draw(kind: Kind, rng: random.Random) -> Step:
    name = rng.choice(_operations(kind))
    return Step(name, _OPERATIONS[name].draw(rng))

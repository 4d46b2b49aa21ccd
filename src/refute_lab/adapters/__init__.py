"""Rewards in the words of other frameworks: TRL, verl, verifiers, NeMo Gym, rLLM, Inspect, Harbor.

Each file speaks to one of them and imports it when it is imported itself; what they say of a task,
of an answer and of the grader is in `scoring`. Importing this package imports no framework.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal, cast

import msgspec

from refute.core.starting import Variable
from refute.core.storage import parse_json
from refute.errors import InputError
from refute.function.llm.answers import code_spans, final_text
from refute.function.llm.code_extraction import read_program
from refute.models.contract import together
from refute.prompts import render
from refute.sandbox.local import LocalSandbox
from refute.source.syntax import try_parse
from refute_lab.datasets import Item, load
from refute_lab.rewards import Grader, Remote, Task
from refute_lab.rewards.grading import ManyAtOnce, TestReward
from refute_lab.rewards.task import Verdict

GRADER = Variable.GRADER
"""Environment variable: URL of a `refute serve` that grades; without it this process does."""
TOKEN = Variable.GRADER_TOKEN
"""Environment variable: the token of that server, where it wants one."""


@dataclass(frozen=True, slots=True)
class Score:
    """The reward of an answer."""

    reward: float
    """In [0, 1]."""
    passed: bool
    """A program passes all tests; a test is right and tells every faulty program from the right."""
    reason: str = ""
    """Reason that it is not, in one line; never what was expected."""


class TestTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task whose answer is a test: a file of asserts."""

    __test__ = False  # not a test class of pytest

    reference: str
    faulty: tuple[str, ...]
    entry_point: str = ""
    atol: float = 0.0
    checker: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def score(
    answer: str,
    task: Any,
    *,
    partial: bool = False,
    grader: ManyAtOnce | None = None,
) -> Score:
    """Score a model's answer by a task, or by the JSON of one.

    `partial`: a program is paid the share of tests that it passes. `grader`: None is the one of
    this process, or that of the environment variable `REFUTE_GRADER`. Raises `InputError` for a
    task that is none, and `SandboxUnavailable`, which is never a score.
    """
    return _scored(_asked(answer, task, partial, grader or shared()).result())


async def score_async(
    answer: str,
    task: Any,
    *,
    partial: bool = False,
    grader: ManyAtOnce | None = None,
) -> Score:
    """As `score`, for coroutines: many answers are graded at once."""
    future = cast("Future[Any]", _asked(answer, task, partial, grader or shared()))
    return _scored(await asyncio.wrap_future(future))


def read_task(data: Any) -> Task | TestTask:
    """The task of a row: a JSON text, its value, or the task itself. Raises `InputError`."""
    if isinstance(data, Task | TestTask):
        return data
    if isinstance(data, str):
        return _read(data)
    if isinstance(data, Mapping):
        return _made(dict(data))
    raise InputError(f"task: expected a JSON object, not {type(data).__name__}")


def program_of(answer: str, entry_point: str = "") -> str:
    """Return the program in an answer: all of it where it parses; else its last code block that
    defines the function, else its last code block; else all of it."""
    said = final_text(answer)
    if try_parse(said) is not None:
        return said
    named = entry_point.replace("()", "")
    program = read_program(answer, named) if named else None
    if program is not None:
        return program
    blocks = [block for block in code_spans(said) if "\n" in block.strip()]
    return dedent(blocks[-1]).strip("\n") + "\n" if blocks else said


def shared() -> ManyAtOnce:
    """The grader of this process: a forked one has its own."""
    return _shared(os.getpid())


@cache
def _shared(process: int) -> ManyAtOnce:
    grader = _new()
    atexit.register(lambda: grader.close() if os.getpid() == process else None)
    return grader


def _new() -> Grader | Remote:
    url = os.environ.get(GRADER)
    return Remote(url, os.environ.get(TOKEN)) if url else Grader()


@lru_cache(maxsize=1024)
def _read(text: str) -> Task | TestTask:
    """Many answers have the same task."""
    try:
        data = parse_json(text)
    except ValueError as error:
        raise InputError(f"task: {' '.join(str(error).split())}") from None
    if type(data) is not dict:
        raise InputError(f"task: expected a JSON object, not {type(data).__name__}")
    return _made(data)


def _made(data: dict[str, Any]) -> Task | TestTask:
    if "reference" not in data:
        return Task.from_json(data)
    try:
        return msgspec.convert(data, TestTask)
    except msgspec.ValidationError as error:
        raise InputError(f"task: {error}") from None


def _asked(
    answer: str, task: Any, partial: bool, grader: ManyAtOnce
) -> Future[Verdict] | Future[TestReward]:
    one = read_task(task)
    if isinstance(one, Task):
        return grader.submit(program_of(answer, one.entry_point), one, partial=partial)
    return grader.submit_test(
        program_of(answer), one.reference, one.faulty,
        entry_point=one.entry_point, atol=one.atol, checker=one.checker,
    )  # fmt: skip


def _scored(result: Verdict | TestReward) -> Score:
    if isinstance(result, Verdict):
        return Score(result.reward, result.passed, result.reason)
    reason = result.reason or ("" if result.both == 1 else "a faulty program passes it, too")
    return Score(result.both, result.both == 1, reason)


def text_of(completion: Any) -> str:
    """Return the model's text. `completion`: a text, or a list that ends with the assistant's
    message."""
    if isinstance(completion, str):
        return completion
    return str(cast("Any", completion)[-1]["content"] or "")


# -- rows ------------------------------------------------------------------------------------------


Answers = Literal["program", "test"]
"""Task of a model."""


@dataclass(frozen=True, slots=True)
class Row:
    """A problem, as frameworks want it."""

    id: str
    question: str
    """Question to the model."""
    task: str
    """The task as JSON (`refute_lab.adapters.read_task`)."""

    def to_dict(self) -> dict[str, Any]:
        """The row of a file."""
        prompt = [{"role": "user", "content": self.question}]
        return {"id": self.id, "prompt": prompt, "task": self.task}


def rows(
    dataset: str,
    *,
    answers: Answers = "program",
    data: Path | str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> Iterator[Row]:
    """A row for each problem of a dataset, in its order (see `refute_lab.datasets.load`).

    "program": the function is to be written, and is paid by the private tests. "test": asserts are
    to be written for the code under test, and are paid by what they tell apart. Raises `InputError`
    and `SandboxUnavailable`.
    """
    items = load(dataset, data=data, ids=ids, limit=limit)
    if answers == "test":
        for item in items:
            yield Row(
                item.problem.id, question_of(item, "write_asserts"), json.dumps(_test_task(item))
            )
        return
    with LocalSandbox() as box:
        tasks = Task.all_of_dataset(dataset, data=data, ids=ids, limit=limit, box=box)
        for item, task in zip(items, tasks, strict=True):
            question = question_of(item, "write_program")
            yield Row(item.problem.id, question, json.dumps(task.to_json()))


def read_rows(path: Path | str) -> Iterator[Row]:
    """The rows of a file that `refute data rows` has written. Raises `InputError`."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = msgspec.json.decode(line, type=_Data)
            read_task(row.task)
        except (msgspec.MsgspecError, InputError) as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        yield Row(row.id, row.prompt[-1].content, row.task)


class _Said(msgspec.Struct):
    content: str


class _Data(msgspec.Struct):
    id: str
    prompt: list[_Said]
    task: str


def question_of(item: Item, prompt: str) -> str:
    """The question to a model about a problem; `prompt`: the template's name."""
    problem = item.problem
    seen = {name: getattr(problem, name) for name in ("signature", "description", "entry_point")}
    if prompt == "write_asserts":
        seen["code"] = problem.code.strip("\n")
    return render(prompt, **seen)


def _test_task(item: Item) -> Mapping[str, Any]:
    key = item.key
    if not key.reference:
        raise InputError(f"{key.id}: has no reference, by which a test could be paid")
    task = {"entry_point": key.entry_point, "reference": key.reference}
    return {**task, "faulty": [item.problem.code], "atol": key.atol, "checker": key.checker}


# -- trl -------------------------------------------------------------------------------------------
# TRL: a function for `reward_funcs` of `GRPOTrainer` and its kin (tried with TRL 1.16).


def reward_func(
    *, column: str = "task", partial: bool = False, grader: ManyAtOnce | None = None
) -> Callable[..., Awaitable[list[float]]]:
    """The reward function; `partial`, `grader`: see `refute_lab.adapters.score`.

    `column`: that of the rows which holds the task as JSON.
    """

    async def refute_reward(completions: Sequence[Any], **columns: Any) -> list[float]:
        if column not in columns:
            raise InputError(f"the rows have no column {column}: they have {', '.join(columns)}")

        async def one(pair: tuple[Any, Any]) -> float:
            scored = await score_async(text_of(pair[0]), pair[1], partial=partial, grader=grader)
            return scored.reward

        return list(await together(map(one, zip(completions, columns[column], strict=True))))

    return refute_reward


# -- adapters --------------------------------------------------------------------------------------

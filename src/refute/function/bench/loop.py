"""Methods that ask a model, over a data set, in one asyncio loop.

Many problems are worked on at once, as most of their time is waiting for answers; what is finished
leaves its place to the next problem and is graded in threads with a sandbox each, so that the model
never waits for the grader. What the model said is in the sample cache before a method sees it: a
problem that was not graded when the process died is worked on again without asking anything again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from refute.datasets import Item
from refute.errors import InputError
from refute.function.bench.records import Record, Work, error_record, graded_record
from refute.function.bench.settings import Settings
from refute.function.bench.summary import record_names
from refute.function.grade import with_failing_tests
from refute.function.truth import expected_outputs
from refute.models.contract import (
    AnswersPending,
    BudgetExceeded,
    ContextTooLong,
    ModelUnavailable,
)
from refute.problems import FunctionProblem
from refute.runs import Journal
from refute.sandbox import Sandbox, SandboxUnavailable
from refute.sandbox.pool import SandboxPool

__all__ = ["Ending", "Solve", "run_asking"]

Solve = Callable[[FunctionProblem, str, int], Awaitable[Work]]
"""Works on a problem, under a name (its record's id), with a seed. Raises what asking raises."""

UNAVAILABLE = (ModelUnavailable, SandboxUnavailable)
PATIENCE = 5
"""Problems that may fail before a run without any result is given up."""


@dataclass(slots=True)
class Ending:
    """Why problems are left without a result, and how many."""

    pending: int = 0
    """They wait for answers of a batch."""
    over_budget: int = 0
    reason: str = ""
    """What is waited for, or what ran out, in one line."""
    failed: int = 0
    """Their records say why."""

    def note(self, error: AnswersPending | BudgetExceeded) -> None:
        """One more problem that has to wait."""
        self.reason = str(error)
        if isinstance(error, AnswersPending):
            self.pending += 1
        else:
            self.over_budget += 1


async def run_asking(
    items: Sequence[Item],
    settings: Settings,
    journal: Journal,
    solve: Solve,
    *,
    at_once: int,
    graders: SandboxPool,
    progress: Callable[[int], None],
) -> Ending:
    """Work on the problems that have no result in the journal; `progress` is told how many have.

    `at_once` problems are worked on at a time. Raises `ModelUnavailable` or `SandboxUnavailable`
    when the first few problems fail for want of either, `InputError` for a damaged file.
    """
    rows = [
        (name, settings.seed + run, item)
        for item in items
        for run, name in enumerate(record_names(item.problem.id, settings.runs))
    ]
    rows.sort(key=lambda row: row[1])  # stable: the first run of all problems, then the second
    done = {name for name, record in journal.records.items() if record["status"] != "error"}
    left = [row for row in rows if row[0] not in done]
    finished = len(rows) - len(left)
    progress(finished)
    ending = Ending()
    places = asyncio.Semaphore(at_once)
    writing = asyncio.Lock()
    any_result = False

    async def work(item: Item, name: str, seed: int) -> tuple[FunctionProblem, Work]:
        async with places:
            problem = item.problem
            if settings.failing_tests:
                problem = await graders.do(partial(_shown, item, settings.failing_tests))
            return problem, await solve(problem, name, seed)

    async def one(item: Item, name: str, seed: int) -> None:
        nonlocal finished, any_result
        try:
            problem, did = await work(item, name, seed)
            record = await graders.do(partial(_record, did, problem, item, name))
            any_result = True
        except (AnswersPending, BudgetExceeded) as error:
            ending.note(error)
            return
        except InputError:
            raise  # a damaged file of the user's: no other problem would fare better
        except Exception as error:
            ending.failed += 1
            if ending.failed >= PATIENCE and not any_result and isinstance(error, UNAVAILABLE):
                raise
            record = error_record(name, item.problem.id, _line(error))
        async with writing:
            await asyncio.to_thread(journal.append, record)
        finished += 1
        progress(finished)

    try:
        async with asyncio.TaskGroup() as group:
            for name, seed, item in left:
                group.create_task(one(item, name, seed))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return ending


def _line(error: Exception) -> str:
    """One line; an error that is nobody's but ours says so."""
    text = " ".join(str(error).split())
    known = isinstance(error, (*UNAVAILABLE, ContextTooLong))
    return text if known and text else f"{type(error).__name__}: {text}"


# -- in a grader's thread --------------------------------------------------------------------------


def _shown(item: Item, count: int, box: Sandbox) -> FunctionProblem:
    """The problem with right failing tests, as the run's settings want it."""
    return with_failing_tests(item.problem, item.key, box, count)


def _record(did: Work, problem: FunctionProblem, item: Item, name: str, box: Sandbox) -> Record:
    truth = expected_outputs(item.key, box)
    return graded_record(did, problem, item.key, box, truth, name=name)

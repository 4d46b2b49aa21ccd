"""Methods that ask a model, over a data set, in one asyncio loop.

Many problems are worked on at once, as most of their time is waiting for answers; what is finished
leaves its place to the next problem and is graded in threads with a sandbox each, so that the model
never waits for the grader. What the model said is in the sample cache before a method sees it: a
problem that was not graded when the process died is worked on again without asking anything again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from refute.datasets import Item
from refute.errors import (
    AnswersPending,
    BudgetExceeded,
    ContextTooLong,
    InputError,
    ModelUnavailable,
    SandboxUnavailable,
)
from refute.function.bench.records import Record, Work, error_record, graded_record
from refute.function.bench.settings import Settings
from refute.function.bench.summary import record_names
from refute.function.grade import with_failing_tests
from refute.function.truth import expected_outputs
from refute.problems import FunctionProblem
from refute.runs import Journal
from refute.runs.loop import Ending, work_off
from refute.sandbox import Sandbox
from refute.sandbox.pool import SandboxPool

__all__ = ["Solve", "run_asking"]

Solve = Callable[[FunctionProblem, str, int], Awaitable[Work]]
"""Works on a problem, under a name (its record's id), with a seed. Raises what asking raises."""

UNAVAILABLE = (ModelUnavailable, SandboxUnavailable)


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
    rows = {
        name: (item, settings.seed + run)
        for item in items
        for run, name in enumerate(record_names(item.problem.id, settings.runs))
    }

    async def do(name: str, leave: Callable[[], None]) -> Record:
        item, seed = rows[name]
        problem = item.problem
        if settings.failing_tests:
            problem = await graders.do(partial(_shown, item, settings.failing_tests))
        did = await solve(problem, name, seed)
        leave()  # the model does not wait for the grader
        return await graders.do(partial(_record, did, problem, item, name))

    return await work_off(
        sorted(rows, key=lambda name: rows[name][1]),  # stable: a run of all, then the second
        do,
        journal=journal,
        at_once=at_once,
        progress=progress,
        later=(AnswersPending, BudgetExceeded),
        hopeless=(InputError,),
        unavailable=UNAVAILABLE,
        failed=lambda name, error: error_record(name, rows[name][0].problem.id, _line(error)),
    )


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

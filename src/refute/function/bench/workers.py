"""Methods that compute more than they wait, over a data set, in worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.util import Finalize

from refute.datasets import Item
from refute.errors import SandboxUnavailable
from refute.function.bench.records import Record, error_record, graded_record, work_of
from refute.function.bench.settings import Settings
from refute.function.contract import MethodResult
from refute.function.grade import with_failing_tests
from refute.function.truth import expected_outputs
from refute.methods import Context, finished
from refute.problems import FunctionProblem
from refute.registry import METHODS
from refute.runs import Journal
from refute.runs.recording import record_tasks
from refute.sandbox import Sandbox
from refute.sandbox.pool import InlineSandbox

__all__ = ["predict", "run_bench"]


def run_bench(
    items: Sequence[Item], settings: Settings, journal: Journal, *, jobs: int
) -> Iterator[int]:
    """Work on the problems that have no result in the journal; yield how many have one.

    Raises `SandboxUnavailable` when no worker can work at all.
    """
    return record_tasks(
        items,
        journal,
        id_of=lambda item: item.problem.id,
        start=partial(_start, settings),
        jobs=jobs,
        unavailable=SandboxUnavailable,
        failed=lambda item, why: error_record(item.problem.id, item.problem.id, why),
    )


# -- in a worker -----------------------------------------------------------------------------------


def _start(settings: Settings) -> Callable[[Item], Record]:
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    return partial(_work, settings, box)


def _work(settings: Settings, box: Sandbox, item: Item) -> Record:
    truth = expected_outputs(item.key, box)
    problem = item.problem
    if settings.failing_tests:
        count = settings.failing_tests
        problem = with_failing_tests(problem, item.key, box, count, truth=truth)
    start = time.monotonic()
    result = predict(problem, settings, box)
    work = work_of(result, problem, time.monotonic() - start)
    return graded_record(work, problem, item.key, box, truth, name=problem.id)


def predict(problem: FunctionProblem, settings: Settings, box: Sandbox) -> MethodResult:
    """What the method says about a problem; it sees nothing else."""
    spec = METHODS.get(settings.method)
    ctx = Context(sandbox=InlineSandbox(box), seed=settings.seed)
    found: MethodResult = finished(spec(problem, ctx=ctx, options=settings.options))
    return found

"""Work on one problem: first the method, which sees the problem only, then the grader.

Methods that compute (`MethodSpec.cpu_bound`) do both in a worker process. Those that wait for a
model share one event loop; a problem that is solved leaves its place to the next and is graded in a
thread with a sandbox, so that the model never waits for the grader. What the model said is in the
sample cache before a method sees it: a problem that was not graded when the process died is worked
on again without asking anything again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from multiprocessing.util import Finalize
from typing import Any

from refute.core.methods import Context, MethodSpec, finished
from refute.core.problems import FunctionProblem, Invocation
from refute.core.processes import cores
from refute.core.registry import METHODS
from refute.errors import InputError, SandboxUnavailable
from refute.function.contract import MethodResult
from refute.function.llm.options import DebugOptions, Options
from refute.models.asking import askers
from refute.models.contract import Tally
from refute.models.session import Session
from refute.sandbox import Sandbox
from refute.sandbox.pool import InlineSandbox, SandboxPool
from refute_lab.benches.grade import with_failing_tests, with_gold_outputs
from refute_lab.benches.oracle import expected_outputs
from refute_lab.benches.records import FunctionRecord, Work, graded_record, work_of
from refute_lab.benches.summary import BenchSettings, record_names
from refute_lab.datasets import Item
from refute_lab.runs.executors import Concurrent, Executor, Processes
from refute_lab.runs.run import Ending, Run

Models = Callable[[], AbstractAsyncContextManager[Mapping[str, Session]]]
"""Opens the models, by the names that `Context` has for them."""


@dataclass(frozen=True, slots=True)
class BenchUnit:
    """A problem in one of the runs over the dataset."""

    name: str
    item: Item
    seed: int


def units_of(items: Sequence[Item], settings: BenchSettings) -> dict[str, BenchUnit]:
    """The units of a run, by the ids of their records: a run of all problems, then the second."""
    rows = [
        (run, BenchUnit(name, item, settings.seed + run))
        for item in items
        for run, name in enumerate(record_names(item.problem.id, settings.runs))
    ]
    return {unit.name: unit for _, unit in sorted(rows, key=lambda row: row[0])}


def work_on(
    run: Run[FunctionRecord],
    items: Sequence[Item],
    settings: BenchSettings,
    *,
    models: Models | None = None,
    at_once: int = 64,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Ending:
    """Work on the problems that have no result; `progress` receives how many have one.

    `models`: for a method that asks one, `at_once` problems at a time. `executor`: does them
    elsewhere (None: in `jobs` processes, those of a method that asks in one loop with `jobs`
    sandboxes); of which kind the work is, `MethodSpec.cpu_bound` says. Raises as `Run.do` does.
    """
    start: Callable[[], object] = partial(start_computing, settings)
    here = METHODS.only_here(settings.method)
    if not METHODS.get(settings.method).cpu_bound or here:
        opened = models or (lambda: nullcontext({}))
        boxes = jobs if executor is None or here else 1  # a worker among many has one core
        start = partial(start_asking, settings, opened, boxes)
        executor = Concurrent(at_once) if here else executor or Concurrent(at_once)
    return run.do(
        units_of(items, settings),
        start,
        executor or Processes(jobs),
        progress=progress,
        unavailable=SandboxUnavailable,
    )


# -- methods that compute, in a worker process -----------------------------------------------------


def start_computing(settings: BenchSettings) -> Callable[[tuple[str, BenchUnit]], FunctionRecord]:
    """Return the function that a worker process runs; see `Processes`."""
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    return partial(_computed, settings, box)


def _computed(
    settings: BenchSettings, box: Sandbox, named: tuple[str, BenchUnit]
) -> FunctionRecord:
    _, unit = named
    problem, key = unit.item.problem, unit.item.key
    truth = expected_outputs(key, box)
    if settings.failing_tests:
        problem = with_failing_tests(problem, key, box, settings.failing_tests, truth=truth)
    start = time.monotonic()
    result = predict(problem, settings, box, seed=unit.seed)
    work = work_of(result, problem, time.monotonic() - start)
    return graded_record(work, problem, key, box, truth, name=unit.name)


def predict(
    problem: FunctionProblem, settings: BenchSettings, box: Sandbox, *, seed: int | None = None
) -> MethodResult:
    """Run the method on a problem; it sees nothing else."""
    spec = METHODS.get(settings.method)
    ctx = Context(sandbox=InlineSandbox(box), seed=settings.seed if seed is None else seed)
    found: MethodResult = finished(spec(problem, ctx=ctx, options=settings.options))
    return found


# -- methods that wait for a model -----------------------------------------------------------------


@asynccontextmanager
async def start_asking(
    settings: BenchSettings, models: Models, jobs: int | None
) -> AsyncIterator[
    Callable[[tuple[str, BenchUnit], Callable[[], None]], Awaitable[FunctionRecord]]
]:
    """Work on units in the event loop; see `Concurrent`."""
    size = jobs or cores()
    with SandboxPool(size) as box, SandboxPool(size) as graders:
        async with models() as opened:

            async def do(named: tuple[str, BenchUnit], leave: Callable[[], None]) -> FunctionRecord:
                _, unit = named
                problem = unit.item.problem
                if settings.failing_tests:
                    problem = await graders.do(partial(_shown, unit.item, settings.failing_tests))
                method, options, before = settings.method, settings.options, None
                if settings.gold_outputs:
                    inputs = asking_for_inputs(options)
                    found, before = await _solved(unit, problem, method, inputs, box, opened)
                    calls = inputs_of(found, options.n)
                    problem = await graders.do(partial(_gold, unit.item, problem, calls))
                    method, options = "given", debugging(options)
                start = time.monotonic()
                found, tally = await _solved(unit, problem, method, options, box, opened)
                seconds = time.monotonic() - start
                both = [one for one in (before, tally) if one is not None]
                work = work_of(found, problem, seconds, reduce(Tally.plus, both) if both else None)
                if settings.gold_outputs:
                    shown = replace(work.prediction, tests=problem.tests)
                    work = replace(work, prediction=shown, sampled=None)
                leave()  # the model does not wait for the grader
                return await graders.do(partial(_graded, work, problem, unit))

            yield do


async def _solved(
    unit: BenchUnit,
    problem: FunctionProblem,
    method: str,
    options: Any,
    box: SandboxPool,
    models: Mapping[str, Session],
) -> tuple[MethodResult, Tally | None]:
    """Return the method's result and the cost of its models."""
    asking = askers(models, unit.name)
    ctx = Context(sandbox=box, seed=unit.seed, **asking)
    found: MethodResult = await METHODS.get(method)(problem, ctx=ctx, options=options)
    tallies = [ask.tally for ask in asking.values()]
    return found, reduce(Tally.plus, tallies) if tallies else None


def _shown(item: Item, count: int, box: Sandbox) -> FunctionProblem:
    """The problem with right failing tests, as the run's settings want it."""
    return with_failing_tests(item.problem, item.key, box, count)


def _gold(
    item: Item, problem: FunctionProblem, calls: Sequence[Invocation], box: Sandbox
) -> FunctionProblem:
    """The problem with the method's inputs and the right outputs for them."""
    return with_gold_outputs(problem, item.key, calls, box)


def _graded(work: Work, problem: FunctionProblem, unit: BenchUnit, box: Sandbox) -> FunctionRecord:
    truth = expected_outputs(unit.item.key, box)
    return graded_record(work, problem, unit.item.key, box, truth, name=unit.name)


def check_gold(spec: MethodSpec[Any, Any]) -> None:
    """Raises `InputError` for a method that proposes no inputs by the paper's algorithms."""
    if not (spec.writes_tests and spec.options is Options):
        raise InputError(f"gold_outputs is for random, prompted and utgen, not for {spec.name}")


def asking_for_inputs(options: Options) -> Options:
    """The options with which a method proposes inputs and does nothing else."""
    return replace(options, m=0, vote=False)


def inputs_of(result: MethodResult, count: int) -> list[Invocation]:
    """The first `count` different inputs that it proposed, whatever it says of their outputs."""
    attempts = result.trace.suites[0].attempts if result.trace and result.trace.suites else ()
    calls = [one.call for one in attempts if one.call is not None and one.status != "duplicate"]
    return calls[:count]


def debugging(options: Options) -> DebugOptions:
    """Return those of a method's options that are about debugging."""
    return DebugOptions(**{one.name: getattr(options, one.name) for one in fields(DebugOptions)})

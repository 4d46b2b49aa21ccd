"""`refute bench` over problems of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from refute.cli.output import consoles, print_json, remark
from refute.errors import UNAVAILABLE

if TYPE_CHECKING:
    from refute.cli.selected import Selected
    from refute.datasets import Item
    from refute.function.bench import Settings
    from refute.models.asking import Asked
    from refute.runs import Journal
    from refute.runs.loop import Ending

__all__ = ["FunctionBenchOptions", "bench_functions"]


@dataclass(frozen=True, slots=True)
class FunctionBenchOptions:
    """What the options about a run over functions say, besides method and model."""

    runs: int = 1
    budget: float = 10.0
    seed: int = 0
    visible_tests: int = 0
    failing_tests: int = 0
    max_candidates: int | None = None


def bench_functions(
    selected: Selected,
    asked: Asked,
    options: FunctionBenchOptions,
    *,
    jobs: int | None,
    as_json: bool,
) -> int:
    """The command. Exit status 3: some problems have no result (run again to retry them)."""
    from refute.errors import InputError
    from refute.function import bench as benches
    from refute.function.service import chosen_method, options_of
    from refute.remarks import warn_of_gaps
    from refute.report.bench import bench_document, print_bench
    from refute.report.terminal import counting
    from refute.runs import Journal, cores, new_run, read_header
    from refute.runs.loop import Ending
    from refute.sandbox.local import LocalSandbox

    dataset, run = selected.dataset, selected.run
    header = None if run is None else read_header(run)
    if header is not None:
        asked = replace(
            asked,
            **{
                name: header[name]
                for name in ("method", "model", "tester")
                if name in header and name not in selected.given
            },
        )
    spec = chosen_method(asked)
    if options.runs > 1 and not spec.asks_model:
        raise InputError("--runs is for methods that ask a model: others do the same every time")
    settings = benches.Settings(
        dataset=dataset,
        method=spec.name,
        limit=selected.limit,
        ids=selected.ids,
        model=asked.model,
        tester=asked.tester,
        options=options_of(
            spec, asked, budget=options.budget, max_candidates=options.max_candidates
        ),
        seed=options.seed,
        visible_tests=options.visible_tests,
        failing_tests=options.failing_tests,
        runs=options.runs,
    )
    if header is not None:
        settings = benches.resumed(settings, header, given=selected.given)
    items = benches.load_items(settings, selected.data)
    directory = run or new_run(selected.runs_dir, f"{Path(dataset).stem}-{spec.name}")
    out, err = consoles()
    ending = Ending()
    with Journal(directory, settings.header(items), damage=benches.damage) as journal:
        remark(err, [f"{len(items)} problems into {directory}"])
        with LocalSandbox() as box:
            warn_of_gaps(box)
        total = len(items) * settings.runs
        try:
            with counting(total, err) as progress:
                if spec.cpu_bound:
                    for done in benches.run_bench(items, settings, journal, jobs=jobs or cores()):
                        progress(done)
                else:
                    ending = _ask(items, settings, journal, asked, jobs or cores(), progress)
        except BaseException:
            remark(err, [f"stopped; go on with: refute bench {dataset} --run {directory}"])
            raise
        result = benches.summarize(items, settings, journal)
    if as_json:
        print_json(bench_document(result))
    elif result.n or not result.missing:
        print_bench(result, out)
    remark(err, (f"{id}: no result: {reason}" for id, reason in result.errors.items()))
    if ending.put_off:
        again = f"refute bench {dataset} --run {directory}"
        unfinished = f"{len(ending.put_off)} problems are not finished"
        remark(err, [f"{unfinished}: {ending.reason}; then go on with: {again}"])
    return UNAVAILABLE if result.errors or result.missing else 0


def _ask(
    items: Sequence[Item],
    settings: Settings,
    journal: Journal,
    asked: Asked,
    jobs: int,
    progress: Callable[[int], None],
) -> Ending:
    """The methods that wait, for a model say, in one event loop."""
    import asyncio

    from refute.function.bench.loop import run_asking
    from refute.function.bench.solving import solver
    from refute.models.asking import open_sessions
    from refute.sandbox.pool import SandboxPool

    async def work() -> Ending:
        with SandboxPool(jobs) as box, SandboxPool(jobs) as graders:
            async with open_sessions(asked) as models:
                return await run_asking(
                    items,
                    settings,
                    journal,
                    solver(settings.method, settings.options, box, models),
                    at_once=asked.concurrency,
                    graders=graders,
                    progress=progress,
                )

    return asyncio.run(work())

"""`refute bench`: a method over a data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.options import (
    FILE,
    ModelOptions,
    budget_option,
    given_names,
    json_option,
    model_options,
    seed_option,
)
from refute.cli.output import consoles, print_json, remark, warn
from refute.cli.status import UNAVAILABLE

if TYPE_CHECKING:
    from refute.datasets import Item
    from refute.function.bench import Ending, Settings
    from refute.runs import Journal

__all__ = ["command"]


@click.command("bench")
@click.argument("dataset")
@click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N problems.")
@click.option("--ids", metavar="A,B", help="Only these problems.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes (default: cores).")
@model_options
@click.option(
    "--runs", type=click.IntRange(1), default=1, metavar="N", help="Repeat with N seeds (1)."
)
@budget_option
@seed_option
@click.option(
    "--visible-tests", type=click.IntRange(0), default=0, metavar="N", help="Show N asserts (MBPP)."
)
@click.option(
    "--failing-tests",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Give N right failing tests with each problem.",
)
@click.option(
    "--max-candidates", type=click.IntRange(1), metavar="N", help="Candidates for one problem."
)
@click.option("--run", type=FILE, metavar="DIR", help="Folder of the run; go on where it stopped.")
@click.option(
    "--runs-dir", type=FILE, default=Path("runs"), show_default=True, help="Where runs go."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    dataset: str,
    data: Path | None,
    limit: int | None,
    ids: str | None,
    jobs: int | None,
    runs: int,
    budget: float,
    seed: int,
    visible_tests: int,
    failing_tests: int,
    max_candidates: int | None,
    run: Path | None,
    runs_dir: Path,
    as_json: bool,
    asked: ModelOptions,
) -> int:
    """Run a method over a data set, or over a JSONL file of problems.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard, or FILE.jsonl. A run that was
    interrupted goes on with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.cli.asking import WITHOUT_MODEL, chosen_method
    from refute.errors import InputError
    from refute.function import bench as benches
    from refute.report.bench import bench_document, print_bench
    from refute.report.terminal import counting
    from refute.runs import Journal, cores, new_run, read_header
    from refute.sandbox.local import LocalSandbox

    header = None if run is None else read_header(run)
    given = given_names(context)
    if header is not None:
        asked = replace(
            asked,
            **{
                name: header[name]
                for name in ("method", "model", "tester")
                if name in header and name not in given
            },
        )
    method = chosen_method(asked)
    with_model = method not in WITHOUT_MODEL
    if runs > 1 and not with_model:
        raise InputError("--runs is for methods that ask a model: others do the same every time")
    settings = benches.Settings(
        dataset=dataset,
        method=method,
        limit=limit,
        ids=tuple(part.strip() for part in ids.split(",") if part.strip()) if ids else None,
        budget=budget,
        seed=seed,
        visible_tests=visible_tests,
        failing_tests=failing_tests,
        max_candidates=max_candidates,
        model=asked.model,
        tester=asked.tester,
        options=asked.method_options() if with_model else None,
        runs=runs,
    )
    if header is not None:
        settings = benches.resumed(settings, header, given=given)
    items = benches.load_items(settings, data)
    directory = run or new_run(runs_dir, f"{Path(dataset).stem}-{method}")
    out, err = consoles()
    ending = benches.Ending()
    with Journal(directory, settings.header(items)) as journal:
        remark(err, [f"{len(items)} problems into {directory}"])
        with LocalSandbox() as box:
            warn(err, box)
        total = len(items) * settings.runs
        try:
            with counting(total, err) as progress:
                if with_model:
                    ending = _ask(items, settings, journal, asked, jobs or cores(), progress)
                else:
                    for done in benches.run_bench(items, settings, journal, jobs=jobs or cores()):
                        progress(done)
        except BaseException:
            remark(err, [f"stopped; go on with: refute bench {dataset} --run {directory}"])
            raise
        result = benches.summarize(items, settings, journal)
    if as_json:
        print_json(bench_document(result))
    elif result.n or not result.missing:
        print_bench(result, out)
    remark(err, (f"{id}: no result: {reason}" for id, reason in result.errors.items()))
    if ending.pending or ending.over_budget:
        again = f"refute bench {dataset} --run {directory}"
        unfinished = f"{ending.pending + ending.over_budget} problems are not finished"
        remark(err, [f"{unfinished}: {ending.reason}; then go on with: {again}"])
    return UNAVAILABLE if result.errors or result.missing else 0


def _ask(
    items: Sequence[Item],
    settings: Settings,
    journal: Journal,
    asked: ModelOptions,
    jobs: int,
    progress: Callable[[int], None],
) -> Ending:
    """The methods that ask a model, in one event loop."""
    import asyncio

    from refute.cli.asking import sessions
    from refute.function.bench.loop import run_asking
    from refute.function.bench.solving import solver
    from refute.sandbox.pool import SandboxPool

    async def work() -> Ending:
        assert settings.options is not None
        with SandboxPool(jobs) as box, SandboxPool(jobs) as graders:
            async with sessions(asked) as (session, tester):
                return await run_asking(
                    items,
                    settings,
                    journal,
                    solver(settings.method, settings.options, box, session, tester),
                    at_once=asked.concurrency,
                    graders=graders,
                    progress=progress,
                )

    return asyncio.run(work())

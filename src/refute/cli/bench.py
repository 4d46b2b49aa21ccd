"""`refute bench`: a method over a data set."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.options import FILE, budget_option, given_names, json_option, seed_option
from refute.cli.output import consoles, print_json, remark, warn
from refute.cli.status import UNAVAILABLE

__all__ = ["command"]


@click.command("bench")
@click.argument("dataset")
@click.option(
    "--method", type=click.Choice(["none", "search"]), default="search", show_default=True
)
@click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N problems.")
@click.option("--ids", metavar="A,B", help="Only these problems.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes (default: cores).")
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
    method: str,
    data: Path | None,
    limit: int | None,
    ids: str | None,
    jobs: int | None,
    budget: float,
    seed: int,
    visible_tests: int,
    failing_tests: int,
    max_candidates: int | None,
    run: Path | None,
    runs_dir: Path,
    as_json: bool,
) -> int:
    """Run a method over a data set, or over a JSONL file of problems.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard, or FILE.jsonl. A run that was
    interrupted goes on with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.function import bench as benches
    from refute.report.bench import bench_document, print_bench
    from refute.report.terminal import followed
    from refute.runs import Journal, cores, new_run, read_header
    from refute.sandbox.local import LocalSandbox

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
    )
    header = None if run is None else read_header(run)
    if header is not None:
        settings = benches.resumed(settings, header, given=given_names(context))
    items = benches.load_items(settings, data)
    directory = run or new_run(runs_dir, f"{Path(dataset).stem}-{method}")
    out, err = consoles()
    with Journal(directory, settings.header(items)) as journal:
        remark(err, [f"{len(items)} problems into {directory}"])
        with LocalSandbox() as box:
            warn(err, box)
        finished = benches.run_bench(items, settings, journal, jobs=jobs or cores())
        try:
            followed(finished, len(items), err)
        except BaseException:
            remark(err, [f"stopped; go on with: refute bench {dataset} --run {directory}"])
            raise
        result = benches.summarize(items, settings, journal)
    document = bench_document(result)
    if as_json:
        print_json(document)
    else:
        print_bench(result, out)
    remark(err, (f"{id}: no result: {reason}" for id, reason in result.errors.items()))
    return UNAVAILABLE if result.errors else 0

"""`refute bench`: a method over a data set, of functions or of issues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.bench_functions import FunctionBenchOptions, bench_functions
from refute.cli.bench_issues import IssueBenchOptions, bench_issues, issue_bench_options
from refute.cli.options import (
    budget_option,
    given_names,
    json_option,
    model_options,
    seed_option,
)
from refute.cli.reproducing import ReproducingOptions, reproducing_options
from refute.cli.selected import Selected, run_options, selecting_options, split_ids

if TYPE_CHECKING:
    from refute.models.asking import Asked

__all__ = ["command"]


@click.command("bench")
@click.argument("dataset")
@selecting_options
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
@reproducing_options
@issue_bench_options
@run_options
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
    asked: Asked,
    how: ReproducingOptions,
    issues: IssueBenchOptions,
) -> int:
    """Run a method over a data set, or over a file of its rows.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard or a JSONL file of functions;
    swt-lite, swt-verified, swt-full, swe-lite... or a file of SWE-bench rows. A run that was
    interrupted goes on with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.datasets.swe import holds_issues

    given = frozenset(given_names(context))
    selected = Selected(dataset, data, limit, split_ids(ids), run, runs_dir, given)
    if holds_issues(dataset):
        return bench_issues(selected, asked, how, issues, jobs=jobs, as_json=as_json)
    options = FunctionBenchOptions(runs, budget, seed, visible_tests, failing_tests, max_candidates)
    return bench_functions(selected, asked, options, jobs=jobs, as_json=as_json)

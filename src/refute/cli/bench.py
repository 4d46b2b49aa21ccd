"""`refute bench`: a method over a data set, of functions or of issues."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.issue_options import bounds_options
from refute.cli.method_options import MethodCommand
from refute.cli.options import (
    given_names,
    json_option,
    model_options,
)
from refute.cli.output import consoles, show
from refute.cli.run_options import (
    bench_options,
    executor_option,
    run_options,
    selecting_options,
    split_ids,
)
from refute.errors import UNAVAILABLE, InputError

if TYPE_CHECKING:
    from refute.methods import Bounds
    from refute.models.asking import Asked

__all__ = ["command"]


@click.command("bench", cls=MethodCommand, levels=("function", "issue"))
@click.argument("dataset")
@selecting_options
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes (default: cores).")
@executor_option
@model_options
@bench_options
@bounds_options
@run_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    dataset: str,
    data: Path | None,
    ids: str | None,
    jobs: int | None,
    executor: str | None,
    asked: Asked,
    bounds: Bounds,
    grade: bool,
    fixes: Path | None,
    run: Path | None,
    runs_dir: Path,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run a method over a data set, or over a file of its rows.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard or a JSONL file of functions;
    swt-lite, swt-verified, swt-full, swe-lite... or a file of SWE-bench rows. A run that was
    interrupted goes on with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.api.benching import BenchResult, IssueBenchResult, bench
    from refute.api.filtering import FilterResult, filter_fixes
    from refute.report.terminal import counting

    rows: dict[str, Any] = {"data": data, "limit": settings["limit"], "ids": split_ids(ids)}
    settings |= {**asdict(bounds), "ids": rows["ids"]}
    given = {name: settings[name] for name in given_names(context) if name in settings}
    err = consoles()[1]
    result: BenchResult | IssueBenchResult | FilterResult
    with counting(err) as progress:
        if fixes is not None:
            if run is None:
                raise InputError("--filter needs the run whose tests are to filter: --run DIR")
            rows |= {"jobs": jobs, "progress": progress, "workspace": settings["workspace"]}
            result = filter_fixes(fixes, run=run, dataset=dataset, **rows)
        else:
            result = bench(
                dataset,
                asked=asked,
                data=data,
                run=run,
                runs_dir=runs_dir,
                jobs=jobs,
                executor=executor,
                grade=grade,
                progress=progress,
                **given,
            )
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE

"""`refute bench`: a method over a dataset, of functions or of issues."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.methods import Bounds
from refute.errors import UNAVAILABLE, InputError
from refute.verbs.declared import MethodCommand
from refute.verbs.options import (
    given_names,
    json_option,
    model_options,
)
from refute.verbs.output import consoles, show
from refute_lab.cli.run_options import (
    Experiment,
    bench_options,
    executor_option,
    run_options,
    selecting_options,
    split_ids,
)

if TYPE_CHECKING:
    from refute.models.asking import Asked

_WHERE = ("data", "run", "runs_dir", "jobs", "executor", "grade")
"""What is no setting of the run."""
_OF_FILTER = ("data", "limit", "ids", "run", "jobs", "executor", "workspace")


class _Bench(MethodCommand):
    def named(self, given: Mapping[str, Any]) -> str | None:
        """The method that is named, or that of the run that goes on."""
        name, run = super().named(given), given.get("run")
        if name is not None or run is None:
            return name
        from refute_lab.runs.journal import read_header

        return (read_header(Path(run)) or {}).get("method")


@click.command("bench", cls=_Bench, levels=("function", "issue"), more=(Bounds, Experiment))
@click.argument("dataset")
@selecting_options
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes (default: cores).")
@executor_option
@model_options
@bench_options
@run_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    dataset: str,
    ids: str | None,
    asked: Asked,
    fixes: Path | None,
    as_json: bool,
    **how: Any,
) -> int:
    """Run a method over a dataset, or over a file of its rows.

    DATASET: humaneval+, mbpp+, he-fix, mbpp-fix, mbpp-fix-hard or a JSONL file of functions;
    swt-lite, swt-verified, swt-full, swe-lite... or a file of SWE-bench rows. A run that was
    interrupted resumes with `--run DIR`; settings that are not given again are the run's own.

    Exit status 3: some problems have no result (run again to retry them).
    """
    from refute.results.text.consoles import counting
    from refute_lab.api.benching import BenchResult, IssueBenchResult, bench
    from refute_lab.api.filtering import FilterResult, filter_fixes

    how["ids"] = split_ids(ids)
    result: BenchResult | IssueBenchResult | FilterResult
    with counting(consoles()[1]) as progress:
        if fixes is None:
            given = given_names(context)  # the others are as the run was started with
            named = {name: how[name] for name in how if name in _WHERE or name in given}
            result = bench(dataset, asked=asked, progress=progress, **named)
        elif how["run"] is None:
            raise InputError("--filter needs the run whose tests are to filter: --run DIR")
        else:
            named = {name: how[name] for name in _OF_FILTER}
            result = filter_fixes(fixes, dataset=dataset, progress=progress, **named)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE

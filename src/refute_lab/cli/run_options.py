"""Which rows of a dataset a run is about, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from refute.core.parameters import parameter
from refute.verbs.declared import FILE
from refute.verbs.options import seed_option, with_options, workspace_option
from refute.verbs.output import consoles, show
from refute_lab.datasets.spec import Evaluation, Subset

if TYPE_CHECKING:
    from refute_lab.api.reporting import Tabled

task_option = click.option(
    "--task",
    type=click.Choice(["tests", "repair"]),
    default="tests",
    show_default=True,
    help="Issues: what is asked for, tests that reproduce them or fixes.",
)
_SELECTING = (
    click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA)."),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N rows."),
    click.option("--ids", metavar="A,B", help="Only these rows."),
)
_RUN = (
    click.option(
        "--run", type=FILE, metavar="DIR", help="Folder of the run; resume where it stopped."
    ),
    click.option(
        "--runs-dir", type=FILE, default=Path("runs"), show_default=True, help="Where runs go."
    ),
)
_BENCH = (
    click.option(
        "--runs", type=click.IntRange(1), default=1, metavar="N", help="Repeat with N seeds (1)."
    ),
    seed_option,
    task_option,
    click.option("--grade", is_flag=True, help="Issues: grade the predictions as well."),
    click.option(
        "--filter",
        "fixes",
        type=FILE,
        metavar="FIXES",
        help="Issues: judge these fixes (predictions, or a run of repair) by the tests of --run.",
    ),
    workspace_option,
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What tables of the papers vary besides the method; a preset may set it."""

    visible_tests: int = parameter(0, "Asserts that are shown (MBPP).", at_least=0)
    editor_tests: int = parameter(0, "Asserts shown where code is edited (MBPP).", at_least=0)
    evaluation: Evaluation = parameter("evalplus", "Whose rules of grading and of edits.")
    subset: Subset = parameter("all", "Rows of HumanEval+ (158) and MBPP+ (375) that UTGen keeps.")
    failing_tests: int = parameter(
        0, "Right failing tests given with each problem (see the method `given`).", at_least=0
    )
    gold_outputs: bool = parameter(
        False, "Debug with the method's inputs and the reference's outputs."
    )
    test_files: Literal["none", "golden"] = parameter(
        "none", "Issues: tell the method the golden tests' files (Table 5)."
    )
    code_patch: str = parameter(
        "", "Issues: show it the golden patch (golden), or a proposal (predictions' file)."
    )
    patch_may_be_wrong: bool = parameter(False, "Issues: ... and say that it may be wrong.")


executor_option = click.option(
    "--executor",
    metavar="NAME[:ADDRESS]",
    help="What does the work: processes, ray (a cluster, docs/cluster.md), or a plugin's.",
)


def selecting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `data`, `limit` and `ids`."""
    return with_options(_SELECTING)(command)


def bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what `bench` alone has, for functions and for issues."""
    return with_options(_BENCH)(command)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `run` and `runs_dir`."""
    return with_options(_RUN)(command)


def split_ids(ids: str | None) -> tuple[str, ...] | None:
    """The names in `--ids A,B`; None where it was not given."""
    return tuple(part.strip() for part in ids.split(",") if part.strip()) if ids else None


_OPTIONS = (
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "csv", "latex", "json"]),
        default="text",
        show_default=True,
        help="Of what is printed: every table as CSV or as LaTeX, or one JSON document.",
    ),
    click.option(
        "--table",
        "tables",
        multiple=True,
        metavar="NAME",
        help="Only this table, also one in a paper's form (utgen-2); a wrong name lists them.",
    ),
)


table_options = with_options(_OPTIONS)
"""`form` and `tables`, which `show_tables` takes."""


def show_tables(found: Tabled, form: str, tables: tuple[str, ...]) -> None:
    """Print the tables that are asked for in the form that is. Raises `InputError`."""
    if form == "csv":
        click.echo(found.csv(*tables), nl=False)
    elif form == "latex":
        click.echo(found.latex(*tables), nl=False)
    elif tables and form != "json":
        from refute_lab.report.grids import print_grid

        for grid in found.chosen(tables):
            print_grid(grid, consoles()[0])
    else:
        show(found, as_json=form == "json")

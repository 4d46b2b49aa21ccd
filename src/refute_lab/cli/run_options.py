"""Which rows of a dataset a run is about, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option, seed_option, with_options, workspace_option
from refute.cli.output import consoles, show

if TYPE_CHECKING:
    from refute_lab.api.tables import Tabled

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
_OF_FUNCTIONS = (
    click.option(
        "--runs", type=click.IntRange(1), default=1, metavar="N", help="Repeat with N seeds (1)."
    ),
    seed_option,
    click.option(
        "--visible-tests",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Show N asserts (MBPP).",
    ),
    click.option(
        "--editor-tests",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Show N asserts where code is edited (MBPP).",
    ),
    click.option(
        "--evaluation",
        type=click.Choice(["evalplus", "paper"]),
        default="evalplus",
        help="Whose rules of grading and of edits (evalplus).",
    ),
    click.option(
        "--subset",
        type=click.Choice(["all", "extractable"]),
        default="all",
        help="Rows of HumanEval+ (158) and MBPP+ (375) that UTGen keeps (all).",
    ),
    click.option(
        "--failing-tests",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Give N right failing tests with each problem (see the method `given`).",
    ),
    click.option(
        "--gold-outputs",
        is_flag=True,
        help="Debug with the inputs that the method proposes and the reference's outputs.",
    ),
)
_OF_ISSUES = (
    click.option(
        "--given-tests",
        "test_files",
        type=click.Choice(["none", "golden"]),
        default="none",
        help="Issues: tell the method the golden tests' files (Table 5).",
    ),
    click.option(
        "--given-patch",
        "code_patch",
        default="",
        metavar="golden|FILE",
        help="Issues: show it the golden patch, or a proposal (predictions' file).",
    ),
    click.option(
        "--patch-may-be-wrong", is_flag=True, help="Issues: ... and say that it may be wrong."
    ),
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
    return with_options((*_OF_FUNCTIONS, *_OF_ISSUES))(command)


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
    json_option,
)


table_options = with_options(_OPTIONS)
"""`form`, `tables` and `as_json`, which `show_tables` takes."""


def show_tables(found: Tabled, form: str, tables: tuple[str, ...], as_json: bool) -> None:
    """Print the tables that are asked for in the form that is. Raises `InputError`."""
    if form == "csv":
        click.echo(found.csv(*tables), nl=False)
    elif form == "latex":
        click.echo(found.latex(*tables), nl=False)
    elif tables and not (as_json or form == "json"):
        from refute_lab.report.grid_text import print_grid

        for grid in found.chosen(tables):
            print_grid(grid, consoles()[0])
    else:
        show(found, as_json=as_json or form == "json")

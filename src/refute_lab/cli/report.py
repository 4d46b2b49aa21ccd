"""`refute report`: runs of `bench`, `grade` and of filters side by side, and a page about them."""

from __future__ import annotations

from pathlib import Path

import click

from refute.core.remarks import remark
from refute.verbs.declared import FILE, OUTPUT
from refute_lab.cli.run_options import show_tables, table_options


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@click.option("-o", "output", type=OUTPUT, metavar="FILE.html", help="Write a page about them.")
@click.option(
    "--data", type=FILE, metavar="PATH", help="Issues: the dataset's file or folder (REFUTE_DATA)."
)
@click.option(
    "--fixes",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help='Issues: what fixes resolve, SWE-bench\'s results ({"resolved": [id...]}).',
)
@click.option(
    "--cutoff", metavar="YYYY-MM-DD", help="Issues: tell those until this day and later ones apart."
)
@click.option("--common", is_flag=True, help="Only the problems that all runs have a grade for.")
@click.option(
    "--paper-model",
    metavar="NAME",
    help='Compare with the paper\'s figures of this model ("Qwen2.5 7B"), whatever ours is called.',
)
@table_options
def command(
    runs: tuple[Path, ...],
    output: Path | None,
    data: Path | None,
    fixes: tuple[Path, ...],
    cutoff: str | None,
    form: str,
    tables: tuple[str, ...],
    common: bool,
    paper_model: str | None,
) -> int:
    """Compare runs of bench with each other and with the paper.

    RUN: a folder that `refute bench` wrote; the run may still be under way. The page needs nothing
    but itself: figures with error bars, and every problem in detail. Functions: accuracy by round
    and by number of tests, paired tests. Issues (graded runs, folders of `refute grade` as well):
    SWT-Bench's tables, success by repository and by length, overlap, paired tests, cost, filters of
    fixes. The paper's figure stands beside a run of the same dataset, model, method and options.
    """
    from refute_lab.api.reporting import report

    found = report(
        *runs, data=data, fixes=fixes, cutoff=cutoff, common=common, paper_model=paper_model
    )
    if output is not None:  # first: whoever reads the tables may go before their end
        found.write(output)
        remark([f"page written to {output}"])
    show_tables(found, form, tables)
    return 0

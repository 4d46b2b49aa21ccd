"""`refute report`: runs of `bench` side by side, and a page about them."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.options import FILE, json_option
from refute.cli.output import consoles, print_json, remark

__all__ = ["command"]


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@click.option("-o", "output", type=FILE, metavar="FILE.html", help="Write a page about them.")
@json_option
def command(runs: tuple[Path, ...], output: Path | None, as_json: bool) -> int:
    """Compare runs of bench with each other and with the paper.

    RUN: a folder that `refute bench` wrote; the run may still be under way. The page needs nothing
    but itself: figures with error bars, accuracy by round and by number of tests, and every problem
    with its tests, votes and edits.
    """
    from refute.errors import InputError
    from refute.function.bench.summary import read_result
    from refute.report.compare import compare_document, print_comparison
    from refute.report.page import Run, render_page

    read = [Run(*read_result(directory)) for directory in dict.fromkeys(runs)]
    results = [run.result for run in read]
    out, err = consoles()
    if as_json:
        print_json(compare_document(results))
    else:
        print_comparison(results, out)
    if output is not None:
        try:
            output.write_text(render_page(read), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InputError(f"{output}: {error.strerror}") from None
        remark(err, [f"page written to {output}"])
    return 0

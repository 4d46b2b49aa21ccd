"""`refute data`: build benchmarks, and look at them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refute.errors import UNAVAILABLE
from refute.verbs.declared import FILE
from refute.verbs.options import json_option
from refute.verbs.output import show
from refute_lab.cli.run_options import selecting_options, show_tables, split_ids, table_options

_Command = Callable[..., int]


@click.group("data")
def command() -> None:
    """Build benchmarks of issues or of faulty programs, and look at them."""


@command.command("build-swt")
@click.option("--clone", type=FILE, required=True, metavar="DIR", help="Clone of the repository.")
@click.option(
    "--pulls", type=FILE, metavar="FILE",
    help="Its pull requests: gh api --paginate --jq '.[]' 'repos/OWNER/NAME/pulls?state=closed'",
)  # fmt: skip
@click.option(
    "--issues", type=FILE, metavar="FILE",
    help="Its issues: gh api --paginate --jq '.[]' 'repos/OWNER/NAME/issues?state=all'",
)  # fmt: skip
@click.option("--commit", metavar="SHA", help="In place of the two: a fix with its tests.")
@click.option("--issue", type=FILE, metavar="FILE", help="The text of the issue of --commit.")
@click.option(
    "--commits", type=FILE, metavar="FILE",
    help="Many of them: JSON lines with `commit` and `issue` (its text).",
)  # fmt: skip
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Rows, JSON lines.")
@click.option(
    "--runs", type=click.IntRange(1), default=5, show_default=True, metavar="N",
    help="Golden tests must turn from failing to passing in each of N runs.",
)  # fmt: skip
@click.option(
    "--repo", default="", metavar="OWNER/NAME",
    help="Where neither the pull requests nor the clone say.",
)  # fmt: skip
@click.option(
    "--environment", type=FILE, metavar="FILE|infer",
    help="JSON object as in the field `environment` of a row; what it leaves out is inferred, as "
    "with `infer` all of it (default: your own environment).",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(1), default=1800.0, show_default=True, metavar="SECONDS",
    help="Time for one run of the tests.",
)  # fmt: skip
@click.option("--run", type=FILE, metavar="DIR", help="Its journal (default: OUTPUT.run).")
@json_option
def build_swt(as_json: bool, **what: Any) -> int:
    """Make a benchmark of issues and their golden tests from merged pull requests.

    Kept are pull requests that resolve an issue and touch tests of which at least one fails before
    and passes after, in every run. Resumes where a run was stopped, also with more pull requests or
    an environment that was put right. Of pull requests are read `number`, `title`, `body`,
    `merged_at`, `created_at`, `merge_commit_sha`, `base.sha`, `base.repo.full_name` and `head.sha`;
    of issues `number`, `title` and `body`. Exit status 3: some tests could not be run; call it
    again to try those.
    """
    from refute_lab.api.benchmarks import build_swt as build

    result = build(**what)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE


@command.command("build-fix")
@click.argument("dataset")
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Rows, JSON lines.")
@click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA).")
@click.option(
    "--least", type=float, default=0.0, show_default=True, metavar="X",
    help="Share of the private tests that a program must pass.",
)  # fmt: skip
@click.option(
    "--most", type=float, default=1.0, show_default=True, metavar="X",
    help="Share that it may pass; at least one must fail.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the draw.")
@json_option
def build_fix_of(as_json: bool, **what: Any) -> int:
    """Make a benchmark of faulty programs out of what models wrote (UTGen's MBPP+Fix).

    Each RUN is one model's: refute bench DATASET --method judge:behaviour --samples 16 --model
    SPEC. One program a problem is drawn of those that fit; --least 0.5 --most 0.95 is the paper's
    hard part. The rows name the model, the pass rate and the kind of error; refute bench reads
    them.
    """
    from refute_lab.api.faults import build_fix

    show(build_fix(**what), as_json=as_json)
    return 0


@command.command("prepare")
@click.argument("dataset", required=False)
@selecting_options
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Builds at once (default: 1).")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="An archive of them (.tar[.gz]).")
@click.option("--from", "archive", type=FILE, metavar="FILE", help="Take them out of an archive.")
@json_option
def prepare_of(ids: str | None, as_json: bool, **what: Any) -> int:
    """Build the trees and environments of a dataset of issues ahead.

    DATASET: as in refute grade. They are kept in the cache of this machine (REFUTE_CACHE), where
    bench and grade find them. An archive is for machines whose cache and interpreters lie at the
    same paths. Exit status 3: some could not be built; the others are there.
    """
    from refute_lab.api.exporting import prepare

    result = prepare(ids=split_ids(ids), **what)
    show(result, as_json=as_json)
    return 0 if result.complete else UNAVAILABLE


@command.command("statistics")
@click.argument("rows")
@click.option("--data", type=FILE, metavar="PATH", help="Its file or folder (or REFUTE_DATA).")
@click.option(
    "--clones", type=FILE, metavar="DIR", help="Clones to count files in (or REFUTE_REPOS)."
)
@click.option(
    "--graded", type=FILE, metavar="RUN",
    help="Run of `refute grade ROWS gold`, for existing tests and coverage.",
)  # fmt: skip
@table_options
def statistics_of(
    rows: str,
    data: Path | None,
    clones: Path | None,
    graded: Path | None,
    form: str,
    tables: tuple[str, ...],
) -> int:
    """Figures about a benchmark of issues (SWT-Bench's Table 1 and Figure 2).

    ROWS: a dataset (swt-lite...) or a file of SWE-bench rows. Words are counted with punctuation,
    within about a per cent of the paper's tokenizer.
    """
    from refute_lab.api.benchmarks import statistics

    found = statistics(rows, data=data, clones=clones, graded=graded)
    show_tables(found, form, tables)
    return 0


def _problems(made: str) -> Callable[[_Command], _Command]:
    """The options of what is made of the problems of a dataset."""
    rows = made == "FILE"
    options = [
        click.argument("dataset"),
        click.option(
            "-o", "--output", type=FILE, required=True, metavar=made,
            help="Rows, JSON lines." if rows else "Folder of the tasks.",
        ),
        click.option(
            "--answers", type=click.Choice(["program", "test"]), show_default=True,
            default="program" if rows else None,
            help="What is asked for: the function, or asserts that find its fault"
            + ("." if rows else " (default: program; of issues tests)."),
        ),
        click.option("--data", type=FILE, metavar="PATH", help="Its file (or REFUTE_DATA)."),
        click.option("--id", "ids", multiple=True, metavar="ID", help="Only this problem; again."),
        click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N."),
        json_option,
    ]  # fmt: skip

    def decorate(function: _Command) -> _Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@command.command("rows")
@_problems("FILE")
def rows_of(as_json: bool, **what: Any) -> int:
    """Write the problems of a dataset as rows for training by rewards.

    Each row has a prompt and a task: the tests by which an answer is paid, as JSON. The adapters
    for TRL, verl, verifiers, NeMo Gym, rLLM and Inspect read them (docs/reward.md). Rows
    hold the answer key: show a model the prompt alone.
    """
    from refute_lab.api.exporting import write_rows

    show(write_rows(**what), as_json=as_json)
    return 0


@command.command("export-harbor")
@_problems("DIR")
def export_harbor_of(as_json: bool, **what: Any) -> int:
    """Write the problems of a dataset as Harbor task directories.

    The tests are in the image of the verifier, which is another than the agent's. DATASET may be
    one of issues, as in refute grade: its environments are built here first, and an answer is paid
    where its tests fail now and pass with the golden patch.
    """
    from refute_lab.api.exporting import export_harbor

    show(export_harbor(**what), as_json=as_json)
    return 0

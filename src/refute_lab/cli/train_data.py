"""`refute train data`: UTGen's training data from solved tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refute.cli.options import FILE, json_option, seed_option, session_options
from refute.cli.output import consoles, show
from refute_lab.cli.run_options import executor_option


@click.command("data")
@click.argument("source")
@click.option("-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes.")
@session_options
@click.option(
    "--corrupt", metavar="HOW",
    help="Faults by model, by mutants, or mix:SHARE by the model (model where one is given).",
)  # fmt: skip
@click.option(
    "--inputs", type=click.Choice(["model", "search"]),
    help="Who proposes inputs (the model where one is given).",
)  # fmt: skip
@click.option(
    "--rationales", type=click.Choice(["model", "template", "none"]),
    help="Reasoning in the answers (by the model where one is given, else none).",
)  # fmt: skip
@click.option("--faults", type=click.IntRange(1), default=2, metavar="N", help="A solution (2).")
@click.option("--attempts", type=click.IntRange(1), default=5, metavar="N", help="A fault (5).")
@click.option(
    "--rows-per-fault", type=click.IntRange(1), metavar="N",
    help="Only the first N attacking inputs of a fault become rows (all).",
)  # fmt: skip
@click.option(
    "--pairs-per-fault", type=click.IntRange(1), default=2, metavar="N",
    help="Preference pairs of a fault at most (2).",
)  # fmt: skip
@click.option("--vote-rows", is_flag=True, help="Beside each row one of the vote's turn.")
@click.option(
    "--preset", type=click.Choice(["paper"]),
    help="paper: its form of the prompts for faults (a teaching assistant's) and rationales (with"
    " an example).",
)  # fmt: skip
@click.option(
    "--prompts", type=FILE, metavar="DIR", help="Templates of your own, named as ours are."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
@click.option(
    "--evaluation", multiple=True, metavar="NAME|FILE",
    help="Keep away from this dataset (all in REFUTE_DATA).",
)  # fmt: skip
@click.option(
    "--validation", type=click.FloatRange(0, 1, max_open=True), default=0.05, metavar="SHARE",
    help="Solutions held out for choosing a checkpoint (0.05).",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (one a core).")
@executor_option
@seed_option
@click.option("--dry-run", is_flag=True, help="Say what it would take; run and ask nothing.")
@json_option
def data(source: str, output: Path, as_json: bool, **how: Any) -> int:
    """Make training data from solved tasks: faults, inputs that show them, and answers.

    SOURCE: a JSONL or Parquet file of tasks with solutions or of chats, a folder of documented
    Python functions, tulu-3, or hub:OWNER/NAME[@SPLIT]. Without --model, faults are mutations and
    inputs come from the search. Resumes where it was stopped; a larger --limit adds to it.

    DIR gets train.jsonl (for sft), preferences.jsonl (dpo), problems.jsonl (grpo), validation.jsonl
    (select), a data card and what each stage made.
    """
    from refute.report.terminal import counting_stages
    from refute_lab.api.training_data import training_data

    err = consoles()[1]
    with counting_stages(err) as progress:
        result = training_data(source, output, progress=progress, **how)
    show(result, as_json=as_json)
    return 0

"""`refute train data`: UTGen's training data from solved tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from refute.core.parameters import parameter
from refute.verbs.declared import FILE, MethodCommand
from refute.verbs.options import json_option, seed_option, session_options
from refute.verbs.output import consoles, show
from refute_lab.cli.run_options import executor_option


@dataclass(frozen=True, slots=True)
class Making:
    """What is made of a solution; parameters of `training_data`."""

    corrupt: str | None = parameter(
        None, "Faults by model, by mutants, or mix:SHARE by the model (model where one is given)."
    )
    inputs: Literal["model", "search"] | None = parameter(
        None, "Who proposes inputs (the model where one is given)."
    )
    rationales: Literal["model", "template", "none"] | None = parameter(
        None, "Reasoning in the answers (by the model where one is given, else none)."
    )
    faults: int = parameter(2, "Faults of a solution.", at_least=1)
    attempts: int = parameter(5, "Attempts at a fault.", at_least=1)
    rows_per_fault: int | None = parameter(
        None, "Only the first attacking inputs of a fault become rows (all).", at_least=1
    )
    pairs_per_fault: int = parameter(2, "Preference pairs of a fault at most.", at_least=1)
    vote_rows: bool = parameter(False, "Beside each row one of the vote's turn.")
    prompts: Path | None = parameter(None, "Folder of templates that replace ours.")
    evaluation: tuple[str, ...] = parameter(
        (), "Keep away from these datasets (all in REFUTE_DATA)."
    )
    validation: float = parameter(
        0.05, "Share of the solutions held out for choosing a checkpoint.", at_least=0
    )


@click.command("data", cls=MethodCommand, more=(Making,))
@click.argument("source")
@click.option("-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes.")
@session_options
@click.option(
    "--preset", type=click.Choice(["paper"]),
    help="paper: its form of the prompts for faults (a teaching assistant's) and rationales (with"
    " an example).",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
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
    from refute.results.text.consoles import counting_stages
    from refute_lab.api.training_data import training_data

    err = consoles()[1]
    with counting_stages(err) as progress:
        result = training_data(source, output, progress=progress, **how)
    show(result, as_json=as_json)
    return 0

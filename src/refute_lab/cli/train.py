"""`refute train`: data, training and the choice of a checkpoint for UTGen."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from refute.core.parameters import parameter
from refute.verbs.declared import FILE, MethodCommand, set_by_name
from refute.verbs.options import json_option, seed_option, session_options
from refute.verbs.output import consoles, show
from refute_lab.cli.run_options import executor_option
from refute_lab.train.settings import DpoSettings, GrpoSettings, SftSettings

if TYPE_CHECKING:
    from refute_lab.api.training_data import TrainingData


# -- train data ------------------------------------------------------------------------------------


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


# -- train fit -------------------------------------------------------------------------------------


_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what it would take; train nothing.")
_MODEL = click.option(
    "--model", required=True, metavar="MODEL",
    help="A preset, a folder or an id: llama3-8b, llama3.1-8b, qwen2.5-coder-7b, -32b.",
)  # fmt: skip
_TRACKERS = click.option(
    "--report-to", multiple=True, metavar="NAME", help="A tracker besides: tensorboard, wandb..."
)
_OUTPUT = click.option(
    "-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes."
)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How checkpoints are scored."""

    n: int = parameter(3, "Tests for each problem.", at_least=1)
    problems: int | None = parameter(None, "Use so many validation problems.", at_least=1)
    max_tokens: int = parameter(2048, "Of an answer.", at_least=1)


@click.command("sft", cls=MethodCommand, more=(SftSettings,))
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@_TRACKERS
@_DRY_RUN
@json_option
@set_by_name
def sft(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train a LoRA adapter on the rows that `refute train data` made.

    DATA: its folder, or a JSONL file of prompts and completions. Resumes where it was stopped. For
    several GPUs: accelerate launch -m refute train sft ...
    """
    from refute_lab.api.training import sft as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("dpo", cls=MethodCommand, more=(DpoSettings,))
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@_TRACKERS
@_DRY_RUN
@json_option
@set_by_name
def dpo(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train an adapter to prefer tests that attack and are right (DPO).

    DATA: the folder of `refute train data`, made with --inputs model, or a JSONL file of prompt,
    chosen and rejected. Resumes where it was stopped.
    """
    from refute_lab.api.training import dpo as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("grpo", cls=MethodCommand, more=(GrpoSettings,))
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Sandboxes (one a core).")
@_TRACKERS
@_DRY_RUN
@json_option
@set_by_name
def grpo(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train an adapter with the verdict on its tests as the reward (GRPO).

    DATA: the folder of `refute train data`, or a JSONL file of problems with references. A test is
    paid 1 where it attacks and is right. Resumes where it was stopped.
    """
    from refute_lab.api.training import grpo as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("select", cls=MethodCommand, more=(Scoring,))
@click.argument("run", type=FILE)
@click.option(
    "--validation", type=FILE, required=True, metavar="PATH",
    help="A JSONL file of problems, or the folder of `refute train data`.",
)  # fmt: skip
@json_option
@set_by_name
def select(run: Path, validation: Path, as_json: bool, **how: Any) -> int:
    """Score every checkpoint of a run on validation problems; copy the best one to RUN/best.

    Scored by accuracy ∩ attack. Never use the problems that you test on.
    """
    from refute_lab.api.training import select as choose

    show(choose(run, validation, **how), as_json=as_json)
    return 0


@click.command("all", cls=MethodCommand, more=(SftSettings, Scoring))
@click.argument("source")
@_OUTPUT
@_MODEL
@click.option(
    "--data-model", metavar="SPEC", help="Makes the data: openai:NAME, hf:PATH... or none."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
@_TRACKERS
@json_option
@set_by_name
def all_stages(source: str, output: Path, as_json: bool, **how: Any) -> int:
    """Data, training and the choice of a checkpoint, into DIR/data and DIR/run.

    SOURCE as in `refute train data`, whose own options that command alone has: call it first for
    other data, with DIR/data as its folder. Resumes where it was stopped.
    """
    from refute.results.text.consoles import counting_stages
    from refute_lab.api.training import train

    with ExitStack() as stack:
        progress = stack.enter_context(counting_stages(consoles()[1]))

        def made(data: TrainingData) -> None:
            stack.close()
            with redirect_stdout(sys.stderr):
                data.print(consoles()[0])

        result = train(source, output, progress=progress, made=made, **how)
    show(result, as_json=as_json)
    return 0


@click.group("train")
def command() -> None:
    """Train a model to write unit tests that fail and are right (UTGen)."""


for verb in (data, sft, dpo, grpo, select, all_stages):
    command.add_command(verb)

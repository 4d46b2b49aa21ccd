"""`refute train sft`, `dpo`, `grpo`, `select`, `all`: training, and the choice of a checkpoint."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.parameters import parameter
from refute.verbs.declared import FILE, MethodCommand, set_by_name
from refute.verbs.options import json_option
from refute.verbs.output import consoles, show
from refute_lab.train.settings import DpoSettings, GrpoSettings, SftSettings

if TYPE_CHECKING:
    from refute_lab.api.training_data import TrainingData

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

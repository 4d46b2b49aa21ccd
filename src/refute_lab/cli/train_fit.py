"""`refute train sft`, `dpo`, `grpo`, `select`, `all`: training, and the choice of a checkpoint."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option, with_options
from refute.cli.output import consoles, show

if TYPE_CHECKING:
    from refute_lab.api.training_data import TrainingData

_SHARED = (
    click.option("--lora-rank", type=click.IntRange(1), metavar="N", help="(16)"),
    click.option("--lora-alpha", type=click.IntRange(1), metavar="N", help="(32)"),
    click.option("--lora-dropout", type=float, metavar="P", help="(sft 0.05, else 0)"),
    click.option("--learning-rate", type=float, metavar="X", help="(5e-6, cosine)"),
    click.option("--batch", type=click.IntRange(1), metavar="N", help="Rows in a step (16)."),
    click.option("--micro-batch", type=click.IntRange(1), metavar="N", help="At a time (4)."),
    click.option("--epochs", type=float, metavar="X", help="(sft 10, else 1)"),
    click.option("--max-steps", type=click.IntRange(1), metavar="N", help="Stop after so many."),
    click.option("--save-steps", type=click.IntRange(1), metavar="N", help="(one epoch)"),
    click.option("--max-length", type=click.IntRange(2), metavar="N", help="Tokens of a row."),
    click.option("--quantize/--no-quantize", default=None, help="QLoRA: the base in 4 bits."),
    click.option("--attention", metavar="NAME", help="sdpa, flash_attention_2, eager."),
    click.option("--bf16/--no-bf16", default=None, help="Weights in bfloat16."),
    click.option(
        "--gradient-checkpointing/--no-gradient-checkpointing", default=None, help="Less memory."
    ),
    click.option("--train-seed", "seed", type=int, metavar="N", help="Of the training (0)."),
)
_SETTINGS = (
    *_SHARED,
    click.option("--packing", type=click.Choice(["none", "flat", "blocks"]), help="Of rows."),
)
_ON_TOP = (
    *_SHARED,
    click.option("--adapter", metavar="PATH", help="An adapter (of sft) to go on from."),
)
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what it would take; train nothing.")
_MODEL = click.option(
    "--model", required=True, metavar="MODEL",
    help="A preset, a folder or an id: llama3-8b, llama3.1-8b, qwen2.5-coder-7b, -32b.",
)  # fmt: skip
_TRACKERS = click.option(
    "--report-to", multiple=True, metavar="NAME", help="A tracker besides: tensorboard, wandb..."
)
_SCORING = (
    click.option("-n", type=click.IntRange(1), default=3, metavar="N", help="Tests each (3)."),
    click.option(
        "--problems", type=click.IntRange(1), metavar="N", help="Use so many validation problems."
    ),
    click.option(
        "--max-tokens", type=click.IntRange(1), default=2048, metavar="N",
        help="Of an answer (2048).",
    ),
)  # fmt: skip
_OUTPUT = click.option(
    "-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes."
)


@click.command("sft")
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@with_options(_SETTINGS)
@_TRACKERS
@_DRY_RUN
@json_option
def sft(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train a LoRA adapter on the rows that `refute train data` made.

    DATA: its folder, or a JSONL file of prompts and completions. Resumes where it was stopped. For
    several GPUs: accelerate launch -m refute train sft ...
    """
    from refute_lab.api.training import sft as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("dpo")
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@with_options(_ON_TOP)
@click.option("--beta", type=float, metavar="X", help="Pull to the reference model (0.1).")
@_TRACKERS
@_DRY_RUN
@json_option
def dpo(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train an adapter to prefer tests that attack and are right (DPO).

    DATA: the folder of `refute train data`, made with --inputs model, or a JSONL file of prompt,
    chosen and rejected. Resumes where it was stopped.
    """
    from refute_lab.api.training import dpo as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("grpo")
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@with_options(_ON_TOP)
@click.option("--beta", type=float, metavar="X", help="Pull to the reference model (0).")
@click.option("--generations", type=click.IntRange(2), metavar="N", help="Answers a prompt (8).")
@click.option("--max-completion", type=click.IntRange(1), metavar="N", help="Tokens (1024).")
@click.option("--temperature", type=float, metavar="X", help="Of the answers (1.0).")
@click.option("--attack-credit", type=float, metavar="X", help="For an attack alone (0).")
@click.option("--right-credit", type=float, metavar="X", help="For a right output alone (0).")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Sandboxes (one a core).")
@_TRACKERS
@_DRY_RUN
@json_option
def grpo(data: Path, output: Path, as_json: bool, **how: Any) -> int:
    """Train an adapter with the verdict on its tests as the reward (GRPO).

    DATA: the folder of `refute train data`, or a JSONL file of problems with references. A test is
    paid 1 where it attacks and is right. Resumes where it was stopped.
    """
    from refute_lab.api.training import grpo as fit

    show(fit(data, output, **how), as_json=as_json)
    return 0


@click.command("select")
@click.argument("run", type=FILE)
@click.option(
    "--validation", type=FILE, required=True, metavar="PATH",
    help="A JSONL file of problems, or the folder of `refute train data`.",
)  # fmt: skip
@with_options(_SCORING)
@json_option
def select(run: Path, validation: Path, as_json: bool, **how: Any) -> int:
    """Score every checkpoint of a run on validation problems; copy the best one to RUN/best.

    Scored by accuracy ∩ attack. Never use the problems that you test on.
    """
    from refute_lab.api.training import select as choose

    show(choose(run, validation, **how), as_json=as_json)
    return 0


@click.command("all")
@click.argument("source")
@_OUTPUT
@_MODEL
@click.option(
    "--data-model", metavar="SPEC", help="Makes the data: openai:NAME, hf:PATH... or none."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
@with_options(_SETTINGS)
@_TRACKERS
@with_options(_SCORING)
@json_option
def all_stages(source: str, output: Path, as_json: bool, **how: Any) -> int:
    """Data, training and the choice of a checkpoint, into DIR/data and DIR/run.

    SOURCE as in `refute train data`, whose own options that command alone has: call it first for
    other data, with DIR/data as its folder. Resumes where it was stopped.
    """
    from refute.report.terminal import counting_stages
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

"""`refute train sft`, `select` and `all`: fine-tuning, and the choice of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option
from refute.cli.output import consoles, print_json, remark

if TYPE_CHECKING:
    from refute.train.select import Selection
    from refute.train.settings import Resolved
    from refute.train.sft import Prepared, Trained

__all__ = ["all_stages", "select", "sft"]

_SETTINGS = (
    click.option("--lora-rank", type=click.IntRange(1), metavar="N", help="(16)"),
    click.option("--lora-alpha", type=click.IntRange(1), metavar="N", help="(32)"),
    click.option("--lora-dropout", type=float, metavar="P", help="(0.05)"),
    click.option("--learning-rate", type=float, metavar="X", help="(5e-6, cosine)"),
    click.option("--batch", type=click.IntRange(1), metavar="N", help="Rows in a step (16)."),
    click.option("--micro-batch", type=click.IntRange(1), metavar="N", help="At a time (4)."),
    click.option("--epochs", type=float, metavar="X", help="(10)"),
    click.option("--max-steps", type=click.IntRange(1), metavar="N", help="Stop after so many."),
    click.option("--save-steps", type=click.IntRange(1), metavar="N", help="(one epoch)"),
    click.option("--max-length", type=click.IntRange(2), metavar="N", help="Tokens of a row."),
    click.option("--quantize/--no-quantize", default=None, help="QLoRA: the base in 4 bits."),
    click.option("--packing", type=click.Choice(["none", "flat", "blocks"]), help="Of rows."),
    click.option("--attention", metavar="NAME", help="sdpa, flash_attention_2, eager."),
    click.option("--bf16/--no-bf16", default=None, help="Weights in bfloat16."),
    click.option(
        "--gradient-checkpointing/--no-gradient-checkpointing", default=None, help="Less memory."
    ),
    click.option("--train-seed", "seed", type=int, metavar="N", help="Of the training (0)."),
)
_NAMES = (
    "lora_rank", "lora_alpha", "lora_dropout", "learning_rate", "batch", "micro_batch", "epochs",
    "max_steps", "save_steps", "max_length", "quantize", "packing", "attention", "bf16",
    "gradient_checkpointing", "seed",
)  # fmt: skip
_MODEL = click.option(
    "--model", required=True, metavar="MODEL",
    help="A preset, a folder or an id: llama3-8b, llama3.1-8b, qwen2.5-coder-7b, -32b.",
)  # fmt: skip
_TRACKERS = click.option(
    "--report-to", multiple=True, metavar="NAME", help="A tracker besides: tensorboard, wandb..."
)
_TESTS = click.option("-n", type=click.IntRange(1), default=3, metavar="N", help="Tests each (3).")
_LIMIT = click.option(
    "--problems", type=click.IntRange(1), metavar="N", help="Use so many validation problems."
)
_ANSWER = click.option(
    "--max-tokens", type=click.IntRange(1), default=2048, metavar="N", help="Of an answer (2048)."
)
_OUTPUT = click.option(
    "-o", "--output", type=FILE, required=True, metavar="DIR", help="Where it goes."
)


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_SETTINGS):
        command = option(command)
    return command


@click.command("sft")
@click.argument("data", type=FILE)
@_OUTPUT
@_MODEL
@_with_settings
@_TRACKERS
@click.option("--dry-run", is_flag=True, help="Say what it would take; train nothing.")
@json_option
def sft(
    data: Path,
    output: Path,
    model: str,
    report_to: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Train a LoRA adapter on the rows that `refute train data` made.

    DATA: its folder, or a JSONL file of prompts and completions. Goes on where it was stopped. For
    several GPUs: accelerate launch -m refute train sft ...
    """
    from dataclasses import asdict

    from refute.train.estimate import estimate
    from refute.train.sft import train

    resolved, prepared = _prepared(_rows_of(data), model, given)
    if dry_run:
        found = estimate(prepared, resolved.settings)
        if as_json:
            print_json({"settings": asdict(resolved.settings), "estimate": asdict(found)})
        else:
            _show_estimate(asdict(found))
        return 0
    trained = train(prepared, resolved, output, report=_reporting(), report_to=report_to)
    _show_trained(trained, as_json)
    return 0


@click.command("select")
@click.argument("run", type=FILE)
@click.option(
    "--validation", type=FILE, required=True, metavar="PATH",
    help="A JSONL file of problems, or the folder of `refute train data`.",
)  # fmt: skip
@_TESTS
@_LIMIT
@_ANSWER
@json_option
def select(
    run: Path, validation: Path, n: int, problems: int | None, max_tokens: int, as_json: bool
) -> int:
    """Score every checkpoint of a run on validation problems; copy the best one to RUN/best.

    Scored by accuracy ∩ attack. Never use the problems that you test on.
    """
    from refute.train.select import select as choose

    chosen = choose(
        run,
        _problems_of(validation),
        n=n,
        limit=problems,
        max_tokens=max_tokens,
        progress=lambda line: remark(consoles()[1], [line]),
    )
    _show_selection(chosen, as_json)
    return 0


@click.command("all")
@click.argument("source")
@_OUTPUT
@_MODEL
@click.option("--data-model", metavar="SPEC", help="Makes the data: openai:NAME, hf:PATH...")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Take so many solutions.")
@_with_settings
@_TRACKERS
@_TESTS
@_LIMIT
@_ANSWER
@json_option
def all_stages(
    source: str,
    output: Path,
    model: str,
    data_model: str | None,
    limit: int | None,
    report_to: tuple[str, ...],
    n: int,
    problems: int | None,
    max_tokens: int,
    as_json: bool,
    **given: Any,
) -> int:
    """Data, training and the choice of a checkpoint, into DIR/data and DIR/run.

    SOURCE as in `refute train data`, whose own options that command alone has: call it first for
    other data, with DIR/data as its folder. Goes on where it was stopped.
    """
    import sys
    from contextlib import redirect_stdout

    from refute.cli.train_data import data
    from refute.train.pipeline import train_and_select

    arguments = [source, "-o", str(output / "data")]
    arguments += ["--model", data_model] if data_model is not None else []
    arguments += ["--limit", str(limit)] if limit is not None else []
    with redirect_stdout(sys.stderr):
        data.main(arguments, prog_name="refute train data", standalone_mode=False)
    resolved, prepared = _prepared(_rows_of(output / "data"), model, given)
    outcome = train_and_select(
        prepared,
        _problems_of(output / "data"),
        resolved,
        output / "run",
        n=n,
        limit=problems,
        max_tokens=max_tokens,
        report_to=report_to,
        report=_reporting(),
        progress=lambda line: remark(consoles()[1], [line]),
    )
    _show_selection(outcome.selection, as_json)
    return 0


# -- what goes in ----------------------------------------------------------------------------------


def _rows_of(data: Path) -> Path:
    return data / "train.jsonl" if data.is_dir() else data


def _problems_of(validation: Path) -> Path:
    return validation / "validation.jsonl" if validation.is_dir() else validation


def _prepared(rows: Path, model: str, given: dict[str, Any]) -> tuple[Resolved, Prepared]:
    """The settings, printed with where they come from, and the data."""
    import importlib.util

    from refute.errors import InputError

    needed = ("torch", "transformers", "peft", "trl", "datasets")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"training needs {', '.join(missing)}; pip install 'refute[train]'")
    from refute.train.settings import resolve
    from refute.train.sft import prepare

    resolved = resolve(model, given)
    log = consoles()[1]
    remark(log, resolved.lines())
    prepared = prepare(rows, resolved.settings)
    long = f"; {prepared.long:,} too long" if prepared.long else ""
    remark(log, [f"{len(prepared.rows):,} rows, {prepared.tokens:,} tokens{long}"])
    return resolved, prepared


# -- what comes out --------------------------------------------------------------------------------


def _reporting() -> Callable[[dict[str, Any]], None]:
    """One line for each tenth step: the log has them all."""
    log = consoles()[1]

    def report(record: dict[str, Any]) -> None:
        if record["step"] == 1 or record["step"] % 10 == 0:
            remark(log, [f"step {record['step']}: loss {record['loss']:.4f}"])

    return report


def _show_estimate(found: dict[str, Any]) -> None:
    out = consoles()[0]
    lines = (
        f"rows     {found['rows']:,} ({found['too_long']:,} too long)",
        f"steps    {found['steps']:,}",
        f"tokens   {found['tokens']:,}, of which {found['trained_tokens']:,} with loss",
        f"memory   about {found['memory_gib']:,.1f} GiB on each device",
        f"time     about {found['hours']:,.2f} hours at {found['assumption']}",
    )
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)


def _show_trained(trained: Trained, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "output": str(trained.output),
                "checkpoints": [path.name for path in trained.checkpoints],
                "steps": trained.steps,
                "resumed_at": trained.resumed_at,
                "seconds": round(trained.seconds, 3),
            }
        )
        return
    consoles()[0].print(
        f"{trained.steps} steps, {len(trained.checkpoints)} checkpoints in {trained.output}; next: "
        f"refute train select {trained.output} --validation FILE",
        markup=False,
        soft_wrap=True,
    )


def _show_selection(chosen: Selection, as_json: bool) -> None:
    if as_json:
        scores = {
            score.name: {key: figure.value for key, figure in score.figures.items()}
            for score in chosen.scores
        }
        print_json({"best": chosen.best, "adapter": str(chosen.path), "scores": scores})
        return
    from rich.table import Table

    table = Table("", "attack rate", "output accuracy", "accuracy ∩ attack")
    for score in chosen.scores:
        mark = " (best)" if score.name == chosen.best else ""
        shares = (f"{100 * figure.value:.1f} %" for figure in score.figures.values())
        table.add_row(score.name + mark, *shares)
    out = consoles()[0]
    out.print(table)
    out.print(str(chosen.path), markup=False, soft_wrap=True)

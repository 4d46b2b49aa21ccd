"""Training data, training and the choice of a checkpoint, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from refute_lab.train.data_contract import Plan
    from refute_lab.train.rough import Estimate
    from refute_lab.train.select import CheckpointChoice


def print_plan(found: Plan, console: Console) -> None:
    """What making the data would take, by stage, and why tasks fall out."""
    title = f"{found.read:,} tasks read, {found.solutions:,} solutions, at most {found.rows:,} rows"
    table = Table("stage", "tasks", "requests", "answers", "tokens in", "tokens out", title=title)
    for s in found.stages:
        numbers = (s.tasks, s.requests, s.samples, s.prompt_tokens, s.completion_tokens)
        table.add_row(s.name, *(f"{n:,}" if n else "-" for n in numbers))
    console.print(table)
    for reason, count in found.dropped.most_common():
        console.print(f"{count:>8,}  {reason}")
    console.print(f"sandbox: about {found.seconds / 60:,.1f} minutes of one core", markup=False)


def print_data(card: Mapping[str, Any], directory: Path, console: Console) -> None:
    """What went into each stage and came out; `card` as `train.card.figures` makes it."""
    table = Table("stage", "in", "out", "fell out", title=f"{directory}")
    for stage in card["stages"]:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in stage["fell_out"].items())
        table.add_row(stage["title"], f"{stage['in']:,}", f"{stage['out']:,}", reasons or "-")
    console.print(table)
    rows = card["rows"]
    _say(
        console,
        f"{rows['train']:,} rows in {directory / 'train.jsonl'}, "
        f"{card['preferences']['pairs']:,} pairs in {directory / 'preferences.jsonl'}, "
        f"{rows['validation_problems']:,} problems in {directory / 'validation.jsonl'}; "
        f"see {directory / 'card.md'}",
    )


def print_estimate(found: Estimate, console: Console) -> None:
    """What a training would take."""
    _say(console, f"rows     {found.rows:,} ({found.too_long:,} too long)")
    _say(console, f"steps    {found.steps:,}")
    about = "about " if found.memory_gib is None else ""
    counted = f"{about}{found.tokens:,}, of which {about}{found.trained_tokens:,} with loss"
    _say(console, f"tokens   {counted}")
    if found.memory_gib is None:
        _say(console, f"         at {found.assumption}")
        return
    _say(console, f"memory   about {found.memory_gib:,.1f} GiB on each device")
    _say(console, "time     not measured on this card")


def print_selection(chosen: CheckpointChoice, console: Console) -> None:
    """Each checkpoint's figures, the best marked, and where its adapter is."""
    table = Table("", "attack rate", "output accuracy", "accuracy ∩ attack")
    for score in chosen.scores:
        mark = " (best)" if score.name == chosen.best else ""
        shares = (f"{100 * figure.value:.1f} %" for figure in score.figures.values())
        table.add_row(score.name + mark, *shares)
    console.print(table)
    _say(console, str(chosen.path))


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)

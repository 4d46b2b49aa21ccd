"""`refute train`: data, training and the choice of a checkpoint for UTGen."""

from __future__ import annotations

import click

from refute_lab.cli.train_data import data
from refute_lab.cli.train_fit import all_stages, dpo, grpo, select, sft


@click.group("train")
def command() -> None:
    """Train a model to write unit tests that fail and are right (UTGen)."""


for verb in (data, sft, dpo, grpo, select, all_stages):
    command.add_command(verb)

"""Fine-tuning as in UTGen (section 3.2): a LoRA adapter by TRL and PEFT, loss on completions only.

    python -m refute train sft DATA.jsonl --model MODEL -o DIR
    accelerate launch --num_processes 8 -m refute train sft ...      # several GPUs

What is in the folder: `refute_lab.train.run_folder`. Resumed, a run has the same losses as an
undisturbed one.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute_lab.train import SftSettings
from refute_lab.train.run_folder import arguments, train_rows, trainer_of
from refute_lab.train.tokens import (
    Encoded,
    Prepared,
    digest_of,
    encode_all,
    estimate,
    read_examples,
    tokenizer_of,
)

if TYPE_CHECKING:
    from transformers import TrainerCallback

__all__ = ["Prepared", "estimate", "make_trainer", "prepare", "train"]


def prepare(data: Path, settings: SftSettings) -> Prepared:
    """Read the rows and write them as tokens. Raises `InputError`, `ModelUnavailable`."""
    examples = read_examples(data)
    rows, long = encode_all(examples, tokenizer_of(settings.model), max_length=settings.max_length)
    if not rows:
        raise InputError(f"{data}: all {long} rows are longer than {settings.max_length} tokens")
    return Prepared(rows, long, digest_of(data))


def make_trainer(
    rows: Sequence[Encoded],
    settings: SftSettings,
    output: Path,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    report_to: Sequence[str] = (),
) -> Any:
    """TRL's trainer for the settings, with the model loaded and the adapter in place."""
    trl: Any = importlib.import_module("trl")  # has no types
    config = trl.SFTConfig(
        **arguments(settings, output, settings.steps(len(rows)), report_to),
        max_length=settings.max_length if settings.packing == "blocks" else None,
        packing=settings.packing == "blocks",
        padding_free=settings.packing == "flat",
        completion_only_loss=True,
        shuffle_dataset=False,
    )
    data = [asdict(row) for row in rows]
    return trainer_of(trl.SFTTrainer, settings, config, data, callbacks=callbacks)


train = partial(train_rows, make_trainer)

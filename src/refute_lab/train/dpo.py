"""Direct preference optimization (arXiv 2305.18290) on pairs of attempts, by TRL and PEFT.

    refute train dpo DATA --model MODEL -o DIR

The tests that attack and are right become likelier than the ones that do not or are not, measured
against the reference model: the model without the adapter, or with the one that it resumes from.
What is in the folder: `refute_lab.train.run_folder`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from refute.errors import InputError
from refute_lab.train import DpoSettings
from refute_lab.train.run_folder import arguments, train_rows, trainer_of
from refute_lab.train.tokens import (
    IGNORED,
    Encoded,
    Prepared,
    digest_of,
    encode_all,
    estimate,
    read_preferences,
    tokenizer_of,
)

if TYPE_CHECKING:
    from transformers import TrainerCallback

__all__ = ["EncodedPair", "estimate", "make_trainer", "prepare", "train"]


class EncodedPair(NamedTuple):
    """Two answers to one prompt as tokens."""

    chosen: Encoded
    rejected: Encoded

    def row(self) -> dict[str, list[int]]:
        """As TRL's collator wants it."""
        start = self.chosen.labels.count(IGNORED)
        return {
            "prompt_ids": self.chosen.input_ids[:start],
            "chosen_ids": self.chosen.input_ids[start:],
            "rejected_ids": self.rejected.input_ids[start:],
        }


def prepare(data: Path, settings: DpoSettings) -> Prepared:
    """Read the pairs and write them as tokens. Raises `InputError`, `ModelUnavailable`."""
    pairs = read_preferences(data)
    tokenizer = tokenizer_of(settings.model)
    rows: list[EncodedPair] = []
    for pair in pairs:
        found, long = encode_all(
            (pair.chosen, pair.rejected), tokenizer, max_length=settings.max_length
        )
        if not long:
            rows.append(EncodedPair(*found))
    if not rows:
        raise InputError(
            f"{data}: all {len(pairs)} pairs are longer than {settings.max_length} tokens"
        )
    return Prepared(rows, len(pairs) - len(rows), digest_of(data))


def make_trainer(
    rows: Sequence[EncodedPair],
    settings: DpoSettings,
    output: Path,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    report_to: Sequence[str] = (),
) -> Any:
    """TRL's trainer for the settings, with the model loaded and the adapter in place."""
    trl: Any = importlib.import_module("trl")  # has no types
    config = trl.DPOConfig(
        **arguments(settings, output, settings.steps(len(rows)), report_to),
        beta=settings.beta,
        disable_dropout=not settings.lora_dropout,
        max_length=None,
    )
    return trainer_of(
        trl.DPOTrainer,
        settings,
        config,
        [pair.row() for pair in rows],
        callbacks=callbacks,
        # The pairs are tokens already, written as at inference.
        own={"_prepare_dataset": lambda self, dataset, *args, **kwargs: dataset},
    )


train = partial(train_rows, make_trainer)

"""Direct preference optimization (arXiv 2305.18290) on pairs of attempts, by TRL and PEFT.

    refute train dpo DATA --model MODEL -o DIR

The tests that attack and are right become likelier than the ones that do not or are not, measured
against the reference model: the model without the adapter, or with the one that it resumes from.
What is in the folder: `refute_lab.train.run_folder`.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute_lab.train import DpoSettings, Resolved
from refute_lab.train.run_folder import Report, Trained, arguments, run_trainer, silent, trainer_of
from refute_lab.train.tokens import (
    IGNORED,
    Encoded,
    encode_all,
    estimate,
    read_preferences,
    tokenizer_of,
)

if TYPE_CHECKING:
    from transformers import TrainerCallback

__all__ = ["EncodedPair", "PreparedPairs", "estimate", "make_trainer", "prepare", "train"]


@dataclass(frozen=True, slots=True)
class EncodedPair:
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


@dataclass(frozen=True, slots=True)
class PreparedPairs:
    """The pairs of a run, ready for the trainer."""

    rows: list[EncodedPair]
    long: int
    """Pairs that were left out because an answer with its prompt is longer than `max_length`."""
    digest: str
    """Of the data file."""

    @property
    def sequences(self) -> list[Encoded]:
        """Token sequences of the pairs, as the model sees them."""
        return [one for pair in self.rows for one in (pair.chosen, pair.rejected)]

    @property
    def tokens(self) -> int:
        """Tokens of all pairs; the prompt counts with both answers."""
        return sum(len(one.input_ids) for one in self.sequences)

    def facts(self) -> dict[str, Any]:
        """For `settings.json`."""
        return {
            "sha256": self.digest,
            "rows": len(self.rows),
            "too_long": self.long,
            "tokens": self.tokens,
        }


def prepare(data: Path, settings: DpoSettings) -> PreparedPairs:
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
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    return PreparedPairs(rows, len(pairs) - len(rows), digest)


def train(
    prepared: PreparedPairs,
    resolved: Resolved[DpoSettings],
    output: Path,
    *,
    report: Report = silent,
    report_to: Sequence[str] = (),
) -> Trained:
    """Train, or resume a training; see `refute_lab.train.sft.train`."""

    def make(callbacks: Sequence[TrainerCallback]) -> Any:
        return make_trainer(
            prepared.rows, resolved.settings, output, callbacks=callbacks, report_to=report_to
        )

    return run_trainer(make, resolved, prepared.facts(), output, report=report)


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

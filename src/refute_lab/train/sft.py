"""Fine-tuning as in UTGen (section 3.2): a LoRA adapter by TRL and PEFT, loss on completions only.

    python -m refute train sft DATA.jsonl --model MODEL -o DIR
    accelerate launch --num_processes 8 -m refute train sft ...      # several GPUs

What is in the folder: `refute_lab.train.run_folder`. Resumed, a run has the same losses as an
undisturbed one.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute_lab.train import Resolved, SftSettings
from refute_lab.train.run_folder import Report, Trained, arguments, run_trainer, silent, trainer_of
from refute_lab.train.tokens import Encoded, encode_all, estimate, read_examples, tokenizer_of

if TYPE_CHECKING:
    from transformers import TrainerCallback

__all__ = ["Prepared", "estimate", "make_trainer", "prepare", "train"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a run, ready for the trainer."""

    rows: list[Encoded]
    long: int
    """Rows that were left out because they have more tokens than `max_length`."""
    digest: str
    """Of the data file."""

    @property
    def sequences(self) -> list[Encoded]:
        """Token sequences of the rows, as the model sees them."""
        return self.rows

    @property
    def tokens(self) -> int:
        """Tokens of all rows, prompts included."""
        return sum(len(row.input_ids) for row in self.rows)

    def steps(self, settings: SftSettings) -> int:
        """Optimizer steps of the run (with packing `blocks`, at most so many)."""
        return settings.steps(len(self.rows))

    def facts(self) -> dict[str, Any]:
        """For `settings.json`."""
        return {
            "sha256": self.digest,
            "rows": len(self.rows),
            "too_long": self.long,
            "tokens": self.tokens,
        }


def prepare(data: Path, settings: SftSettings) -> Prepared:
    """Read the rows and write them as tokens. Raises `InputError`, `ModelUnavailable`."""
    examples = read_examples(data)
    rows, long = encode_all(examples, tokenizer_of(settings.model), max_length=settings.max_length)
    if not rows:
        raise InputError(f"{data}: all {long} rows are longer than {settings.max_length} tokens")
    return Prepared(rows, long, hashlib.sha256(data.read_bytes()).hexdigest())


def train(
    prepared: Prepared,
    resolved: Resolved[SftSettings],
    output: Path,
    *,
    report: Report = silent,
    report_to: Sequence[str] = (),
) -> Trained:
    """Train, or resume a training. `report` gets each record of the log.

    `report_to`: trackers of transformers besides (`tensorboard`, `wandb`, ...). Raises as
    `run_trainer`.
    """

    def make(callbacks: Sequence[TrainerCallback]) -> Any:
        return make_trainer(
            prepared.rows, resolved.settings, output, callbacks=callbacks, report_to=report_to
        )

    return run_trainer(make, resolved, prepared.facts(), output, report=report)


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

"""What a run of fine-tuning would take, and how far that is known without torch and a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from refute.errors import InputError
from refute.train.settings import SftSettings
from refute.train.tokens import read_examples

__all__ = ["Estimate", "rough_estimate", "rows_seen"]

CHARACTERS = 4
"""Of a token, by and large."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """See `refute.train.estimate`, and `rough_estimate`."""

    rows: int
    too_long: int
    steps: int
    tokens: int
    """Of all epochs, prompts included."""
    trained_tokens: int
    """Of those, the ones with loss."""
    memory_gib: float | None
    """Of each device; None: not known."""
    hours: float | None
    assumption: str
    """What the time supposes; of a rough one, what the tokens do."""


def rows_seen(rows: int, steps: int, batch: int) -> int:
    """How many rows so many steps take, each row once in an epoch: the last step of an epoch takes
    what is left."""
    epochs, more = divmod(steps, -(-rows // batch))
    return epochs * rows + min(more * batch, rows)


def rough_estimate(data: Path, settings: SftSettings) -> Estimate:
    """Rows and steps from the data alone, tokens by characters. Raises `InputError`."""
    examples = read_examples(data)
    sizes = [
        (-(-(len(one.prompt) + len(one.completion)) // CHARACTERS), len(one.completion))
        for one in examples
    ]
    kept = [
        (whole, -(-answer // CHARACTERS)) for whole, answer in sizes if whole <= settings.max_length
    ]
    if not kept:
        raise InputError(f"{data}: all rows are longer than {settings.max_length} tokens, about")
    steps = settings.steps(len(kept))
    share = rows_seen(len(kept), steps, settings.batch) / len(kept)
    return Estimate(
        rows=len(kept),
        too_long=len(examples) - len(kept),
        steps=steps,
        tokens=round(share * sum(whole for whole, _ in kept)),
        trained_tokens=round(share * sum(answer for _, answer in kept)),
        memory_gib=None,
        hours=None,
        assumption=f"{CHARACTERS} characters a token; pip install 'refute[train]' tells more",
    )

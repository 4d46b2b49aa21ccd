"""What a run of fine-tuning would take, and how far that is known without torch and a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from refute.core import extras
from refute.errors import InputError
from refute_lab.train.settings import DpoSettings, GrpoSettings, TrainSettings
from refute_lab.train.tokens import Example, read_examples, read_preferences

CHARACTERS = 4
"""Of a token, by and large."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """See `refute_lab.train.estimate`, and `rough_estimate`."""

    rows: int
    too_long: int
    steps: int
    tokens: int
    """Of all epochs, prompts included."""
    trained_tokens: int
    """Of those, the ones with loss."""
    memory_gib: float | None
    """Of each device; None: not known."""
    assumption: str = ""
    """Of a rough one, what the tokens rest on."""


def rows_seen(rows: int, steps: int, batch: int) -> int:
    """How many rows so many steps take, each row once in an epoch: the last step of an epoch takes
    what is left."""
    epochs, more = divmod(steps, -(-rows // batch))
    return epochs * rows + min(more * batch, rows)


def rough_estimate(data: Path, settings: TrainSettings) -> Estimate:
    """Rows and steps from the data alone, tokens by characters. Raises `InputError`."""
    if isinstance(settings, GrpoSettings):
        return _rough_grpo(data, settings)
    rows: list[tuple[Example, ...]]
    if isinstance(settings, DpoSettings):
        rows = [(pair.chosen, pair.rejected) for pair in read_preferences(data)]
    else:
        rows = [(one,) for one in read_examples(data)]
    kept = [row for row in rows if all(_whole(one) <= settings.max_length for one in row)]
    if not kept:
        raise InputError(f"{data}: all rows are longer than {settings.max_length} tokens, about")
    steps = settings.steps(len(kept))
    share = rows_seen(len(kept), steps, settings.batch) / len(kept)
    return Estimate(
        rows=len(kept),
        too_long=len(rows) - len(kept),
        steps=steps,
        tokens=round(share * sum(_whole(one) for row in kept for one in row)),
        trained_tokens=round(share * sum(_tokens(one.completion) for row in kept for one in row)),
        memory_gib=None,
        assumption=_ROUGH,
    )


def at_most(
    rows: int, too_long: int, tokens: int, settings: GrpoSettings, besides: str = ""
) -> Estimate:
    """Of `grpo`, whose answers nobody knows before. `tokens`: of all prompts."""
    steps = settings.steps(rows)
    answers = steps * settings.batch
    return Estimate(
        rows=rows,
        too_long=too_long,
        steps=steps,
        tokens=answers * settings.max_completion + answers * tokens // rows,
        trained_tokens=answers * settings.max_completion,
        memory_gib=None,
        assumption=f"{settings.max_completion} tokens an answer, the most there can be{besides}",
    )


def _rough_grpo(data: Path, settings: GrpoSettings) -> Estimate:
    from refute_lab.train.grpo import read_problems, request

    sizes = [_tokens(request(item)) for item in read_problems(data).values()]
    kept = [size for size in sizes if size <= settings.max_length - settings.max_completion]
    if not kept:
        raise InputError(f"{data}: no prompt leaves room for an answer, about")
    return at_most(len(kept), len(sizes) - len(kept), sum(kept), settings, f"; {_ROUGH}")


_ROUGH = f"{CHARACTERS} characters a token; {extras.install('train')} tells more"


def _whole(one: Example) -> int:
    asked = sum(len(message.content) for message in one.messages)
    return -(-(asked + len(one.completion)) // CHARACTERS)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS)

"""Which checkpoint is best: accuracy ∩ attack on a validation split, never on test problems.

Each checkpoint writes `n` unit tests for each validation problem, as `utgen` does, without a vote;
the benchmark's own loop runs and grades them, journalled below the run's folder, so that a killed
selection goes on. The best adapter is copied to `best/` with a model card.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute.models.contract import ModelUnavailable
from refute.train.model_card import model_card
from refute.train.sft import SETTINGS, checkpoints

if TYPE_CHECKING:
    from refute.datasets import Item
    from refute.figures import Figure
    from refute.function.bench import Result, Settings

__all__ = ["BEST", "Score", "Selection", "select"]

BEST = "best"
SELECTION = "selection.json"
METRIC = "accuracy_and_attack"
SHOWN = ("attack_rate", "output_accuracy", METRIC)
_ADAPTER = ("adapter_model.safetensors", "adapter_config.json")


@dataclass(frozen=True, slots=True)
class Score:
    """A checkpoint's figures on the validation problems, shares in [0, 1]."""

    name: str
    """`checkpoint-N`; `base` for the model without an adapter."""
    figures: dict[str, Figure]
    """`attack_rate`, `output_accuracy`, `accuracy_and_attack`."""

    @property
    def value(self) -> float:
        """What the selection goes by."""
        return self.figures[METRIC].value


@dataclass(frozen=True, slots=True)
class Selection:
    """All scores, and the best checkpoint's adapter."""

    scores: tuple[Score, ...]
    """The base model first, then the checkpoints in their order."""
    best: str
    path: Path
    """The folder of the adapter, for `hf:MODEL+PATH` and for a server of adapters."""


def select(
    output: Path,
    validation: Path,
    *,
    n: int = 3,
    limit: int | None = None,
    seed: int = 0,
    max_tokens: int = 2048,
    progress: Callable[[str], None] = lambda line: None,
) -> Selection:
    """Score the base model and every checkpoint of a run, and mark the best.

    `validation`: a JSONL file of problems (`refute.datasets.jsonl`), of which `limit` are used.
    Of equal checkpoints the earlier one is taken. Raises `InputError`, `ModelUnavailable`,
    `SandboxUnavailable`.
    """
    run = _read_run(output)
    found = checkpoints(output)
    if not found:
        raise InputError(f"{output}: holds no whole checkpoint; train first")
    if validation.suffix != ".jsonl" or not validation.is_file():
        raise InputError(
            f"{validation}: must be a JSONL file of validation problems; the benchmarks' own "
            "problems are for testing only"
        )
    model = str(run["settings"]["model"])
    scores = []
    for path in (None, *found):
        name = "base" if path is None else path.name
        spec = model if path is None else f"{model}+{path}"
        result = _score(
            spec, output / "validation" / name, validation, n=n, limit=limit, seed=seed,
            max_tokens=max_tokens,
        )  # fmt: skip
        score = Score(name, {key: result.figures[key] for key in SHOWN})
        scores.append(score)
        progress(f"{name}: " + ", ".join(f"{k} {v.value:.1%}" for k, v in score.figures.items()))
    best = max(scores[1:], key=lambda score: score.value)
    chosen = next(path for path in found if path.name == best.name)
    target = output / BEST
    _publish(chosen, target, model_card(run, scores, best, validation=validation, n=n))
    selection = {
        "best": best.name,
        "metric": METRIC,
        "validation": str(validation),
        "scores": {
            score.name: {key: [f.value, f.stderr] for key, f in score.figures.items()}
            for score in scores
        },
    }
    _write(output / SELECTION, json.dumps(selection, indent=2) + "\n")
    return Selection(tuple(scores), best.name, target)


def _read_run(output: Path) -> dict[str, Any]:
    try:
        run = json.loads((output / SETTINGS).read_text(encoding="utf-8"))
        if isinstance(run["settings"]["model"], str):
            return dict(run)
    except FileNotFoundError:
        raise InputError(f"{output}: no run of training is there (no {SETTINGS})") from None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{output / SETTINGS}: damaged")


def _score(
    spec: str,
    directory: Path,
    validation: Path,
    *,
    n: int,
    limit: int | None,
    seed: int,
    max_tokens: int,
) -> Result:
    """The figures of one checkpoint, from its journal where they are there already."""
    from refute.function.bench import Settings, load_items, summarize
    from refute.function.llm.options import Options
    from refute.runs import Journal

    settings = Settings(
        dataset=str(validation),
        method="utgen",
        limit=limit,
        seed=seed,
        model=f"hf:{spec}",
        options=Options(n=n, m=0, vote=False, max_tokens=max_tokens),
    )
    items = load_items(settings, None)
    with Journal(directory, settings.header(items)) as journal:
        asyncio.run(_ask(items, settings, journal, spec))
        result = summarize(items, settings, journal)
    if result.errors or result.missing:
        reason = next(iter(result.errors.values()), "no answers")
        raise ModelUnavailable(f"hf:{spec}: {len(result.errors)} problems have no result: {reason}")
    return result


async def _ask(items: Sequence[Item], settings: Settings, journal: Any, spec: str) -> None:
    from refute.function.bench.loop import run_asking
    from refute.function.bench.solving import solver
    from refute.models.cache import SampleCache, cache_path
    from refute.models.hf import open_hf
    from refute.models.session import Session
    from refute.runs import cores
    from refute.sandbox.pool import SandboxPool

    assert settings.options is not None
    with SandboxPool(cores()) as box, SandboxPool(cores()) as graders:
        async with Session(open_hf(spec), cache=SampleCache(cache_path())) as session:
            await run_asking(
                items,
                settings,
                journal,
                solver("utgen", settings.options, box, session),
                at_once=128,
                graders=graders,
                progress=lambda done: None,
            )


def _publish(checkpoint: Path, target: Path, card: str) -> None:
    """Copy the adapter with its tokenizer and card; whole or not at all."""
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for path in checkpoint.iterdir():
        if path.name in _ADAPTER or path.name.startswith(("tokenizer", "chat_template", "vocab")):
            shutil.copyfile(path, part / path.name)
    _write(part / "README.md", card)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(part, target)


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)

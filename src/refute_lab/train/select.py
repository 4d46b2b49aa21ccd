"""Choice of the best checkpoint by accuracy ∩ attack on a validation split, never on test problems.

Each checkpoint writes `n` unit tests for each validation problem, as `utgen` does, without a vote;
the benchmark's own loop runs and grades them, journalled below the run's folder, so that a killed
selection continues. The best adapter is copied to `best/` with a model card.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.storage import write_atomically
from refute.errors import InputError, ModelUnavailable
from refute_lab.train.card import model_card
from refute_lab.train.run_folder import SETTINGS, checkpoints, without_noise

if TYPE_CHECKING:
    from refute.models.session import Session
    from refute_lab.benches import BenchSummary
    from refute_lab.figures import Figure

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
        """The figure that the selection compares."""
        return self.figures[METRIC].value


@dataclass(frozen=True, slots=True)
class CheckpointChoice:
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
) -> CheckpointChoice:
    """Score the base model and every checkpoint of a run, and mark the best.

    `validation`: a JSONL file of problems (form `jsonl`), of which `limit` are used.
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
    compared = _refuse_test_problems(validation, limit)
    model = str(run["settings"]["model"])
    scores = []
    for path in (None, *found):
        name = "base" if path is None else path.name
        spec = model if path is None else f"{model}+{path}"
        result = score(
            spec, output / "validation" / name, validation, n=n, limit=limit, seed=seed,
            max_tokens=max_tokens,
        )  # fmt: skip
        scores.append(Score(name, {key: result.figures[key] for key in SHOWN}))
        figures = scores[-1].figures.items()
        progress(f"{name}: " + ", ".join(f"{key} {f.value:.1%}" for key, f in figures))
    best = max(scores[1:], key=lambda score: score.value)
    chosen = next(path for path in found if path.name == best.name)
    target = output / BEST
    _publish(chosen, target, model_card(run, scores, best, validation=validation, n=n))
    selection = {
        "best": best.name,
        "metric": METRIC,
        "validation": str(validation),
        "kept_apart_from": compared,
        "scores": {
            score.name: {key: [f.value, f.stderr] for key, f in score.figures.items()}
            for score in scores
        },
    }
    write_atomically(output / SELECTION, json.dumps(selection, indent=2) + "\n")
    return CheckpointChoice(tuple(scores), best.name, target)


def _refuse_test_problems(validation: Path, limit: int | None) -> list[str]:
    """Compare the problems with the evaluation sets of this machine; the names of those sets.

    A checkpoint that was chosen by test problems would be measured by what chose it. Raises
    `InputError`.
    """
    from refute_lab.datasets import load
    from refute_lab.train.filters import Index, available, evaluation_texts

    names = available()
    index = Index(evaluation_texts(names))
    for item in load(str(validation), limit=limit):
        near = index.nearest(item.problem.description, item.key.reference)
        if near is not None:
            raise InputError(
                f"{validation}: {item.problem.id} is {near.name}, or nearly so; choose checkpoints "
                "by problems that you do not test on"
            )
    return names


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


def _publish(checkpoint: Path, target: Path, card: str) -> None:
    """Copy the adapter with its tokenizer and card; whole or not at all."""
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for path in checkpoint.iterdir():
        if path.name in _ADAPTER or path.name.startswith(("tokenizer", "chat_template", "vocab")):
            shutil.copyfile(path, part / path.name)
    write_atomically(part / "README.md", card)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(part, target)


# -- scores ---------------------------------------------------------------------------------------


def score(
    spec: str,
    directory: Path,
    problems: Path,
    *,
    method: str = "utgen",
    n: int = 3,
    limit: int | None = None,
    seed: int = 0,
    max_tokens: int = 2048,
) -> BenchSummary:
    """The figures of `hf:SPEC` on a JSONL file of problems: n tests for each, without a vote.

    They are from the journal in `directory` as far as they are there already. Raises `InputError`,
    `ModelUnavailable`, `SandboxUnavailable`.
    """
    from refute.function.llm.options import Options
    from refute_lab.benches import RECORDS, BenchSettings, load_items, summarize, work_on
    from refute_lab.runs.executors import Run

    settings = BenchSettings(
        dataset=str(problems),
        method=method,
        limit=limit,
        seed=seed,
        model=f"hf:{spec}",
        options=Options(n=n, m=0, vote=False, max_tokens=max_tokens),
    )
    items = load_items(settings, None)
    with without_noise(), Run(directory, settings.header(items), RECORDS) as run:
        work_on(run, items, settings, models=partial(_models, spec), at_once=128)
        result = summarize(items, settings, run.journal)
    if result.errors or result.missing:
        reason = next(iter(result.errors.values()), "no answers")
        raise ModelUnavailable(f"hf:{spec}: {len(result.errors)} problems have no result: {reason}")
    return result


@asynccontextmanager
async def _models(spec: str) -> AsyncIterator[dict[str, Session]]:
    from refute.models.cache import SampleCache, cache_path
    from refute.models.session import Session
    from refute_lab.models.hf import open_hf

    async with Session(open_hf(spec), cache=SampleCache(cache_path())) as session:
        yield {"model": session}

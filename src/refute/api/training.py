"""`sft`, `select` and `train`: fine-tuning a test generator, and the choice of a checkpoint.

>>> from refute.api import training
>>> training.sft("out/data", "out/run", model="qwen2.5-coder-7b", dry_run=True)
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown, apart
from refute.api.training_data import StageProgress, TrainingData, silent, training_data
from refute.errors import InputError
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.train.rough import Estimate
    from refute.train.select import CheckpointChoice
    from refute.train.settings import Resolved
    from refute.train.run_folder import Trained

__all__ = ["SelectResult", "SftEstimate", "SftResult", "Told", "select", "sft", "train"]

Told = Callable[[dict[str, Any]], None]
"""Is told each optimizer step: `step`, `loss` and what else the log holds."""


def _tell(record: dict[str, Any]) -> None:
    """One line for each tenth step: the log has them all."""
    if record["step"] == 1 or record["step"] % 10 == 0:
        remark([f"step {record['step']}: loss {record['loss']:.4f}"])


@dataclass(frozen=True, slots=True)
class SftEstimate(Shown):
    """What a training would take."""

    settings: Resolved
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "settings": asdict(self.settings.settings),
            "estimate": asdict(self.estimate),
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.training import print_estimate

        print_estimate(self.estimate, console)


@dataclass(frozen=True, slots=True)
class SftResult(Shown):
    """A trained adapter, as checkpoints."""

    trained: Trained

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "output": str(self.trained.output),
            "checkpoints": [path.name for path in self.trained.checkpoints],
            "steps": self.trained.steps,
            "resumed_at": self.trained.resumed_at,
            "seconds": round(self.trained.seconds, 3),
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        output, count = self.trained.output, len(self.trained.checkpoints)
        done = f"{self.trained.steps} steps, {count} checkpoints in {output}"
        following = f"next: refute train select {output} --validation FILE"
        console.print(f"{done}; {following}", markup=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class SelectResult(Shown):
    """The checkpoints with their scores, and the best one."""

    selection: CheckpointChoice

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        scores = {
            score.name: {key: figure.value for key, figure in score.figures.items()}
            for score in self.selection.scores
        }
        return {
            "best": self.selection.best,
            "adapter": str(self.selection.path),
            "scores": scores,
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.training import print_selection

        print_selection(self.selection, console)


def sft(
    data: Path | str,
    output: Path | str,
    *,
    model: str,
    report_to: Sequence[str] = (),
    dry_run: bool = False,
    told: Told = _tell,
    **settings: Any,
) -> SftResult | SftEstimate:
    """Train a LoRA adapter on the rows that `training_data` made.

    `data`: its folder, or a JSONL file of prompts and completions. `model`: a preset, a folder or
    an id. `settings`: fields of `refute.train.settings.SftSettings`; None is as good as not given.
    `report_to`: trackers besides the log. The same call resumes where it was stopped. `dry_run`:
    nothing is trained; without the extra ``[train]`` tokens are counted by characters.

    Raises `InputError`, `ModelUnavailable`.
    """
    if dry_run and _missing():
        from refute.train.rough import rough_estimate
        from refute.train.settings import resolve

        resolved = resolve(model, settings)
        remark(resolved.lines())
        return SftEstimate(resolved, rough_estimate(_rows_of(Path(data)), resolved.settings))
    resolved, prepared = _prepared(_rows_of(Path(data)), model, settings)
    if dry_run:
        from refute.train.estimate import estimate

        return SftEstimate(resolved, estimate(prepared, resolved.settings))
    from refute.train.sft import train as fit

    return SftResult(fit(prepared, resolved, Path(output), report=told, report_to=report_to))


def select(
    run: Path | str,
    validation: Path | str,
    *,
    n: int = 3,
    problems: int | None = None,
    max_tokens: int = 2048,
) -> SelectResult:
    """Score every checkpoint of a run by accuracy ∩ attack; copy the best one to `RUN/best`.

    `validation`: a JSONL file of problems, or the folder of `training_data`; never the problems
    that you test on. `n`: tests for each of them. `problems`: use so many.

    Raises `InputError`, `Unavailable`.
    """
    from refute.train.select import select as choose

    def work() -> CheckpointChoice:
        return choose(
            Path(run),
            _problems_of(Path(validation)),
            n=n,
            limit=problems,
            max_tokens=max_tokens,
            progress=lambda line: remark([line]),
        )

    return SelectResult(apart(work))


def train(
    source: Path | str,
    output: Path | str,
    *,
    model: str,
    data_model: str | None = None,
    limit: int | None = None,
    n: int = 3,
    problems: int | None = None,
    max_tokens: int = 2048,
    report_to: Sequence[str] = (),
    told: Told = _tell,
    progress: StageProgress = silent,
    made: Callable[[TrainingData], None] = lambda data: None,
    **settings: Any,
) -> SelectResult:
    """Data, training and the choice of a checkpoint, into `output/data` and `output/run`.

    `source`, `limit` as in `training_data`, with `data_model` as its model ("none": mutations and
    inputs of the search, without reasoning, which is not the paper's data): call that first for
    other data. `progress` is told how far the data is, and `made` the data before the training
    begins. The rest as in `sft` and `select`. The same call resumes where it was stopped.
    """
    if data_model is None:
        raise InputError(
            "who makes the data? --data-model SPEC (in the paper the model that is trained, e.g. "
            "openai:BASE), or --data-model none: mutations, without reasoning"
        )
    _check_installed()
    data, run = Path(output) / "data", Path(output) / "run"
    maker = None if data_model == "none" else data_model
    found = training_data(source, data, model=maker, limit=limit, progress=progress)
    assert isinstance(found, TrainingData)
    made(found)
    sft(data, run, model=model, report_to=report_to, told=told, **settings)
    return select(run, data, n=n, problems=problems, max_tokens=max_tokens)


def _rows_of(data: Path) -> Path:
    return data / "train.jsonl" if data.is_dir() else data


def _problems_of(validation: Path) -> Path:
    return validation / "validation.jsonl" if validation.is_dir() else validation


def _prepared(rows: Path, model: str, given: dict[str, Any]) -> tuple[Resolved, Prepared]:
    """The settings, said with where they come from, and the data."""
    _check_installed()
    from refute.train.settings import resolve
    from refute.train.sft import prepare

    resolved = resolve(model, given)
    remark(resolved.lines())
    prepared = prepare(rows, resolved.settings)
    long = f"; {prepared.long:,} too long" if prepared.long else ""
    remark([f"{len(prepared.rows):,} rows, {prepared.tokens:,} tokens{long}"])
    return resolved, prepared


def _missing() -> list[str]:
    """The libraries of the extra ``[train]`` that are not here."""
    needed = ("torch", "transformers", "peft", "trl", "datasets")
    return [name for name in needed if importlib.util.find_spec(name) is None]


def _check_installed() -> None:
    """Raises `InputError` where one of them is missing."""
    if missing := _missing():
        raise InputError(f"training needs {', '.join(missing)}; pip install 'refute[train]'")

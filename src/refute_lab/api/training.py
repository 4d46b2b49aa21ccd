"""`sft`, `dpo`, `grpo`, `select`, `train`: training a test generator, and choosing a checkpoint.

>>> from refute_lab.api import training
>>> training.sft("out/data", "out/run", model="qwen2.5-coder-7b", dry_run=True)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core import extras
from refute.core.processes import cores
from refute.core.remarks import remark
from refute.errors import InputError
from refute.verbs.output import Shown, apart
from refute_lab.api.training_data import StageProgress, TrainingData, silent, training_data

if TYPE_CHECKING:
    from refute_lab.train.rough import Estimate
    from refute_lab.train.run_folder import Trained
    from refute_lab.train.select import CheckpointChoice
    from refute_lab.train.settings import Resolved, TrainSettings

Told = Callable[[dict[str, Any]], None]
"""Is told each optimizer step: `step`, `loss` and what else the log holds."""


def _tell(record: dict[str, Any]) -> None:
    """One line for each tenth step: the log has them all."""
    if record["step"] == 1 or record["step"] % 10 == 0:
        paid = f", reward {record['reward']:.3f}" if record.get("reward") is not None else ""
        remark([f"step {record['step']}: loss {record['loss']:.4f}{paid}"])


@dataclass(frozen=True, slots=True)
class SftEstimate(Shown):
    """What a training would take."""

    settings: Resolved[Any]
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "settings": asdict(self.settings.settings),
            "estimate": asdict(self.estimate),
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.training import print_estimate

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
        from refute_lab.report.training import print_selection

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
    an id. `settings`: fields of `train.settings.SftSettings`; None is as good as not given.
    `report_to`: trackers besides the log. The same call resumes where it was stopped. `dry_run`:
    nothing is trained; without the extra ``[train]`` tokens are counted by characters.

    Raises `InputError`, `ModelUnavailable`.
    """
    from refute_lab.train.settings import SftSettings

    how = {"report": told, "report_to": report_to}
    return _fit(SftSettings, Path(data), Path(output), model, settings, how, dry_run=dry_run)


def dpo(
    data: Path | str,
    output: Path | str,
    *,
    model: str,
    report_to: Sequence[str] = (),
    dry_run: bool = False,
    told: Told = _tell,
    **settings: Any,
) -> SftResult | SftEstimate:
    """Train a LoRA adapter to prefer tests that attack and are right, by DPO.

    `data`: the folder of `training_data`, made with inputs by a model, or a JSONL file of `prompt`,
    `chosen` and `rejected` in TRL's conversational form. `settings`: fields of
    `refute_lab.train.settings.DpoSettings`. The rest as in `sft`.
    """
    from refute_lab.train.settings import DpoSettings

    how = {"report": told, "report_to": report_to}
    return _fit(DpoSettings, Path(data), Path(output), model, settings, how, dry_run=dry_run)


def grpo(
    data: Path | str,
    output: Path | str,
    *,
    model: str,
    jobs: int | None = None,
    report_to: Sequence[str] = (),
    dry_run: bool = False,
    told: Told = _tell,
    **settings: Any,
) -> SftResult | SftEstimate:
    """Train a LoRA adapter by GRPO: its tests are graded in the sandbox, and that is the reward.

    `data`: the folder of `training_data`, or a JSONL file of problems with references. `jobs`:
    sandboxes (one a core). `settings`: fields of `train.settings.GrpoSettings`. The rest as
    in `sft`.
    """
    from refute_lab.train.settings import GrpoSettings

    how = {"report": told, "report_to": report_to, "sandboxes": jobs or cores()}
    return _fit(GrpoSettings, Path(data), Path(output), model, settings, how, dry_run=dry_run)


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
    from refute_lab.train.select import select as choose

    def work() -> CheckpointChoice:
        return choose(
            Path(run),
            _file_of(Path(validation), "validation.jsonl"),
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
    extras.need("train", "training")
    data, run = Path(output) / "data", Path(output) / "run"
    maker = None if data_model == "none" else data_model
    found = training_data(source, data, model=maker, limit=limit, progress=progress)
    assert isinstance(found, TrainingData)
    made(found)
    sft(data, run, model=model, report_to=report_to, told=told, **settings)
    return select(run, data, n=n, problems=problems, max_tokens=max_tokens)


def _file_of(data: Path, name: str) -> Path:
    """The file itself, or the one of this name in the folder of `training_data`."""
    return data / name if data.is_dir() else data


_DATA = {
    "sft": ("train.jsonl", "rows"),
    "dpo": ("preferences.jsonl", "pairs"),
    "grpo": ("problems.jsonl", "problems"),
}
"""What each training reads of the folder of `training_data`, and what is in it."""


def _fit(
    kind: type[TrainSettings],
    data: Path,
    output: Path,
    model: str,
    given: dict[str, Any],
    how: dict[str, Any],
    *,
    dry_run: bool,
) -> SftResult | SftEstimate:
    """One training by the module of its name, or what it would take; `how`: for its `train`."""
    from refute_lab.train.settings import resolve

    resolved = resolve(model, given, kind)
    remark(resolved.lines())
    name, what = _DATA[kind.training]
    file = _file_of(data, name)
    if dry_run and extras.missing("train"):
        from refute_lab.train.rough import rough_estimate

        return SftEstimate(resolved, rough_estimate(file, resolved.settings))
    extras.need("train", "training")
    training = importlib.import_module(f"refute_lab.train.{kind.training}")
    prepared = training.prepare(file, resolved.settings)
    facts = prepared.facts()
    long = f"; {facts['too_long']:,} too long" if facts["too_long"] else ""
    remark([f"{facts['rows']:,} {what}, {facts['tokens']:,} tokens{long}"])
    if dry_run:
        return SftEstimate(resolved, training.estimate(prepared, resolved.settings))
    return SftResult(training.train(prepared, resolved, output, **how))

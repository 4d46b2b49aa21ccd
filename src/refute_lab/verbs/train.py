"""`train`: data, training and the choice of a checkpoint for UTGen.

>>> from refute_lab.verbs.train import fit
>>> fit("sft", "out/data", "out/run", model="qwen2.5-coder-7b", dry_run=True)
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console
from rich.table import Table

from refute.core import extras
from refute.core.parameters import options_with, parameter
from refute.core.processes import cores
from refute.core.remarks import remark
from refute.core.storage import write_atomically
from refute.errors import InputError
from refute.models.asking import Asked, sessions
from refute.prompts import PAPER, digest_of, prompts_from
from refute.sandbox.pool import SandboxPool
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import Shown, apart, consoles, show
from refute_lab.runs.executors import Processes, Workers, executor_of
from refute_lab.train import DpoSettings, GrpoSettings, SftSettings
from refute_lab.train.card import card, figures
from refute_lab.train.data import Candidates, DataSettings, Plan, Progress, build, plan, silent
from refute_lab.train.filters import Index, available, evaluation_texts
from refute_lab.train.stages import PAIRS
from refute_lab.verbs.options import asked_of

if TYPE_CHECKING:
    from refute_lab.train import Resolved, TrainSettings
    from refute_lab.train.data import BuiltData, Plan
    from refute_lab.train.run_folder import Trained
    from refute_lab.train.select import CheckpointChoice
    from refute_lab.train.tokens import Estimate


@dataclass(frozen=True, slots=True)
class TrainingData(Shown):
    """Rows to train on, and validation problems to choose a checkpoint by."""

    directory: Path
    built: BuiltData
    figures: Mapping[str, Any]
    """The data card as data."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {"output": str(self.directory), **self.figures}

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        card, directory = self.figures, self.directory
        table = Table("stage", "in", "out", "fell out", title=f"{directory}")
        for stage in card["stages"]:
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in stage["fell_out"].items())
            table.add_row(stage["title"], f"{stage['in']:,}", f"{stage['out']:,}", reasons or "-")
        console.print(table)
        rows = card["rows"]
        _say(
            console,
            f"{rows['train']:,} rows in {directory / 'train.jsonl'}, "
            f"{card['preferences']['pairs']:,} pairs in {directory / 'preferences.jsonl'}, "
            f"{rows['validation_problems']:,} problems in {directory / 'validation.jsonl'}; "
            f"see {directory / 'card.md'}",
        )


@dataclass(frozen=True, slots=True)
class DataPlan(Shown):
    """Work and time that making the data would take."""

    settings: DataSettings
    plan: Plan

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {"settings": asdict(self.settings), **asdict(self.plan)}

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        found = self.plan
        title = (
            f"{found.read:,} tasks read, {found.solutions:,} solutions, at most {found.rows:,} rows"
        )
        table = Table(
            "stage", "tasks", "requests", "answers", "tokens in", "tokens out", title=title
        )
        for s in found.stages:
            numbers = (s.tasks, s.requests, s.samples, s.prompt_tokens, s.completion_tokens)
            table.add_row(s.name, *(f"{n:,}" if n else "-" for n in numbers))
        console.print(table)
        for reason, count in found.dropped.most_common():
            console.print(f"{count:>8,}  {reason}")
        size = f"memory: about {found.memory / (1 << 30):,.1f} GiB (less with --shard)"
        console.print(f"sandbox: about {found.seconds / 60:,.1f} minutes of one core; {size}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(Asked):
    """The options of `train data`: what is made of solved tasks, and by whom."""

    source: str = parameter(MISSING, "Solved tasks.", positional=True)
    output: Path = parameter(
        MISSING, "A folder; a larger --limit adds to it.", flag="-o", metavar="DIR", writes=True
    )
    preset: Literal["paper"] | None = parameter(
        None,
        "paper: its form of the prompts for faults (a teaching assistant's) and rationales (with an"
        " example).",
        of_model=True,
    )
    limit: int | None = parameter(None, "Take so many solutions.", at_least=1)
    shard: str = parameter("", "The K-th of N parts: on N machines, or in turn.", metavar="K/N")
    jobs: int | None = parameter(None, "Worker processes (one a core).", at_least=1)
    executor: str | None = parameter(
        None,
        "Who does the tasks that compute: processes, ray..., or a plugin's.",
        metavar="NAME[:ADDRESS]",
    )
    seed: int = parameter(0, "Same seed, same work.", by_name=True)
    dry_run: bool = parameter(
        False, "Say what it would take; run and ask nothing.", flag="--dry-run"
    )
    corrupt: str | None = parameter(
        None,
        "Faults by model, by mutants, or mix:SHARE by the model (model where one is given).",
        by_name=True,
    )
    inputs: Literal["model", "search"] | None = parameter(
        None, "Who proposes inputs (the model where one is given).", by_name=True
    )
    rationales: Literal["model", "template", "none"] | None = parameter(
        None,
        "Reasoning in the answers (by the model where one is given, else none).",
        by_name=True,
    )
    faults: int = parameter(2, "Faults of a solution.", at_least=1, by_name=True)
    attempts: int = parameter(5, "Attempts at a fault.", at_least=1, by_name=True)
    rows_per_fault: int | None = parameter(
        None,
        "Only the first attacking inputs of a fault become rows (all).",
        at_least=1,
        by_name=True,
    )
    pairs_per_fault: int = parameter(
        PAIRS, "Preference pairs of a fault at most.", at_least=1, by_name=True
    )
    prompts: Path | None = parameter(None, "Folder of templates that replace ours.", by_name=True)
    evaluation: tuple[str, ...] = parameter(
        (), "Keep away from these datasets (all in REFUTE_DATA).", by_name=True
    )
    validation: float = parameter(
        0.05,
        "Share of the solutions held out for choosing a checkpoint.",
        at_least=0,
        by_name=True,
    )


def training_data(
    source: Path | str | None = None,
    output: Path | str | None = None,
    *,
    options: DataOptions | None = None,
    progress: Progress = silent,
    **given: Any,
) -> TrainingData | DataPlan:
    """Make training data from solved tasks (UTGen, 3.2): faults, inputs that show them, answers.

    `source`: a JSONL or Parquet file of tasks with solutions or of chats, a folder of documented
    Python functions, `tulu-3`, or `hub:OWNER/NAME[@SPLIT]`. `options`: a `DataOptions`, or its
    fields by name. The same call resumes where it was stopped.

    Raises `InputError`; `Unavailable` and `LimitReached` where a stage cannot end.
    """
    told = {} if source is None else {"source": str(source), "output": output}
    chosen = options_with(DataOptions, options, {**told, **given})
    asked = replace(asked_of(chosen), preset=None, prompts=None)
    _check(asked)
    folder, preset, directory = chosen.prompts, chosen.preset, chosen.output
    if preset is not None and asked.model is None:
        raise InputError(f"--preset {preset} is for prompts to a model: name one with --model")
    folders = (folder, None if preset is None else PAPER)
    settings = DataSettings(
        faults=chosen.faults,
        attempts=chosen.attempts,
        by_model=_share(chosen.corrupt, asked.model is not None),
        inputs=chosen.inputs or ("model" if asked.model else "search"),
        rationales=chosen.rationales or ("model" if asked.model else "none"),
        rows_per_fault=chosen.rows_per_fault,
        preset=preset or "",
        prompts="" if folder is None else digest_of(folder),
        shard=chosen.shard,
        seed=chosen.seed,
    )
    sets = chosen.evaluation or tuple(available())
    if not sets:
        remark(
            ["contamination is not checked: set REFUTE_DATA, or name them: --set evaluation=FILE"]
        )
    index = Index(evaluation_texts(sets))
    if chosen.dry_run:
        found = Candidates(chosen.source, index, settings)
        with prompts_from(*folders):
            made = plan(found, limit=chosen.limit)
        return DataPlan(settings, made)
    size = chosen.jobs or cores()
    executor = executor_of(chosen.executor, Workers(jobs=chosen.jobs)) or Processes(size)

    async def work() -> BuiltData:
        async with AsyncExitStack() as stack:
            stack.enter_context(prompts_from(*folders))
            session = None
            if asked.model is not None:
                session, _ = await stack.enter_async_context(sessions(asked))
            return await build(
                chosen.source,
                directory,
                settings,
                index=index,
                box=stack.enter_context(SandboxPool(size)),
                session=session,
                limit=chosen.limit,
                validation=chosen.validation,
                pairs_per_fault=chosen.pairs_per_fault,
                executor=executor,
                at_once=max(asked.concurrency if session else 0, 2 * size),
                progress=progress,
            )

    built = apart(lambda: asyncio.run(work()))
    shown = figures(built, settings, source=chosen.source, model=asked.model, sets=sets)
    write_atomically(directory / "card.json", (json.dumps(shown, indent=2) + "\n").encode())
    write_atomically(directory / "card.md", card(shown).encode(errors="backslashreplace"))
    return TrainingData(directory, built, shown)


def _check(asked: Asked) -> None:
    given = {
        "--base-url": asked.base_url,
        "--record": asked.record,
        "--budget-usd": asked.budget_usd,
        "--budget-tokens": asked.budget_tokens,
    }
    for option, value in given.items():
        if asked.model is None and value is not None:
            raise InputError(f"{option} is for a model: name one with --model")


def _share(how: str | None, with_model: bool) -> float:
    """The share of faults by the model, of `model`, `mutants` or `mix:SHARE`."""
    if how is None:
        return float(with_model)
    if how in ("model", "mutants"):
        return float(how == "model")
    kind, _, share = how.partition(":")
    try:
        if kind == "mix" and 0 <= float(share) <= 1:
            return float(share)
    except ValueError:
        pass
    raise InputError(f"corrupt = {how}: must be model, mutants or mix:SHARE, e.g. mix:0.5")


# -- training --------------------------------------------------------------------------------------


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


# -- train -----------------------------------------------------------------------------------------


Told = Callable[[dict[str, Any]], None]
"""Is told each optimizer step: `step`, `loss` and what else the log holds."""


def _tell(record: dict[str, Any]) -> None:
    """One line for each tenth step: the log has them all."""
    if record["step"] == 1 or record["step"] % 10 == 0:
        paid = f", reward {record['reward']:.3f}" if record.get("reward") is not None else ""
        remark([f"step {record['step']}: loss {record['loss']:.4f}{paid}"])


@dataclass(frozen=True, slots=True)
class SftEstimate(Shown):
    """Memory and time that a training would take."""

    settings: Resolved[Any]
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "settings": asdict(self.settings.settings),
            "estimate": asdict(self.estimate),
        }

    def print(self, console: Any) -> None:
        """Print the result as the command does."""
        found = self.estimate
        _say(console, f"rows     {found.rows:,} ({found.too_long:,} too long)")
        _say(console, f"steps    {found.steps:,}")
        about = "about " if found.memory_gib is None else ""
        counted = f"{about}{found.tokens:,}, of which {about}{found.trained_tokens:,} with loss"
        _say(console, f"tokens   {counted}")
        if found.memory_gib is None:
            _say(console, f"         at {found.assumption}")
            return
        _say(console, f"memory   about {found.memory_gib:,.1f} GiB on each device")
        _say(console, "time     not measured on this card")


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
        """Print the result as the command does."""
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
        """Print the result as the command does."""
        chosen = self.selection
        table = Table("", "attack rate", "output accuracy", "accuracy ∩ attack")
        for score in chosen.scores:
            mark = " (best)" if score.name == chosen.best else ""
            shares = (f"{100 * figure.value:.1f} %" for figure in score.figures.values())
            table.add_row(score.name + mark, *shares)
        console.print(table)
        _say(console, str(chosen.path))


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options of `train sft`, `dpo` and `grpo`; `set`: the fields of their settings."""

    output: Path = parameter(MISSING, "Where it goes.", flag="-o", metavar="DIR", writes=True)
    model: str = parameter(
        MISSING,
        "A preset, a folder or an id: llama3-8b, llama3.1-8b, qwen2.5-coder-7b, -32b.",
        metavar="MODEL",
    )
    report_to: tuple[str, ...] = parameter(
        (), "Trackers besides the log: tensorboard, wandb...", by_name=True
    )
    set: Mapping[str, Any] = field(default_factory=dict)
    data: Path = parameter(MISSING, "Of `refute train data`, or a file.", positional=True)
    dry_run: bool = parameter(False, "Say what it would take; train nothing.", flag="--dry-run")
    jobs: int | None = parameter(None, "grpo: sandboxes (one a core).", at_least=1, by_name=True)


def fit(
    training: Literal["sft", "dpo", "grpo"],
    data: Path | str | None = None,
    output: Path | str | None = None,
    *,
    options: FitOptions | None = None,
    told: Told = _tell,
    **given: Any,
) -> SftResult | SftEstimate:
    """Train a LoRA adapter: on rows (sft), by preferences (dpo), or by the sandbox's verdict on its
    tests (grpo).

    `data`: the folder of `training_data`, or a JSONL file: of prompts and completions; of `prompt`,
    `chosen` and `rejected` in TRL's conversational form; of problems with references. `options`: a
    `FitOptions`, or its fields and those of its settings by name. The same call resumes
    where it was stopped.

    Raises `InputError`, `ModelUnavailable`.
    """
    from refute_lab.train import KINDS, resolve

    chosen = _chosen(options, {"data": data, "output": output, **given})
    kind = KINDS[training]
    resolved = resolve(chosen.model, chosen.set, kind)
    remark(resolved.lines())
    name, what = _DATA[training]
    file = _file_of(chosen.data, name)
    extras.need("train", "training")
    home = importlib.import_module(f"refute_lab.train.{training}")
    prepared = home.prepare(file, resolved.settings)
    facts = prepared.facts()
    long = f"; {facts['too_long']:,} too long" if facts["too_long"] else ""
    remark([f"{facts['rows']:,} {what}, {facts['tokens']:,} tokens{long}"])
    if chosen.dry_run:
        return SftEstimate(resolved, home.estimate(prepared, resolved.settings))
    how: dict[str, Any] = {"report": told, "report_to": chosen.report_to}
    if training == "grpo":
        how["sandboxes"] = chosen.jobs or cores()
    return SftResult(home.train(prepared, resolved, chosen.output, **how))


def _chosen(options: FitOptions | None, given: Mapping[str, Any]) -> FitOptions:
    """The options of a training; what is none of their fields is in `set`."""
    known = {one.name for one in fields(FitOptions)}
    told = {name: value for name, value in given.items() if value is not None}
    by_name = {name: told.pop(name) for name in [*told] if name not in known}
    made = options_with(FitOptions, options, told)
    return replace(made, set={**made.set, **by_name})


@dataclass(frozen=True, kw_only=True)
class SelectOptions:
    """The options of `train select`."""

    n: int = parameter(3, "Tests for each problem.", at_least=1, by_name=True)
    problems: int | None = parameter(
        None, "Use so many validation problems.", at_least=1, by_name=True
    )
    max_tokens: int = parameter(2048, "Of an answer.", at_least=1, by_name=True)

    run: Path = parameter(MISSING, "Folder of a training.", positional=True)
    validation: Path = parameter(
        MISSING,
        "A JSONL file of problems, or the folder of `refute train data`.",
        metavar="PATH",
    )


def select(
    run: Path | str | None = None,
    validation: Path | str | None = None,
    *,
    options: SelectOptions | None = None,
    **given: Any,
) -> SelectResult:
    """Score every checkpoint of a run by accuracy ∩ attack; copy the best one to `RUN/best`.

    `validation`: never the problems that you test on. `options`: a `SelectOptions`, or its fields
    by name. Raises `InputError`, `Unavailable`.
    """
    from refute_lab.train.select import select as choose

    told = {} if run is None else {"run": run, "validation": validation}
    chosen = options_with(SelectOptions, options, {**told, **given})

    def work() -> CheckpointChoice:
        return choose(
            chosen.run,
            _file_of(chosen.validation, "validation.jsonl"),
            n=chosen.n,
            limit=chosen.problems,
            max_tokens=chosen.max_tokens,
            progress=lambda line: remark([line]),
        )

    return SelectResult(apart(work))


def _file_of(data: Path, name: str) -> Path:
    """The file itself, or the one of this name in the folder of `training_data`."""
    return data / name if data.is_dir() else data


_DATA = {
    "sft": ("train.jsonl", "rows"),
    "dpo": ("preferences.jsonl", "pairs"),
    "grpo": ("problems.jsonl", "problems"),
}
"""Files that each training reads of the folder of `training_data`, and what is in it."""


# -- the commands ----------------------------------------------------------------------------------


@click.group("train")
def command() -> None:
    """Train a model to write unit tests that fail and are right (UTGen)."""


@command.command("data", cls=MethodCommand, more=(DataOptions,))
@offered(DataOptions)
@json_option
def _data(options: DataOptions, as_json: bool) -> int:
    """Make training data from solved tasks: faults, inputs that show them, and answers.

    SOURCE: a JSONL or Parquet file of tasks with solutions or of chats, a folder of documented
    Python functions, tulu-3, or hub:OWNER/NAME[@SPLIT]. Without a model, faults are mutations and
    inputs come from the search. Resumes where it was stopped; a larger --limit adds to it.

    DIR gets train.jsonl (for sft), preferences.jsonl (dpo), problems.jsonl (grpo), validation.jsonl
    (select), a data card and what each stage made.
    """
    from refute.results.text.consoles import counting_stages

    with counting_stages(consoles()[1]) as progress:
        result = training_data(options=options, progress=progress)
    show(result, as_json=as_json)
    return 0


def _fitting(kind: type[TrainSettings], help: str) -> None:
    """Add the command of a training to the group."""

    @command.command(kind.training, cls=MethodCommand, more=(FitOptions, kind), help=help)
    @offered(FitOptions)
    @json_option
    def fitting(options: FitOptions, as_json: bool) -> int:
        training: Any = kind.training
        show(fit(training, options=options), as_json=as_json)
        return 0


_fitting(
    SftSettings,
    """Train a LoRA adapter on the rows that `refute train data` made.

    DATA: its folder, or a JSONL file of prompts and completions. Resumes where it was stopped. For
    several GPUs: accelerate launch -m refute train sft ...
    """,
)
_fitting(
    DpoSettings,
    """Train an adapter to prefer tests that attack and are right (DPO).

    DATA: the folder of `refute train data`, made with --set inputs=model, or a JSONL file of
    prompt, chosen and rejected. Resumes where it was stopped.
    """,
)
_fitting(
    GrpoSettings,
    """Train an adapter with the verdict on its tests as the reward (GRPO).

    DATA: the folder of `refute train data`, or a JSONL file of problems with references. A test is
    paid 1 where it attacks and is right. Resumes where it was stopped.
    """,
)


@command.command("select", cls=MethodCommand, more=(SelectOptions,))
@offered(SelectOptions)
@json_option
def _select(options: SelectOptions, as_json: bool) -> int:
    """Score every checkpoint of a run on validation problems; copy the best one to RUN/best.

    Scored by accuracy ∩ attack. Never use the problems that you test on.
    """
    show(select(options=options), as_json=as_json)
    return 0

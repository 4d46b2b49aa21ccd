"""`train data`: UTGen's training data from solved tasks.

>>> from refute_lab.verbs.training_data import training_data
>>> training_data("tasks.jsonl", "out").figures["rows"]
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, nullcontext
from dataclasses import MISSING, asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table

from refute.core.parameters import options_with, parameter
from refute.core.processes import cores
from refute.core.remarks import remark
from refute.core.storage import write_atomically
from refute.errors import InputError
from refute.models.asking import Asked, sessions
from refute.prompts import PAPER, digest_of, prompts_from
from refute.sandbox.pool import SandboxPool
from refute.verbs.output import Shown, apart
from refute_lab.runs.executors import Processes, Workers, executor_of, on_gpus
from refute_lab.runs.sharing import ModelKeeper
from refute_lab.train.attempts import PAIRS
from refute_lab.train.card import card, figures
from refute_lab.train.contamination import Index, available, evaluation_texts
from refute_lab.train.data import Elsewhere, build
from refute_lab.train.data_contract import Candidates, DataSettings, Plan, plan
from refute_lab.verbs.options import asked_of

if TYPE_CHECKING:
    from refute_lab.train.data_contract import BuiltData, Plan
    from refute_lab.train.select import CheckpointChoice
    from refute_lab.train.tokens import Estimate


StageProgress = Callable[[str, int, int], None]
"""Is told the stage, how many of its tasks are done, and how many there are."""


def silent(stage: str, done: int, total: int) -> None:
    """The `StageProgress` that says nothing."""


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

        print_data(self.figures, self.directory, console)


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

        print_plan(self.plan, console)


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
    jobs: int | None = parameter(None, "Worker processes (one a core).", at_least=1)
    executor: str | None = parameter(
        None, "Who does the tasks: processes, ray..., or a plugin's.", metavar="NAME[:ADDRESS]"
    )
    seed: int = parameter(0, "Same seed, same work.")
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
    vote_rows: bool = parameter(False, "Beside each row one of the vote's turn.", by_name=True)
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
    progress: StageProgress = silent,
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
        seed=chosen.seed,
    )
    sets = chosen.evaluation or tuple(available())
    if not sets:
        remark(
            ["contamination is not checked: set REFUTE_DATA, or name them: --set evaluation=FILE"]
        )
    index = Index(evaluation_texts(sets))
    if chosen.dry_run:
        found = Candidates(chosen.source, index, settings.max_prompt)
        with prompts_from(*folders):
            made = plan(found, settings, limit=chosen.limit, vote_rows=chosen.vote_rows)
        return DataPlan(settings, made)
    size, keeper = chosen.jobs or cores(), None
    elsewhere = Elsewhere(Processes(size))
    if chosen.executor is not None:
        keeper = ModelKeeper(asked, *folders)
        workers = on_gpus(Workers(jobs=chosen.jobs, waits=True, each=4, keeper=keeper), asked)
        doing = executor_of(chosen.executor, workers)
        assert doing is not None
        elsewhere = Elsewhere(doing, asked)

    async def work() -> BuiltData:
        async with AsyncExitStack() as stack:
            stack.enter_context(prompts_from(*folders))
            stack.enter_context(keeper or nullcontext())
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
                vote_rows=chosen.vote_rows,
                elsewhere=elsewhere,
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


def print_plan(found: Plan, console: Console) -> None:
    """Print the work of making the data by stage, and the reasons for dropping tasks."""
    title = f"{found.read:,} tasks read, {found.solutions:,} solutions, at most {found.rows:,} rows"
    table = Table("stage", "tasks", "requests", "answers", "tokens in", "tokens out", title=title)
    for s in found.stages:
        numbers = (s.tasks, s.requests, s.samples, s.prompt_tokens, s.completion_tokens)
        table.add_row(s.name, *(f"{n:,}" if n else "-" for n in numbers))
    console.print(table)
    for reason, count in found.dropped.most_common():
        console.print(f"{count:>8,}  {reason}")
    console.print(f"sandbox: about {found.seconds / 60:,.1f} minutes of one core", markup=False)


def print_data(card: Mapping[str, Any], directory: Path, console: Console) -> None:
    """Print each stage's counts in and out; `card` as `train.card.figures` makes it."""
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


def print_estimate(found: Estimate, console: Console) -> None:
    """Print the memory and time that a training would take."""
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


def print_selection(chosen: CheckpointChoice, console: Console) -> None:
    """Each checkpoint's figures, the best marked, and where its adapter is."""
    table = Table("", "attack rate", "output accuracy", "accuracy ∩ attack")
    for score in chosen.scores:
        mark = " (best)" if score.name == chosen.best else ""
        shares = (f"{100 * figure.value:.1f} %" for figure in score.figures.values())
        table.add_row(score.name + mark, *shares)
    console.print(table)
    _say(console, str(chosen.path))


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)

"""`training_data`: UTGen's training data from solved tasks.

>>> from refute_lab.api.training_data import training_data
>>> training_data("tasks.jsonl", "out").figures["rows"]
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from refute_lab.train.card import card, figures
from refute_lab.train.contamination import Index, available, evaluation_texts
from refute_lab.train.data import Elsewhere, build
from refute_lab.train.data_contract import Candidates, DataSettings, Plan, plan
from refute_lab.train.preferences import PAIRS

if TYPE_CHECKING:
    from refute_lab.train.data_contract import BuiltData

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
        """What the command prints on stdout."""
        from refute_lab.report.training import print_data

        print_data(self.figures, self.directory, console)


@dataclass(frozen=True, slots=True)
class DataPlan(Shown):
    """What making the data would take."""

    settings: DataSettings
    plan: Plan

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {"settings": asdict(self.settings), **asdict(self.plan)}

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute_lab.report.training import print_plan

        print_plan(self.plan, console)


def training_data(
    source: Path | str,
    output: Path | str,
    *,
    model: str | None = None,
    asked: Asked | None = None,
    corrupt: str | None = None,
    inputs: Literal["model", "search"] | None = None,
    rationales: Literal["model", "template", "none"] | None = None,
    faults: int = 2,
    attempts: int = 5,
    rows_per_fault: int | None = None,
    pairs_per_fault: int = PAIRS,
    vote_rows: bool = False,
    preset: Literal["paper"] | None = None,
    prompts: Path | str | None = None,
    limit: int | None = None,
    evaluation: Sequence[str] = (),
    validation: float = 0.05,
    jobs: int | None = None,
    executor: str | None = None,
    seed: int = 0,
    dry_run: bool = False,
    progress: StageProgress = silent,
) -> TrainingData | DataPlan:
    """Make training data from solved tasks (UTGen, 3.2): faults, inputs that show them, answers.

    `source`: a JSONL or Parquet file of tasks with solutions or of chats, a folder of documented
    Python functions, `tulu-3`, or `hub:OWNER/NAME[@SPLIT]`. `output`: a folder; the same call
    resumes where it was stopped, and with a larger `limit` (solutions) adds to it.

    `corrupt`: faults by `model`, by `mutants`, or `mix:SHARE` by the model. `inputs`: who proposes
    them. `rationales`: reasoning in the answers. All three are by the model where one is given.
    `faults`: for each solution. `attempts`: at an input, for each fault. `rows_per_fault`: the
    first attacking inputs that become rows (None: all). `pairs_per_fault`: preference pairs of a
    model's attempts at most. `vote_rows`: beside each row one of the turn in which a vote asks for
    the output. `prompts`: a folder of templates that stand for ours (`refute.prompts`). `preset`:
    `paper`, the paper's form of the prompts for faults and rationales. `evaluation`: datasets to
    keep away from (all that are there, where none is named). `validation`: share of the solutions
    that is held out. `jobs`: worker processes and sandboxes (one a core). `executor`:
    what does the tasks instead, by its name ("ray:ADDRESS"). `dry_run`: nothing is run or asked.

    Raises `InputError`; `Unavailable` and `LimitReached` where a stage cannot end.
    """
    asked = asked or Asked(model=model)
    _check(asked)
    folder = None if prompts is None else Path(prompts)
    if preset is not None and asked.model is None:
        raise InputError(f"--preset {preset} is for prompts to a model: name one with --model")
    folders = (folder, None if preset is None else PAPER)
    settings = DataSettings(
        faults=faults,
        attempts=attempts,
        by_model=_share(corrupt, asked.model is not None),
        inputs=inputs or ("model" if asked.model else "search"),
        rationales=rationales or ("model" if asked.model else "none"),
        rows_per_fault=rows_per_fault,
        preset=preset or "",
        prompts="" if folder is None else digest_of(folder),
        seed=seed,
    )
    sets = tuple(evaluation) or tuple(available())
    if not sets:
        remark(
            ["contamination is not checked: set REFUTE_DATA, or name them: --set evaluation=FILE"]
        )
    index, directory = Index(evaluation_texts(sets)), Path(output)
    if dry_run:
        found = Candidates(str(source), index, settings.max_prompt)
        with prompts_from(*folders):
            return DataPlan(settings, plan(found, settings, limit=limit, vote_rows=vote_rows))
    size, keeper = jobs or cores(), None
    elsewhere = Elsewhere(Processes(size))
    if executor is not None:
        keeper = ModelKeeper(asked, *folders)
        workers = on_gpus(Workers(jobs=jobs, waits=True, each=4, keeper=keeper), asked)
        doing = executor_of(executor, workers)
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
                str(source),
                directory,
                settings,
                index=index,
                box=stack.enter_context(SandboxPool(size)),
                session=session,
                limit=limit,
                validation=validation,
                pairs_per_fault=pairs_per_fault,
                vote_rows=vote_rows,
                elsewhere=elsewhere,
                at_once=max(asked.concurrency if session else 0, 2 * size),
                progress=progress,
            )

    built = apart(lambda: asyncio.run(work()))
    shown = figures(built, settings, source=str(source), model=asked.model, sets=sets)
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

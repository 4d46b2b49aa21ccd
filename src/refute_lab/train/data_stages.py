"""The stages of making training data, each task of each done once: see `refute_lab.train.data`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

from refute.core.storage import write_atomically
from refute.errors import InputError, ModelUnavailable
from refute.models.asking import Asked
from refute.models.serialization import message_json
from refute.sandbox.pool import AsyncSandbox
from refute_lab.runs.executors import Concurrent, Executor
from refute_lab.runs.records import ErrorRecord
from refute_lab.runs.run import Ending, Run
from refute_lab.train import rows
from refute_lab.train.attempts import AttackingInput
from refute_lab.train.corrupt import Fault
from refute_lab.train.data_contract import (
    RECORDS,
    Asking,
    BuiltData,
    Candidates,
    DataSettings,
    Stage,
    TaskRecord,
)
from refute_lab.train.data_tasks import Tasks, computed_tasks, opened_tasks
from refute_lab.train.filters import Solution

Progress = Callable[[str, int, int], None]
"""Told the stage, how many of its tasks are done, and how many there are."""
CHUNK = 1000
"""Solutions that are run between two looks at the source."""

Faults = dict[str, tuple[Solution, Fault]]
Kept = dict[str, tuple[Solution, Fault, list[AttackingInput]]]
"""By the name of the fault, `ID#NUMBER`."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What does the tasks instead of this process."""

    executor: Executor
    asked: Asked | None = None
    """What its workers open to ask a model. None: they do the stages that ask none."""


@dataclass(slots=True)
class Making:
    """The stages of one directory."""

    directory: Path
    header: Mapping[str, Any]
    settings: DataSettings
    box: AsyncSandbox
    session: Asking | None
    at_once: int
    progress: Progress
    elsewhere: Elsewhere | None = None
    vote_rows: bool = False
    """Whether each row has another one beside it: the vote's question on its input."""

    async def run(self, stage: Stage, units: Mapping[str, Any]) -> dict[str, TaskRecord]:
        """The records of the tasks, in their order, each done once."""
        elsewhere = self.elsewhere

        def progress(done: int) -> None:
            self.progress(stage.name, done, len(units))

        with Run(self.directory / "journal" / stage.name, self.header, RECORDS) as run:
            if elsewhere is None or (elsewhere.asked is None and self.settings.asks(stage.name)):
                do = Tasks(self.settings, self.box, self.session).of(stage.name)
                here = Concurrent(self.at_once)
                ending = await run.do_here(units, lambda: nullcontext(do), here, progress=progress)
            else:
                start: Callable[[], Any] = partial(computed_tasks, self.settings, stage.name)
                if elsewhere.asked is not None:
                    start = partial(opened_tasks, self.settings, elsewhere.asked, stage.name)
                ending = await _done_in_thread(run, units, start, elsewhere.executor, progress)
            found = {name: run.records[name] for name in units if name in run.records}
        if ending.put_off:
            raise ending.put_off[0]
        records = {name: one for name, one in found.items() if not isinstance(one, ErrorRecord)}
        errors = [one.error for one in found.values() if isinstance(one, ErrorRecord)]
        if errors:
            raise ModelUnavailable(
                f"{stage.name}: {len(errors)} of {len(units)} tasks failed, the first: "
                f"{errors[0]}; the same command tries them again"
            )
        for record in records.values():
            stage.dropped.update(record.dropped)
        return records

    async def solutions(self, built: BuiltData, source: Candidates, limit: int | None) -> None:
        """Stage 0: what passes the filters, up to `limit`."""
        stage = Stage("stage0")
        found = iter(source)
        while limit is None or len(built.solutions) < limit:
            room = CHUNK if limit is None else min(CHUNK, limit - len(built.solutions))
            # Reading and comparing texts takes long for large sources.
            chunk = await asyncio.to_thread(list, islice(found, room))
            if not chunk:
                break
            by_id = {one.id: one for one in chunk}
            records = await self.run(stage, by_id)
            built.solutions += [by_id[name] for name, r in records.items() if not r.dropped]
        stage.taken, stage.made = source.read, len(built.solutions)
        stage.dropped.update(source.dropped)
        built.stages.append(stage)
        built.contaminated = source.contaminated
        write_lines(self.directory / "stage0.jsonl", map(asdict, built.solutions))

    async def faults(self, built: BuiltData) -> Faults:
        """Stage I."""
        stage = Stage("stage1", taken=len(built.solutions))
        by_id = {one.id: one for one in built.solutions}
        records = await self.run(stage, by_id)
        faults: Faults = {}
        for name, record in records.items():
            for number, fault in enumerate(record.faults, 1):
                faults[f"{name}#{number}"] = by_id[name], fault
        stage.made = len(faults)
        built.stages.append(stage)
        write_lines(
            self.directory / "stage1.jsonl",
            ({"id": name, "solution": s.id, **asdict(f)} for name, (s, f) in faults.items()),
        )
        return faults

    async def inputs(self, built: BuiltData, faults: Faults) -> Kept:
        """Stage II."""
        stage = Stage("stage2", taken=len(faults))
        records = await self.run(stage, faults)
        kept: Kept = {}
        for name, record in records.items():
            built.answers[name] = *faults[name], record.answers
            if record.kept:
                kept[name] = *faults[name], list(record.kept)
        lines = [
            {"id": f"{name}.{number}", "solution": solution.id, "fault": name, **asdict(one)}
            for name, (solution, _, found) in kept.items()
            for number, one in enumerate(found, 1)
        ]
        stage.made = len(lines)
        built.stages.append(stage)
        write_lines(self.directory / "stage2.jsonl", lines)
        return kept

    async def answers(self, built: BuiltData, kept: Kept) -> None:
        """Stage III: the rows."""
        tasks = {
            f"{name}.{number}": (solution, fault, one)
            for name, (solution, fault, found) in kept.items()
            for number, one in enumerate(found[: self.settings.rows_per_fault], 1)
        }
        stage = Stage("stage3", taken=len(tasks))
        records = await self.run(stage, tasks)
        for name, record in records.items():
            if record.completion:
                solution, fault, attempt = tasks[name]
                row = {
                    "id": name,
                    "solution": solution.id,
                    "fault_by": fault.by,
                    "input_by": attempt.by,
                    "prompt": rows.prompt(solution, fault),
                    "completion": record.completion,
                }
                built.rows.append(row)
                if self.vote_rows:
                    turns, answer = rows.vote_turn(record.completion, solution, fault, attempt)
                    *before, question = map(message_json, turns)
                    built.rows.append(
                        {
                            **row,
                            "id": f"{name}.vote",
                            "before": before,
                            "prompt": question["content"],
                            "completion": answer,
                        }
                    )
        stage.made = len(built.rows)
        built.stages.append(stage)
        write_lines(self.directory / "stage3.jsonl", built.rows)


async def _done_in_thread(
    run: Run[TaskRecord],
    units: Mapping[str, Any],
    start: Callable[[], Any],
    executor: Executor,
    progress: Callable[[int], None],
) -> Ending:
    """`Run.do`, which ends at the next record where this is cancelled (Ctrl-C)."""
    cancelled = Event()

    def going_on(done: int) -> None:
        if cancelled.is_set():
            raise asyncio.CancelledError
        progress(done)

    work = partial(run.do, units, start, executor, progress=going_on)
    doing = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([doing])
        raise


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(dict(line), ensure_ascii=False) + "\n" for line in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A lone surrogate, which a model may write, becomes JSON's escape for it.
        write_atomically(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None

"""The stages of making training data, each task of each done once: see `refute.train.data`."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from refute.errors import InputError, LimitReached, ModelUnavailable, Unavailable
from refute.models.contract import Asker
from refute.models.serialization import message_json
from refute.runs.executors import Concurrent
from refute.runs.records import ErrorRecord
from refute.runs.run import Run
from refute.sandbox.pool import AsyncSandbox
from refute.storage import write_atomically
from refute.train import attempts, corrupt, rationales, rows
from refute.train.attempts import AttackingInput
from refute.train.corrupt import Corrupted, Fault
from refute.train.data_contract import (
    RECORDS,
    Asking,
    BuiltData,
    Candidates,
    DataSettings,
    Stage,
    TaskRecord,
)
from refute.train.filters import Solution, works

__all__ = ["Faults", "Kept", "Making", "Progress", "write_lines"]

Progress = Callable[[str, int, int], None]
"""Told the stage, how many of its tasks are done, and how many there are."""
CHUNK = 1000
"""Solutions that are run between two looks at the source."""

Faults = dict[str, tuple[Solution, Fault]]
Kept = dict[str, tuple[Solution, Fault, list[AttackingInput]]]
"""By the name of the fault, `ID#NUMBER`."""


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
    vote_rows: bool = False
    """Whether each row has another one beside it: the vote's question on its input."""

    def ask(self, name: str) -> Asker:
        assert self.session is not None
        return self.session.asker(name)

    async def run(
        self, stage: Stage, names: Sequence[str], do: Callable[[str], Awaitable[TaskRecord]]
    ) -> dict[str, TaskRecord]:
        """The records of the tasks, in their order, each done once."""

        async def guarded(named: tuple[str, None], leave: Callable[[], None]) -> TaskRecord:
            name, _ = named
            try:
                return await do(name)
            except (Unavailable, LimitReached, InputError):
                raise
            except Exception as error:  # one odd task must not hold up the others for ever
                return TaskRecord(name, dropped={f"internal error: {type(error).__name__}": 1})

        with Run(self.directory / "journal" / stage.name, self.header, RECORDS) as run:
            ending = await run.do_here(
                dict.fromkeys(names),
                lambda: nullcontext(guarded),
                Concurrent(self.at_once),
                progress=lambda done: self.progress(stage.name, done, len(names)),
            )
            found = {name: run.records[name] for name in names if name in run.records}
        if ending.put_off:
            raise ending.put_off[0]
        records = {name: one for name, one in found.items() if not isinstance(one, ErrorRecord)}
        errors = [one.error for one in found.values() if isinstance(one, ErrorRecord)]
        if errors:
            raise ModelUnavailable(
                f"{stage.name}: {len(errors)} of {len(names)} tasks failed, the first: "
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

            async def check(name: str, by_id: dict[str, Solution] = by_id) -> TaskRecord:
                reason = await works(by_id[name], self.box)
                return TaskRecord(name, dropped={} if reason is None else {reason: 1})

            records = await self.run(stage, list(by_id), check)
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

        async def do(name: str) -> TaskRecord:
            found = await self.corrupted(by_id[name])
            return TaskRecord(name, faults=tuple(found.faults), dropped=dict(found.dropped))

        records = await self.run(stage, list(by_id), do)
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

    async def corrupted(self, solution: Solution) -> Corrupted:
        """Faults of one solution; what the model does not give of a mix, mutations do."""
        settings = self.settings
        chance = Random(f"{settings.seed}:{solution.id}").random()
        wanted = int(settings.by_model * settings.faults + chance)
        made = Corrupted()
        if wanted and settings.by_model:
            made = await corrupt.by_model(
                solution,
                min(wanted, settings.faults),
                ask=self.ask(solution.id),
                box=self.box,
                sampling=settings.sampling,
            )
        if settings.by_model < 1:
            missing = settings.faults - len(made.faults)
            more = await corrupt.by_mutation(solution, missing, box=self.box, seed=settings.seed)
            codes = {fault.code for fault in made.faults}
            made.faults += [fault for fault in more.faults if fault.code not in codes]
            made.dropped.update(more.dropped)
        return made

    async def inputs(self, built: BuiltData, faults: Faults) -> Kept:
        """Stage II."""
        stage = Stage("stage2", taken=len(faults))
        settings = self.settings

        async def do(name: str) -> TaskRecord:
            solution, fault = faults[name]
            if settings.inputs == "model":
                found = await attempts.by_model(
                    solution,
                    fault,
                    settings.attempts,
                    ask=self.ask(name),
                    box=self.box,
                    sampling=settings.sampling,
                )
            else:
                found = await attempts.by_search(
                    solution, fault, settings.attempts, box=self.box, seed=settings.seed
                )
            if not found.kept:
                found.dropped["fault without an attacking input"] += 1
            return TaskRecord(
                name,
                kept=tuple(found.kept),
                dropped=dict(found.dropped),
                answers=tuple(found.answers),
            )

        records = await self.run(stage, list(faults), do)
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

        async def do(name: str) -> TaskRecord:
            solution, fault, attempt = tasks[name]
            text, dropped = await self.answer(name, solution, fault, attempt)
            return TaskRecord(name, completion=text, dropped=dict(dropped))

        records = await self.run(stage, list(tasks), do)
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

    async def answer(
        self, name: str, solution: Solution, fault: Fault, attempt: AttackingInput
    ) -> tuple[str | None, Counter[str]]:
        """The answer to learn; None where there is none, and why tries fell out."""
        how = self.settings.rationales
        said = rows.said_before(attempt.answer)
        reasoning, dropped = "", Counter[str]()
        if how == "model":
            found = await rationales.rationale(
                solution,
                attempt,
                ask=self.ask(name),
                box=self.box,
                sampling=self.settings.sampling,
            )
            dropped = found.dropped
            if found.text is None:
                dropped["row without a rationale"] += 1
                return None, dropped
            reasoning = found.text
        hypothesis, about_input = said if said is not None else (None, "")
        if hypothesis is None and how != "none":
            hypothesis = rationales.hypothesis_of_change(solution.code, fault.code)
        text = rows.completion(attempt, rows.TrainingAnswer(hypothesis, about_input, reasoning))
        if await rows.reads_back(text, solution, fault, attempt, self.box):
            return text, dropped
        dropped["row that does not read back"] += 1
        return None, dropped


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(dict(line), ensure_ascii=False) + "\n" for line in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A lone surrogate, which a model may write, becomes JSON's escape for it.
        write_atomically(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None

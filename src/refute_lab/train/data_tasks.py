"""The tasks of making training data, one function for each stage: see `refute_lab.train.data`.

A task is done with what it is given and nothing else, so that it may be done on another machine.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from multiprocessing.util import Finalize
from random import Random
from typing import Any

from refute.errors import InputError, LimitReached, Unavailable
from refute.models.asking import Asked, sessions
from refute.models.contract import Asker
from refute.sandbox.pool import AsyncSandbox, InlineSandbox, SandboxPool
from refute_lab.train import attempts, corrupt, rationales, rows
from refute_lab.train.attempts import AttackingInput
from refute_lab.train.corrupt import Corrupted, Fault
from refute_lab.train.data_contract import Asking, DataSettings, TaskRecord
from refute_lab.train.filters import Solution, works

Do = Callable[[tuple[str, Any], Callable[[], None]], Awaitable[TaskRecord]]


@dataclass(frozen=True, slots=True)
class Tasks:
    """What does tasks, by the name of their stage."""

    settings: DataSettings
    box: AsyncSandbox
    session: Asking | None

    def of(self, stage: str) -> Do:
        """What does the tasks of a stage, as `Concurrent` wants it."""
        doing: dict[str, Callable[[str, Any], Awaitable[TaskRecord]]] = {
            "stage0": self.checked,
            "stage1": self.faulty,
            "stage2": self.attacked,
            "stage3": self.answered,
        }
        do = doing[stage]

        async def guarded(named: tuple[str, Any], leave: Callable[[], None]) -> TaskRecord:
            name, given = named
            try:
                return await do(name, given)
            except (Unavailable, LimitReached, InputError):
                raise
            except Exception as error:  # one odd task must not hold up the others for ever
                return TaskRecord(name, dropped={f"internal error: {type(error).__name__}": 1})

        return guarded

    def ask(self, name: str) -> Asker:
        assert self.session is not None
        return self.session.asker(name)

    async def checked(self, name: str, solution: Solution) -> TaskRecord:
        """Stage 0: whether a solution works."""
        reason = await works(solution, self.box)
        return TaskRecord(name, dropped={} if reason is None else {reason: 1})

    async def faulty(self, name: str, solution: Solution) -> TaskRecord:
        """Stage I: faults of a solution."""
        found = await self.corrupted(solution)
        return TaskRecord(name, faults=tuple(found.faults), dropped=dict(found.dropped))

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

    async def attacked(self, name: str, given: tuple[Solution, Fault]) -> TaskRecord:
        """Stage II: inputs that show a fault."""
        solution, fault = given
        settings = self.settings
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

    async def answered(
        self, name: str, given: tuple[Solution, Fault, AttackingInput]
    ) -> TaskRecord:
        """Stage III: the answer to learn."""
        text, dropped = await self.answer(name, *given)
        return TaskRecord(name, completion=text, dropped=dict(dropped))

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


@asynccontextmanager
async def opened_tasks(settings: DataSettings, asked: Asked, stage: str) -> AsyncIterator[Do]:
    """What does the tasks of a stage in a worker of its own, with a sandbox and models of its
    own; see `Concurrent`."""
    async with AsyncExitStack() as stack:
        box, session = stack.enter_context(SandboxPool(1)), None
        if asked.model is not None and settings.asks(stage):
            session, _ = await stack.enter_async_context(sessions(asked))
        yield Tasks(settings, box, session).of(stage)


def computed_tasks(settings: DataSettings, stage: str) -> Callable[[tuple[str, Any]], TaskRecord]:
    """What does the tasks of a stage that asks no model in a worker process; see `Processes`."""
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    do = Tasks(settings, InlineSandbox(box), None).of(stage)

    async def done(named: tuple[str, Any]) -> TaskRecord:
        return await do(named, lambda: None)

    return lambda named: asyncio.run(done(named))

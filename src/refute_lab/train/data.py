"""UTGen's training data from solved tasks (§3.2, appendix B), in stages that resume.

    stage 0   source -> solutions that pass the filters, none near an evaluation problem
    stage I   solution -> faulty versions
    stage II  fault -> inputs on which it differs from the reference, with the reference's output
    stage III input -> a row: the prompt of inference, and an answer with its reasoning

A task of a stage is journalled when it is done (`DIR/journal/stageN`); at a stage's end what it
made is written to `DIR/stageN.jsonl`, for people and for the next stage. Beside the rows there are
pairs of the attempts (`preferences.jsonl`), and the faults as problems with their references, by
which a reward is worked out (`problems.jsonl`). Nothing here sees an
answer key of an evaluation problem: those are compared by `refute_lab.train.filters` only.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from multiprocessing.util import Finalize
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from refute.core.parameters import checked, parameter
from refute.core.problems import Call, Count
from refute.core.storage import write_atomically
from refute.errors import InputError, LimitReached, ModelUnavailable, Unavailable
from refute.function.given_tests import parse_invocation
from refute.models.budget import FIRST_GUESS
from refute.models.contract import Asker, Sampling
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox, InlineSandbox
from refute.source.literals import source_of
from refute_lab.runs import ErrorRecord, Schema
from refute_lab.runs.executors import Concurrent, Ending, Executor, Run
from refute_lab.train.filters import (
    MAX_PROMPT,
    Index,
    Match,
    Solution,
    admitted,
    fingerprint,
    prompt_tokens,
    read_source,
    works,
)
from refute_lab.train.stages import (
    PAIRS,
    AttackingInput,
    Corrupted,
    Fault,
    JudgedAnswer,
    TrainingAnswer,
    corrupted_by_model,
    corrupted_by_mutation,
    hypothesis_of_change,
    inputs_by_model,
    inputs_by_search,
    pairs,
    preference_row,
    rationale,
    reads_back,
    said_before,
    training_completion,
    training_prompt,
)

if TYPE_CHECKING:
    from refute.models.session import Session

USUAL = Sampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """Settings that the data depends on, besides source, model and evaluation sets."""

    faults: int = parameter(2, "", at_least=1)
    """For each solution (stage I)."""
    attempts: int = parameter(5, "", at_least=1)
    """At an input, for each fault (stage II)."""
    by_model: float = parameter(0.0, "", at_least=0, at_most=1)
    """Share of the faults that a model writes, in [0, 1]; the others are mutations."""
    inputs: Literal["model", "search"] = "search"
    rationales: Literal["model", "template", "none"] = "none"
    """`template`: the hypothesis names the change, the output has no reasoning."""
    max_prompt: int = parameter(MAX_PROMPT, "", at_least=1)
    """Tokens, at four characters each."""
    rows_per_fault: int | None = parameter(None, "", at_least=1)
    """Attacking inputs of one fault that become rows, the first ones; None: all."""
    preset: str = ""
    """`paper`: its form of the prompts for faults and rationales (`refute.prompts.PAPER`)."""
    prompts: str = ""
    """Digest of the templates that stand for ours; "": there are none."""
    shard: str = ""
    """`K/N`: the K-th of N parts of the source, which share no task; "": all of it."""
    seed: int = 0
    sampling: Sampling = USUAL

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        checked(type(self), {one.name: getattr(self, one.name) for one in fields(self)})
        _ = self.part

    @property
    def part(self) -> tuple[int, int]:
        """The shard as (K - 1, N). Raises `InputError`."""
        number, _, of = (self.shard or "1/1").partition("/")
        if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
            return int(number) - 1, int(of)
        raise InputError(f"--shard {self.shard}: must be K/N, the K-th of N parts, e.g. 1/8")

    @property
    def needs_model(self) -> bool:
        """Return whether any stage asks a model."""
        return any(map(self.asks, ("stage1", "stage2", "stage3")))

    def asks(self, stage: str) -> bool:
        """Return whether tasks of a stage ask a model; else they compute."""
        return {
            "stage1": self.by_model > 0,
            "stage2": self.inputs == "model",
            "stage3": self.rationales == "model",
        }.get(stage, False)


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The outcome of one task of a stage."""

    id: str
    status: Literal["done"] = "done"
    dropped: dict[str, Count] = field(default_factory=dict)
    """Reason that tries fell out -> their number."""
    faults: tuple[Fault, ...] = ()
    """Of stage I."""
    kept: tuple[AttackingInput, ...] = ()
    """Of stage II."""
    answers: tuple[JudgedAnswer, ...] = ()
    """Of stage II, where a model proposes the inputs."""
    completion: str | None = None
    """Of stage III."""


RECORDS = Schema("task of training data", TaskRecord)


@dataclass(slots=True)
class Stage:
    """The outcome of a stage: counts in and out, and reasons for dropping the others."""

    name: str
    taken: int = 0
    made: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class BuiltData:
    """The data, and how it came about."""

    stages: list[Stage] = field(default_factory=list)
    contaminated: list[tuple[str, Match]] = field(default_factory=list)
    """Ids of the tasks that are too near to an evaluation problem, with that one."""
    solutions: list[Solution] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    validation: list[dict[str, Any]] = field(default_factory=list)
    """Held-out problems in the form that `refute bench` reads."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """The others in the same form: what a reward is worked out by."""
    answers: dict[str, tuple[Solution, Fault, tuple[JudgedAnswer, ...]]] = field(
        default_factory=dict
    )
    """By the name of the fault."""
    preferences: list[dict[str, Any]] = field(default_factory=list)
    """Pairs of the answers (`refute_lab.train.stages`), none of a held-out solution."""


@dataclass(slots=True)
class Candidates:
    """The solutions of a source whose text passes, one after the other; it counts the others."""

    source: str
    index: Index
    settings: DataSettings
    read: int = 0
    """Of the shard."""
    dropped: Counter[str] = field(default_factory=Counter)
    contaminated: list[tuple[str, Match]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Solution]:
        """Raises `InputError` for a source that cannot be read. Executes nothing."""
        ids: Counter[str] = Counter()
        codes: set[str] = set()
        part, parts = self.settings.part
        for raw in read_source(self.source):
            ids[raw.id] += 1
            # By the answer, so that equal ones meet in one shard, where one of them falls out.
            if crc32(raw.answer.encode(errors="surrogatepass")) % parts != part:
                continue
            self.read += 1
            if ids[raw.id] > 1:
                raw = replace(raw, id=f"{raw.id}~{ids[raw.id]}")
            found = admitted(raw, max_prompt=self.settings.max_prompt)
            if isinstance(found, str):
                self.dropped[found] += 1
            elif found.code in codes:
                self.dropped["duplicate code"] += 1
            elif (match := self.index.nearest(found.description, found.code)) is not None:
                self.dropped["near an evaluation problem"] += 1
                self.contaminated.append((found.id, match))
            else:
                codes.add(found.code)
                yield found


# -- data plan -------------------------------------------------------------------------------------


SECONDS = {"stage0": 0.03, "stage1": 0.2, "stage2": 0.2}
"""Of one core, for one task without a model: measured on a quarter of MBPP+."""
BASE_MEMORY, ROW_MEMORY = 100 << 20, 3000
"""Bytes of the process before it has read a task, and of a row besides its texts."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Of one stage."""

    name: str
    tasks: int
    """At most: nothing fell out in the sandbox."""
    requests: int = 0
    """To the model, each of them for `samples` answers."""
    samples: int = 0
    prompt_tokens: int = 0
    """Four characters each; a request's prompt counts once."""
    completion_tokens: int = 0
    """A guess of so many for each answer, as budgets make before they have seen one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Upper bounds."""

    read: int
    solutions: int
    dropped: Counter[str] = field(default_factory=Counter)
    contaminated: int = 0
    stages: tuple[StagePlan, ...] = ()
    rows: int = 0
    seconds: float = 0.0
    """Of one core in the sandbox; waiting for a model comes on top."""
    memory: int = 0
    """Bytes that the process holds at its end."""


def plan(candidates: Candidates, *, limit: int | None) -> Plan:
    """Read the source and count. Executes nothing and asks nobody. Raises `InputError`."""
    settings = candidates.settings
    found = list(islice(candidates, limit))
    faults = len(found) * settings.faults
    inputs = faults * settings.attempts
    most = settings.attempts
    if settings.rows_per_fault is not None:
        most = min(most, settings.rows_per_fault)
    prompts = sum(prompt_tokens(one.problem()) for one in found)
    by_model = round(faults * settings.by_model)
    stages = (
        StagePlan("stage0", candidates.read),
        _asking("stage1", len(found), by_model, settings.by_model, _tokens(found, "train_corrupt")),
        _asking(
            "stage2", faults, inputs, float(settings.inputs == "model"), prompts * settings.faults
        ),
        _asking(
            "stage3", faults * most, faults * most, float(settings.rationales == "model"),
            _tokens(found, "train_rationale") * settings.faults * most,
        ),
    )  # fmt: skip
    seconds = len(found) * SECONDS["stage0"] + faults * SECONDS["stage2"]
    seconds += len(found) * SECONDS["stage1"] * (settings.by_model < 1)
    rows = faults * most
    text = sum(len(one.code) + len(one.whole) + len(one.description) for one in found)
    held = text * (1 + settings.faults) + 4 * prompts * settings.faults * most
    return Plan(
        candidates.read,
        len(found),
        candidates.dropped,
        len(candidates.contaminated),
        stages,
        rows,
        seconds,
        BASE_MEMORY + held + rows * ROW_MEMORY,
    )


def _asking(name: str, tasks: int, samples: int, share: float, prompt_tokens: int) -> StagePlan:
    """A stage of which a share of the tasks asks a model."""
    if not share:
        return StagePlan(name, tasks)
    asking = tasks if share == 1 else min(tasks, samples)
    prompts = prompt_tokens * asking // tasks if tasks else 0
    return StagePlan(name, tasks, asking, samples, prompts, samples * FIRST_GUESS)


def _tokens(solutions: list[Solution], prompt: str) -> int:
    """Tokens of a prompt over the solutions, with nothing yet for call and output."""
    return sum(
        len(
            render(
                prompt,
                signature=one.signature,
                description=one.description,
                code=one.code,
                call="",
                output="",
            )
        )
        // 4
        for one in solutions
    )


# -- data ------------------------------------------------------------------------------------------


Progress = Callable[[str, int, int], None]
"""Told the stage, how many of its tasks are done, and how many there are."""


def silent(stage: str, done: int, total: int) -> None:
    """The `Progress` that says nothing."""


# -- data tasks ------------------------------------------------------------------------------------


Do = Callable[[tuple[str, Any], Callable[[], None]], Awaitable[TaskRecord]]


@dataclass(frozen=True, slots=True)
class Tasks:
    """Workers for tasks, by the name of their stage."""

    settings: DataSettings
    box: AsyncSandbox
    session: Session | None

    def of(self, stage: str) -> Do:
        """Return the worker of a stage, as `Concurrent` takes it."""
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
            made = await corrupted_by_model(
                solution,
                min(wanted, settings.faults),
                ask=self.ask(solution.id),
                box=self.box,
                sampling=settings.sampling,
            )
        if settings.by_model < 1:
            missing = settings.faults - len(made.faults)
            more = await corrupted_by_mutation(solution, missing, box=self.box, seed=settings.seed)
            codes = {fault.code for fault in made.faults}
            made.faults += [fault for fault in more.faults if fault.code not in codes]
            made.dropped.update(more.dropped)
        return made

    async def attacked(self, name: str, given: tuple[Solution, Fault]) -> TaskRecord:
        """Stage II: inputs that show a fault."""
        solution, fault = given
        settings = self.settings
        if settings.inputs == "model":
            found = await inputs_by_model(
                solution,
                fault,
                settings.attempts,
                ask=self.ask(name),
                box=self.box,
                sampling=settings.sampling,
            )
        else:
            found = await inputs_by_search(
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
        said = said_before(attempt.answer)
        reasoning, dropped = "", Counter[str]()
        if how == "model":
            found = await rationale(
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
            hypothesis = hypothesis_of_change(solution.code, fault.code)
        text = training_completion(attempt, TrainingAnswer(hypothesis, about_input, reasoning))
        if await reads_back(text, solution, fault, attempt, self.box):
            return text, dropped
        dropped["row that does not read back"] += 1
        return None, dropped


def computed_tasks(settings: DataSettings, stage: str) -> Callable[[tuple[str, Any]], TaskRecord]:
    """Return the function that does a stage's tasks without a model in a worker process; see
    `Processes`."""
    from refute.sandbox.local import LocalSandbox

    box = LocalSandbox()
    box.protections()  # raises here, once, where there is no sandbox
    Finalize(None, box.close, exitpriority=10)
    do = Tasks(settings, InlineSandbox(box), None).of(stage)

    async def done(named: tuple[str, Any]) -> TaskRecord:
        return await do(named, lambda: None)

    return lambda named: asyncio.run(done(named))


# -- data stages -----------------------------------------------------------------------------------


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
    session: Session | None
    at_once: int
    progress: Progress
    executor: Executor | None = None
    """It does the tasks that ask no model in place of this process."""

    async def run(self, stage: Stage, units: Mapping[str, Any]) -> dict[str, TaskRecord]:
        """The records of the tasks, in their order, each done once."""

        def progress(done: int) -> None:
            self.progress(stage.name, done, len(units))

        with Run(self.directory / "journal" / stage.name, self.header, RECORDS) as run:
            if self.executor is None or self.settings.asks(stage.name):
                do = Tasks(self.settings, self.box, self.session).of(stage.name)
                here = Concurrent(self.at_once)
                ending = await run.do_here(units, lambda: nullcontext(do), here, progress=progress)
            else:
                start = partial(computed_tasks, self.settings, stage.name)
                ending = await _done_in_thread(run, units, start, self.executor, progress)
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
                    "prompt": training_prompt(solution, fault),
                    "completion": record.completion,
                }
                built.rows.append(row)
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


async def build(
    source: str,
    directory: Path,
    settings: DataSettings,
    *,
    index: Index,
    box: AsyncSandbox,
    session: Session | None = None,
    limit: int | None = None,
    validation: float = 0.05,
    pairs_per_fault: int | None = PAIRS,
    at_once: int = 8,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> BuiltData:
    """Make the data in `directory`, or resume it.

    `limit`: take so many solutions at most; a later call with a larger one resumes from there.
    `validation`: share of the solutions that is held out. `pairs_per_fault`: preference pairs of
    one fault at most (None: all).
    `at_once`: tasks under way at a time. `executor`: does those that compute.

    Raises `InputError` for a bad source and for a directory with other settings;
    `AnswersPending`, `BudgetExceeded`, `ModelUnavailable`, `SandboxUnavailable` where a stage
    cannot end: what is done stays, and the same call resumes.
    """
    if settings.needs_model and session is None:
        raise InputError("faults, inputs or rationales by a model: name it with --model")
    header = {
        "kind": "train-data",
        "source": fingerprint(source),
        "evaluation": index.digest,
        "model": session.model if session is not None and settings.needs_model else None,
        **asdict(settings),
    }
    made = Making(directory, header, settings, box, session, at_once, progress, executor)
    built = BuiltData()
    await made.solutions(built, Candidates(source, index, settings), limit)
    faults = await made.faults(built)
    kept = await made.inputs(built, faults)
    await made.answers(built, kept)
    held = _split(built, kept, validation, settings.seed)
    for name, (solution, fault, answers) in built.answers.items():
        if solution.id not in held:
            prompt = training_prompt(solution, fault)
            built.preferences += [
                preference_row(f"{name}.{number}", solution.id, prompt, *pair)
                for number, pair in enumerate(pairs(answers, pairs_per_fault), 1)
            ]
    write_lines(directory / "train.jsonl", built.rows)
    write_lines(directory / "preferences.jsonl", built.preferences)
    write_lines(directory / "problems.jsonl", built.problems)
    write_lines(directory / "validation.jsonl", built.validation)
    return built


def _split(built: BuiltData, kept: Kept, share: float, seed: int) -> set[str]:
    """Take the rows of a share of the solutions out; all faults become problems.

    Gives the ids of the solutions that are held out.
    """
    draws = {
        solution.id: Random(f"validation:{seed}:{solution.id}").random()
        for solution in built.solutions
    }
    held = {name for name, draw in draws.items() if draw < share}
    if share and not held and len(draws) > 1:  # a small source has one as well
        held = {min(draws, key=lambda name: draws[name])}
    built.rows = [row for row in built.rows if row["solution"] not in held]
    for name, (solution, fault, found) in kept.items():
        problems = built.validation if solution.id in held else built.problems
        calls = (parse_invocation(one.call, solution.entry_point) for one in found)
        inputs = [call.args for call in calls if isinstance(call, Call) and not call.kwargs]
        if inputs:
            problems.append(
                {
                    "id": name,
                    "entry_point": solution.entry_point,
                    "signature": solution.signature,
                    "description": solution.description,
                    "code": fault.code,
                    "reference": solution.code,
                    "inputs": source_of(inputs),
                }
            )
    return held

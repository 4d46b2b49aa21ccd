"""`refute bench` over issues: a reproducer over a dataset, journalled issue by issue.

A method is handed the problem only. The predictions are written in the reference's format into the
run's folder, where `refute grade` finds them; grading is a run of its own, so that a prediction can
be graded again and a method never waits for a grader.

What the experiments of SWT-Bench's Table 5 give away (`golden` files or patch) is taken out of the
keys here, before any method is called, and is part of the run's settings.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Bounds, Context, Given, Spawn, Task
from refute.core.problems import IssueKey, IssuePrediction, IssueProblem, Number
from refute.core.remarks import remark
from refute.errors import AnswersPending, InputError
from refute.issue.choosing import issue_method
from refute.issue.contract import Reproduction
from refute.models.asking import askers
from refute.models.contract import Tally
from refute.models.session import Session
from refute.workspace.factory import Backend, open_workspace
from refute.workspace.patches import file_patches, is_test_file
from refute_lab.datasets.swe import IssueItem
from refute_lab.runs import ErrorRecord, Journal, PutOff, Schema
from refute_lab.runs.executors import Concurrent, Ending, Run, versions
from refute_lab.swt.tasks import Prediction, read_predictions, write_predictions
from refute_lab.swt.workspaces import prepared

PREDICTIONS = "predictions.jsonl"
"""Name of the predictions' file in the folder of a run."""


@dataclass(frozen=True, slots=True)
class StoredPrediction:
    """A predicted test patch, or fix; see `refute.core.problems.IssuePrediction`."""

    patch: str
    confidence: Number | None
    tests: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRecord:
    """A method's prediction for one issue."""

    id: str
    status: Literal["predicted", "abstained"]
    prediction: StoredPrediction
    alternatives: tuple[StoredPrediction, ...]
    """One for each sample, where a method drew several."""
    steps: tuple[dict[str, Any], ...]
    """Its steps, in the method's own terms; a model's answers are under `answer`."""
    tally: Tally | None = None
    """Cost of asking a model; None: none was asked."""
    seconds: Number


RECORDS = Schema("prediction", PredictionRecord)


@dataclass(frozen=True, slots=True)
class IssueBenchSettings:
    """Everything that the predictions depend on; goes into the journal's header."""

    dataset: str
    method: str
    model: str | None = None
    preset: str | None = None
    """Preset of the options that were not given (`refute.core.registry`)."""
    prompts: str | None = None
    """A digest of the user's own templates (`refute.prompts`)."""
    tester: str | None = None
    """The model that writes the tests, where it is another one."""
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    task: Task = "tests"
    """Task of the method; `repair`: the predictions are fixes."""
    test_files: str = "none"
    """`golden`: the method receives the files that the golden tests are in (Table 5)."""
    code_patch: str = ""
    """`golden`: the method is shown the golden patch; else the path of proposals (Table 5)."""
    patch_may_be_wrong: bool = False
    options: Any = None
    """The method's: a dataclass as `MethodSpec.options`; in the header each under its own name."""
    bounds: Bounds = field(default_factory=Bounds)
    """Limits on the cost of one issue; in the header each under its own name."""
    workspace: Backend = "local"

    def header(
        self, problems: Sequence[IssueProblem], given: Mapping[str, Given] | None = None
    ) -> dict[str, Any]:
        """The settings with what the predictions depend on besides.

        `given`: what is given away, by the problem's id. A digest of it tells a run from one whose
        proposals were others.
        """
        settings = asdict(self)
        options, bounds = settings.pop("options"), settings.pop("bounds")
        return {
            "kind": "issues",
            **settings,
            **options,
            **bounds,
            "problems": len(problems),
            "given": _digest(given or {}),
            **versions(),
        }


def _digest(given: Mapping[str, Given]) -> str | None:
    """Of what is given away; None where nothing is."""
    some = sorted((id, repr(one)) for id, one in given.items() if one != Given())
    text = repr(some).encode(errors="surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32] if some else None


def given_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Name in a few words each thing that a run's settings give away (Table 5); () for nothing."""
    words = []
    if settings.get("test_files", "none") != "none":
        words.append(f"{settings['test_files']} test files")
    if patch := settings.get("code_patch"):
        words.append("golden patch" if patch == "golden" else f"patches of {Path(patch).name}")
        if settings.get("patch_may_be_wrong"):
            words.append("told that it may be wrong")
    if words and settings.get("given_alone"):
        words.append("alone")
    return tuple(words)


def variant(settings: Mapping[str, Any]) -> str:
    """The method's name and what it is given, as one word for names of folders and models."""
    task = ("repair",) if settings.get("task") == "repair" else ()
    words = (settings["method"], *task, *given_words(settings))
    return "+".join(re.sub(r"[^\w.+@-]+", "-", word) for word in words)


def given_away(items: Sequence[IssueItem], settings: IssueBenchSettings) -> dict[str, Given]:
    """Return, by problem id, the parts of keys (Table 5) or proposed patches that settings give
    away.

    Raises `InputError` for a file of proposals that cannot be read.
    """
    proposals: dict[str, str] = {}
    if settings.code_patch not in ("", "golden"):
        found = read_predictions(Path(settings.code_patch))
        proposals = {id: one.patch for id, one in found.items()}
    return {item.problem.id: _given(item.key, settings, proposals) for item in items}


def with_proposals(
    items: Sequence[IssueItem], given: Mapping[str, Given], settings: IssueBenchSettings
) -> list[IssueItem]:
    """The items that there is a proposed patch for, where patches of a file are shown: only on
    these do the figures say anything about them (Table 5: 136 wrong patches that apply).

    Raises `InputError` where none is left.
    """
    if settings.code_patch in ("", "golden"):
        return list(items)
    kept = [item for item in items if given[item.problem.id].code_patch.strip()]
    if not kept:
        raise InputError(f"{settings.code_patch} has no patch for any of the {len(items)} issues")
    if len(kept) < len(items):
        without = next(item.problem.id for item in items if item not in kept)
        there = f"{settings.code_patch} has no patch for {len(items) - len(kept)} issues"
        remark([f"{there}; they are left out, e.g. {without}; n is {len(kept)}"])
    return kept


def _given(key: IssueKey, settings: IssueBenchSettings, proposals: Mapping[str, str]) -> Given:
    files: tuple[str, ...] = ()
    if settings.test_files == "golden":
        touched = (part.path for part in file_patches(key.test_patch))
        files = tuple(path for path in touched if path and is_test_file(path))
    patch = key.patch if settings.code_patch == "golden" else proposals.get(key.id, "")
    return Given(files, patch, settings.patch_may_be_wrong and bool(patch))


def predict_issues(
    run: Run[PredictionRecord],
    problems: Sequence[IssueProblem],
    settings: IssueBenchSettings,
    *,
    given: Mapping[str, Given],
    models: Callable[[], AbstractAsyncContextManager[Mapping[str, Session]]],
    confirm: Confirm,
    at_once: int,
    progress: Callable[[int], None] = lambda done: None,
) -> Ending:
    """Work on the issues that have no prediction, `at_once` at a time.

    `given`: what is given away (Table 5), by the problem's id. `confirm`: what has the last word on
    a claim, with the interpreter and the way to open workspaces. Raises as `Run.do` does.
    """
    return run.do(
        {problem.id: problem for problem in problems},
        partial(_predicting, settings, given, models, confirm),
        Concurrent(at_once),
        progress=progress,
    )


Confirm = Callable[[Reproduction, Path, Spawn], Reproduction]
_Do = Callable[[tuple[str, IssueProblem], Callable[[], None]], Awaitable[PredictionRecord | PutOff]]


@asynccontextmanager
async def _predicting(
    settings: IssueBenchSettings,
    given: Mapping[str, Given],
    models: Callable[[], AbstractAsyncContextManager[Mapping[str, Session]]],
    confirm: Confirm,
) -> AsyncIterator[_Do]:
    """Work on units in the event loop; see `Concurrent`."""
    method = issue_method(settings.method)
    async with models() as opened:
        session = opened.get("model")

        async def do(
            named: tuple[str, IssueProblem], leave: Callable[[], None]
        ) -> PredictionRecord | PutOff:
            name, problem = named
            start = time.monotonic()
            # what has to be built is built here, so that the time that it takes is not the method's
            base = await asyncio.to_thread(prepared, problem, settings.workspace)
            spawn = partial(open_workspace, base, backend=settings.workspace)
            ctx = Context(
                workspace=spawn, bounds=settings.bounds, given=given[name], task=settings.task
            )
            if session is not None:
                ctx = replace(ctx, **askers(opened, name))
            try:
                found = await method(problem, ctx=ctx, options=settings.options)
                found = await asyncio.to_thread(confirm, found, base.python, spawn)
            except AnswersPending as error:
                return PutOff(" ".join(str(error).split()))
            return _record(found, _tally(ctx, opened), time.monotonic() - start)

        yield do


def _tally(ctx: Context, opened: Mapping[str, Session]) -> Tally | None:
    """Sum the cost of all models; None if none was asked."""
    if not opened:
        return None
    tally = ctx.model.tally
    return tally if ctx.tester is None else tally.plus(ctx.tester.tally)


def spent_on(records: Iterable[PredictionRecord | ErrorRecord]) -> Tally:
    """Sum the cost of the records."""
    done = (one for one in records if not isinstance(one, ErrorRecord))
    return reduce(Tally.plus, (one.tally for one in done if one.tally is not None), Tally())


def claimed(record: PredictionRecord) -> str:
    """Return the final claim about a fix; "" if none."""
    return next((str(s["state"]) for s in record.steps[::-1] if s.get("kind") == "claim"), "")


def save_predictions(
    journal: Journal[PredictionRecord], settings: IssueBenchSettings
) -> list[Path]:
    """The run's predictions in the reference's format, as files in its folder.

    `predictions.jsonl` holds each issue's prediction. Where a method drew several samples, sample i
    of all issues is in `predictions.i.jsonl`: what the oracle of pass@k chooses from.
    """
    name = "+".join(filter(None, (variant(asdict(settings)), settings.model)))
    good = [one for one in journal.records.values() if not isinstance(one, ErrorRecord)]
    first = journal.directory / PREDICTIONS
    write_predictions(first, (_prediction(r, name, r.prediction) for r in good))
    written = [first]
    for i in range(max((len(record.alternatives) for record in good), default=0)):
        rows = [
            _prediction(r, f"{name}#{i}", r.alternatives[i])
            for r in good
            if i < len(r.alternatives)
        ]
        written.append(journal.directory / f"predictions.{i}.jsonl")
        write_predictions(written[-1], rows)
    return written


def _record(found: Reproduction, tally: Tally | None, seconds: float) -> PredictionRecord:
    prediction = found.prediction
    return PredictionRecord(
        id=prediction.problem,
        status="predicted" if prediction.patch.strip() else "abstained",
        prediction=_stored(prediction),
        alternatives=tuple(map(_stored, found.alternatives)),
        steps=tuple(dict(step) for step in found.steps),
        tally=tally,
        seconds=round(seconds, 3),
    )


def _stored(prediction: IssuePrediction) -> StoredPrediction:
    sure = prediction.confidence
    rounded = None if sure is None else round(sure, 4)
    return StoredPrediction(prediction.patch, rounded, prediction.tests, prediction.notes)


def _prediction(record: PredictionRecord, name: str, prediction: StoredPrediction) -> Prediction:
    answers = [str(step["answer"]) for step in record.steps if step.get("answer")]
    return Prediction(record.id, prediction.patch, name, "\n\n".join(answers))

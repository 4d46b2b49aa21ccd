"""`refute bench` over issues: a reproducer over a data set, journalled issue by issue.

A method is handed the problem only. The predictions are written in the reference's format into the
run's folder, where `refute grade` finds them; grading is a run of its own, so that a prediction can
be graded again and a method never waits for a grader.

What the experiments of SWT-Bench's Table 5 give away (`golden` files or patch) is taken out of the
keys here, before any method is called, and is part of the run's settings.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import refute
from refute.errors import (
    AnswersPending,
    BudgetExceeded,
    ContextTooLong,
    InputError,
    ModelUnavailable,
    WorkspaceUnavailable,
)
from refute.issue.choosing import issue_method
from refute.issue.contract import Reproduction
from refute.issue.patches import file_patches, is_test_file
from refute.issue.predictions import Prediction, write_predictions
from refute.methods import Bounds, Context, Given, Spawn
from refute.models.contract import Tally
from refute.models.session import Session
from refute.problems import IssueKey, IssuePrediction, IssueProblem
from refute.runs import Journal
from refute.runs.loop import Ending, work_off
from refute.runs.shapes import NUMBER, OBJECT, TALLY, maybe, misfit, optional
from refute.workspace.opening import Backend

__all__ = [
    "PREDICTIONS",
    "Settings",
    "given_away",
    "given_words",
    "resumed",
    "run_bench",
    "save_predictions",
    "variant",
]

PREDICTIONS = "predictions.jsonl"
"""Name of the predictions' file in the folder of a run."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the predictions depend on; goes into the journal's header."""

    dataset: str
    method: str
    model: str | None = None
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    test_files: str = "none"
    """`golden`: the method is told which files the golden tests are in (Table 5)."""
    code_patch: str = ""
    """`golden`: the method is shown the golden patch; else the path of proposals (Table 5)."""
    patch_may_be_wrong: bool = False
    options: Any = None
    """The method's: a dataclass as `MethodSpec.options`; in the header each under its own name."""
    bounds: Bounds = field(default_factory=Bounds)
    """What one issue may cost; in the header each under its own name."""
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
            "refute": refute.__version__,
            "python": ".".join(platform.python_version_tuple()[:2]),
        }


def _digest(given: Mapping[str, Given]) -> str | None:
    """Of what is given away; None where nothing is."""
    some = sorted((id, repr(one)) for id, one in given.items() if one != Given())
    text = repr(some).encode(errors="surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32] if some else None


def given_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What the settings of a run give away (Table 5), in a few words for each; () for nothing."""
    words = []
    if settings.get("test_files", "none") != "none":
        words.append(f"{settings['test_files']} test files")
    if patch := settings.get("code_patch"):
        words.append("golden patch" if patch == "golden" else f"patches of {Path(patch).name}")
        if settings.get("patch_may_be_wrong"):
            words.append("told that it may be wrong")
    return tuple(words)


def variant(settings: Mapping[str, Any]) -> str:
    """The method's name and what it is given, as one word for names of folders and models."""
    words = (settings["method"], *given_words(settings))
    return "+".join(re.sub(r"[^\w.+@-]+", "-", word) for word in words)


def resumed(settings: Settings, header: Mapping[str, Any], given: Collection[str]) -> Settings:
    """The settings that a run was started with, replaced by those that the user gave again."""
    stored = {name: value for name, value in header.items() if name not in given}
    if isinstance(stored.get("ids"), list):
        stored["ids"] = tuple(stored["ids"])

    def again(one: Any) -> Any:
        names = [field.name for field in fields(one)]
        return replace(one, **{name: stored[name] for name in names if name in stored})

    both = {"options": again(settings.options), "bounds": again(settings.bounds)}
    resumed: Settings = replace(again(settings), **both)
    return resumed


def given_away(key: IssueKey, settings: Settings, proposals: Mapping[str, str]) -> Given:
    """What the settings give away of the key (Table 5), or of proposed patches (id -> patch)."""
    files: tuple[str, ...] = ()
    if settings.test_files == "golden":
        touched = (part.path for part in file_patches(key.test_patch))
        files = tuple(path for path in touched if path and is_test_file(path))
    patch = key.patch if settings.code_patch == "golden" else proposals.get(key.id, "")
    return Given(files, patch, settings.patch_may_be_wrong and bool(patch))


async def run_bench(
    problems: Sequence[IssueProblem],
    settings: Settings,
    journal: Journal,
    *,
    given: Mapping[str, Given],
    session: Session | None,
    place: Callable[[IssueProblem], Spawn],
    at_once: int,
    progress: Callable[[int], None],
) -> Ending:
    """Work on the issues that have no prediction in the journal.

    `given`: what is given away (Table 5), by the problem's id. `place` (called in a thread; it may
    build) gives how a problem's workspaces are opened. `at_once` issues are worked on at a time.
    Raises `ModelUnavailable` or `WorkspaceUnavailable` when the first few issues all fail for want
    of either.
    """
    by_id = {problem.id: problem for problem in problems}
    method = issue_method(settings.method)

    async def do(name: str, leave: Callable[[], None]) -> Record:
        problem, start = by_id[name], time.monotonic()
        spawn = await asyncio.to_thread(place, problem)
        ctx = Context(workspace=spawn, bounds=settings.bounds, given=given[name])
        tally = None
        if session is not None:
            ctx = replace(ctx, model=session.asker(name))
            tally = ctx.model.tally
        found = await method(problem, ctx=ctx, options=settings.options)
        return _record(found, tally, time.monotonic() - start)

    return await work_off(
        list(by_id),
        do,
        journal=journal,
        at_once=at_once,
        progress=progress,
        later=(AnswersPending, BudgetExceeded),
        hopeless=(InputError,),
        unavailable=(ModelUnavailable, WorkspaceUnavailable),
        failed=_failed,
    )


def save_predictions(journal: Journal, settings: Settings) -> list[Path]:
    """The run's predictions in the reference's format, as files in its folder.

    `predictions.jsonl` holds each issue's prediction. Where a method drew several samples, sample i
    of all issues is in `predictions.i.jsonl`: what the oracle of pass@k chooses from.
    """
    name = "+".join(filter(None, (variant(asdict(settings)), settings.model)))
    good = [record for record in journal.records.values() if record["status"] != "error"]
    first = journal.directory / PREDICTIONS
    write_predictions(first, (_prediction(r, name, r["prediction"]) for r in good))
    written = [first]
    for i in range(max((len(record["alternatives"]) for record in good), default=0)):
        rows = [
            _prediction(r, f"{name}#{i}", r["alternatives"][i])
            for r in good
            if i < len(r["alternatives"])
        ]
        written.append(journal.directory / f"predictions.{i}.jsonl")
        write_predictions(written[-1], rows)
    return written


def _record(found: Reproduction, tally: Tally | None, seconds: float) -> Record:
    prediction = found.prediction
    return {
        "id": prediction.problem,
        "status": "predicted" if prediction.patch.strip() else "abstained",
        "prediction": _data(prediction),
        "alternatives": [_data(one) for one in found.alternatives],
        "steps": list(found.steps),
        "tally": None if tally is None else asdict(tally),
        "seconds": round(seconds, 3),
    }


_PREDICTION = {"patch": str, "confidence": NUMBER, "notes": maybe([str])}
_SHAPE = {
    "status": frozenset({"predicted", "abstained"}),
    "prediction": _PREDICTION,
    "alternatives": [_PREDICTION],
    "steps": [OBJECT],
    "tally": optional(TALLY),
    "seconds": NUMBER,
}


def damage(record: Record) -> str:
    """What is wrong with the record of a prediction, for `Journal`; "" where nothing is."""
    return misfit(record, _SHAPE)


def _data(prediction: IssuePrediction) -> Record:
    return {
        "patch": prediction.patch,
        "confidence": round(prediction.confidence, 4),
        "tests": list(prediction.tests),
        "notes": list(prediction.notes),
    }


def _failed(name: str, error: Exception) -> Record:
    text = " ".join(str(error).split())
    known = (ModelUnavailable, WorkspaceUnavailable, ContextTooLong)
    line = text if isinstance(error, known) and text else f"{type(error).__name__}: {text}"
    return {"id": name, "status": "error", "error": line}


def _prediction(record: Record, name: str, prediction: Record) -> Prediction:
    answers = [str(step["answer"]) for step in record["steps"] if step.get("answer")]
    return Prediction(record["id"], prediction["patch"], name, "\n\n".join(answers))

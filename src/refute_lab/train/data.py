"""UTGen's training data from solved tasks (§3.2, appendix B), in stages that go on where they were.

    stage 0   source -> solutions that pass the filters, none near an evaluation problem
    stage I   solution -> faulty versions
    stage II  fault -> inputs on which it differs from the reference, with the reference's output
    stage III input -> a row: the prompt of inference, and an answer with its reasoning

A task of a stage is journalled when it is done (`DIR/journal/stageN`); at a stage's end what it
made is written to `DIR/stageN.jsonl`, for people and for the next stage. Beside the rows there are
pairs of the attempts (`preferences.jsonl`), and the faults as problems with their references, by
which a reward is worked out (`problems.jsonl`). Nothing here sees an
answer key of an evaluation problem: those are compared by `refute_lab.train.contamination` only.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random

from refute.core.problems import Call
from refute.errors import InputError
from refute.function.given_tests import parse_invocation
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import source_of
from refute_lab.train import preferences, rows
from refute_lab.train.contamination import Index
from refute_lab.train.data_contract import Asking, BuiltData, Candidates, DataSettings
from refute_lab.train.data_stages import Elsewhere, Kept, Making, Progress, write_lines
from refute_lab.train.sources import fingerprint


def _quiet(stage: str, done: int, total: int) -> None:
    pass


async def build(
    source: str,
    directory: Path,
    settings: DataSettings,
    *,
    index: Index,
    box: AsyncSandbox,
    session: Asking | None = None,
    limit: int | None = None,
    validation: float = 0.05,
    pairs_per_fault: int | None = preferences.PAIRS,
    vote_rows: bool = False,
    at_once: int = 8,
    elsewhere: Elsewhere | None = None,
    progress: Progress = _quiet,
) -> BuiltData:
    """Make the data in `directory`, or resume it.

    `limit`: take so many solutions at most; a later call with a larger one goes on from there.
    `validation`: share of the solutions that is held out. `pairs_per_fault`: preference pairs of
    one fault at most (None: all). `vote_rows`: a second row of each, of the vote's turn.
    `at_once`: tasks under way at a time. `elsewhere`: what does the tasks instead of this process.

    Raises `InputError` for a bad source and for a directory with other settings;
    `AnswersPending`, `BudgetExceeded`, `ModelUnavailable`, `SandboxUnavailable` where a stage
    cannot end: what is done stays, and the same call goes on.
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
    for name in ("rows_per_fault", "preset", "prompts"):  # headers of before have none of these
        if not header[name]:
            del header[name]
    made = Making(
        directory, header, settings, box, session, at_once, progress, elsewhere, vote_rows
    )
    built = BuiltData()
    await made.solutions(built, Candidates(source, index, settings.max_prompt), limit)
    faults = await made.faults(built)
    kept = await made.inputs(built, faults)
    await made.answers(built, kept)
    held = _split(built, kept, validation, settings.seed)
    for name, (solution, fault, answers) in built.answers.items():
        if solution.id not in held:
            prompt = rows.prompt(solution, fault)
            built.preferences += [
                preferences.row(f"{name}.{number}", solution.id, prompt, *pair)
                for number, pair in enumerate(preferences.pairs(answers, pairs_per_fault), 1)
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

"""Pairs of attempts: who is chosen, who rejected, how many are kept, how they are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.models.contract import Completion, Message, Sampling
from refute.models.session import Session
from refute.sandbox.pool import SandboxPool
from refute.testing.models import ScriptedModel
from refute_lab.datasets import load
from refute_lab.train.card import card, figures
from refute_lab.train.data import BuiltData, DataSettings, build
from refute_lab.train.filters import Index, Raw, Solution, admitted
from refute_lab.train.grpo import request
from refute_lab.train.stages import Fault, JudgedAnswer, inputs_by_model, pairs
from refute_lab.train.tokens import Example, read_preferences

CODE = "def top(a, b):\n    if a > b:\n        return a\n    return b\n"
FAULT = CODE.replace("a > b", "a < b")
FENCE = "`" * 3


def said(call: str, output: str) -> str:
    return f"Arguments: {FENCE}{call}{FENCE}\nOutput: {FENCE}{output}{FENCE}"


def judged(name: str, attacks: bool, right: bool) -> JudgedAnswer:
    return JudgedAnswer(name, attacks, right)


def test_pairs_take_turns_and_are_capped() -> None:
    good = [judged("a", True, True), judged("b", True, True)]
    bad = [judged("x", False, True), judged("y", True, False), judged("z", False, False)]
    mixed = [bad[0], good[0], bad[1], good[1], bad[2]]
    named = [(one.text, other.text) for one, other in pairs(mixed, None)]
    assert named == [("a", "x"), ("b", "y"), ("a", "y"), ("b", "z"), ("a", "z"), ("b", "x")]
    assert [(one.text, other.text) for one, other in pairs(mixed, 2)] == named[:2]
    assert pairs(good, None) == pairs(bad, None) == pairs([], 3) == []
    assert [one.lacks for one in bad] == ["no attack", "wrong output", "no attack, wrong output"]


def test_attempts_are_judged_by_the_reference(pool: SandboxPool) -> None:
    solution = admitted(Raw("top", "The larger of two.", CODE, False))
    assert isinstance(solution, Solution), solution
    answers = [
        said("top(1, 2)", "2"),
        said("top(1, 2)", "1"),  # the same input, another output
        said("top(3, 3)", "3"),
        said("top(1, 'x')", "TypeError"),
        said("top(1, 2)", "raises ValueError"),
        said("top(5, 4)", "type('E', (), {'__eq__': lambda *_: True})()"),
        Completion(said("top(6, 4)", "6"), "length"),
        "no idea",
        said("top(1, 2)", "2"),
    ]
    session = Session(ScriptedModel(lambda messages, number: answers[number]))
    found = asyncio.run(
        inputs_by_model(
            solution,
            Fault(FAULT, "mutation"),
            len(answers),
            ask=session.asker("1"),
            box=pool,
            sampling=Sampling(),
        )
    )
    verdicts = [(one.text, one.attacks, one.right) for one in found.answers]
    assert verdicts[:3] == [
        (answers[0], True, True),
        (answers[1], True, False),
        (answers[2], False, True),
    ]
    rest = {text: (attacks, right) for text, attacks, right in verdicts[3:]}
    assert rest.pop(answers[4]) == (True, False), "a test that expects an exception is not right"
    assert rest.pop(answers[3], (False, False)) == (False, False)
    assert not rest, "cut off, unreadable, said before"
    assert found.dropped["the same input again"] == 3


def attempt(messages: Sequence[Message], number: int) -> str:
    if "## Correct code" in (text := messages[-1].content):
        code = text.split("## Correct code")[1].split(f"{FENCE}python\n")[1].split(FENCE)[0]
        return f"{FENCE}python\n{code.replace('a > b', 'a < b')}{FENCE}"
    return (said("top(1, 2)", "2"), said("top(1, 2)", "1"), said("top(2, 2)", "2"))[number % 3]


def made(pool: SandboxPool, source: Path, folder: Path, most: int | None) -> BuiltData:
    session = Session(ScriptedModel(attempt))
    settings = DataSettings(faults=1, attempts=3, by_model=1.0, inputs="model")
    return asyncio.run(
        build(
            str(source), folder, settings, index=Index([]), box=pool, session=session,
            validation=1e-9, pairs_per_fault=most,
        )
    )  # fmt: skip


def test_the_folder_has_pairs_and_problems_without_held_out_ones(
    pool: SandboxPool, tmp_path: Path
) -> None:
    source, folder = tmp_path / "rows.jsonl", tmp_path / "out"
    tasks = [
        {"id": "short", "description": "The larger of two.", "solution": CODE},
        {
            "id": "long",
            "description": "The greater one.",
            "solution": CODE.replace("    return b", "    else:\n        return b"),
        },
    ]
    source.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    built = made(pool, source, folder, 1)
    lines = [json.loads(line) for line in (folder / "preferences.jsonl").open()]
    assert lines == built.preferences
    [pair] = lines
    [kept] = {row["solution"] for row in built.rows}
    assert pair["solution"] == kept
    assert {tuple(pair[side][0]) for side in ("prompt", "chosen", "rejected")} == {
        ("role", "content")
    }
    assert pair["prompt"][0]["content"] == built.rows[0]["prompt"]
    assert pair["chosen"][0]["content"] == said("top(1, 2)", "2")
    assert read_preferences(folder / "preferences.jsonl")[0].chosen == Example(
        built.rows[0]["prompt"], said("top(1, 2)", "2")
    )
    [problem] = load(str(folder / "problems.jsonl"))
    assert problem.problem.id.partition("#")[0] == kept
    assert problem.key.reference != problem.problem.code
    assert request(problem) == built.rows[0]["prompt"], "one prompt, whatever the training"

    again = made(pool, source, folder, None)
    assert again.preferences[0] == pair, "the journal is enough, and a larger cap adds to it"
    assert len(again.preferences) == 2
    shown = figures(again, DataSettings(), source="x", model="m", sets=())
    counted = shown["preferences"]
    assert (counted["answers_read"], counted["attack_and_right"]) == (6, 2)
    assert (counted["faults_with_a_pair"], counted["pairs"]) == (2, 2)
    assert "| pairs in preferences.jsonl | 2 |" in card(shown)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "p", "chosen": "c"}, "field 'rejected': must be a text"),
        ({"prompt": "p", "chosen": [], "rejected": "r"}, "field 'chosen': must be a text"),
        (
            {"prompt": [{"role": "user"}], "chosen": "c", "rejected": "r"},
            "field 'prompt': must be a text",
        ),
        ("row", "each line must be an object"),
    ],
)
def test_pairs_that_are_none(row: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f":1: {words}"):
        read_preferences(path)

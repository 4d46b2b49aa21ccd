"""`refute train data` from the command line: with a real server, killed, resumed, dry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from refute_lab.verbs.train import TrainingData, training_data

from ..models.loopback import Loopback, Reply, chat

FENCE = "`" * 3
CODE = '''def above(numbers, limit={}):
    """The numbers above the limit, in their order."""
    kept = []
    for number in numbers:
        if number > limit:
            kept.append(number)
    return kept
'''
TASKS = 3


def teacher(text: str, number: int) -> str:
    """Sample `number` of the answer to a question about a version of `above`."""
    if "## Correct code" in text:
        code = text.split("## Correct code")[1].split(f"{FENCE}python\n")[1].split(FENCE)[0]
        change = ("number >= limit", "number < limit")[number % 2]
        return f"{FENCE}python\n{code.replace('number > limit', change)}{FENCE}"
    if "somebody arrives at this value" in text:
        value = text.split("this value:")[1].split(f"{FENCE}python\n")[1].split(f"\n{FENCE}")[0]
        return f"All others are not above.\n\nOutput: {FENCE}{value}{FENCE}"
    call = f"above([{number}, {number + 1}, {number + 2}], {number + 1})"
    return f"Equal ones.\nArguments: {FENCE}{call}{FENCE}\nOutput: {FENCE}[]{FENCE}"


class Teacher(Loopback):
    """The server. After `silent_after` requests it answers no more."""

    def __init__(self) -> None:
        super().__init__(self._behave)
        self.silent_after: int | None = None
        self.silent = threading.Event()
        self.answered: Counter[tuple[str, int]] = Counter()

    def _behave(self, body: dict[str, Any], before: int) -> Reply:
        if self.silent_after is not None:
            self.silent_after -= 1
            if self.silent_after < 0:
                self.silent.set()
                return Reply(delay=3600)
        text, first, n = body["messages"][-1]["content"], body.get("seed") or 0, body.get("n", 1)
        self.answered.update((text, first + at) for at in range(n))
        return chat([teacher(text, first + at) for at in range(n)])


@pytest.fixture
def source(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("REFUTE_DATA", raising=False)
    path = own_place / "tasks.jsonl"
    lines = (
        {
            "id": f"t/{at}",
            "description": f"The numbers above {at}, or above the limit that is given.",
            "solution": CODE.format(at),
            "license": "mit" if at else None,
        }
        for at in range(TASKS)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def server(source: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Teacher]:
    with Teacher() as teaching:
        monkeypatch.setenv("OPENAI_BASE_URL", teaching.url)
        yield teaching


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(refute: Run) -> Run:
    return partial(refute, "train", "data")


def start(*arguments: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "refute", "train", "data", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.*")}


def test_with_a_model_behind_a_server(server: Teacher, source: Path, run: Run) -> None:
    status, out, err = run(source, "-o", "out", "--model", "openai:m", "--json", "--jobs", 1)
    assert status == 0, err
    assert "openai:m, asked now: " in err
    assert "contamination is not checked" in err
    document = json.loads(out)
    assert document["model"] == "openai:m"
    assert [stage["out"] for stage in document["stages"]] == [3, 6, 30, 30]
    assert document["licences"] == {"mit": 2, "not stated": 1}
    assert document["rows"]["faults_by"] == {"model": document["rows"]["train"]}
    card = Path("out/card.md").read_text()
    assert "**Not checked**" in card
    assert "| mit |  | 2 |" in card
    rows = [json.loads(line) for line in Path("out/train.jsonl").read_text().splitlines()]
    assert len(rows) == document["rows"]["train"] == 20
    assert all("All others are not above." in row["completion"] for row in rows)


def test_kill_9_with_a_model(
    server: Teacher, source: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in stage I, II and III: the same data, and no answer is asked for twice."""
    # One request at a time: the next one comes when the answer to the last is kept.
    options = (source, "--model", "openai:m", "--concurrency", 1, "--jobs", 1)
    status, whole, err = run(*options, "-o", "whole", "--json")
    assert status == 0, err
    samples = server.answered.total()
    server.answered.clear()
    monkeypatch.setenv("REFUTE_CACHE", str(Path("other-cache").absolute()))
    for after in (1, 3, 8):  # of 24 requests: 3, 6 and 15 in the stages
        server.silent.clear()
        server.silent_after = after
        process = start(*options, "-o", "killed")
        assert server.silent.wait(240), "it never asked so much"
        process.kill()
        process.wait()
    server.silent_after = None
    status, out, err = run(*options, "-o", "killed", "--json")
    assert status == 0, err
    assert {**json.loads(out), "output": "whole"} == json.loads(whole)
    assert files(Path("killed")) == files(Path("whole"))
    assert max(server.answered.values()) == 1
    assert server.answered.total() == samples


def test_kill_9_without_a_model(source: Path, run: Run) -> None:
    status, _, err = run(source, "-o", "whole", "--jobs", 1)
    assert status == 0, err
    process = start(source, "-o", "killed", "--jobs", 1)
    journal = Path("killed/journal/stage1/journal.jsonl")
    while process.poll() is None and not (
        journal.exists() and journal.read_bytes().count(b"\n") > 1
    ):
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = journal.read_bytes()
    status, _, err = run(source, "-o", "killed", "--jobs", 1)
    assert status == 0, err
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert files(Path("killed")) == files(Path("whole"))


def test_dry_run_runs_and_asks_nothing(server: Teacher, source: Path, run: Run) -> None:
    options = ("--model", "openai:m", "--set", "corrupt=mix:0.5", "--dry-run", "--json")
    status, out, err = run(source, "-o", "out", *options)
    assert status == 0, err
    assert not Path("out").exists()
    assert server.requests == []
    found = json.loads(out)
    assert (found["read"], found["solutions"], found["rows"]) == (3, 3, 30)
    asked = {stage["name"]: (stage["requests"], stage["samples"]) for stage in found["stages"]}
    assert asked == {"stage0": (0, 0), "stage1": (3, 3), "stage2": (6, 30), "stage3": (30, 30)}
    assert all(stage["prompt_tokens"] > 0 for stage in found["stages"][1:])
    status, out, _ = run(source, "-o", "out", "--dry-run")
    assert status == 0
    assert "3 tasks read, 3 solutions, at most 30 rows" in " ".join(out.split())


def test_the_same_document_as_in_a_program(source: Path, run: Run) -> None:
    told: list[tuple[str, int, int]] = []
    how: dict[str, Any] = {"jobs": 1, "progress": lambda *far: told.append(far)}
    made = training_data(source, "out", faults=1, limit=2, **how)
    assert isinstance(made, TrainingData)
    card = Path("out/card.json").read_text()
    _, out, _ = run(source, "-o", "out", "--set", "faults=1", "--limit", 2, "--json", "--jobs", 1)
    assert out == json.dumps(made.to_dict(), indent=2) + "\n"
    assert json.dumps(made.figures, indent=2) + "\n" == card == Path("out/card.json").read_text()
    assert {stage for stage, done, total in told if done == total} >= {"stage1", "stage2"}
    assert "see out/card.md" in str(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "corrupt=mix:2"), "must be model, mutants or mix:SHARE"),
        (("--set", "corrupt=mix"), "must be model, mutants or mix:SHARE"),
        (("--set", "corrupt=model"), "name it with --model"),
        (("--budget-usd", "1"), "--budget-usd is for a model"),
        (("--set", "evaluation=nothing-there"), "neither a file nor one of"),
        (("--set", "faults=0"), "faults = 0: must be at least 1"),
    ],
)
def test_bad_options(options: tuple[str, ...], message: str, source: Path, run: Run) -> None:
    status, out, err = run(source, "-o", "out", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.strip().split("\n")) <= 2


def test_bad_sources(tmp_path: Path, source: Path, run: Run) -> None:
    status, _, err = run("missing.jsonl", "-o", "out")
    assert status == 2
    assert "no such source" in err
    source.write_text("{\n")
    status, _, err = run(source, "-o", "out")
    assert status == 2
    assert "tasks.jsonl:1: not JSON" in err


def test_over_budget_goes_on_later(server: Teacher, source: Path, run: Run) -> None:
    options = (source, "-o", "out", "--model", "openai:m", "--jobs", 1, "--no-cache")
    status, _, err = run(*options, "--budget-tokens", 700)
    assert status == 3, err
    assert "over budget" in err
    status, _, err = run(*options)
    assert status == 0, err


def test_evaluation_problems_are_named_on_the_card(source: Path, run: Run) -> None:
    Path("own.jsonl").write_text(
        json.dumps(
            {
                "id": "own/1",
                "entry_point": "f",
                "code": "def f(x):\n    return x\n",
                "description": "The numbers above 1, or above the limit that is given.",
                "reference": "def f(x):\n    return x\n",
                "inputs": [[1]],
            }
        )
    )
    status, _, err = run(source, "-o", "out", "--set", "evaluation=own.jsonl", "--jobs", 1)
    assert status == 0, err
    card = json.loads(Path("out/card.json").read_text())
    assert card["contamination"]["checked"]
    names = {pair["task"] for pair in card["contamination"]["pairs"]}
    assert "t/1" in names
    assert card["contamination"]["removed"] == len(names)
    assert "own.jsonl own/1" in Path("out/card.md").read_text()

"""`refute bench` with a model: a real server, real processes, killed and interrupted."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .scripted_server import HOSTILE, ScriptedServer, rows

PROBLEMS = 8


pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        yield scripted


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "sums.jsonl"
    path.write_text(rows(PROBLEMS))
    return path


Bench = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bench(data: Path, refute: Bench) -> Bench:
    return partial(refute, "bench", data)


def asking(*more: Any) -> list[str]:
    return ["--method", "utgen", "--model", "openai:m", *map(str, more)]


def records(run: Path | str) -> list[dict[str, Any]]:
    lines = (Path(run) / "journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def start(data: Path, run: Path, *more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "refute", "bench", str(data), "--run", str(run)]
    return subprocess.Popen(
        [*command, *map(str, more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def wait_until(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until it is so; fails when the process ends before, or after two minutes."""
    deadline = time.monotonic() + 120
    while not done():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def cached() -> int:
    """Samples in the cache on disk."""
    path = Path(os.environ["REFUTE_CACHE"]) / "samples.sqlite3"
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as rows:
            return int(rows.execute("SELECT count(*) FROM sample").fetchone()[0])
    except sqlite3.OperationalError:  # the table is being made
        return 0


def fall_silent(server: ScriptedServer, after: int, process: subprocess.Popen[str]) -> None:
    """Let the server answer so many requests more; return when all its answers are kept."""
    server.silent.clear()
    server.silent_after = after
    wait_until(server.silent.is_set, process)
    wait_until(lambda: cached() == server.answered.total(), process)


def test_a_run_and_what_is_journalled(server: ScriptedServer, bench: Bench) -> None:
    status, out, err = bench(*asking("--json"))
    assert status == 0, err
    document = json.loads(out)
    assert (document["n"], document["missing"], document["model"]) == (PROBLEMS, 0, "openai:m")
    assert document["options"]["k"] == 8
    assert len(document["rounds"]) == 4
    assert document["rounds"][0]["value"] == pytest.approx(0.25)
    assert document["rounds"][-1] == document["metrics"]["code_accuracy"]
    assert document["rounds"][-1]["value"] > 0.25
    assert 0.5 < document["metrics"]["output_accuracy"]["value"] < 1
    assert document["cost"]["samples"] >= server.answered.total() > 100
    assert document["cost"]["completion_tokens"] == 5 * document["cost"]["samples"]
    assert document["cost"]["unreadable"] > 0
    assert document["cost"]["saved"] > 0
    assert f"openai:m, asked now: {len(server.requests)} requests" in err
    for record in records(document["run"]):
        assert record["grade"]["rounds"][0] == "11111" or record["problem"][-1] not in "159"
        assert len(record["grade"]["tests"]) == len(record["tests"])
        assert len(record["grade"]["sampled"]) == 3
        assert record["tally"]["requests"] > 0
        assert HOSTILE in json.dumps(record["log"]["suites"])


def test_repeating_a_run_costs_nothing(server: ScriptedServer, bench: Bench) -> None:
    _, table, _ = bench(*asking("--limit", 3))
    asked = len(server.requests)
    status, again, err = bench(*asking("--limit", 3))
    assert (status, again) == (0, table)
    assert len(server.requests) == asked
    assert "0 requests, 0 samples and" in err
    bench(*asking("--limit", 3, "--seed", 1))
    assert len(server.requests) > asked
    assert max(server.answered.values()) == 1


def test_a_judge_asks_anew_for_each_program_and_the_journal_says_which_tests_chose(
    server: ScriptedServer, bench: Bench
) -> None:
    judge = [
        "--method",
        "judge:random",
        "--model",
        "openai:m",
        "--set",
        "samples=4",
        "--limit",
        "2",
    ]
    status, out, err = bench(*judge, "--json")
    assert status == 0, err
    document = json.loads(out)
    numbers = [number for asked, number in server.answered if "one unit test" in asked]
    assert {number // 9 for number in numbers} == {0, 1, 2, 3}, "a block of 3n for each program"
    assert len(numbers) >= 4 * 3
    for record in records(document["run"]):
        suites = record["log"]["suites"]
        kept = {(one["call"], one["expected"]) for s in suites for one in s if one["expected"]}
        assert len(suites) == 4
        assert {(one["call"], one["expected"]) for one in record["tests"]} == kept
        assert len(record["tests"]) == len(kept) > 3
    assert not {"attack_rate", "kept_attack_rate", "tested"} & document["metrics"].keys()
    asked = len(server.requests)
    status, table, _ = bench(*judge)
    assert (status, len(server.requests)) == (0, asked)
    assert " - " not in table


def test_kill_9_three_times(
    server: ScriptedServer, bench: Bench, data: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "other"))
    _, undisturbed, _ = bench(*asking("--run", tmp_path / "a"))
    samples = server.answered.total()
    server.answered.clear()
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    run = tmp_path / "b"
    for after in (5, 20, 30):
        process = start(data, run, *asking("--concurrency", 4))
        fall_silent(server, after, process)
        process.kill()
        process.communicate()
    server.silent_after = None
    status, table, err = bench("--run", run)
    assert status == 0, err
    assert table == undisturbed
    assert max(server.answered.values()) == 1, "no sample is paid for twice"
    assert server.answered.total() == samples
    names = [record["id"] for record in records(run)]
    assert sorted(names) == sorted({f"p/{at}" for at in range(PROBLEMS)})


def test_a_model_that_is_not_there(server: ScriptedServer, bench: Bench) -> None:
    server.refuse(401, "no such key")
    status, out, err = bench(*asking())
    assert (status, out) == (3, "")
    assert "no answer from the model" in err
    assert len(err.splitlines()) < 10
    status, out, err = bench(*asking("--limit", 2, "--run", "two"))
    assert (status, err.count("no result:")) == (3, 2)
    server.refusal = None
    assert bench("--run", "two")[0] == 0


ANSWERER = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.function.scripted_server import answer
folder = Path(sys.argv[1])
with (folder / "responses.jsonl").open("a") as out:
    for line in (folder / "requests.jsonl").read_text().splitlines():
        request = json.loads(line)
        body = request["body"]
        first = body.get("seed") or 0
        texts = [answer(body["messages"], first + at) for at in range(body.get("n", 1))]
        choices = [
            {"index": at, "message": {"content": text}, "finish_reason": "stop"}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 7, "completion_tokens": 5 * len(texts)}
        response = {"status_code": 200, "body": {"choices": choices, "usage": usage}}
        out.write(json.dumps({"custom_id": request["custom_id"], "response": response}) + "\\n")
"""


def test_batch_from_end_to_end(
    server: ScriptedServer, bench: Bench, data: Path, tmp_path: Path
) -> None:
    """Another process writes the answers between the starts; the table is the server's."""
    folder, run = tmp_path / "batch", tmp_path / "run"
    options = ["--method", "utgen", "--model", f"batch:{folder}", "--run", run]
    waited = []
    for _ in range(60):
        status, out, err = bench(*options)
        if status == 0:
            break
        assert status == 3
        waited.append(
            sum(
                "problems are not finished: answers are missing" in line
                for line in err.splitlines()
            )
        )
        assert waited[-1] == 1, err
        root = str(Path(__file__).parents[2])
        subprocess.run([sys.executable, "-c", ANSWERER, folder, root], check=True)
    assert status == 0, err
    assert 3 < len(waited) < 60
    table = bench(*asking())[1]
    known = out[out.index("┏") :].replace("price not known", "$0.0000")
    assert known.split() == table[table.index("┏") :].split(), "lines may be broken elsewhere"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "utgen"], "name one with --model"),
        (["--method", "search", "--model", "openai:m"], "asks no model"),
        (
            ["--method", "nonsense", "--model", "openai:m"],
            "there are hybrid, search, council",
        ),
        (["--model", "openai:m", "--set", "n=1001"], "n = 1001: must be from 1 to 1000"),
        (["--model", "openai:m", "--prompts", "."], "no templates there"),
        (
            ["--model", "openai:m", "--method", "no-ut", "--set", "vote=false"],
            "not an option of no-ut",
        ),
    ],
)
def test_bad_options(bench: Bench, options: list[str], message: str) -> None:
    status, out, err = bench(*options)
    assert (status, out) == (2, "")
    assert message in err

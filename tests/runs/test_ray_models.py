"""Models that workers of a cluster ask on one account: real servers, batch files, a real bench."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line

from ..function.scripted_server import ScriptedServer, rows
from ..function.test_bench_model import ANSWERER
from .clusters import ROOT, at

PROBLEMS, MANY = 6, 12


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REFUTE_PRICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "sums.jsonl"
    path.write_text(rows(PROBLEMS))
    return path


Bench = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bench(data: Path, capfd: pytest.CaptureFixture[str]) -> Bench:
    def run(*arguments: Any) -> tuple[int, str, str]:
        given = ("bench", data, "--method", "utgen", "--no-cache", *arguments)
        status = command_line.run([str(one) for one in given])
        return status, *capfd.readouterr()

    return run


def table(out: str) -> str:
    return out[out.index("┏") :]


def recorded(file: Path) -> list[str]:
    return sorted(file.read_text().splitlines())


def asked(err: str) -> list[int]:
    """Requests, samples and tokens of what was said at the end."""
    number = r"([\d,]+)"
    said = rf"asked now: {number} requests, {number} samples.*, {number} \+ {number} tokens"
    found = re.search(said, err)
    return [int(one.replace(",", "")) for one in found.groups()]


def test_tables_recordings_and_costs_are_those_of_one_process(
    cluster: Any, server: ScriptedServer, bench: Bench, tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "failing_test.jinja").write_text("with one unit test of {{ signature }}, my own")
    given = ("--model", "openai:m", "--base-url", server.url, "--prompts", prompts)
    status, here, said = bench(*given, "--record", "here.jsonl", "--run", "here")
    assert status == 0, said
    before = len(server.requests)
    more = ("--executor", at(cluster), "--concurrency", 16)
    status, there, told = bench(*given, *more, "--record", "there.jsonl", "--run", "there")
    assert status == 0, told
    assert table(here) == table(there)
    assert recorded(Path("here.jsonl")) == recorded(Path("there.jsonl"))
    assert asked(said) == asked(told)
    assert asked(told)[0] == len(server.requests) - before
    assert any("my own" in str(one["messages"]) for one in server.requests[before:])
    status, again, err = bench("--model", "replay:there.jsonl", "--prompts", prompts)
    assert (status, table(again)) == (0, table(here)), err


def test_a_budget_is_one_for_all_workers(
    cluster: Any, server: ScriptedServer, bench: Bench, data: Path
) -> None:
    data.write_text(rows(MANY))
    given = ("--model", "openai:m", "--base-url", server.url, "--executor", at(cluster))
    run = (*given, "--run", "run", "--concurrency", 2, "--jobs", 2)
    status, _, err = bench(*run, "--budget-tokens", 1300)
    assert status == 3, err
    assert "1,300 tokens is used up" in err
    spent = sum(asked(err)[2:])
    whole = {one["id"]: one for one in journal("run")}
    tallies = [one["tally"] for one in whole.values()]
    costs = [one["prompt_tokens"] + one["completion_tokens"] for one in tallies]
    assert 0 < len(whole) < MANY
    assert sum(costs) <= spent <= 1300 + max(costs), "no more than a unit of the other worker"
    asked_by_then = server.answered.total()
    status, out, err = bench(*run)
    assert status == 0, err
    assert {one["id"]: one for one in journal("run")}.items() >= whole.items()
    assert sorted(one["id"] for one in journal("run")) == sorted(f"p/{n}" for n in range(MANY))
    assert table(bench(*given[:4])[1]) == table(out)
    assert asked_by_then < server.answered.total()


def journal(run: str) -> list[dict[str, Any]]:
    lines = (Path(run) / "journal.jsonl").read_text().splitlines()[1:]
    return [one for one in map(json.loads, lines) if one["status"] != "error"]


def test_what_a_batch_is_asked_is_written_by_the_driver(
    cluster: Any, server: ScriptedServer, bench: Bench, tmp_path: Path
) -> None:
    folder = tmp_path / "batch"
    given = (
        "--model",
        f"batch:{folder}",
        "--run",
        "run",
        "--limit",
        2,
        "--set",
        "n=1",
        "--set",
        "m=1",
        "--set",
        "vote=false",
    )
    starts = 0
    while (ended := bench(*given, "--executor", at(cluster)))[0] != 0:
        status, _, err = ended
        assert status == 3, err
        assert "problems are not finished: answers are missing" in err
        assert (folder / "requests.complete").exists()
        starts += 1
        assert starts < 20
        subprocess.run([sys.executable, "-c", ANSWERER, folder, ROOT], check=True)
    assert starts > 2
    known = table(ended[1]).replace("price not known", "$0.0000")
    _, here, _ = bench("--model", "openai:m", "--base-url", server.url, *given[4:])
    assert known.split() == table(here).split()

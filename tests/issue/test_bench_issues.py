"""`refute bench` over issues: a real server, real repositories, killed, interrupted, resumed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.doors.command_line import run as run_cli

from ..models.loopback import Loopback, Reply, chat, error
from .projects import FIX, GOLDEN_TESTS, ISSUE, NO_PLUGINS, make_project

RIGHT = "    assert clamp(10, 0, 9) == 9"
WRONG = "    assert clamp(10, 0, 9) == 8"
BATCH = ("--model", "batch:asked")
MODEL = ("--model", "openai:m")
PLUS = ("--method", "zeroshotplus")


def answer(body: str = RIGHT) -> str:
    edit = f"diff\ntests/test_line.py\ninsert\nEOF\ndef test_above():\n{body}\nend diff"
    return f"```custom-diff\n{edit}\n```"


class Server(Loopback):
    """Counts what is asked; can fall silent after so many answers, and give another one."""

    def __init__(self) -> None:
        super().__init__(self._behave)
        self.asked: Counter[str] = Counter()
        self.left: int | None = None
        self.silent = threading.Event()
        self.texts: Callable[[int], str] = lambda number: answer()
        self.longest = 10**9
        """Characters of a prompt; a longer one is refused as too long."""

    def _behave(self, body: dict[str, Any], before: int) -> Reply:
        if len(body["messages"][-1]["content"]) > self.longest:
            return error(400, "This model's maximum context length is 500 tokens.")
        if self.left == 0:
            self.silent.set()
            return Reply(delay=3600)
        if self.left is not None:
            self.left -= 1
        self.asked.update([json.dumps(body["messages"])])
        return chat([self.texts(number) for number in range(body.get("n", 1))])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, own_place: Path) -> Iterator[Server]:
    monkeypatch.setenv("REFUTE_REPOS", str(own_place / "repos"))
    with Server() as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        yield scripted


def row(name: str, commit: str, **environment: object) -> dict[str, Any]:
    """A row of SWE-bench about the repository shapes/NAME."""
    place = {"interpreter": sys.executable, "editable": False, "env": NO_PLUGINS}
    return {
        "instance_id": f"shapes__{name}-1",
        "repo": f"shapes/{name}",
        "base_commit": commit,
        "problem_statement": f"{ISSUE}\nSeen in {name}.",
        "patch": FIX,
        "test_patch": GOLDEN_TESTS,
        "FAIL_TO_PASS": '["tests/test_line.py::test_above"]',
        "PASS_TO_PASS": "[]",
        "environment": {**place, "test_command": "pytest x", **environment},
    }


@pytest.fixture
def rows(server: Server, tmp_path: Path) -> list[dict[str, Any]]:
    """Three instances of three repositories, in `rows.jsonl`."""
    made = []
    for name in ("one", "two", "three"):
        project = make_project(tmp_path / "repos" / f"shapes__{name}")
        made.append(row(name, project.problem.base_commit))
    write(made)
    return made


def write(rows: Sequence[dict[str, Any]], path: str = "rows.jsonl") -> None:
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in rows))


Bench = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def bench(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> Bench:
    def run(*arguments: object) -> tuple[int, dict[str, Any], str]:
        words = ["bench", "rows.jsonl", "--run", "run", "--json", *map(str, arguments)]
        status = run_cli(words)
        captured = capsys.readouterr()
        return status, json.loads(captured.out) if captured.out else {}, captured.err

    return run


def predictions(name: str = "predictions.jsonl") -> dict[str, str]:
    lines = (Path("run") / name).read_text().splitlines()
    return {one["instance_id"]: one["model_patch"] for one in map(json.loads, lines)}


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "refute", "bench", "rows.jsonl", "--run", "run", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=dict(os.environ))


def kept() -> int:
    """Samples in the cache on disk."""
    path = Path("cache/samples.sqlite3")
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as found:
            return int(found.execute("SELECT count(*) FROM sample").fetchone()[0])
    except sqlite3.OperationalError:  # the table is being made
        return 0


def silenced(server: Server, after: int, process: subprocess.Popen[str]) -> None:
    """Wait until the server has fallen silent and all its answers are on disk."""
    deadline = time.monotonic() + 300
    while not (server.silent.is_set() and kept() == server.asked.total()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert server.asked.total() == after


def test_predicted_and_graded(server: Server, bench: Bench) -> None:
    status, document, err = bench(*PLUS, *MODEL, "--grade")
    assert status == 0, err
    assert document["status"] == {"predicted": 3, "abstained": 0, "error": 0}
    grades = document["grades"]["predictions.jsonl"]
    assert {one["id"]: one["status"] for one in grades["instances"]} == {
        f"shapes__{name}-1": "success" for name in ("one", "two", "three")
    }
    assert all("def test_above" in patch for patch in predictions().values())
    assert server.asked.total() == 3
    status, again, _ = bench(*PLUS, *MODEL)
    assert (status, again["status"], server.asked.total()) == (0, document["status"], 3)


def test_killed_and_resumed(server: Server, bench: Bench) -> None:
    server.left = 1
    process = start(*PLUS, *MODEL, "--jobs", "1")
    silenced(server, 1, process)
    process.kill()
    process.communicate()
    server.left = None
    status, document, err = bench()
    assert status == 0, err
    assert (document["method"], document["status"]["predicted"]) == ("zeroshotplus", 3)
    assert server.asked.total() == 3
    assert max(server.asked.values()) == 1, "nothing is asked twice"
    assert len(predictions()) == 3


def test_interrupted(server: Server, bench: Bench) -> None:
    server.left = 1
    process = start(*PLUS, *MODEL, "--jobs", "1")
    silenced(server, 1, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "resume with: refute bench rows.jsonl --run run" in err
    server.left = None
    assert bench()[0] == 0
    assert max(server.asked.values()) == 1


@pytest.mark.parametrize("method", ["zeroshotplus", "autocoderover", "swe-agent"])
def test_an_issue_that_is_too_long_for_the_model(server: Server, bench: Bench, method: str) -> None:
    """An error that says so: neither an empty prediction nor the end of the run."""
    server.longest = 100
    status, document, err = bench("--method", method, *MODEL, "--ids", "shapes__one-1")
    assert (status, document["status"]) == (3, {"predicted": 0, "abstained": 0, "error": 1})
    assert "shapes__one-1: no prediction: " in err
    assert "maximum context length" in err
    assert predictions() == {}
    server.longest = 10**9  # a model with more room: the run goes on
    status, document, _ = bench()
    assert (status, document["status"]["error"]) == (0, 0)


def test_a_budget_stops_it_and_more_goes_on(server: Server, bench: Bench) -> None:
    status, document, err = bench(*PLUS, *MODEL, "--jobs", 1, "--budget-tokens", 1)
    assert status == 3
    assert document["status"]["error"] == 0, "unavailable is not failed"
    assert "3 issues are not finished" in err
    assert "budget" in err
    status, document, _ = bench("--budget-tokens", 10**7)
    assert (status, document["status"]["predicted"]) == (0, 3)
    assert max(server.asked.values()) == 1


def test_batch_rounds(server: Server, bench: Bench) -> None:
    """LIBRO asks twice: for drafts, then for judgements of those that fail."""
    for expected in (3, 3, 0):
        status, document, err = bench("--method", "libro", *BATCH, "--set", "samples=2")
        assert status == expected, err
        if expected:
            assert document["status"] == {"predicted": 0, "abstained": 0, "error": 0}
            assert answered(Path("asked")) >= 3
    assert document["status"]["predicted"] == 3
    assert server.asked.total() == 0


def answered(folder: Path) -> int:
    """Answer the open requests as somebody else's program would."""
    lines = (folder / "requests.jsonl").read_text().splitlines()
    with (folder / "responses.jsonl").open("a") as out:
        for one in map(json.loads, lines):
            judging = "<run>" in one["body"]["messages"][-1]["content"]
            reply = chat(["yes" if judging else answer()] * one["body"].get("n", 1))
            response = {"status_code": 200, "body": reply.body}
            out.write(json.dumps({"custom_id": one["custom_id"], "response": response}) + "\n")
    return len(lines)


def test_the_oracle_of_pass_at_k(server: Server, bench: Bench) -> None:
    """The second of three samples is right: each by itself is graded, and the best counts."""
    server.texts = lambda number: answer(RIGHT if number == 1 else WRONG)
    status, document, err = bench("--method", "pass@3", *MODEL, "--ids", "shapes__one-1", "--grade")
    assert status == 0, err
    assert {RIGHT in predictions(f"predictions.{i}.jsonl")["shapes__one-1"] for i in (0, 2)} == {
        False
    }
    assert RIGHT in predictions("predictions.1.jsonl")["shapes__one-1"]
    found = [one["status"] for grades in document["grades"].values() for one in grades["instances"]]
    assert found.count("success") >= 1
    best = [name for name in document["grades"] if not name.startswith("predictions")]
    assert best, f"the best of the samples is a table of its own: {list(document['grades'])}"
    assert document["grades"][best[0]]["instances"][0]["status"] == "success"


def test_what_may_be_given_away(server: Server, bench: Bench) -> None:
    """Table 5: files of golden tests, a proposed patch; nothing else of the key is sent."""
    only = ("--ids", "shapes__one-1")
    proposal = FIX.replace("return high", "return high  # proposed")
    write([{"instance_id": "shapes__one-1", "model_patch": proposal}], "fixes.jsonl")
    bench(*PLUS, *MODEL, *only)
    assert "return high" not in next(iter(server.asked))
    server.asked.clear()
    settings = (
        "--set",
        "test_files=golden",
        "--set",
        "code_patch=fixes.jsonl",
        "--set",
        "patch_may_be_wrong=true",
    )
    Path("run").rename("first")
    status, _, err = bench(*PLUS, *MODEL, *only, *settings)
    assert status == 0, err
    (sent,) = server.asked
    assert "return high  # proposed" in sent
    assert "wrong" in sent
    assert "test_above" not in sent, "the golden tests themselves are never given"


def test_runs_with_and_without_are_not_mixed(server: Server, bench: Bench) -> None:
    """Table 5's settings are the run's own: in its name, its predictions, and when it goes on."""
    asking = (*PLUS, *MODEL, "--ids", "shapes__one-1")
    assert bench(*asking)[0] == 0
    for more, named in (
        (("--set", "code_patch=golden"), 'code_patch = "", not "golden"'),
        (("--set", "test_files=golden"), 'test_files = "none", not "golden"'),
    ):
        status, _, err = bench(*asking, *more)
        assert status == 2, err
        assert f"was started with {named}" in err
    assert server.asked.total() == 1

    given = ("--set", "code_patch=golden", "--set", "test_files=golden")
    begin = ["bench", "rows.jsonl", *asking, *given, "--budget-tokens", "1"]
    assert run_cli(begin) == 3
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("rows-zeroshotplus+golden-test-files+golden-patch-2")
    assert server.asked.total() == 1
    assert run_cli(["bench", "rows.jsonl", "--run", str(folder)]) == 0
    sent = list(server.asked)[-1]
    assert "+        return high" in sent, "it goes on with what it was given"
    assert "Put the tests into tests/test_line.py." in sent
    names = [
        json.loads((one / "predictions.jsonl").read_text())["model_name_or_path"]
        for one in (Path("run"), folder)
    ]
    assert names == [
        "zeroshotplus+openai:m",
        "zeroshotplus+golden-test-files+golden-patch+openai:m",
    ]


def test_a_run_keeps_to_its_proposals(server: Server, bench: Bench) -> None:
    def propose(patch: str) -> None:
        write([{"instance_id": "shapes__one-1", "model_patch": patch}], "fixes.jsonl")

    propose(FIX)
    only = ("--ids", "shapes__one-1,shapes__two-1")
    given = (*PLUS, *MODEL, *only, "--set", "code_patch=fixes.jsonl")
    status, _, err = bench(*given)
    assert status == 0, err
    assert (
        "fixes.jsonl has no patch for 1 issues; they are left out, e.g. shapes__two-1; n is 1"
        in err
    )
    propose(FIX.replace("return high", "return high + 0"))
    status, _, err = bench(*given)
    assert status == 2, "the same file, other proposals"
    assert "was started with given = " in err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--method", "swe-agent", *MODEL, "--set", "code_patch=golden"),
            "swe-agent cannot be given",
        ),
        (
            ("--method", "snippet", "--set", "test_files=golden"),
            "redgreen, zeroshot, zeroshotplus, libro and",
        ),
        ((*PLUS, *MODEL, "--set", "patch_may_be_wrong=true"), "is about the patch of code_patch"),
        ((*PLUS, *MODEL, "--set", "code_patch=goldn"), "goldn"),
    ],
)
def test_what_cannot_be_given(bench: Bench, arguments: tuple[str, ...], line: str) -> None:
    status, _, err = bench(*arguments)
    assert status == 2
    assert line in err
    assert not Path("run").exists()


def test_a_broken_environment_stops_no_other(
    server: Server, rows: list[dict[str, Any]], bench: Bench
) -> None:
    rows[1]["environment"]["interpreter"] = "/nowhere/bin/python"
    write(rows)
    status, document, err = bench(*PLUS, *MODEL)
    assert status == 3
    assert document["status"] == {"predicted": 2, "abstained": 0, "error": 1}
    assert "shapes__two-1: no prediction: no interpreter at /nowhere/bin/python" in err
    assert set(predictions()) == {"shapes__one-1", "shapes__three-1"}


def test_the_papers_preset_and_templates_of_ones_own(bench: Bench, server: Server) -> None:
    Path("mine").mkdir()
    Path("mine/zeroshot.jinja").write_text("My words. {{ issue }}")
    strange = (
        "```diff\n--- a/tests/test_line.py\n+++ b/tests/test_line.py\n@@ -1 +1 @@\n-x\n+y\n```"
    )
    server.texts = lambda number: strange
    one = ("--ids", "shapes__one-1", *MODEL, "--method", "zeroshot", "--preset", "paper")
    status, _, said = bench(*one, "--prompts", "mine", "--set", "code_patch=golden")
    assert status == 0
    assert "preset paper: given_alone=true (default false), strict_diff=true" in said
    assert predictions()["shapes__one-1"] == strange.partition("diff\n")[2].removesuffix("```")
    assert next(iter(server.asked)).count("My words. clamp returns") == 1
    settings = json.loads(Path("run/journal.jsonl").read_text().splitlines()[0])["settings"]
    assert (settings["preset"], settings["patch_may_be_wrong"]) == ("paper", True)
    assert len(settings["prompts"]) == 16
    status, _, said = bench(*one, "--set", "code_patch=golden")  # its templates are not there
    assert status == 2
    assert "was started with prompts = " in said

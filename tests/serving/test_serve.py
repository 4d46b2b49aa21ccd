"""`refute serve` as a process: the verdicts of `refute_lab.rewards`, in order, whatever happens."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from select import select
from typing import Any

import pytest

from refute.core.extras import missing
from refute.errors import InputError, SandboxUnavailable
from refute_lab import rewards
from refute_lab.verbs.cheats import CHEATS

from .servers import ADD, RIGHT, SLEEPS, TOKENS, Server, descendants, serving, wait_for

pytestmark = pytest.mark.skipif(bool(missing("serve")), reason="no extra [serve]")
PRINTS = {"tests": [{"stdin": "1\n", "stdout": "2\n"}]}
ASSERTS = {"entry_point": "f", "source": "def check(candidate):\n    assert candidate(1) == 2\n"}
HOSTILE = [
    "import os; os._exit(0)",
    "raise SystemExit(0)",
    "class E:\n    def __eq__(self, o): return True\ndef f(x): return E()",
    "def f(x):\n    while True: pass",
    "def f(x): raise ValueError('\\ud800\\n\\x1b[31m')",
    "import os\ndef f(x): os.kill(os.getpid(), 9)",
    "def f(x): return '\\ud800' * 300",
    "def f(x): return [0] * 10**9",
    "def f(",
    "",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(
        "--jobs", "2", "--set", "queue=6", "--set", "most_body=0.25", "--set", "most_seconds=20"
    ) as one:
        yield one


def asked(program: str, task: Any = ADD, **more: Any) -> dict[str, Any]:
    return {"program": program, "task": {**task, "seconds": 0.3}, **more}


def without_time(verdict: Any) -> Any:
    return {key: value for key, value in verdict.items() if key != "cpu_seconds"}


# -- verdicts --------------------------------------------------------------------------------------


def test_the_same_verdicts_as_in_process(server: Server) -> None:
    half = "def f(x): return 2\n"
    with rewards.Grader(1) as grader:
        for program in [RIGHT, half, *HOSTILE]:
            body = asked(program, partial=True)
            answer = server.ask("/v1/grade", body)
            assert answer.status == 200, answer.body
            task = rewards.Task.from_json(body["task"])
            here = json.loads(json.dumps(grader.grade(program, task, partial=True).to_json()))
            assert without_time(answer.json) == without_time(here)
            assert answer.json["reward"] == {RIGHT: 1.0, half: 0.5}.get(program, 0.0)
    assert server.ask("/v1/grade", asked(half)).json["reward"] == 0.0


def test_programs_that_print_and_files_of_asserts(server: Server) -> None:
    for task, right in ((PRINTS, "print(int(input()) + 1)"), (ASSERTS, RIGHT)):
        for program, passed in ((right, True), (right.replace("+ 1", "+ 2"), False)):
            answer = server.ask("/v1/grade", {"program": program, "task": task})
            assert answer.json["passed"] is passed, answer.body


def test_cheats_are_not_paid_and_their_twins_are(server: Server) -> None:
    """Some of each kind; `refute cheats` tries all of them."""
    some = CHEATS[4::16]
    assert len({one.is_test for one in some}) == 2
    with rewards.Remote(server.url, TOKENS["ann"]) as remote:
        for one in some:
            for source, paid in ((one.source, False), (one.twin, True)):
                if isinstance(one.task, rewards.Task):
                    found = remote.grade(source, one.task).reward
                else:
                    task = one.task
                    how = {"entry_point": task.entry_point, "seconds": 1.0}
                    found = remote.grade_test(source, task.reference, task.faulty, **how).both
                assert (found > 0) is paid, one.name


@pytest.mark.parametrize(
    ("path", "program", "task"),
    [
        ("/v1/grade", "def f(x): return [True] * 3_000_000", {"run_seconds": 15, **ADD}),
        ("/v1/grade", "print('1' * 300_000 + 'x')", {**PRINTS, "checker": "floats"}),
    ],
)
def test_a_wild_output_costs_this_side_next_to_nothing(
    server: Server, path: str, program: str, task: Any
) -> None:
    """To read 3 million values took a second; a word of digits and a letter, its length squared."""
    before = server.measure("process_cpu_seconds_total")
    verdict = server.ask(path, {"program": program, "task": task}).json
    assert not verdict["passed"]
    assert verdict["reason"].startswith("wrong answer: ")
    assert server.measure("process_cpu_seconds_total") - before < 0.4


def test_what_a_generated_test_is_worth(server: Server) -> None:
    faulty = ["def f(x): return x", "def f(x): return x + (x < 9)"]
    cases: list[tuple[Any, float, float, float]] = [
        ({"args": [1], "expected": 2}, 0.5, 1.0, 0.5),
        ({"args": [9], "expected": 10}, 1.0, 1.0, 1.0),
        ({"args": [9], "expected": 11}, 1.0, 0.0, 0.0),
        ("def check(f):\n    assert f(9) == 10\n", 1.0, 1.0, 1.0),
        ("def check(f):\n    f(9)\n", 1.0, 0.0, 0.0),
        ("import os; os._exit(0)", 0.0, 0.0, 0.0),
        ("", 0.0, 0.0, 0.0),
    ]
    with rewards.Remote(server.url, TOKENS["ann"]) as remote, rewards.Grader(1) as grader:
        for test, *worth in cases:
            body = {"test": test, "reference": RIGHT, "faulty": faulty, "entry_point": "f"}
            answer = server.ask("/v1/test_reward", body)
            assert answer.status == 200, answer.body
            assert [answer.json[name] for name in ("attack", "accuracy", "both")] == worth, test
            given = (
                test
                if isinstance(test, str)
                else rewards.Test((test["args"][0],), expected=test["expected"])
            )
            here = grader.grade_test(given, RIGHT, faulty, entry_point="f")
            assert here.to_json() == answer.json
            assert remote.grade_test(given, RIGHT, faulty, entry_point="f") == here
    body["faulty"] *= 10
    assert server.ask("/v1/test_reward", body).error.startswith("21 programs of 2 s: ")
    assert server.ask("/v1/test_reward", {**body, "faulty": []}).status == 422
    assert server.ask("/v1/test_reward", {**body, "test": {"args": 1}}).status == 422


def test_a_batch_is_streamed_in_its_order(server: Server) -> None:
    programs = [RIGHT, "def f(x): return x", SLEEPS, RIGHT, HOSTILE[0]]
    tasks = {"add": {**ADD, "tests": ADD["tests"][:1]}}
    body = {"tasks": tasks, "items": [{"program": one, "task": "add"} for one in programs]}
    connection = server.connect()
    headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
    connection.request("POST", "/v1/grade_batch", json.dumps(body), headers)
    response = connection.getresponse()
    lines = [json.loads(response.readline()) for _ in range(2)]
    assert select([connection.sock], [], [], 0)[0] == []  # nothing waited for the slow one
    while line := response.readline():
        lines.append(json.loads(line))
    connection.close()
    assert [one["index"] for one in lines] == [0, 1, 2, 3, 4]
    assert [one["verdict"]["passed"] for one in lines] == [True, False, True, True, False]


def test_a_problem_of_a_dataset_by_its_id(tmp_path: Path) -> None:
    row = {
        "id": "t/1", "entry_point": "f", "code": "def f(x): return x", "reference": RIGHT,
        "inputs": [[1], [2]],
    }  # fmt: skip
    (tmp_path / "own.jsonl").write_text(json.dumps(row) + "\n")
    own = f"data={tmp_path / 'own.jsonl'}"
    options = ("--dataset", "jsonl", "--set", own, "--set", "most_seconds=9")
    with serving("--jobs", "1", *options) as server:
        for program, passed in ((RIGHT, True), ("def f(x): return x", False), (RIGHT, True)):
            body = {"program": program, "dataset": "jsonl", "problem": "t/1"}
            assert server.ask("/v1/grade", body).json["passed"] is passed
        answer = server.ask("/v1/grade", {**body, "problem": "t/2"})
        assert answer.status == 422
        assert answer.error == "dataset jsonl: no problem 't/2' that can be read"


def test_a_client_with_the_interface_of_a_grader(server: Server) -> None:
    task = rewards.Task(entry_point="f", tests=(rewards.Test(((1, 2),), expected=(1, 2)),))
    right, wrong = "def f(x): return x", "def f(x): return [*x]"
    with rewards.Remote(server.url, TOKENS["ann"], size=12) as remote:  # more than the line takes
        assert remote.grade(right, task).passed
        pairs = [((right, wrong)[i % 2], task) for i in range(40)]
        verdicts = list(remote.grade_batch(pairs))
        assert [one.passed for one in verdicts] == [True, False] * 20
        assert isinstance(verdicts[0].tests[0], rewards.TestResult)
    unknown = pytest.raises(InputError, match=r"needs the header Authorization.* \(401\)")
    with rewards.Remote(server.url, "wrong-token-0123456789") as remote, unknown:
        remote.grade(right, task)
    with rewards.Remote("http://127.0.0.1:9") as remote, pytest.raises(SandboxUnavailable):
        remote.grade(right, task)
    with pytest.raises(InputError, match="not an URL"):
        rewards.Remote("127.0.0.1:8014")


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status", "line"),
    [
        ("/v1/grade", b"{", 400, "the body is not JSON: "),
        ("/v1/grade", b"[" * 9999, 400, "the body is not JSON: nested too deeply"),
        ("/v1/grade", b"\xff", 400, "the body is not JSON: "),
        ("/v1/grade", b"9" * 5000, 400, "the body is not JSON: "),
        ("/v1/grade", {"program": 1}, 422, "Expected `str`, got `int` - at `$.program`"),
        ("/v1/grade", {"program": ""}, 422, "needs a `task`, or a `dataset` and a `problem`"),
        ("/v1/grade", {"program": "", "task": []}, 422, "task: "),
        ("/v1/grade", {"program": "", "task": {"entry_point": "f"}}, 422, "task: no tests"),
        (
            "/v1/grade", {"program": "", "dataset": "x", "problem": "y"}, 422,
            "dataset x: this server has none (refute serve --dataset NAME)",
        ),
        (
            "/v1/grade", asked("", {**ADD, "run_seconds": 60}), 422,
            "limits of 60 s: this server gives a program 20 s (most_seconds)",
        ),
        ("/v1/grade", asked("", {**ADD, "memory": 1 << 50}), 422, "limits: a program has "),
        ("/v1/grade_batch", {"items": [{"program": "", "task": "t"}]}, 422,
         "items[0]: task 't' is none of `tasks`"),
        ("/v1/grade_batch", {"items": [asked("")] * 9}, 413,
         "9 programs at once: this server takes 8"),
        ("/v1/grade", b" " * (1 << 18) + b"1", 413, "the body has more than 262144 bytes"),
        ("/v2", b"{}", 404, "no such path; there are /v1/grade, "),
    ],
)  # fmt: skip
def test_a_bad_request_is_one_line(
    server: Server, path: str, body: Any, status: int, line: str
) -> None:
    answer = server.ask(path, body)
    assert (answer.status, answer.error[: len(line)]) == (status, line)


def test_who_may_ask(server: Server) -> None:
    for token in ("", "wrong-token-0123456789"):
        for path in ("/v1/grade", "/v1/grade_batch"):
            answer = server.ask(path, asked(RIGHT), tenant=token)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert server.ask("/metrics", tenant=token).status == 401
        assert server.ask("/healthz", tenant=token).json == {"status": "ok"}
    assert server.ask("/v1/grade", method="GET").error == "not by GET"
    assert server.ask("/v1/grade", b"", Content_Encoding="gzip").status == 415


def test_without_tokens_no_web_page_may_ask() -> None:
    with serving("--jobs", "1", tokens=False) as server:
        ask = {"path": "/v1/grade", "body": asked(RIGHT), "tenant": ""}
        assert server.ask(**ask).json["passed"]
        assert server.ask(**ask, Origin="http://evil.example").status == 403
        assert server.ask(**ask, Host="evil.example").status == 403
        assert server.ask(**ask, Host=f"localhost:{server.port}").status == 200


def test_what_is_told(server: Server) -> None:
    before = server.measure('refute_verdicts_total{passed="yes"}')
    server.ask("/v1/grade", asked(RIGHT))
    assert server.measure('refute_verdicts_total{passed="yes"}') == before + 1
    assert server.measure("refute_places") == 2
    assert server.measure("process_resident_memory_bytes") > 0
    assert "ann" not in server.ask("/metrics").body.decode()


# -- the line --------------------------------------------------------------------------------------


def batch(program: str, count: int) -> dict[str, Any]:
    task = {**ADD, "tests": ADD["tests"][:1]}
    return {"items": [{"program": program, "task": task}] * count}


def test_one_tenant_fills_its_line_and_the_other_is_served(server: Server) -> None:
    with ThreadPoolExecutor() as pool:
        full = pool.submit(server.ask, "/v1/grade_batch", batch(SLEEPS, 8))
        wait_for(lambda: server.measure("refute_waiting") == 6)
        answer = server.ask("/v1/grade", asked(RIGHT))
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert server.ask("/v1/grade", asked(RIGHT), tenant="bob").json["passed"]
        assert server.measure("refute_waiting") >= 2  # ann's: bob did not wait for all of them
        assert [one["verdict"]["passed"] for one in full.result().lines] == [True] * 8


def test_who_has_gone_leaves_the_line(server: Server) -> None:
    graded = server.measure('refute_verdicts_total{passed="yes"}')
    for path, body in (
        ("/v1/grade_batch", batch(SLEEPS, 7)),
        ("/v1/grade", batch(SLEEPS, 1)["items"][0]),
    ):
        connection = server.connect()
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        connection.request("POST", path, json.dumps(body), headers)
        wait_for(lambda: server.measure("refute_running") >= 1)
        connection.close()
        wait_for(lambda: server.measure("refute_waiting") == 0, 0.6)
    wait_for(lambda: server.measure("refute_running") == 0)
    assert server.measure('refute_verdicts_total{passed="yes"}') <= graded + 3


# -- what is killed --------------------------------------------------------------------------------


def test_verdicts_are_right_while_sandboxes_are_killed(server: Server) -> None:
    """Whichever process is killed: a program's, a server's, or the one that waits for it."""
    stop, killed, rng = threading.Event(), [0], random.Random(7)

    def kill() -> None:
        while not stop.wait(0.15):
            found = server.children()
            if found:
                try:
                    os.kill(rng.choice(found), signal.SIGKILL)
                    killed[0] += 1
                except ProcessLookupError:
                    pass

    program = RIGHT.replace("return", "import time; time.sleep(0.02); return")
    task = rewards.Task.from_json(ADD)
    thread = threading.Thread(target=kill)
    with rewards.Remote(server.url, TOKENS["bob"], size=6) as remote:
        thread.start()
        try:
            pairs = [((program, program.replace("+", "-"))[i % 2], task) for i in range(60)]
            verdicts = list(remote.grade_batch(pairs))
        finally:
            stop.set()
            thread.join()
    assert [one.passed for one in verdicts] == [True, False] * 30
    assert killed[0] > 3
    assert all(one.reason.startswith("wrong answer") for one in verdicts[1::2])
    assert server.ask("/healthz").status == 200


def test_sigterm_answers_what_was_asked_and_leaves_nothing(tmp_path: Path) -> None:
    with serving("--jobs", "1") as server, ThreadPoolExecutor() as pool:
        answer = pool.submit(server.ask, "/v1/grade_batch", batch(SLEEPS, 2))
        wait_for(lambda: server.measure("refute_running") == 1)
        below = wait_for(server.children)
        server.process.send_signal(signal.SIGTERM)
        assert [one["verdict"]["passed"] for one in answer.result().lines] == [True, True]
        assert server.process.wait(20) == 0
        with pytest.raises(ConnectionRefusedError):
            server.ask("/healthz")
        assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGTERM]])
def test_a_killed_server_leaves_no_process(signals: list[signal.Signals]) -> None:
    with serving("--jobs", "2") as server:
        connection = server.connect()
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        connection.request("POST", "/v1/grade_batch", json.dumps(batch(SLEEPS, 9)), headers)
        wait_for(lambda: server.measure("refute_running") == 2)
        below = wait_for(server.children)
        for number in signals:  # of those to end in good order the second one
            server.process.send_signal(number)
            time.sleep(0.1)
        assert server.process.wait(2) in (-signal.SIGKILL, 128 + signal.SIGTERM)
        connection.close()
        wait_for(lambda: not [pid for pid in below if Path(f"/proc/{pid}").exists()])
        assert not descendants(server.process.pid)

"""Each adapter, called as its framework calls it (`recorded`): cheats are not paid, twins are."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute.core.extras import missing
from refute.errors import InputError
from refute_lab import adapters
from refute_lab.adapters import (
    Row,
    Score,
    program_of,
    read_rows,
    read_task,
    reward_func,
    score,
)
from refute_lab.adapters.harbor import main, write_tasks
from refute_lab.rewards import Grader
from refute_lab.verbs.cheats import CHEATS
from tests.adapters.recorded import install

NAMES = ("always equal", "os._exit(0) on import", "frames", "a tautology")
SOME = [one for one in CHEATS if one.name in NAMES]
TASKS = [json.dumps(one.task.to_json()) for one in SOME]
PAIRS = [*((one.source, task) for one, task in zip(SOME, TASKS, strict=True))]
PAIRS += [(one.twin, task) for one, task in zip(SOME, TASKS, strict=True)]


@pytest.fixture(autouse=True, scope="module")
def grader() -> Iterator[Grader]:
    """One sandbox for all of them: what a cheat leaves behind meets the next one."""
    with Grader(1, preload=()) as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapters, "shared", lambda: made)
        yield made


def check(paid: list[float]) -> None:
    assert len(SOME) == len(NAMES)
    assert [one > 0 for one in paid] == [False] * len(SOME) + [True] * len(SOME)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    made = (Row(str(i), f"write {i}", task).to_dict() for i, (_, task) in enumerate(PAIRS))
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def test_trl() -> None:
    """As TRL 1.16 calls a function of `reward_funcs`: columns beside what it adds itself."""
    reward = reward_func()
    assert inspect.iscoroutinefunction(reward)
    said = [[{"role": "assistant", "content": answer}] for answer, _ in PAIRS]
    paid = asyncio.run(
        reward(
            prompts=["p"] * len(PAIRS), completions=said, completion_ids=[[0]] * len(PAIRS),
            task=[task for _, task in PAIRS], trainer_state=None, log_extra=None, log_metric=None,
        )
    )  # fmt: skip
    check(paid)
    with pytest.raises(InputError, match="no column task: they have prompts"):
        asyncio.run(reward(completions=["a"], prompts=["p"]))


def test_verl() -> None:
    """As verl 0.9.1 loads a function by its path, and its naive manager calls it."""
    place = importlib.util.find_spec("refute_lab.adapters.verl")
    assert place.origin is not None
    spec = importlib.util.spec_from_file_location("custom_module_1", place.origin)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert inspect.iscoroutinefunction(module.compute_score)

    async def all_of_them() -> list[Any]:
        return [
            await module.compute_score(
                data_source="refute", solution_str=answer, ground_truth=task,
                extra_info={"num_turns": None, "rollout_reward_scores": {}},
            )
            for answer, task in PAIRS
        ]  # fmt: skip

    told = asyncio.run(all_of_them())
    check([one["score"] for one in told])
    assert all(set(one) == {"score", "acc"} for one in told)


def test_verifiers(monkeypatch: pytest.MonkeyPatch, rows: Path) -> None:
    install(monkeypatch, "verifiers")
    from refute_lab.adapters import verifiers

    config = verifiers.RefuteConfig(rows=rows)
    tasks = list(verifiers.RefuteTaskset(config).load())
    assert [task.data.prompt for task in tasks][:2] == ["write 0", "write 1"]

    async def all_of_them() -> list[float]:
        traces = [SimpleNamespace(last_reply=answer) for answer, _ in PAIRS]
        return [await task.refute(trace) for task, trace in zip(tasks, traces, strict=True)]

    check(asyncio.run(all_of_them()))


def test_nemo_gym(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "nemo_gym")
    from refute_lab.adapters import nemo_gym

    server = nemo_gym.RefuteResourcesServer(config=nemo_gym.RefuteServerConfig())

    async def one(answer: str, task: str) -> float:
        asked = nemo_gym.VerifyRequest(
            responses_create_params={}, response=SimpleNamespace(output_text=answer),
            verifier_metadata={"task": task},
        )  # fmt: skip
        answered = await server.verify(asked)
        assert answered.passed == (answered.reason == "")
        return float(answered.reward)

    async def all_of_them() -> list[float]:
        return [await one(*pair) for pair in PAIRS]

    check(asyncio.run(all_of_them()))


def test_rllm(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "rllm")
    from refute_lab.adapters import rllm

    paid = []
    for index, (answer, task) in enumerate(PAIRS):
        episode = SimpleNamespace(artifacts={"answer": answer}, trajectories=[])
        row: Any = {"task": task}
        given = row if index % 2 else SimpleNamespace(metadata=row)  # training; evaluation
        told = rllm.evaluate(given, episode)
        assert told.signals[0].value == float(told.is_correct)
        paid.append(told.reward)
    check(paid)


def test_inspect(monkeypatch: pytest.MonkeyPatch, rows: Path) -> None:
    install(monkeypatch, "inspect_ai")
    from refute_lab.adapters import inspect_ai

    task = inspect_ai.programs(str(rows))

    async def all_of_them() -> list[float]:
        paid = []
        for sample, (answer, _) in zip(task.data, PAIRS, strict=True):
            output = SimpleNamespace(completion=answer)
            state = SimpleNamespace(output=output, metadata=sample.metadata)
            paid.append(float((await task.scorer(state, None)).value))
        return paid

    check(asyncio.run(all_of_them()))


def test_harbor(rows: Path, tmp_path: Path) -> None:
    """The layout of Harbor 0.26.0: no test in what the agent's image is made of."""
    assert write_tasks(read_rows(rows), tmp_path / "tasks") == len(PAIRS)
    paid = []
    for index, (answer, key) in enumerate(PAIRS):
        folder = tmp_path / "tasks" / str(index)
        config = tomllib.loads((folder / "task.toml").read_text())
        assert config["verifier"]["environment_mode"] == "separate"
        assert config["artifacts"] == ["/app/solution.py"]
        assert [path.name for path in (folder / "environment").iterdir()] == ["Dockerfile"]
        assert (folder / "tests" / "task.json").read_text() == key
        assert (folder / "tests" / "test.sh").stat().st_mode & 0o111
        said, reward = tmp_path / "solution.py", tmp_path / "reward.json"
        said.write_text(answer)
        main(str(folder / "tests" / "task.json"), str(said), str(reward))
        paid.append(json.loads(reward.read_text())["reward"])
    check(paid)


def test_the_verifier_of_harbor_as_its_script_starts_it(tmp_path: Path) -> None:
    [row] = [Row("a/b", "write it", TASKS[0])]
    write_tasks([row], tmp_path)
    reward = tmp_path / "reward.json"
    script = (tmp_path / "a-b" / "tests" / "test.sh").read_text().splitlines()[1].split()
    assert script[:5] == ["exec", "python", "-I", "-m", "refute_lab.adapters.harbor"]
    words = [str(tmp_path / "a-b" / "tests" / "task.json"), str(tmp_path / "none"), str(reward)]
    subprocess.run([sys.executable, *script[2:5], *words], check=True, timeout=60)
    assert json.loads(reward.read_text()) == {"reward": 0.0}
    with pytest.raises(InputError, match="would both be the task a-b"):
        write_tasks([row, Row("A.b", "", TASKS[0])], tmp_path)


@pytest.mark.parametrize(
    ("answer", "name", "program"),
    [
        ("def f():\n    pass\n", "f", "def f():\n    pass\n"),
        ("Thus:\n```python\ndef f():\n    pass\n```\nor\n```\nx = 1\ny = 2\n```", "f",
         "def f():\n    pass\n"),
        ("Thus:\n```python\nclass A:\n    def f(self): pass\n```\nor\n```\nx = 1\ny = 2\n```",
         "A().f", "class A:\n    def f(self): pass\n"),
        ("Thus:\n```python\nx = 1\ny = 2\n```\n", "f", "x = 1\ny = 2\n"),
        ("<think>```\na = 1\nb = 2\n```</think>```\nx = 1\ny = 2\n```", "", "x = 1\ny = 2\n"),
        ("I cannot", "f", "I cannot"),
        ("", "f", ""),
    ],
)  # fmt: skip
def test_the_program_of_an_answer(answer: str, name: str, program: str) -> None:
    assert program_of(answer, name) == program


def test_partial_credit() -> None:
    task = read_task(TASKS[0])
    half = "def total(numbers, top):\n    return sum(numbers)\n"
    assert score(half, task).reward == 0
    assert score(half, task, partial=True) == Score(0.75, False, "wrong answer: returned 18")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (None, "expected a JSON object, not NoneType"),
        ("[]", "expected a JSON object, not list"),
        ("{", "task: "),
        ({"reference": "x"}, "missing required field `faulty`"),
        ({"reference": "x", "faulty": ["y"], "hm": 1}, "unknown field `hm`"),
        ({"entry_point": "f"}, "task"),
    ],
)
def test_a_task_that_is_none(task: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        score("x = 1", task)
    assert "\n" not in str(caught.value)


def test_rows_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(path))
    path.write_text('{"id": "a"}\n')
    with pytest.raises(InputError, match=r"line 1: .*missing required field"):
        list(read_rows(path))


def test_a_server_grades_where_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing("serve"):
        pytest.skip("needs the extra serve")
    from tests.serving.servers import TOKENS, serving

    with serving("--jobs", "1") as server:
        monkeypatch.setenv(adapters.GRADER, f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv(adapters.TOKEN, TOKENS["ann"])
        with adapters._new() as remote:
            assert type(remote).__name__ == "Remote"
            check([score(answer, task, grader=remote).reward for answer, task in PAIRS])

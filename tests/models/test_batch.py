"""A model behind batch files: rounds over many starts, answers written by somebody else."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.errors import AnswersPending, InputError, ModelUnavailable
from refute.models.cache import SampleCache
from refute.models.contract import Completion, Message, Sampling
from refute.models.session import Session
from refute.testing.models import CHECKS, Check, Subject, conform
from refute_lab.models.batch import open_batch

from .tiny import CONTEXT

SAMPLING = Sampling(max_tokens=50)


def user(text: str) -> list[Message]:
    return [Message("user", text)]


def ask(spec: Path | str, text: str, n: int = 1, first: int = 0, **more: Any) -> list[str]:
    """One start of a program that asks once."""
    sampling = Sampling(max_tokens=50, **more)
    model = open_batch(str(spec))
    answers = asyncio.run(model.generate(user(text), n=n, first=first, sampling=sampling))
    return [answer.text for answer in answers]


def pending(spec: Path | str, text: str, n: int = 1, first: int = 0, **more: Any) -> None:
    with pytest.raises(AnswersPending):
        ask(spec, text, n, first, **more)


def requests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]


def row(request: dict[str, Any], texts: list[str], **body: Any) -> str:
    choices = [
        {
            "index": at,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        for at, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 10, "completion_tokens": 4 * len(texts)}
    response = {"status_code": 200, "body": {"choices": choices, "usage": usage, **body}}
    return json.dumps({"custom_id": request["custom_id"], "response": response, "error": None})


def texts_of(body: dict[str, Any]) -> list[str]:
    first = body.get("seed", 0)
    asked = body["messages"][-1]["content"]
    return [f"{asked}/{number}" for number in range(first, first + body.get("n", 1))]


def answer(
    folder: Path, texts: Callable[[dict[str, Any]], list[str]] = texts_of, name: str = ""
) -> int:
    """Answer what is open, in another order; returns how many requests there were."""
    rows = [row(request, texts(request["body"])) for request in requests(folder)]
    random.Random(0).shuffle(rows)
    with (folder / f"responses{name}.jsonl").open("a") as file:
        file.writelines(f"{line}\n" for line in rows)
    return len(rows)


def error_row(request: dict[str, Any], status: int, message: str) -> str:
    response = {"status_code": status, "body": {"error": {"message": message}}}
    return json.dumps({"custom_id": request["custom_id"], "response": response, "error": None})


class Attended:
    """A batch folder with somebody beside it who answers at once: each request takes two starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = open_batch(str(folder)).name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        for _ in range(2):
            try:
                model = open_batch(str(self.folder))
                return await model.generate(messages, n=n, sampling=sampling, first=first)
            except AnswersPending:
                with (self.folder / "responses.jsonl").open("a") as file:
                    file.writelines(self.row(request) + "\n" for request in requests(self.folder))
        raise AssertionError("answered, and still open")

    async def close(self) -> None:
        pass

    def row(self, request: dict[str, Any]) -> str:
        body, said = request["body"], request["body"]["messages"][-1]["content"]
        if len(said.split()) >= CONTEXT:
            return error_row(request, 400, "maximum context length is 512 tokens")
        text, more = f"{said}, and so on, and so on", []
        if "tools" in body and body["messages"][-1]["role"] == "user":
            function = {"name": body["tools"][0]["function"]["name"], "arguments": "{}"}
            more = [{"id": "c", "type": "function", "function": function}]
        message = {"role": "assistant", "content": text[: 4 * body["max_tokens"]]}
        choice = {
            "message": {**message, "tool_calls": more},
            "finish_reason": "stop" if len(text) <= 4 * body["max_tokens"] else "length",
        }
        usage = {"prompt_tokens": 10, "completion_tokens": 4 * body.get("n", 1)}
        return row(request, [], choices=[choice] * body.get("n", 1), usage=usage)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.__name__))
def test_conformance(check: Check, tmp_path: Path) -> None:
    conform(check, Subject(lambda: Attended(tmp_path), tools=True, limit=CONTEXT))


def test_first_start_asks_second_answers(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "work"
    pending(folder, "hello", n=3, seed=0)
    (request,) = requests(folder)
    assert request["method"] == "POST"
    assert request["url"] == "/v1/chat/completions"
    assert len(request["custom_id"]) <= 64
    assert request["body"] == {
        "model": "default",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 50,
        "n": 3,
        "seed": 0,
    }
    answer(folder)
    assert ask(folder, "hello", n=3, seed=0) == ["hello/0", "hello/1", "hello/2"]
    assert requests(folder) == []


def test_more_samples_cost_only_the_new_ones_and_have_their_numbers(tmp_path: Path) -> None:
    pending(tmp_path, "vote", n=8, seed=0)
    answer(tmp_path)
    pending(tmp_path, "vote", n=12, seed=0)
    (request,) = requests(tmp_path)
    assert (request["body"]["n"], request["body"]["seed"]) == (4, 8)
    answer(tmp_path)
    assert ask(tmp_path, "vote", n=12, seed=0) == [f"vote/{number}" for number in range(12)]
    assert ask(tmp_path, "vote", n=4, first=8, seed=0) == [f"vote/{n}" for n in range(8, 12)]


@pytest.mark.parametrize(
    "error",
    [
        {"response": None, "error": {"code": "batch_expired", "message": "not in time"}},
        {"response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}},
        {"response": {"status_code": 503, "body": None}},
        {"response": {"status_code": 401, "body": {"error": {"message": "bad key"}}}},
    ],
)
def test_errors_that_pass_are_asked_again(tmp_path: Path, error: dict[str, Any]) -> None:
    pending(tmp_path, "a")
    (request,) = requests(tmp_path)
    failed = json.dumps({"custom_id": request["custom_id"], **error})
    (tmp_path / "responses-errors.jsonl").write_text(f"{failed}\n")
    for _ in range(2):  # the row of the error stays there
        pending(tmp_path, "a")
        assert requests(tmp_path) == [request]
    answer(tmp_path)
    assert ask(tmp_path, "a") == ["a/0"]


def test_an_error_that_stays_is_reported_with_its_place(tmp_path: Path) -> None:
    pending(tmp_path, "a")
    (request,) = requests(tmp_path)
    row = error_row(request, 400, "bad\nwords")
    (tmp_path / "responses.jsonl").write_text(f"{row}\n")
    with pytest.raises(
        ModelUnavailable, match=r"responses\.jsonl:1: status 400: bad words"
    ) as info:
        ask(tmp_path, "a")
    assert not isinstance(info.value, AnswersPending)
    assert requests(tmp_path) == []
    pending(tmp_path, "another")
    (tmp_path / "responses.jsonl").unlink()
    pending(tmp_path, "a")
    assert len(requests(tmp_path)) == 2


def test_another_model_gets_neither_answers_nor_requests_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pending(f"{tmp_path}?model=one", "answered")
    answer(tmp_path)
    pending(f"{tmp_path}?model=one", "open")
    pending(f"{tmp_path}?model=two", "answered")
    (request,) = requests(tmp_path)
    assert request["body"]["model"] == "two"
    assert "dropped 1 requests to another model" in capsys.readouterr().err
    assert ask(f"{tmp_path}?model=one", "answered") == ["answered/0"]


def test_settings_fit_the_body_and_are_another_model(tmp_path: Path) -> None:
    pending(tmp_path, "a")
    (before,) = requests(tmp_path)
    refusal = error_row(before, 400, "Unsupported parameter: 'top_p'")
    (tmp_path / "responses.jsonl").write_text(f"{refusal}\n")
    with pytest.raises(ModelUnavailable, match=r"batch\.toml"):
        ask(tmp_path, "a")
    plain = open_batch(str(tmp_path)).name
    settings = 'model = "m"\nomit = ["top_p"]\n[body]\nreasoning_effort = "low"\n'
    (tmp_path / "batch.toml").write_text(settings)
    pending(tmp_path, "a")
    body = requests(tmp_path)[0]["body"]
    assert "top_p" not in body
    assert body["reasoning_effort"] == "low"
    assert open_batch(str(tmp_path)).name not in (plain, "batch:m")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("model = 3", r"`str`, got `int` - at `\$.model`"),
        ("modle = 'x'", "unknown field `modle`"),
        ("[body]\nday = 2020-01-01", "dates"),
        ("model =", "batch.toml"),
    ],
)
def test_settings_that_cannot_be_read(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "batch.toml").write_text(text)
    with pytest.raises(InputError, match=fault) as info:
        open_batch(str(tmp_path))
    assert "\n" not in str(info.value)


def test_sixty_four_at_once_in_a_session(tmp_path: Path) -> None:
    """A method of two rounds for many problems: three starts, each sample asked for once."""

    async def problem(session: Session, number: int) -> str:
        asker = session.asker(f"p{number}")
        first = await asker.ask(user(f"problem {number}"), n=3, sampling=SAMPLING)
        again = await asker.ask(
            [*user(f"problem {number}"), Message("assistant", first[2].text), *user("again")],
            sampling=SAMPLING,
        )
        return again[0].text

    async def start() -> list[str | BaseException]:
        model = open_batch(str(tmp_path / "batch"))
        async with Session(model, cache=SampleCache(tmp_path / "cache.sqlite3")) as session:
            return await asyncio.gather(
                *[problem(session, number) for number in range(64)], return_exceptions=True
            )

    asked = []
    for _ in range(2):
        results = asyncio.run(start())
        assert all(isinstance(result, AnswersPending) for result in results)
        assert asyncio.run(start()) is not None  # a start in vain changes nothing
        asked.append(
            answer(tmp_path / "batch", lambda b: [f"{len(b['messages'])}"] * b.get("n", 1))
        )
    assert asked == [64, 64]
    assert asyncio.run(start()) == ["3"] * 64
    assert requests(tmp_path / "batch") == []


def test_two_processes_write_one_file_without_repeating(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from refute_lab.models.batch import open_batch
from refute.errors import AnswersPending
from refute.models.contract import Message, Sampling
async def main():
    model = open_batch(sys.argv[1])
    for number in range(40):
        try:
            await model.generate([Message("user", f"q{number}")], n=2, sampling=Sampling())
        except AnswersPending:
            pass
asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    asked = [request["body"]["messages"][0]["content"] for request in requests(tmp_path)]
    assert sorted(asked) == sorted(f"q{number}" for number in range(40))

"""Workers elsewhere that ask on one account, here in one process: what goes to them, what comes."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from refute.errors import AnswersPending, BudgetExceeded, InputError
from refute.models.asking import Asked, open_sessions
from refute.models.contract import Message, Sampling
from refute.models.session import SessionAsker
from refute.prompts import render
from refute_lab.runs.sharing import ModelClerk, ModelKeeper

from .loopback import Loopback, chat

SAMPLING = Sampling(max_tokens=50)


@pytest.fixture
def server() -> Iterator[Loopback]:
    """Each sample costs 12 tokens."""
    with Loopback(lambda body, before: chat(["yes"] * body.get("n", 1))) as one:
        yield one


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "REFUTE_PRICES"):
        monkeypatch.delenv(name, raising=False)


def asked(server: Loopback, **more: Any) -> Asked:
    return Asked(model="openai:m", base_url=server.url, cache=False, **more)


async def worker(keeper: ModelKeeper, asked: Asked, stack: AsyncExitStack) -> Any:
    """Its clerk, as another process has it, and who asks."""
    clerk = pickle.loads(pickle.dumps(keeper.clerk()))
    stack.enter_context(clerk.opened())
    models = await stack.enter_async_context(open_sessions(asked))
    return clerk, models["model"].asker("p")


async def ask(asker: SessionAsker, text: str) -> None:
    await asker.ask([Message("user", text)], sampling=SAMPLING)


def test_a_worker_knows_what_the_others_have_spent(server: Loopback) -> None:
    """Told before each unit, it refuses where all of them together would pass the limit."""
    wanted = asked(server, budget_tokens=100)

    async def run() -> int:
        async with AsyncExitStack() as stack:
            keeper = stack.enter_context(ModelKeeper(wanted))
            workers = [await worker(keeper, wanted, stack) for _ in range(3)]
            for number in range(30):
                at = number % 3
                clerk, asker = workers[at]
                clerk.told(keeper.brief(at))
                try:
                    await ask(asker, f"question {number}")
                except BudgetExceeded:
                    return number
                finally:
                    if text := clerk.says():
                        keeper.hear(at, text)
                assert clerk.says() == "", "once"
        raise AssertionError("never refused")

    assert asyncio.run(run()) == server.samples
    assert 100 - 2 * 12 <= 12 * server.samples <= 100


def test_recordings_are_written_once_and_costs_are_said(
    server: Loopback, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = asked(server, record=tmp_path / "it.jsonl")

    async def run() -> None:
        async with AsyncExitStack() as stack:
            keeper = stack.enter_context(ModelKeeper(wanted))
            workers = [await worker(keeper, wanted, stack) for _ in range(2)]
            for at, (clerk, asker) in enumerate(workers):
                for text in ("same", f"own {at}"):
                    await ask(asker, text)
                keeper.hear(at, clerk.says())

    with caplog.at_level("INFO"):
        asyncio.run(run())
    lines = [json.loads(line) for line in (tmp_path / "it.jsonl").read_text().splitlines()]
    assert [line["messages"][0]["content"] for line in lines] == ["same", "own 0", "own 1"]
    assert "openai:m, asked now: 4 requests, 4 samples, 28 + 20 tokens" in caplog.text


def test_what_a_batch_has_not_is_written_once(tmp_path: Path) -> None:
    folder = tmp_path / "batch"
    wanted = Asked(model=f"batch:{folder}", cache=False)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            keeper = stack.enter_context(ModelKeeper(wanted))
            for at in range(2):
                clerk, asker = await worker(keeper, wanted, stack)
                with pytest.raises(AnswersPending, match=r"send .*requests\.jsonl"):
                    await ask(asker, "same")
                assert not (folder / "requests.jsonl").exists() or at, "workers write nothing"
                keeper.hear(at, clerk.says())

    asyncio.run(run())
    (line,) = (folder / "requests.jsonl").read_text().splitlines()
    assert json.loads(line)["body"]["messages"][0]["content"] == "same"
    assert (folder / "requests.complete").read_text() == "1\n"


def test_templates_go_along(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "write_code.jinja").write_text("Do {{ signature }}")
    keeper = ModelKeeper(Asked(), folder)
    data = pickle.dumps(keeper.clerk())
    (folder / "write_code.jinja").unlink()
    clerk: ModelClerk = pickle.loads(data)
    with clerk.opened():
        assert render("write_code", signature="f(x)", description="d") == "Do f(x)"
    assert render("write_code", signature="f(x)", description="d") != "Do f(x)"


def said(**more: Any) -> str:
    return json.dumps({"paid": [], "recorded": [], "wanted": [], **more})


QUESTION = {"messages": [{"role": "user", "content": "x"}], "sampling": {}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        said(paid=[{"model": "m", "tally": {"samples": -1}}]),
        said(paid=[{"model": "m", "tally": {"usd": 1e300}}]),
        said(paid=[{"model": 5, "tally": {}}]),
        said(recorded=[{**QUESTION, "number": 0, "completion": {"text": 7}}]),
        said(recorded=[{**QUESTION, "number": -1, "completion": {"text": ""}}]),
        said(recorded=[{**QUESTION, "messages": [{"role": "x"}], "number": 0, "completion": {}}]),
        said(wanted=[{**QUESTION, "spec": "batch:/etc", "first": 0, "n": 1}]),
        said(wanted=[{**QUESTION, "spec": "SPEC", "first": 0, "n": 2**40}]),
        said(wanted=[{**QUESTION, "spec": "SPEC", "first": 0, "n": 0}]),
        said(wanted=[{**QUESTION, "spec": "openai:m", "first": 0, "n": 1}]),
    ],
)
def test_what_no_clerk_says_is_refused(tmp_path: Path, text: str) -> None:
    spec = f"batch:{tmp_path / 'batch'}"
    with ModelKeeper(Asked(model=spec, record=tmp_path / "it.jsonl")) as keeper:
        with pytest.raises(ValueError):  # noqa: PT011  # any: the run goes on
            keeper.hear(0, text.replace("SPEC", spec))
        assert keeper.brief(1) == ""
    assert not (tmp_path / "batch" / "requests.jsonl").exists()
    assert (tmp_path / "it.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"budget_usd": -1.0}, "must not be negative"),
        ({"record": Path("/proc/none/it")}, "the recording"),
        ({"model": "batch:"}, "names no folder"),
    ],
)
def test_bad_input_is_said_before_anything_is_done(more: dict[str, Any], told: str) -> None:
    with ExitStack() as stack, pytest.raises(InputError, match=told):
        stack.enter_context(ModelKeeper(Asked(**more)))

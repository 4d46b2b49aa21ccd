"""`kill -9` of a real process that asks a real server: nothing that was answered is paid again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest

from .loopback import Loopback, Reply, chat

CHILD = """
import asyncio, sys
from refute.models.budget import Budget
from refute.models.cache import SampleCache, cache_path
from refute.errors import BudgetExceeded
from refute.models.contract import Message
from refute.models.providers import open_model
from refute.models.session import Session

async def problem(session, number):
    ask = session.asker(str(number))
    texts = []
    for turn in range(2):
        messages = [Message("user", f"problem {number}, turn {turn}")]
        texts += [answer.text for answer in await ask.ask(messages, n=4)]
    print(number, *texts, sep="|", flush=True)

async def main(url, calls):
    model = open_model("openai:m", base_url=url)
    budget = Budget(calls=int(calls) if calls else None)
    cache = SampleCache(cache_path())
    async with Session(model, cache=cache, budget=budget, concurrency=4) as session:
        asking = (problem(session, number) for number in range(12))
        ended = await asyncio.gather(*asking, return_exceptions=True)
        for error in ended:
            if error is not None and not isinstance(error, BudgetExceeded):
                raise error

asyncio.run(main(*sys.argv[1:]))
"""


class Counting:
    """Answers the first `open_for` requests, lets later ones hang; counts what it answered."""

    def __init__(self, open_for: int) -> None:
        self.open_for = open_for
        self.answered: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any], before: int) -> Reply:
        said = body["messages"][-1]["content"]
        if before >= self.open_for:
            return Reply(delay=3600.0)
        self.answered[said] += body["n"]
        return chat([f"{said}: {at}" for at in range(body["n"])])


def start(server: Loopback, calls: int | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, server.url, str(calls or "")],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return sorted(output.splitlines())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_resumed(how: signal.Signals, server: Loopback) -> None:
    server.behaviour = counting = Counting(open_for=18)
    process = start(server)
    # 12 problems of two turns, four requests at once: when the first problems are through, others
    # have one turn, and the rest hangs.
    seen = [process.stdout.readline() for _ in range(6)]
    while sum(counting.answered.values()) < 4 * 18 or len(server.requests) < 22:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate(timeout=300)
    assert process.returncode != 0

    counting.open_for = 10**9
    lines = finish(start(server))
    assert len(lines) == 12
    assert {line.strip() for line in seen} <= set(lines)
    assert len(counting.answered) == 24
    # The last four of the 18 may have been on their way when the process died; not the others.
    assert sum(counting.answered.values()) - 4 * 24 <= 4 * 4
    assert all(counting.answered[turn] == 4 for turn in turns_of(seen))


def turns_of(lines: list[str]) -> set[str]:
    """The requests of the problems that were finished."""
    numbers = [line.partition("|")[0] for line in lines]
    return {f"problem {number}, turn {turn}" for number in numbers for turn in (0, 1)}


def test_stopped_by_the_budget_and_resumed(server: Loopback) -> None:
    """Each start may spend 40 samples, and none of them is asked for twice."""
    server.behaviour = counting = Counting(open_for=10**9)
    spent = []
    for _ in range(3):
        lines = finish(start(server, calls=40))
        spent.append(sum(counting.answered.values()))
    assert spent == [40, 80, 96]
    assert len(lines) == 12
    assert set(counting.answered.values()) == {4}

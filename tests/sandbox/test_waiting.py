"""Programs that an event loop waits for itself: the answers of `run`, while the loop goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Outcome, Program, Returned, Sandbox, TimedOut
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool, run_in_steps

LIMITS = Limits(cpu=0.3)
DOUBLE = Program("def f(x):\n    return 2 * x\n", "f")
SLOW = Program("import time\ndef f(x):\n    time.sleep(0.4)\n    return x\n", "f")
HANGS = Program("def f(x):\n    while True: pass\n", "f")


async def one(pool: SandboxPool, program: Program, argument: object) -> Outcome:
    def job(box: Sandbox):  # type: ignore[no-untyped-def]
        return run_in_steps(box, program, [Call((argument,))], LIMITS)

    (outcome,) = await pool.do_in_steps(job)
    assert isinstance(outcome, Returned | TimedOut)
    return outcome


def value(outcome: Outcome) -> object:
    return outcome.value


def boxes(made: list[LocalSandbox]) -> LocalSandbox:
    made.append(LocalSandbox())
    return made[-1]


def test_the_loop_goes_on_meanwhile() -> None:
    async def main(pool: SandboxPool) -> tuple[Outcome, Outcome, int]:
        await one(pool, DOUBLE, 1)  # a server is there
        slow = asyncio.create_task(one(pool, SLOW, 7))
        hangs = asyncio.create_task(one(pool, HANGS, 7))
        turns = 0
        while not (slow.done() and hangs.done()):
            await asyncio.sleep(0.01)
            turns += 1
        return await slow, await hangs, turns

    with SandboxPool(2) as pool:
        slow, hangs, turns = asyncio.run(main(pool))
    assert value(slow) == 7
    assert isinstance(hangs, TimedOut)
    assert turns >= 5


def test_a_server_that_is_killed_is_replaced_and_the_program_run_again() -> None:
    made: list[LocalSandbox] = []

    async def main(pool: SandboxPool) -> Outcome:
        await one(pool, DOUBLE, 1)
        task = asyncio.create_task(one(pool, SLOW, 5))
        await asyncio.sleep(0.1)
        (server,) = made[0]._servers.values()
        os.kill(server.process.pid, signal.SIGKILL)
        return await task

    with SandboxPool(1, lambda: boxes(made)) as pool:
        assert value(asyncio.run(main(pool))) == 5
    assert len(made) == 2


def test_a_caller_that_goes_away_spoils_no_other_answer() -> None:
    async def main(pool: SandboxPool) -> Outcome:
        task = asyncio.create_task(one(pool, SLOW, 5))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await one(pool, DOUBLE, 4)

    with SandboxPool(1) as pool:
        assert value(asyncio.run(main(pool))) == 8


def test_a_caller_that_goes_away_waits_for_the_server_that_starts() -> None:
    starts, goes_on, left = threading.Event(), threading.Event(), list[bool]()

    class Slow(LocalSandbox):
        def _server(self, kind):  # type: ignore[no-untyped-def]
            starts.set()
            assert goes_on.wait(60)
            return super()._server(kind)

    async def main(pool: SandboxPool) -> Outcome:
        task = asyncio.create_task(one(pool, DOUBLE, 5))
        assert await asyncio.to_thread(starts.wait, 60)
        for _ in range(3):  # the thread still starts the server
            task.cancel()
            await asyncio.sleep(0)
        left.append(task.done())
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await one(pool, DOUBLE, 4)

    with SandboxPool(1, Slow) as pool:
        assert value(asyncio.run(main(pool))) == 8
    assert left == [False]


@pytest.mark.skipif(sys.platform != "linux", reason="stops the process below the server, too")
def test_a_server_without_a_word_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.sandbox.pool.SILENCE", 0.4)
    monkeypatch.setattr("refute.sandbox.local._PATIENCE", 0.3)
    made: list[LocalSandbox] = []

    async def main(pool: SandboxPool) -> float:
        await one(pool, DOUBLE, 1)
        server = next(iter(made[0]._servers.values())).process.pid
        with open(f"/proc/{server}/task/{server}/children") as file:
            below = [int(pid) for pid in file.read().split()]
        for pid in (server, *below):
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        assert value(await one(pool, DOUBLE, 3)) == 6  # in another
        return time.monotonic() - began

    with SandboxPool(1, lambda: boxes(made)) as pool:
        assert asyncio.run(main(pool)) < 20
    assert len(made) == 2

"""The pool runs many jobs at once, replaces a sandbox that died, and leaves no process behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from refute.core.problems import Call, Invocation
from refute.errors import SandboxUnavailable
from refute.sandbox import Limits, Outcome, Program, Raised, TimedOut
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool

LIMITS = Limits()
DOUBLE = Program("def f(x):\n    return 2 * x\n", "f")


def test_hostile_programs_do_not_reach_their_neighbours() -> None:
    ends = Program("import os\ndef f(x):\n    os._exit(3)\n", "f")
    hangs = Program("def f(x):\n    while True: pass\n", "f")
    raises = Program("def f(x):\n    raise KeyError(x)\n", "f")
    limits = Limits(cpu=0.3)

    async def main(pool: SandboxPool) -> list[list[Outcome]]:
        programs = [ends, DOUBLE, hangs, DOUBLE, raises, DOUBLE]
        return await asyncio.gather(*(pool.run(p, [Call((1,))], limits) for p in programs))

    with SandboxPool(2) as pool:
        rows = asyncio.run(main(pool))
    assert [row[0] for row in rows[1::2]] == [rows[1][0]] * 3
    assert rows[1][0].value == 2
    assert isinstance(rows[2][0], TimedOut)
    assert isinstance(rows[4][0], Raised)


class Dying(LocalSandbox):
    """A sandbox whose server is gone at the first job."""

    made = 0
    alive = 0

    def __init__(self, deaths: int) -> None:
        super().__init__()
        type(self).made += 1
        type(self).alive += 1
        self.dies = type(self).made <= deaths
        self.open = True

    def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = LIMITS
    ) -> list[list[Outcome]]:
        if self.dies:
            self.protections()
            for server in self._servers.values():
                server.process.kill()
                server.process.wait()
        return super().run_variants(programs, calls, limits)

    def close(self) -> None:
        super().close()
        type(self).alive -= self.open
        self.open = False


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_dead_sandbox_is_replaced_once(deaths: int) -> None:
    Dying.made = Dying.alive = 0

    async def main(pool: SandboxPool) -> list[Outcome]:
        if deaths == 2:
            with pytest.raises(SandboxUnavailable):
                await pool.run(DOUBLE, [Call((4,))])
        return await pool.run(DOUBLE, [Call((4,))])

    with SandboxPool(1, lambda: Dying(deaths)) as pool:
        (outcome,) = asyncio.run(main(pool))
        assert Dying.alive == 1
    assert outcome.value == 8
    assert Dying.made == deaths + 1
    assert Dying.alive == 0

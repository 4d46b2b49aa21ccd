"""The search engine as a partner of the model: neighbours of inputs, mutants, and fixes.

The engine is blocking code for one sandbox; here it runs in a thread of its own and its programs in
whatever sandboxes the method has. How far it searches is a number of programs, never a time, so
that the same answers of a model lead to the same questions on every machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from refute.core.problems import Call, FunctionProblem, Invocation, Trust, UnitTest
from refute.function.contract import Candidate
from refute.function.formatting import call_source
from refute.function.search.engine import search
from refute.function.search.inputs import Tier
from refute.function.search.mutants import singles
from refute.function.search.staged import proposed_inputs
from refute.function.search.trial import Trial
from refute.sandbox import Limits, Outcome, Program, Sandbox
from refute.sandbox.pool import AsyncSandbox
from refute.source.syntax import try_parse

MUTANTS = 40
"""Single edits of the code that serve as rivals, likeliest first."""
SEARCHED = 400
"""Candidate programs of one search for fixes."""
_SECONDS = 0.3
"""So little that the parts of a search that only a time can bound (writing the function anew) are
left out: the model is there for that."""
LONGEST = 400
"""Longer calls, in characters of source, are no good question."""

MOST_INPUTS = 60
"""Neighbours that the programs are run on."""
Result = TypeVar("Result")
_DEFAULT = Limits()


async def multiplied(
    problem: FunctionProblem,
    known: Sequence[Invocation],
    box: AsyncSandbox,
    *,
    seed: int,
    most: int = MOST_INPUTS,
) -> list[Call]:
    """Inputs near the known ones: first such as look like these, then those just past what was
    seen. Raises `SandboxUnavailable`."""

    def find(inner: Sandbox) -> list[tuple[Invocation, Tier]]:
        return proposed_inputs(problem, known, box=inner, seed=seed, most=most)

    found = sorted(await _in_thread(find, box), key=lambda one: one[1])
    calls = [call for call, _ in found if isinstance(call, Call)]
    return [call for call in calls if len(call_source(call, problem.entry_point)) <= LONGEST]


async def searched_fixes(
    problem: FunctionProblem, tests: Sequence[UnitTest], box: AsyncSandbox, *, seed: int
) -> tuple[Candidate, ...]:
    """Fixes of the problem's code that pass all `tests`, as the search engine finds them.

    Raises `SandboxUnavailable`.
    """
    known = replace(problem, tests=tuple(replace(test, trust=Trust.STATED) for test in tests))

    def find(inner: Sandbox) -> tuple[Candidate, ...]:
        found = search(known, box=inner, budget=_SECONDS, seed=seed, max_candidates=SEARCHED)
        return found.candidates

    return await _in_thread(find, box)


async def mutant_outcomes(
    problem: FunctionProblem,
    tests: Sequence[UnitTest],
    calls: Sequence[Invocation],
    box: AsyncSandbox,
) -> list[list[Outcome]]:
    """Run the likeliest single edits of the code that pass `tests` on `calls`: a row for each.

    No rows for code that does not parse. Raises `SandboxUnavailable`.
    """
    tree = try_parse(problem.code)
    if tree is None or not calls:
        return []

    def observe(inner: Sandbox) -> list[list[Outcome]]:
        trial = Trial(
            problem.code, problem.entry_point, tuple(tests), inner, time.monotonic(), 10 * MUTANTS
        )
        edits = singles(trial.focus, trial.facts(problem.description), lambda stmts: 0.0)
        sound = (edit for edit in edits if trial.program((edit,), refuel=True) is not None)
        tried = trial.run(((edit,), edit.weight) for edit in islice(sound, 2 * MUTANTS))
        rivals = [result.edits for result in tried if result.fits][:MUTANTS]
        return trial.behaviours(rivals, calls) if rivals else []

    return await _in_thread(observe, box)


async def _in_thread(job: Callable[[Sandbox], Result], box: AsyncSandbox) -> Result:
    """`job` in a thread, its sandbox being `box`."""
    return await asyncio.to_thread(job, _Bridged(box, asyncio.get_running_loop()))


class _Bridged(Sandbox):
    """An `AsyncSandbox` as a `Sandbox` for a thread other than the event loop's."""

    def __init__(self, box: AsyncSandbox, loop: asyncio.AbstractEventLoop) -> None:
        self._box = box
        self._loop = loop

    def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        return self._wait(self._box.run_variants(programs, calls, limits))

    def _wait(self, job: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(job, self._loop).result()

    @property
    def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return self._wait(self._box.takes_code())

    def protections(self) -> dict[str, bool]:
        """Nothing is known here: the sandboxes behind may differ."""
        return {}

    def close(self) -> None:
        """The sandboxes belong to somebody else."""

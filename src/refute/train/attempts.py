"""Stage II: inputs on which a fault and its reference differ, with the reference's output.

UTGen (§3.2): so many attempts at an input for each fault; the output is never the model's but what
the reference returns in the sandbox; inputs that do not tell the two apart fall out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from refute.function.formatting import call_source
from refute.function.llm.generation import read_proposal, samples, shape_of, test_request
from refute.function.llm.results import Unreadable
from refute.function.search.engine import trusted_tests
from refute.function.search.inputs import Tier, propose_inputs
from refute.literals import NotLiteral, source_of
from refute.models.contract import Asker, Sampling
from refute.problems import Call, Invocation
from refute.sandbox import Limits, NotRun, Outcome, Program, Returned
from refute.sandbox.equality import Expected, matches
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue
from refute.train.corrupt import Fault
from refute.train.filters import Solution

__all__ = ["AttackingInput", "Attempted", "by_model", "by_search"]

SEARCHED = 100
"""Inputs of the search that are run for one fault: it need not ask for each."""
MAX_CALL = 1000
"""Characters of a call's source."""
MAX_OUTPUT = 1000
"""Characters of an output's source."""
_RUN = Limits(cpu=1.0, memory=512 << 20, output=64 << 10, stop_after=1)


@dataclass(frozen=True, slots=True)
class AttackingInput:
    """An input on which the two differ."""

    call: str
    """Source of the call."""
    output: str
    """Source of what the reference returns."""
    by: Literal["model", "search"]
    answer: str = ""
    """What the model wrote up to and with its call."""


@dataclass(slots=True)
class Attempted:
    """What is kept of the attempts at one fault, and why the others fell out."""

    kept: list[AttackingInput] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


async def by_model(
    solution: Solution,
    fault: Fault,
    count: int,
    *,
    ask: Asker,
    box: AsyncSandbox,
    sampling: Sampling,
) -> Attempted:
    """`count` answers to the prompt that is used at inference; their stated outputs are ignored.

    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    problem = solution.problem(fault.code)
    request = test_request(problem, fault.code, "prompted")
    answers = await samples(ask, request, first=0, n=count, sampling=sampling)
    shape = shape_of(problem)
    drafts: list[tuple[Call, str]] = []
    made = Attempted()
    seen = set()
    for answer in answers:
        proposal = await read_proposal(answer, problem, shape, box)
        if isinstance(proposal.call, Unreadable):
            made.dropped[f"unreadable: {proposal.call}"] += 1
        elif not isinstance(proposal.call, Call):
            made.dropped["input needs the program's own names"] += 1
        elif (source := call_source(proposal.call, solution.entry_point)) in seen:
            made.dropped["the same input again"] += 1
        else:
            seen.add(source)
            drafts.append((proposal.call, proposal.before_output))
    told = await _told_apart(solution, fault, [call for call, _ in drafts], box)
    for (call, before), output in zip(drafts, told, strict=True):
        _keep(made, call, output, solution, "model", before)
    return made


async def by_search(
    solution: Solution, fault: Fault, count: int, *, box: AsyncSandbox, seed: int
) -> Attempted:
    """The first `count` of the search's inputs that tell the two apart.

    Deterministic for (solution, fault, seed). Raises `SandboxUnavailable`.
    """
    problem = solution.problem()
    known = [test.call for test in trusted_tests(problem)[0]]
    given = [call for call in known if isinstance(call, Call)]
    legal = (
        one.call
        for one in propose_inputs(problem, known, seed=seed)
        if one.tier != Tier.WILD and isinstance(one.call, Call)
    )
    # The examples come last: what a description shows is no find.
    calls = [*islice(legal, SEARCHED), *given]
    made = Attempted()
    for start in range(0, len(calls), 25):
        if len(made.kept) >= count:
            break
        part = calls[start : start + 25]
        told = await _told_apart(solution, fault, part, box)
        for call, output in zip(part, told, strict=True):
            if len(made.kept) < count:
                _keep(made, call, output, solution, "search", "")
    return made


def _keep(
    made: Attempted,
    call: Call,
    output: str | Unusable,
    solution: Solution,
    by: Literal["model", "search"],
    before: str,
) -> None:
    if isinstance(output, Unusable):
        made.dropped[output.reason] += 1
        return
    source = call_source(call, solution.entry_point)
    if len(source) > MAX_CALL or len(output) > MAX_OUTPUT:
        made.dropped["input or output too long"] += 1
    else:
        made.kept.append(AttackingInput(source, output, by, before))


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why an input gives no unit test."""

    reason: str


async def _told_apart(
    solution: Solution, fault: Fault, calls: Sequence[Call], box: AsyncSandbox
) -> list[str | Unusable]:
    """Source of the reference's output for each input on which the two differ.

    Both run twice, the second time in the other order: a function that keeps a state, rolls dice or
    looks at the clock shows.
    """
    if not calls:
        return []
    right, again = await _twice(Program(solution.code, solution.entry_point), calls, box)
    wrong, anew = await _twice(Program(fault.code, solution.entry_point), calls, box)
    return [_output(*four) for four in zip(right, again, wrong, anew, strict=True)]


async def _twice(
    program: Program, calls: Sequence[Invocation], box: AsyncSandbox
) -> tuple[list[Outcome], list[Outcome]]:
    first = await box.run(program, calls, _RUN)
    second = await box.run(program, calls[::-1], _RUN)
    return first, second[::-1]


def _output(right: Outcome, again: Outcome, wrong: Outcome, anew: Outcome) -> str | Unusable:
    if not isinstance(right, Returned):
        return Unusable("not valid for the reference")
    try:
        source = source_of(right.value)
    except (NotLiteral, MalformedValue, RecursionError):
        return Unusable("output has no source")
    expected = Expected(right.data)
    if not matches(again, expected):
        return Unusable("the reference is not deterministic")
    if any(isinstance(outcome, NotRun) for outcome in (wrong, anew)):
        return Unusable("not run: the fault was cut short before")
    if matches(wrong, expected) or matches(anew, expected):
        return Unusable("does not tell fault and reference apart")
    return source

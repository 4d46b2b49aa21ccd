"""Stage II: inputs on which a fault and its reference differ, with the reference's output.

UTGen (§3.2): so many attempts at an input for each fault; the output is never the model's but what
the reference returns in the sandbox; inputs that do not tell the two apart fall out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Literal

from refute.core.problems import Call, Invocation
from refute.function.formatting import call_source
from refute.function.llm.generation import read_proposal, samples, shape_of, test_request
from refute.function.llm.results import Output, Unreadable
from refute.function.llm.search_partner import multiplied
from refute.function.search.engine import trusted_tests
from refute.models.contract import Asker, Sampling
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, values
from refute.sandbox.equality import Expected, matches
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, source_of
from refute_lab.train.corrupt import Fault
from refute_lab.train.filters import Solution

# -- preferences -----------------------------------------------------------------------------------


PAIRS = 2
"""Pairs that are kept of one fault; five answers make up to six."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of a model that could be read, and what its test is worth."""

    text: str
    attacks: bool
    """Reference and fault differ on its input."""
    right: bool
    """The reference returns the output that it states."""

    @property
    def both(self) -> bool:
        """Return whether the test fails on the fault and would pass on the reference."""
        return self.attacks and self.right

    @property
    def lacks(self) -> str:
        """Reason for rejecting it; "" if kept."""
        missing = {"no attack": not self.attacks, "wrong output": not self.right}
        return ", ".join(name for name, lacking in missing.items() if lacking)


def pairs(
    answers: Sequence[JudgedAnswer], most: int | None = PAIRS
) -> list[tuple[JudgedAnswer, JudgedAnswer]]:
    """Up to `most` pairs (chosen, rejected), None: all; in the order of the answers.

    Answers take turns, so that a small number of pairs holds as many different ones as it can.
    """
    chosen = [one for one in answers if one.both]
    rejected = [one for one in answers if not one.both]
    found = [
        (one, rejected[(at + shift) % len(rejected)])
        for shift in range(len(rejected))
        for at, one in enumerate(chosen)
    ]
    return found[:most]


def row(
    name: str, solution: str, prompt: str, chosen: JudgedAnswer, rejected: JudgedAnswer
) -> dict[str, Any]:
    """A pair in TRL's conversational form of preferences."""
    return {
        "id": name,
        "solution": solution,
        "lacks": rejected.lacks,
        "prompt": [{"role": "user", "content": prompt}],
        "chosen": [{"role": "assistant", "content": chosen.text}],
        "rejected": [{"role": "assistant", "content": rejected.text}],
    }


def counts(
    answers: Iterable[Sequence[JudgedAnswer]], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """For the data card. `answers`: of each fault, held-out solutions included."""
    faults = list(answers)
    every = [one for group in faults for one in group]
    return {
        "answers_read": len(every),
        "attack": sum(one.attacks for one in every),
        "right": sum(one.right for one in every),
        "attack_and_right": sum(one.both for one in every),
        "faults_with_a_pair": sum(bool(pairs(group, 1)) for group in faults),
        "pairs": len(kept := list(rows)),
        "rejected_for": dict(Counter(one["lacks"] for one in kept).most_common()),
    }


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
    """Kept attempts at one fault, and the reasons for dropping the others."""

    kept: list[AttackingInput] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    answers: list[JudgedAnswer] = field(default_factory=list)
    """Of a model, the different ones with a whole test on which there is a verdict."""


async def by_model(
    solution: Solution,
    fault: Fault,
    count: int,
    *,
    ask: Asker,
    box: AsyncSandbox,
    sampling: Sampling,
) -> Attempted:
    """`count` answers to the prompt that is used at inference.

    The outputs that they state count for nothing in what is kept, only in how an answer is judged.
    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    problem = solution.problem(fault.code)
    request = test_request(problem, fault.code, "prompted")
    answers = await samples(ask, request, first=0, n=count, sampling=sampling)
    shape = shape_of(problem)
    drafts: list[tuple[Call, str]] = []
    whole: list[tuple[int, str, Output]] = []
    made = Attempted()
    seen: dict[str, int] = {}
    for answer in answers:
        proposal = await read_proposal(answer, problem, shape, box)
        if isinstance(proposal.call, Unreadable):
            made.dropped[f"unreadable: {proposal.call}"] += 1
        elif not isinstance(proposal.call, Call):
            made.dropped["input needs the program's own names"] += 1
        else:
            source = call_source(proposal.call, solution.entry_point)
            if source in seen:
                made.dropped["the same input again"] += 1
            else:
                seen[source] = len(drafts)
                drafts.append((proposal.call, proposal.before_output))
            cut = answer is not None and answer.finish_reason == "length"
            if isinstance(proposal.stated, Output) and not cut:
                whole.append((seen[source], proposal.answer, proposal.stated))
    told = await _told_apart(solution, fault, [call for call, _ in drafts], box)
    for (call, before), one in zip(drafts, told, strict=True):
        _keep(made, call, one, solution, "model", before)
    judged = (_judged(text, stated, told[number]) for number, text, stated in whole)
    made.answers = list(dict.fromkeys(one for one in judged if one is not None))
    return made


def _judged(text: str, stated: Output, told: Told) -> JudgedAnswer | None:
    """Judge a written test; None if its input gives no verdict.

    A test that expects an exception is never right: no row of the data is one.
    """
    if told.attacks is None:
        return None
    right = told.expected is not None and stated.raises is None
    if right and told.expected is not None:
        right = matches(Returned(values.encode(stated.value)), told.expected)
    return JudgedAnswer(text, told.attacks, right)


async def by_search(
    solution: Solution, fault: Fault, count: int, *, box: AsyncSandbox, seed: int
) -> Attempted:
    """The first `count` of the search's inputs that tell the two apart.

    Deterministic for (solution, fault, seed). Raises `SandboxUnavailable`.
    """
    problem = solution.problem()
    known = [test.call for test in trusted_tests(problem)[0]]
    given = [call for call in known if isinstance(call, Call)]
    legal = await multiplied(problem, known, box, seed=seed, most=SEARCHED)
    # The examples come last: what a description shows is not new.
    calls = chain(legal, given)
    made = Attempted()
    while len(made.kept) < count and (part := list(islice(calls, 25))):
        told = await _told_apart(solution, fault, part, box)
        for call, one in zip(part, told, strict=True):
            if len(made.kept) < count:
                _keep(made, call, one, solution, "search", "")
    return made


def _keep(
    made: Attempted,
    call: Call,
    told: Told,
    solution: Solution,
    by: Literal["model", "search"],
    before: str,
) -> None:
    if told.output is None:
        made.dropped[told.reason] += 1
        return
    source = call_source(call, solution.entry_point)
    if len(source) > MAX_CALL or len(told.output) > MAX_OUTPUT:
        made.dropped["input or output too long"] += 1
    else:
        made.kept.append(AttackingInput(source, told.output, by, before))


@dataclass(frozen=True, slots=True)
class Told:
    """Outcomes of reference and fault on one input."""

    reason: str = ""
    """Why it gives no unit test."""
    output: str | None = None
    """Source of what the reference returns, where it does give one."""
    attacks: bool | None = None
    """None: there is no verdict."""
    expected: Expected | None = None
    """What the reference returns; None: it does not take the input, or there is no verdict."""


async def _told_apart(
    solution: Solution, fault: Fault, calls: Sequence[Call], box: AsyncSandbox
) -> list[Told]:
    """For each input, whether the two differ on it, and the reference's output.

    Both run twice, the second time in the other order: a function that keeps a state, rolls dice or
    looks at the clock shows.
    """
    if not calls:
        return []
    right, again = await _twice(Program(solution.code, solution.entry_point), calls, box)
    wrong, anew = await _twice(Program(fault.code, solution.entry_point), calls, box)
    return [_told(*four) for four in zip(right, again, wrong, anew, strict=True)]


async def _twice(
    program: Program, calls: Sequence[Invocation], box: AsyncSandbox
) -> tuple[list[Outcome], list[Outcome]]:
    first = await box.run(program, calls, _RUN)
    second = await box.run(program, calls[::-1], _RUN)
    return first, second[::-1]


def _told(right: Outcome, again: Outcome, wrong: Outcome, anew: Outcome) -> Told:
    if not isinstance(right, Returned):
        # Only an exception says that the input is the fault of who wrote it.
        verdict = False if isinstance(right, Raised) and isinstance(again, Raised) else None
        return Told("not valid for the reference", attacks=verdict)
    try:
        source = source_of(right.value)
    except (NotLiteral, MalformedValue):
        return Told("output has no source")
    expected = Expected(right.data)
    if not matches(again, expected):
        return Told("the reference is not deterministic")
    if any(isinstance(outcome, NotRun) for outcome in (wrong, anew)):
        return Told("not run: the fault was cut short before")
    if matches(wrong, expected) or matches(anew, expected):
        return Told("does not tell fault and reference apart", None, False, expected)
    return Told("", source, True, expected)

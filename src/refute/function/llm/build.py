"""BuildUT (Algorithm 1): up to 3n tries for n distinct unit tests of one version of the code."""

from __future__ import annotations

from collections.abc import Sequence

from refute.function.llm.asking import samples
from refute.function.llm.generate import (
    Generator,
    Proposal,
    output_question,
    read_proposal,
    shape_of,
    test_request,
)
from refute.function.llm.options import Options
from refute.function.llm.record import Attempt, Output, Suite, Unreadable, Vote
from refute.function.llm.vote import ballot
from refute.function.show import call_source
from refute.models.contract import Asker, Message
from refute.models.rounds import together
from refute.problems import FunctionProblem, Trust, UnitTest
from refute.sandbox.pool import AsyncSandbox

__all__ = ["build", "passed_over", "voted_on"]


async def build(
    problem: FunctionProblem,
    code: str,
    *,
    generator: Generator,
    ask: Asker,
    box: AsyncSandbox,
    options: Options,
    seed: int,
) -> Suite:
    """Unit tests of `code`, a version of the problem's module.

    An input is tried once: one that a vote could not settle is not voted on again, for a second
    vote on it would only lower the bar. As many tries are made at a time as tests are missing; one
    by one there would be at least as many, so the result is the same, in fewer rounds of asking.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    request = test_request(problem, code, generator)
    shape = shape_of(problem)
    seen: set[str] = set()
    attempts: list[Attempt] = []
    kept = 0
    while kept < options.n and len(attempts) < options.tries:
        count = min(options.n - kept, options.tries - len(attempts))
        answers = await samples(
            ask, request, first=len(attempts), n=count, sampling=options.sampling(seed)
        )
        proposals = [await read_proposal(answer, problem, shape, box) for answer in answers]
        fresh: list[Proposal] = []
        for proposal in proposals:
            if not isinstance(proposal.call, Unreadable):
                source = call_source(proposal.call, problem.entry_point)
                if source not in seen:
                    seen.add(source)
                    fresh.append(proposal)
        votes = await _votes(problem, request, fresh, ask, box, options, seed)
        voted = {id(proposal): vote for proposal, vote in zip(fresh, votes, strict=True)}
        for proposal in proposals:
            number = len(attempts)
            if id(proposal) in voted:
                attempt = voted_on(number, proposal, voted[id(proposal)])
            else:
                attempt = passed_over(number, proposal)
            attempts.append(attempt)
            kept += attempt.test is not None
    return Suite(tuple(attempts))


async def _votes(
    problem: FunctionProblem,
    request: Sequence[Message],
    proposals: Sequence[Proposal],
    ask: Asker,
    box: AsyncSandbox,
    options: Options,
    seed: int,
) -> list[Vote] | list[None]:
    """The votes on several inputs, held at once; None for each where there is no voting."""
    if not options.vote:
        return [None for _ in proposals]
    questions = [output_question(request, one, problem.entry_point) for one in proposals]
    return await together(
        ballot(question, problem.entry_point, ask=ask, box=box, options=options, seed=seed)
        for question in questions
    )


def voted_on(number: int, proposal: Proposal, vote: Vote | None) -> Attempt:
    """What became of a new input; without a vote a test keeps the output stated with it."""
    assert not isinstance(proposal.call, Unreadable)
    stated = None if isinstance(proposal.stated, Unreadable) else proposal.stated
    kind = proposal.stated if isinstance(proposal.stated, Unreadable) else None
    output: Output | None = stated if vote is None else vote.winner
    if output is None and vote is None:
        return Attempt(number, proposal.answer, "unreadable", proposal.call, unreadable=kind)
    if output is None:
        return Attempt(number, proposal.answer, "outvoted", proposal.call, stated, kind, vote)
    test = UnitTest(
        proposal.call,
        output.value,
        output.raises,
        Trust.PREDICTED,
        "model",
        confidence=1.0 if vote is None else vote.support / vote.asked,
    )
    return Attempt(number, proposal.answer, "kept", proposal.call, stated, kind, vote, test)


def passed_over(number: int, proposal: Proposal) -> Attempt:
    """An answer without a call, or with one that was tried before."""
    stated = None if isinstance(proposal.stated, Unreadable) else proposal.stated
    kind = proposal.stated if isinstance(proposal.stated, Unreadable) else None
    if isinstance(proposal.call, Unreadable):
        return Attempt(number, proposal.answer, "unreadable", unreadable=proposal.call)
    return Attempt(number, proposal.answer, "duplicate", proposal.call, stated, kind)

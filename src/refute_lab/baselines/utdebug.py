"""BuildUT and UTDebug (Algorithms 1 and 2 of UTGen, arXiv 2502.01619), and whole programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from refute.core.combinators import always, backtrack, refine
from refute.core.methods import Context
from refute.core.problems import FunctionProblem, UnitTest
from refute.function.contract import MethodResult
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.generation import (
    Generator,
    ProposedTest,
    Sampler,
    conversation,
    feedback_on,
    hold_vote,
    passed_over,
    read_proposal,
    samples,
    shape_of,
    test_request,
    user,
    voted_on,
)
from refute.function.llm.options import DebugOptions, SuiteOptions
from refute.function.llm.results import (
    Attempt,
    EditRound,
    Suite,
    SuiteRun,
    Trace,
    Unreadable,
    try_code,
)
from refute.models.contract import Message, together
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox


async def debugged(
    problem: FunctionProblem,
    *,
    ctx: Context,
    options: DebugOptions,
    certain: SuiteRun,
    tested: Callable[[str], Awaitable[SuiteRun]],
) -> tuple[list[str], list[EditRound], SuiteRun]:
    """Algorithm 2 of arXiv 2502.01619: in each of m rounds one failing test is shown to the model.

    An edit is taken only if the code then passes more of the whole suite; else code and
    conversation go back to where they were, the suite stays, and another answer is asked for
    (`options.shown` says with which test). A new version gets a suite of its own from `tested`.
    With `options.m` = 0 nothing is edited. Gives the code after each round, 0 to m, the rounds, and
    what the code under test did on its suite; `certain`: what it does on the certain tests.

    Raises what `Asker.ask` and `tested` raise (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    name = problem.entry_point
    sampler = Sampler(ctx.model, options.sampling(ctx.seed))
    enough = backtrack(attrgetter("passed"), ties=options.ties) if options.backtrack else always
    rounds = Rounds(options.guard, unchanged=options.ties, better=enough)

    async def edit(version: Revision, refused: int) -> Revision | None:
        if version.trial is None:
            version.trial = await tested(version.code)
        failing = version.trial.failing
        if not failing:
            return None
        place = {"next": refused % len(failing), "first": 0, "last": -1}[options.shown]
        shown = failing[place]
        feedback = render("test_feedback", **feedback_on(shown, name))
        return await revise(
            version, feedback, sampler=sampler, problem=problem, box=ctx.sandbox, shown=shown.test
        )

    start = Revision(problem.code, conversation(problem, problem.code), certain)
    start.trial = first = await tested(problem.code)
    versions = await refine(start, edit, rounds=options.m, accept=rounds.accept)
    return [version.code for version in versions], rounds.edits, first


@dataclass(slots=True)
class Revision:
    """A version of the code, with the conversation that led to it."""

    code: str
    conversation: tuple[Message, ...]
    certain: SuiteRun
    """Outcomes on the certain tests."""
    trial: SuiteRun | None = None
    """Outcomes on the suite; None: it has none (yet)."""
    answer: str = ""
    """The model's answer that it was read from."""
    feedback: str = ""
    """Feedback on the version before it."""
    shown: UnitTest | None = None
    """The failing test that this was, if it was one."""
    unreadable: Unreadable | None = None
    """Reason that the answer holds no program: the code is then that of the version before."""

    @property
    def passed(self) -> int:
        """Return how many tests of the suite it passes."""
        return 0 if self.trial is None else self.trial.passed


async def revise(
    version: Revision,
    feedback: str,
    *,
    sampler: Sampler,
    problem: FunctionProblem,
    box: AsyncSandbox,
    shown: UnitTest | None = None,
) -> Revision:
    """Ask the model to revise a version given feedback, and run the result on the same tests."""
    entry_point, request = problem.entry_point, (*version.conversation, user(feedback))
    [answer] = await sampler.draw(request)
    before = "" if problem.whole else version.code
    code, unreadable = apply_answer(before, answer, entry_point)
    text = "" if answer is None else answer.text
    new = replace(version, answer=text, feedback=feedback, shown=shown, unreadable=unreadable)
    if code is None:
        return new
    return replace(
        new,
        code=code,
        conversation=(*request, Message("assistant", text)),
        certain=await try_code(code, entry_point, version.certain.tests, box),
        trial=version.trial and await try_code(code, entry_point, version.trial.tests, box),
    )


@dataclass(slots=True)
class Rounds:
    """Rule that decides which new versions are taken, and the record of its decisions."""

    guard: bool
    """Take none that fails a certain test which the version before it passes (`Options.guard`)."""
    unchanged: bool = False
    """Take code that is as it was before, too (`DebugOptions.ties`)."""
    better: Callable[[Revision, Revision], bool] = always
    """Test whether a version's outcomes on the suite are enough: see `combinators.backtrack`."""
    edits: list[EditRound] = field(default_factory=list)

    def accept(self, before: Revision, after: Revision) -> bool:
        """For `combinators.refine`. What is taken gets a suite of its own, if it gets one."""
        accepted, reason = self._verdict(before, after)
        self.edits.append(
            EditRound(
                len(self.edits) + 1,
                after.answer,
                None if after.unreadable else after.code,
                accepted,
                f"{'accepted' if accepted else 'discarded'}: {reason}",
                after.shown,
                "" if after.shown else after.feedback,
                before=before.passed,
                after=0 if after.unreadable else after.passed,
                total=0 if before.trial is None else len(before.trial.tests),
                unreadable=after.unreadable,
            )
        )
        if accepted:
            after.trial = None
        return accepted

    def _verdict(self, before: Revision, after: Revision) -> tuple[bool, str]:
        """Return whether a new version is taken, and why, in one line."""
        if after.unreadable is not None:
            return False, after.unreadable.told
        if after.code == before.code and not self.unchanged:
            return False, "it changes nothing"
        broken = after.certain.breaks(before.certain) if self.guard else []
        if broken:
            return False, f"it fails a certain test ({broken[0].source or 'given'})"
        if after.trial is None:
            return True, "no test checks it"
        rates = f"passes {after.passed} of {len(after.trial.tests)} tests, {before.passed} before"
        return self.better(before, after), rates


async def build_ut(
    problem: FunctionProblem,
    code: str,
    *,
    generator: Generator,
    sampler: Sampler,
    box: AsyncSandbox,
    options: SuiteOptions,
) -> Suite:
    """BuildUT (Algorithm 1 of arXiv 2502.01619): up to 3n tries (`SuiteOptions.tries`) for n
    distinct unit tests of `code`, a version of the problem's module.

    An input is tried once: one that a vote could not settle is not voted on again, for a second
    vote on it would only lower the bar. As many tries are made at a time as tests are missing; one
    by one there would be at least as many, so the result is the same, in fewer rounds of asking.

    A further suite for the same request (the generator does not see the code, or the code is as it
    was) is made of further samples, of tests and of votes. Their numbers are fixed before anything
    is asked: they do not depend on which of several suites is answered first.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    name, shape = problem.entry_point, shape_of(problem)
    request = test_request(problem, code, generator)
    start = sampler.reserve(request, options.tries)
    votes = start // options.tries * options.k

    async def attempt(proposal: ProposedTest) -> Attempt:
        held = None
        if options.vote:
            held = await hold_vote(
                request, proposal, name, sampler=sampler, box=box, options=options, first=votes
            )
        return voted_on(proposal, held)

    suite, tried = Suite(), set[str]()
    while len(suite.tests) < options.n and len(suite.attempts) < options.tries:
        made = len(suite.attempts)
        count = min(options.n - len(suite.tests), options.tries - made)
        answers = await samples(
            sampler.ask, request, first=start + made, n=count, sampling=sampler.sampling
        )
        proposals = [
            await read_proposal(answer, problem, shape, box, raises=options.raises)
            for answer in answers
        ]
        fresh = [one for one in proposals if _is_new(one.source(name), tried)]
        voted = dict(zip(map(id, fresh), await together(map(attempt, fresh)), strict=True))
        new = (voted.get(id(one)) or passed_over(one) for one in proposals)
        rows = (replace(one, number=number) for number, one in enumerate(new, made))
        suite = Suite((*suite.attempts, *rows))
    return suite


def _is_new(source: str | None, tried: set[str]) -> bool:
    """Return whether there is a call that was not tried before; remember it."""
    if source is None or source in tried:
        return False
    tried.add(source)
    return True


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer that was to hold a whole program."""

    answer: str
    code: str | None
    """The module with the program in it."""
    unreadable: Unreadable | None = None
    """The reason why there is none."""


async def draw_solutions(
    problem: FunctionProblem, sampler: Sampler, count: int, *, module: str | None = None
) -> list[Solution]:
    """`count` further samples of a program for the problem's description.

    `module`: what its definitions are put into (`merge_into_module`); None: the code under test,
    whose other definitions stay; "": nothing. Raises what `Asker.ask` raises (but
    `ContextTooLong`).
    """
    into = problem.code if module is None else module
    task = render(
        "write_code", signature=problem.signature, description=problem.description.strip()
    )
    found = []
    for answer in await sampler.draw([user(task)], count):
        code, unreadable = apply_answer(into, answer, problem.entry_point)
        found.append(Solution("" if answer is None else answer.text, code, unreadable))
    return found


def with_programs(result: MethodResult, programs: Sequence[str | None]) -> MethodResult:
    """The result with the programs that were sampled, for `Trace.programs`."""
    trace = replace(result.trace or Trace(), programs=tuple(programs))
    return replace(result, trace=trace)

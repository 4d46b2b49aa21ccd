"""Shared parts of debugging methods: Algorithm 2, questions to the model, code versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter

from refute.core.combinators import always, backtrack, refine
from refute.core.methods import Context
from refute.core.problems import FunctionProblem, UnitTest
from refute.function.contract import FailingTest
from refute.function.formatting import call_source, describe, expected_source
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.generation import Sampler, user
from refute.function.llm.options import DebugOptions
from refute.function.llm.results import EditRound, SuiteRun, Unreadable, try_code
from refute.models.contract import Message
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


def conversation(problem: FunctionProblem, code: str) -> tuple[Message, ...]:
    """The task, and `code` as if the model had written it."""
    described = "\n".join((problem.description.strip(), *problem.editor_lines))
    task = render("write_code", signature=problem.signature, description=described)
    return user(task), Message("assistant", render("code_answer", code=code.strip("\n")))


def feedback_on(failing: FailingTest, entry_point: str) -> dict[str, str]:
    """A failing test in the words of the prompts."""
    return {
        "call": call_source(failing.test.call, entry_point),
        "actual": describe(failing.actual, failing.test.call),
        "expected": expected_source(failing.test),
    }


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

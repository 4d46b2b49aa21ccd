"""What methods that debug share: questions to the model, versions of the code, which are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from refute.combinators import always
from refute.function.contract import FailingTest
from refute.function.formatting import call_source, describe, expected_source
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.execution import SuiteRun, try_code
from refute.function.llm.generation import samples, user
from refute.function.llm.results import EditRound, Unreadable
from refute.models.contract import Asker, Completion, Message, Sampling
from refute.problems import FunctionProblem, UnitTest
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox

__all__ = ["Revision", "Rounds", "Sampler", "conversation", "feedback_on", "revise"]


@dataclass(slots=True)
class Sampler:
    """Puts requests to a model; the same one once more gives further samples, not the same."""

    ask: Asker
    sampling: Sampling
    drawn: dict[tuple[Message, ...], int] = field(default_factory=dict)
    """How many samples of a request were drawn."""

    async def draw(self, request: Sequence[Message], n: int = 1) -> list[Completion | None]:
        """`n` samples; None for each where the request is too long. Raises what `ask` raises."""
        first = self.drawn.get(tuple(request), 0)
        self.drawn[tuple(request)] = first + n
        return await samples(self.ask, request, first=first, n=n, sampling=self.sampling)


def conversation(problem: FunctionProblem, code: str) -> tuple[Message, ...]:
    """The task, and `code` as if the model had written it."""
    task = render(
        "write_code", signature=problem.signature, description=problem.description.strip()
    )
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
    """What it does on the certain tests."""
    trial: SuiteRun | None = None
    """What it does on the suite; None: it has none (yet)."""
    answer: str = ""
    """The model's answer that it was read from."""
    feedback: str = ""
    """What was said of the version before it."""
    shown: UnitTest | None = None
    """The failing test that this was, if it was one."""
    unreadable: Unreadable | None = None
    """Why the answer holds no program: the code is then that of the version before."""

    @property
    def passed(self) -> int:
        """How many tests of the suite it passes."""
        return 0 if self.trial is None else self.trial.passed


async def revise(
    version: Revision,
    feedback: str,
    *,
    sampler: Sampler,
    entry_point: str,
    box: AsyncSandbox,
    shown: UnitTest | None = None,
) -> Revision:
    """What the model makes of feedback on a version, run on the same tests."""
    request = (*version.conversation, user(feedback))
    [answer] = await sampler.draw(request)
    code, unreadable = apply_answer(version.code, answer, entry_point)
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
    """Which new versions are taken, and the record of it."""

    guard: bool
    """Take none that fails a certain test which the version before it passes (`Options.guard`)."""
    better: Callable[[Revision, Revision], bool] = always
    """Whether what a version does on the suite is enough: see `combinators.backtrack`."""
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
        """Whether a new version is taken, and why, in one line."""
        if after.unreadable is not None:
            return False, after.unreadable.told
        if after.code == before.code:
            return False, "it changes nothing"
        broken = after.certain.breaks(before.certain) if self.guard else []
        if broken:
            return False, f"it fails a certain test ({broken[0].source or 'given'})"
        if after.trial is None:
            return True, "there is no test to check it"
        rates = f"passes {after.passed} of {len(after.trial.tests)} tests, {before.passed} before"
        return self.better(before, after), rates

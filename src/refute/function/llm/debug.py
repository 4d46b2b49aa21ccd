"""UTDebug (Algorithm 2): debug with generated unit tests that may be wrong.

In each of m rounds the code is run on its suite, one failing test is shown to the model, and the
model's edit is kept only if it raises the pass rate over the whole suite; else the code, and the
conversation, go back to where they were. A new version of the code gets a new suite, made against
it; after a backtrack the suite stays, and the next failing test is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from refute.function.contract import MethodResult
from refute.function.llm.asking import samples, user
from refute.function.llm.build import build
from refute.function.llm.conclude import conclusion
from refute.function.llm.generate import Generator
from refute.function.llm.options import Options
from refute.function.llm.programs import grafted, read_program
from refute.function.llm.record import Edit, Suite, Unreadable
from refute.function.llm.trials import Trial, certain_tests, try_code
from refute.function.show import call_source, describe, expected_source
from refute.methods import Context
from refute.models.contract import Asker, Completion, Message
from refute.problems import FunctionProblem, UnitTest
from refute.prompts import render

__all__ = ["Dialogue", "debug"]


@dataclass(slots=True)
class Dialogue:
    """The conversation about the code: the task, the code as it is, and the feedback so far."""

    messages: list[Message]
    asked: dict[tuple[Message, ...], int] = field(default_factory=dict)
    """How many samples of a request were drawn: after a backtrack the same one gives another."""

    @classmethod
    def about(cls, problem: FunctionProblem) -> Dialogue:
        """One in which the model seems to have written the code under test."""
        task = render(
            "write_code",
            signature=problem.signature,
            description=problem.description.strip(),
        )
        code = render("code_answer", code=problem.code.strip("\n"))
        return cls([user(task), Message("assistant", code)])

    async def answer(
        self, feedback: str, *, ask: Asker, options: Options, seed: int
    ) -> Completion | None:
        """The model's answer to feedback; None where the conversation has become too long."""
        request = (*self.messages, user(feedback))
        first = self.asked.get(request, 0)
        self.asked[request] = first + 1
        sampling = options.sampling(seed)
        [answer] = await samples(ask, request, first=first, n=1, sampling=sampling)
        return answer

    def accept(self, feedback: str, answer: Completion) -> None:
        """Go on from this answer."""
        self.messages += [user(feedback), Message("assistant", answer.text)]


async def debug(
    problem: FunctionProblem,
    *,
    ctx: Context,
    options: Options,
    generator: Generator,
) -> MethodResult:
    """Generate unit tests for the problem's code and mend it with them.

    With `options.m` = 0 it generates tests and stops. Raises what `Asker.ask` raises (but
    `ContextTooLong`), and `SandboxUnavailable`.
    """
    name, box = problem.entry_point, ctx.sandbox
    dialogue = Dialogue.about(problem)
    certain = await try_code(problem.code, name, certain_tests(problem), box)
    first_certain = certain
    codes, edits = [problem.code], list[Edit]()
    suites = [await _suite(problem, problem.code, generator, ctx, options)]
    trial = first = await try_code(problem.code, name, suites[0].tests, box)
    turn = 0  # which of the failing tests is shown
    for number in range(1, options.m + 1):
        failing = trial.failing
        if not failing:
            break
        shown = failing[turn % len(failing)]
        feedback = render(
            "test_feedback",
            call=call_source(shown.test.call, name),
            actual=describe(shown.actual, shown.test.call),
            expected=expected_source(shown.test),
        )
        answer = await dialogue.answer(feedback, ask=ctx.model, options=options, seed=ctx.seed)
        code, kind = edited(codes[-1], answer, name)
        after, kept = trial, certain
        if code is not None:
            after = await try_code(code, name, trial.tests, box)
            kept = await try_code(code, name, certain.tests, box)
        accepted, reason = judge(
            trial, after, certain, kept, kind=kind, changed=code != codes[-1], options=options
        )
        edits.append(
            Edit(
                number,
                "" if answer is None else answer.text,
                code,
                accepted,
                reason,
                shown.test,
                before=trial.passed,
                after=after.passed if code is not None else 0,
                total=len(trial.tests),
                unreadable=kind,
            )
        )
        if accepted and code is not None and answer is not None:
            codes.append(code)
            dialogue.accept(feedback, answer)
            certain, turn = kept, 0
            trial = after
            if number < options.m:
                suites.append(await _suite(problem, code, generator, ctx, options))
                trial = await try_code(code, name, suites[-1].tests, box)
        else:
            codes.append(codes[-1])
            turn += 1
    codes += [codes[-1]] * (options.m + 1 - len(codes))
    return conclusion(problem, options, codes, suites, edits, first, first_certain)


async def _suite(
    problem: FunctionProblem, code: str, generator: Generator, ctx: Context, options: Options
) -> Suite:
    return await build(
        problem,
        code,
        generator=generator,
        ask=ctx.writer,
        box=ctx.sandbox,
        options=options,
        seed=ctx.seed,
    )


def edited(
    code: str, answer: Completion | None, entry_point: str
) -> tuple[str | None, Unreadable | None]:
    """The module with the answer's program in it, or why there is none."""
    if answer is None:
        return None, Unreadable.CONTEXT
    if not answer.text.strip():
        return None, Unreadable.EMPTY
    program = read_program(answer.text, entry_point)
    module = None if program is None else grafted(code, program, entry_point)
    return module, Unreadable.NO_CODE if module is None else None


def judge(
    before: Trial,
    after: Trial,
    certain: Trial,
    kept: Trial,
    *,
    kind: Unreadable | None,
    changed: bool,
    options: Options,
) -> tuple[bool, str]:
    """Whether an edit is accepted, and why, in one line.

    `before` and `after` are trials on the generated suite, `certain` and `kept` on the certain
    tests, by the code without and with the edit.
    """
    if kind is not None:
        return False, f"discarded: {kind.told}"
    if not changed:
        return False, "discarded: it changes nothing"
    broken: list[UnitTest] = kept.breaks(certain) if options.guard else []
    if broken:
        return False, f"discarded: it fails a certain test ({broken[0].source or 'given'})"
    rates = f"passes {after.passed} of {len(after.tests)} tests, {before.passed} before"
    if not options.backtrack or after.passed > before.passed:
        return True, f"accepted: {rates}"
    return False, f"discarded: {rates}"

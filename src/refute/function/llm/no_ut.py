"""The baseline without unit tests: the model judges the code itself and gives its own feedback."""

from __future__ import annotations

import re

from refute.function.contract import MethodResult
from refute.function.llm.answers import final_text
from refute.function.llm.asking import samples, user
from refute.function.llm.conclude import conclusion
from refute.function.llm.debug import Dialogue, edited
from refute.function.llm.options import Options
from refute.function.llm.record import Edit, Unreadable
from refute.function.llm.trials import Trial, certain_tests, try_code
from refute.methods import Context
from refute.problems import FunctionProblem
from refute.prompts import render

__all__ = ["debug_without_tests", "finds_fault"]

_RIGHT = re.compile(r"\bcode (?:above )?is correct\b", re.I)
_WRONG = re.compile(r"\bcode (?:above )?is (?:wrong|incorrect|not correct)\b", re.I)


async def debug_without_tests(
    problem: FunctionProblem,
    *,
    ctx: Context,
    options: Options,
) -> MethodResult:
    """Up to m rounds of feedback and edit; it ends when the model holds the code for right.

    There is no suite, so no pass rate either: every readable edit is accepted, but for one that
    `options.guard` rejects. Raises what `debug.debug` raises.
    """
    name, box = problem.entry_point, ctx.sandbox
    dialogue = Dialogue.about(problem)
    certain = first = await try_code(problem.code, name, certain_tests(problem), box)
    codes, edits = [problem.code], list[Edit]()
    opinions: dict[str, int] = {}
    undecided: list[Unreadable] = []
    for number in range(1, options.m + 1):
        code = codes[-1]
        question = render(
            "self_feedback",
            description=problem.description.strip(),
            code=code.strip("\n"),
        )
        index = opinions.get(code, 0)  # the same code once more: another sample
        opinions[code] = index + 1
        [opinion] = await samples(
            ctx.model, [user(question)], first=index, n=1, sampling=options.sampling(ctx.seed)
        )
        feedback = "" if opinion is None else final_text(opinion.text)
        feedback = feedback.rpartition("Feedback:")[2].strip()
        wrong = finds_fault(feedback)
        if wrong is None:
            undecided.append(Unreadable.CONTEXT if opinion is None else Unreadable.NO_VERDICT)
        if not wrong:
            break
        answer = await dialogue.answer(feedback, ask=ctx.model, options=options, seed=ctx.seed)
        new, kind = edited(code, answer, name)
        kept = certain if new is None else await try_code(new, name, certain.tests, box)
        broken = kept.breaks(certain) if options.guard else []
        accepted = new is not None and new != code and not broken
        reason = "accepted: there is no test to check it"
        if not accepted:
            reason = f"discarded: {_why(kind, bool(broken))}"
        text = "" if answer is None else answer.text
        edits.append(Edit(number, text, new, accepted, reason, feedback=feedback, unreadable=kind))
        codes.append(new if accepted and new is not None else code)
        if accepted and answer is not None:
            certain = kept
            dialogue.accept(feedback, answer)
    none = Trial((), (), ())
    codes += [codes[-1]] * (options.m + 1 - len(codes))
    return conclusion(problem, options, codes, (), edits, none, first, besides=undecided)


def _why(kind: Unreadable | None, broken: bool) -> str:
    if kind is not None:
        return kind.told
    return "it fails a certain test" if broken else "it changes nothing"


def finds_fault(feedback: str) -> bool | None:
    """Whether feedback says that the code is wrong; None where it does not decide.

    The last such statement counts.
    """
    right = max((match.start() for match in _RIGHT.finditer(feedback)), default=-1)
    wrong = max((match.start() for match in _WRONG.finditer(feedback)), default=-1)
    return None if right == wrong else wrong > right

"""The baseline without unit tests: the model judges the code itself (UTGen, section 5.2)."""

from __future__ import annotations

import re

from refute.core.combinators import refine
from refute.core.methods import Context, method
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult
from refute.function.llm.answers import final_text
from refute.function.llm.generation import Sampler, conversation, user
from refute.function.llm.options import EditOptions
from refute.function.llm.results import SuiteRun, Unreadable, certain_tests, conclusion, try_code
from refute.prompts import render
from refute_lab.baselines.utdebug import Revision, Rounds, revise

_RIGHT = re.compile(r"\bcode (?:above )?is correct\b", re.I)
_WRONG = re.compile(r"\bcode (?:above )?is (?:wrong|incorrect|not correct)\b", re.I)


@method(
    "no-ut",
    summary="the model's own feedback, without tests",
    asks_model=True,
    writes_tests=False,
)
async def no_ut(problem: FunctionProblem, *, ctx: Context, options: EditOptions) -> MethodResult:
    """Up to m rounds of feedback and edit; it ends when the model holds the code for right.

    There is no suite, so no pass rate either: every readable edit is accepted, but for one that
    `options.guard` rejects. Raises what `Asker.ask` raises (but `ContextTooLong`), and
    `SandboxUnavailable`.
    """
    name, box = problem.entry_point, ctx.sandbox
    sampler = Sampler(ctx.model, options.sampling(ctx.seed))
    rounds = Rounds(options.guard)
    undecided: list[Unreadable] = []

    async def edit(version: Revision, refused: int) -> Revision | None:
        description, code = problem.description.strip(), version.code.strip("\n")
        question = render("self_feedback", description=description, code=code)
        [opinion] = await sampler.draw([user(question)])
        feedback = "" if opinion is None else final_text(opinion.text)
        feedback = feedback.rpartition("Feedback:")[2].strip()
        wrong = finds_fault(feedback)
        if wrong is None:
            undecided.append(Unreadable.CONTEXT if opinion is None else Unreadable.NO_VERDICT)
        if not wrong:
            return None
        return await revise(version, feedback, sampler=sampler, problem=problem, box=box)

    certain = await try_code(problem.code, name, certain_tests(problem), box)
    start = Revision(problem.code, conversation(problem, problem.code), certain)
    versions = await refine(start, edit, rounds=options.m, accept=rounds.accept)
    codes, nothing = [version.code for version in versions], SuiteRun((), (), ())
    return conclusion(
        problem, options, codes, (), rounds.edits, nothing, certain, besides=undecided
    )


def finds_fault(feedback: str) -> bool | None:
    """Return whether feedback says that the code is wrong; None if it does not decide.

    The last such statement counts.
    """
    right = max((match.start() for match in _RIGHT.finditer(feedback)), default=-1)
    wrong = max((match.start() for match in _WRONG.finditer(feedback)), default=-1)
    return None if right == wrong else wrong > right

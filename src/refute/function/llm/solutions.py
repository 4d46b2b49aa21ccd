"""Independent solutions: programs written from the description, the code under test unseen."""

from __future__ import annotations

from dataclasses import dataclass

from refute.core.problems import FunctionProblem
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.generation import Sampler, user
from refute.function.llm.results import Unreadable
from refute.prompts import render


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer that was to hold a whole program."""

    answer: str
    code: str | None
    """The module with the program in it."""
    unreadable: Unreadable | None = None
    """Why there is none."""


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

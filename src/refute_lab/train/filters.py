"""Which raw tasks become solutions (UTGen, appendix B): the checks, each with the reason it gives.

`admitted` looks at the text alone; `works` runs the code in the sandbox. What passes is a function
with a description, whose output follows from its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refute.core.problems import Expression, FunctionProblem, Trust
from refute.function.examples import read_examples
from refute.function.llm.answers import code_spans, final_text
from refute.function.llm.generation import test_request
from refute.sandbox import Limits, NotRun, Program, Raised, Returned
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import AsyncSandbox
from refute.source.syntax import parse_module
from refute_lab.train.extract import extracted
from refute_lab.train.sources import Raw

MAX_PROMPT = 2048
"""Tokens of a prompt (appendix B: "up to 2K")."""
_PYTHON = re.compile("python", re.I)
_DEF = re.compile("def ")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff\ufffd]")
_LIMITS = Limits(cpu=5.0, memory=1 << 30)
_NOTHING = Expression("0")
"""Evaluated in the loaded program: an answer means that it loads."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A task and its reference code."""

    id: str
    description: str
    signature: str
    entry_point: str
    code: str
    """A module that defines the function and what it needs, and nothing else."""
    whole: str
    """The program as its source has it, example calls and all."""
    licence: str = ""
    origin: str = ""

    def problem(self, code: str | None = None) -> FunctionProblem:
        """The problem that `code` poses, a version of the module; None: the reference itself."""
        return FunctionProblem(
            self.id,
            self.description,
            self.signature,
            self.entry_point,
            self.code if code is None else code,
        )

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Solution:
        """From a line of `stage0.jsonl`."""
        return cls(**{name: record[name] for name in cls.__slots__})


def prompt_tokens(problem: FunctionProblem) -> int:
    """Roughly the tokens of the `utgen` prompt: four characters each, as budgets count."""
    [message] = test_request(problem, problem.code, "prompted")
    return len(message.content) // 4


def admitted(raw: Raw, *, max_prompt: int = MAX_PROMPT) -> Solution | str:
    """The solution of a raw task, or why it has none. Executes nothing."""
    if not raw.answer.strip():
        return "no solution"
    texts = (raw.description, raw.answer)
    if any(_NOT_TEXT.search(text) for text in texts):
        return "not valid unicode"
    if raw.chat and not any(map(_PYTHON.search, texts)):
        return "not about Python"
    if not any(map(_DEF.search, texts)):
        return "defines no function"
    if not raw.description.strip():
        return "no description"
    code = _program(raw.answer) if raw.chat else raw.answer
    if code is None:
        return "no program in the answer"
    found = extracted(code, raw.entry_point, raw.description)
    if isinstance(found, str):
        return found
    solution = Solution(
        raw.id,
        raw.description.strip(),
        found.signature,
        found.entry_point,
        found.code,
        code if raw.chat else found.code,
        raw.licence,
        raw.origin,
    )
    if prompt_tokens(solution.problem()) > max_prompt:
        return "prompt too long"
    return solution


def _program(answer: str) -> str | None:
    """The last code block of an answer that parses and defines a function."""
    for block in reversed(code_spans(final_text(answer))):
        if "def " not in block:
            continue
        try:
            parse_module(block)
        except SyntaxError:
            continue
        return block.rstrip() + "\n"
    return None


async def loads(code: str, entry_point: str, box: AsyncSandbox) -> bool:
    """Whether a module can be loaded. Raises `SandboxUnavailable`."""
    [outcome] = await box.run(Program(code, entry_point), [_NOTHING], _LIMITS)
    return isinstance(outcome, Returned)


async def works(solution: Solution, box: AsyncSandbox) -> str | None:
    """None where the code runs and does what its description states, else the reason.

    Raises `SandboxUnavailable`.
    """
    for code in dict.fromkeys((solution.whole, solution.code)):
        [outcome] = await box.run(Program(code, solution.entry_point), [_NOTHING], _LIMITS)
        if isinstance(outcome, Raised):
            return f"does not run: {outcome.type}"
        if not isinstance(outcome, Returned):
            return "does not run: it is cut short"
    tests = [
        test
        for test in read_examples(solution.description, solution.entry_point, code=solution.code)
        if test.trust is Trust.STATED
    ]
    program = Program(solution.code, solution.entry_point)
    outcomes = await box.run(program, [test.call for test in tests], _LIMITS) if tests else []
    for test, outcome in zip(tests, outcomes, strict=True):
        if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(test, atol=1e-6)):
            return "fails an example of its description"
    return None

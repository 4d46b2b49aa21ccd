"""The generators of unit tests: what they ask for, and how an answer becomes a test.

- *random*: from the description alone;
- *prompted*: from the description and the code under test, which the model is asked to break;
- *utgen*: the same prompt, put to a model that was trained for it (`refute.train`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from refute.function.definitions import find_function, parse_module
from refute.function.examples.subject import Subject, subject
from refute.function.llm.answers import final_text, read_test
from refute.function.llm.asking import user
from refute.function.llm.record import Output, Unreadable
from refute.function.llm.settle import settle_call, settle_output
from refute.function.show import call_source
from refute.models.contract import Completion, Message
from refute.problems import FunctionProblem, Invocation
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox

__all__ = ["Generator", "Proposal", "output_question", "read_proposal", "shape_of", "test_request"]

Generator = Literal["random", "prompted"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known about how the function is called."""

    subject: Subject
    keyword_only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """One answer of a generator, read: its call, and the output that it states."""

    answer: str
    call: Invocation | Unreadable
    stated: Output | Unreadable
    before_output: str = ""
    """The answer up to and with its call."""


def test_request(problem: FunctionProblem, code: str, generator: Generator) -> list[Message]:
    """The request for one unit test of `code`, a version of the module under test."""
    if generator == "random":
        text = render(
            "random_test",
            signature=problem.signature,
            description=problem.description.strip(),
            entry_point=problem.entry_point,
        )
    else:
        text = render(
            "failing_test",
            signature=problem.signature,
            description=problem.description.strip(),
            entry_point=problem.entry_point,
            code=code.strip("\n"),
        )
    return [user(text)]


def output_question(
    request: Sequence[Message], proposal: Proposal, entry_point: str
) -> list[Message]:
    """The question for the output of a proposed input, put after the answer up to its call."""
    assert not isinstance(proposal.call, Unreadable)
    call = call_source(proposal.call, entry_point)
    return [
        *request,
        Message("assistant", proposal.before_output),
        user(render("expected_output", call=call)),
    ]


def shape_of(problem: FunctionProblem) -> Shape:
    """How the function is called, from the code under test."""
    about = subject(problem.description, problem.entry_point, problem.code)
    tree = parse_module(problem.code)
    function = find_function(tree, problem.entry_point) if tree is not None else None
    named = function.args.kwonlyargs if function is not None else []
    return Shape(about, tuple(arg.arg for arg in named))


async def read_proposal(
    answer: Completion | None, problem: FunctionProblem, shape: Shape, box: AsyncSandbox
) -> Proposal:
    """The unit test of an answer (None: the request did not fit). Raises `SandboxUnavailable`."""
    if answer is None:
        return Proposal("", Unreadable.CONTEXT, Unreadable.CONTEXT)
    if not final_text(answer.text).strip():
        return Proposal(answer.text, Unreadable.EMPTY, Unreadable.EMPTY)
    said = read_test(answer.text, problem.entry_point)
    call = await settle_call(said.call, shape.subject, box, keyword_only=shape.keyword_only)
    stated: Output | Unreadable = Unreadable.NO_OUTPUT
    if not isinstance(call, Unreadable):
        stated = await settle_output(said.output, box)
    return Proposal(answer.text, call, stated, said.before_output)

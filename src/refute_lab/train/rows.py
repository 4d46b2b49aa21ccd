"""Rows of training data: the `utgen` prompt as it is at inference, and an answer in its form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refute.core.problems import Call
from refute.function.formatting import call_source
from refute.function.given_tests import parse_invocation
from refute.function.llm.answers import read_test
from refute.function.llm.generation import ProposedTest, output_question, shape_of, test_request
from refute.function.llm.results import Output, Unreadable
from refute.function.llm.value_resolution import resolve_call, resolve_output
from refute.models.contract import Message
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import NotLiteral, source_of
from refute_lab.train.attempts import AttackingInput
from refute_lab.train.corrupt import Fault
from refute_lab.train.filters import Solution
from refute_lab.train.rationales import Hypothesis

_FORM = re.compile(
    r"##\s*Hypothesis\s*\n(?P<reason>.*?)\n\s*[*_]*Error Pattern[*_]*:[*_]*\s*(?P<pattern>.*?)\s*"
    r"\n##\s*Unit Test\s*\n+###\s*Input Arguments\s*\n(?P<input>.*?)\n?\s*[*_]*Arguments[*_]*:",
    re.S | re.I,
)
_OUTPUT_HEADING = "### Output\n"


@dataclass(frozen=True, slots=True)
class TrainingAnswer:
    """The parts of an answer; an empty one is left out."""

    hypothesis: Hypothesis | None
    about_input: str
    about_output: str


def prompt(solution: Solution, fault: Fault) -> str:
    """What the method `utgen` asks about this fault, to the byte."""
    [message] = test_request(solution.problem(fault.code), fault.code, "prompted")
    return message.content


def completion(attempt: AttackingInput, answer: TrainingAnswer) -> str:
    """An answer in the form that the prompt asks for."""
    parts = []
    if answer.hypothesis is not None:
        parts.append(
            f"## Hypothesis\n{answer.hypothesis.reason}\n\n"
            f"Error Pattern: {answer.hypothesis.pattern}\n"
        )
    about_input = f"{answer.about_input}\n" if answer.about_input else ""
    about_output = f"{answer.about_output}\n" if answer.about_output else ""
    parts.append(
        f"## Unit Test\n\n### Input Arguments\n{about_input}Arguments: ```{attempt.call}```\n"
    )
    parts.append(f"{_OUTPUT_HEADING}{about_output}Output: ```{attempt.output}```")
    return "\n".join(parts)


def said_before(answer: str) -> tuple[Hypothesis, str] | None:
    """Hypothesis and thoughts on the input of a model's answer; None where its form is another."""
    found = _FORM.search(answer)
    if found is None or not found["reason"].strip() or not found["pattern"].strip():
        return None
    hypothesis = Hypothesis(found["reason"].strip(), found["pattern"].strip())
    return hypothesis, found["input"].strip()


def vote_turn(
    text: str, solution: Solution, fault: Fault, attempt: AttackingInput
) -> tuple[list[Message], str]:
    """The vote's question on the input of an answer (a `completion`), to the byte as it is asked at
    inference, and what answers it: what that answer goes on with."""
    request = test_request(solution.problem(fault.code), fault.code, "prompted")
    said = read_test(text, solution.entry_point).before_output
    call = parse_invocation(attempt.call, solution.entry_point)
    assert call is not None  # it reads back
    proposal = ProposedTest(text, call, Unreadable.NO_OUTPUT, said)
    rest = text[len(said) :].lstrip().removeprefix(_OUTPUT_HEADING)
    return output_question(request, proposal, solution.entry_point), rest


async def reads_back(
    text: str, solution: Solution, fault: Fault, attempt: AttackingInput, box: AsyncSandbox
) -> bool:
    """Whether an answer says, to the reader that is used at inference, what it has to say."""
    said = read_test(text, solution.entry_point)
    shape = shape_of(solution.problem(fault.code))
    call = await resolve_call(said.call, shape.subject, box, keyword_only=shape.keyword_only)
    output = await resolve_output(said.output, box)
    if not isinstance(call, Call) or not isinstance(output, Output) or output.raises is not None:
        return False
    try:
        value = source_of(output.value)
    except NotLiteral:
        return False
    return call_source(call, solution.entry_point) == attempt.call and value == attempt.output

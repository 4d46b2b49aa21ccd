"""Rows of training data: the `utgen` prompt as it is at inference, and an answer in its form."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass, field

from refute.core.problems import Call
from refute.function.formatting import call_source
from refute.function.given_tests import parse_invocation
from refute.function.llm.answers import final_text, read_output, read_test
from refute.function.llm.generation import (
    ProposedTest,
    output_question,
    samples,
    shape_of,
    test_request,
    user,
)
from refute.function.llm.results import Output, Unreadable
from refute.function.llm.value_resolution import resolve_call, resolve_output
from refute.models.contract import Asker, Completion, Message, Sampling
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import NotLiteral, source_of
from refute_lab.train.attempts import AttackingInput
from refute_lab.train.corrupt import Fault
from refute_lab.train.filters import Solution

# -- rationales ------------------------------------------------------------------------------------


TRIES = 2
"""Rationales that are asked for, where the first one falls out."""
_OUTPUT = re.compile(r"\n[*_# ]*(?:final\s+)?output\b[*_ ]*:", re.I)
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import |return\b|for .+:\s*$|while .+:\s*$)", re.M
)
_GIVEN = re.compile(
    r"\b(?:given|provided|stated|expected|known)\s+(?:output|value|result|answer)\b"
    r"|\b(?:matches|match|agrees with|consistent with) the (?:output|value|result|answer)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The error of a fault, and the inputs that show it."""

    reason: str
    pattern: str


@dataclass(slots=True)
class Rationale:
    """The reasoning, None where no try was good enough, and why tries fell out."""

    text: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)


async def rationale(
    solution: Solution,
    attempt: AttackingInput,
    *,
    ask: Asker,
    box: AsyncSandbox,
    sampling: Sampling,
) -> Rationale:
    """Ask why the reference's output follows from the task, for one input.

    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    request = user(
        render(
            "train_rationale",
            signature=solution.signature,
            description=solution.description,
            call=attempt.call,
            output=attempt.output,
        )
    )
    made = Rationale()
    for number in range(TRIES):
        [answer] = await samples(ask, [request], first=number, n=1, sampling=sampling)
        if answer is None:
            made.dropped["too long for the model"] += 1
            break
        reason = await _fault_of(answer, solution, attempt, box)
        if reason is None:
            made.text = _reasoning(answer.text)
            break
        made.dropped[reason] += 1
    return made


async def _fault_of(
    answer: Completion, solution: Solution, attempt: AttackingInput, box: AsyncSandbox
) -> str | None:
    """Return the reason not to learn from a rationale; None if it is good."""
    if answer.finish_reason == "length":
        return "cut off"
    text = _reasoning(answer.text)
    if not text:
        return "no reasoning that ends with an output"
    if _CODE.search(text):
        return "codes the task up"
    if _GIVEN.search(text):
        return "speaks of the output as given"
    written = read_output(answer.text, solution.entry_point)
    said = await resolve_output(written, box)
    if not isinstance(said, Output) or said.raises is not None:
        return "its last value cannot be read"
    try:
        same = source_of(said.value) == attempt.output
    except NotLiteral:
        same = False
    return None if same else "contradicts the output"


def _reasoning(answer: str) -> str:
    """The answer up to its last label of an output; "" where it has none or nothing before it."""
    text = final_text(answer)
    labels = list(_OUTPUT.finditer(text))
    return text[: labels[-1].start()].strip() if labels else ""


def hypothesis_of_change(reference: str, fault: str) -> Hypothesis:
    """The first change from reference to fault in words, without a model."""
    old, new = reference.split("\n"), fault.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, stop, new_start, new_stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        right = " ".join(line.strip() for line in old[start:stop] if line.strip())
        wrong = " ".join(line.strip() for line in new[new_start:new_stop] if line.strip())
        if right and wrong:
            reason = f"The code has `{wrong}` where the task needs `{right}`."
            return Hypothesis(reason, f"inputs for which `{wrong}` and `{right}` differ")
        if right:
            return Hypothesis(
                f"The code lacks `{right}`, which the task needs.",
                f"inputs for which `{right}` matters",
            )
        if wrong:
            return Hypothesis(
                f"The code has `{wrong}`, which the task does not ask for.",
                f"inputs for which `{wrong}` matters",
            )
    return Hypothesis("The code differs from the task.", "inputs for which it matters")


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
    """Return the prompt of the method `utgen` about this fault, to the byte."""
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
    inference, and what answers it: the continuation of that answer."""
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
    """Return whether the reader used at inference finds the right content in an answer."""
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

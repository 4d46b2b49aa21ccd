"""Stage III: why the output follows, in the words of a model; and the hypothesis about a fault.

UTGen (§3.2): rationales are written after the fact, with the output known, and *without* coding the
task up. A rationale is kept when the value at its end is the reference's output; the check parses
that value and compares it, type included.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass, field

from refute.function.llm.answers import final_text, read_output
from refute.function.llm.generation import samples, user
from refute.function.llm.results import Output
from refute.function.llm.value_resolution import resolve_output
from refute.models.contract import Asker, Completion, Sampling
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import NotLiteral, source_of
from refute_lab.train.attempts import AttackingInput
from refute_lab.train.filters import Solution

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
    """What is wrong with a fault, and for which inputs."""

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
    """Why the reference's output follows from the task, for one input.

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
    """Why a rationale is not to be learned from; None: it is."""
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

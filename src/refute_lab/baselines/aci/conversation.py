"""A conversation that stays within a model's context: old observations give way.

SWE-agent keeps the last five observations and replaces older ones by a line (section 3.1 and its
appendix); the model's own words stay. What is asked depends on the conversation alone, so that a
run that goes on asks the same questions as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refute.errors import ContextTooLong
from refute.issue.drafting.bounded_asker import Bounded
from refute.models.contract import Completion, Message, Sampling

KEPT = 5
"""Observations that are shown whole."""


def collapsed(messages: Sequence[Message], keep: int = KEPT) -> list[Message]:
    """The messages with all observations but the last `keep` replaced by a line each.

    Observations are what the model was told after its first answer (roles `user` and `tool`).
    """
    first = next((i for i, m in enumerate(messages) if m.role == "assistant"), len(messages))
    observed = [i for i, m in enumerate(messages) if i > first and m.role in ("user", "tool")]
    old = observed[: max(0, len(observed) - keep)]
    found = list(messages)
    for index in old:
        lines = messages[index].content.count("\n") + 1
        if lines > 1:
            found[index] = replace(messages[index], content=f"(Old output left out: {lines} lines)")
    return found


async def ask_within(
    asking: Bounded, messages: Sequence[Message], sampling: Sampling, *, keep: int = KEPT
) -> Completion:
    """One answer; where the conversation is too long, with fewer and fewer observations kept.

    Raises `OutOfBounds`, `ContextTooLong` where even one observation is too much, and what
    `Asker.ask` raises.
    """
    while True:
        try:
            (answer,) = await asking.ask(collapsed(messages, keep), sampling=sampling)
            return answer
        except ContextTooLong:
            if keep <= 1:
                raise
            keep //= 2

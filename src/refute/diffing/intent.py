"""Whether a change means what it does, asked of a model: stated, contradicted or not mentioned.

The model sees what the change says of itself (its commit messages, an issue, what the user says of
it) and what executions showed; it decides nothing but the word beside a difference.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from refute.diffing.differences import Intent, observed_source
from refute.diffing.service import Compared
from refute.models.contract import Asker, Message, Sampling
from refute.prompts import render

__all__ = ["read_intent", "with_intents"]

_SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=400)
_MOST_ABOUT = 12_000
_MOST_RESULT = 500
_WORDS: dict[str, Intent] = {
    "STATED": "stated",
    "CONTRADICTED": "contradicted",
    "SILENT": "not mentioned",
}
_WORD = re.compile(r"\b(STATED|CONTRADICTED|SILENT)\b")


async def with_intents(
    functions: Sequence[Compared], about: str, asker: Callable[[str], Asker]
) -> list[Compared]:
    """The functions, those that differ with what the model says. Raises what asking does."""

    async def one(compared: Compared) -> Compared:
        if not compared.comparison.differences:
            return compared
        ask = asker(f"{compared.function.after.file}::{compared.function.qualname}")
        prompt = render(
            "change_intent",
            about=about[:_MOST_ABOUT],
            function=compared.function.qualname,
            file=compared.function.after.file,
            differences=[
                {
                    "input": difference.scenario.source,
                    "before": observed_source(difference.before, difference.kind)[:_MOST_RESULT],
                    "after": observed_source(difference.after, difference.kind)[:_MOST_RESULT],
                }
                for difference in compared.comparison.differences
            ],
        )
        (answer,) = await ask.ask([Message("user", prompt)], sampling=_SAMPLING)
        return replace(compared, intent=read_intent(answer.text))

    return list(await asyncio.gather(*map(one, functions)))


def read_intent(answer: str) -> Intent:
    """The last of the words that an answer holds; without any, nothing is said."""
    words = _WORD.findall(answer)
    return _WORDS[words[-1]] if words else "not mentioned"

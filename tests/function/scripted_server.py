"""A loopback server that answers the function-level prompts as a middling model would.

Every task is "sum of the numbers up to n". What it says depends on the question and the number of
the sample alone, so that two runs which ask the same are told the same.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from ..models.loopback import Loopback, Reply, chat, error

HOSTILE = "<script>alert(1)</script>"
PROGRAMS = ("sum(range(n + 1))", "sum(range(n))", "n * (n + 1) // 2", "n")
DOC = '    """Sum of the numbers up to n."""\n'


def row(identity: str, body: str, doc: str = DOC) -> str:
    """A row of a dataset: a function that should give the sum of the numbers up to n."""
    return json.dumps(
        {
            "id": identity,
            "entry_point": "f",
            "code": f"def f(n):\n{doc}    return {body}\n",
            "reference": f"def f(n):\n{doc}    return sum(range(n + 1))\n",
            "inputs": [[0], [1], [2], [3], [10]],
        }
    )


def rows(count: int) -> str:
    """A dataset of so many problems, one in four of them right from the start."""
    bodies = ("sum(range(n))", "n * (n + 1) // 2", "sum(range(n - 1))", "n")
    return "".join(row(f"p/{at}", f"{bodies[at % 4]} + 0 * {at}") + "\n" for at in range(count))


def answer(messages: Sequence[dict[str, Any]], number: int) -> str:
    """Sample `number` of what the model says."""
    said = "\n".join(message["content"] for message in messages)
    rng = Random(repr((said, number)))
    last = messages[-1]["content"]
    if "one unit test" in last:
        if rng.random() < 0.1:
            return "I would rather not."
        x = rng.randrange(12)
        stated = f"Output: ```{x * (x + 1) // 2}```" if rng.random() < 0.9 else "I cannot tell."
        return f"{HOSTILE}\n### Input Arguments\nArguments: ```f({x})```\n### Output\n{stated}"
    if "Now the output" in last:
        call = re.search(r"f\((\d+)\)", last)
        x = int(call[1])
        return f"It is so.\nOutput: ```{x * (x + 1) // 2 + (rng.random() < 0.25)}```"
    return f"{HOSTILE}\n```python\ndef f(n):\n    return {rng.choice(PROGRAMS)}\n```"


class ScriptedServer(Loopback):
    """The server. It can be told to fall silent: what is asked from then on is never answered."""

    def __init__(self) -> None:
        super().__init__(self._behave)
        self.refusal: Reply | None = None
        self.silent_after: int | None = None
        """Requests that are answered before it falls silent; None: it always answers."""
        self.answered: Counter[tuple[str, int]] = Counter()
        """How often each sample (question, number) was answered."""
        self.silent = threading.Event()

    def _behave(self, body: dict[str, Any], before: int) -> Reply:
        if self.refusal is not None:
            return self.refusal
        if self.silent_after is not None and self.silent_after <= 0:
            self.silent.set()
            return Reply(delay=3600)
        if self.silent_after is not None:
            self.silent_after -= 1
        first, n = body.get("seed") or 0, body.get("n", 1)
        question = json.dumps(body["messages"])
        self.answered.update((question, first + at) for at in range(n))
        return chat([answer(body["messages"], first + at) for at in range(n)])

    def refuse(self, status: int, message: str) -> None:
        """Answer every request with this error from now on."""
        self.refusal = error(status, message)

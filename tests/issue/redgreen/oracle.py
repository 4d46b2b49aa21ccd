"""A scripted model for redgreen: it answers by the kind of question, and notes what was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from refute.models.contract import Message

__all__ = ["FIX", "RIGHT", "Answers", "block", "kind_of", "refusing"]

Said = str | Sequence[str] | Callable[[str, int], str]
"""One answer, an answer by the number of the sample (the last one goes on), or a function."""

_KINDS = (
    ("locate", "which of its code and tests you want to see"),
    ("fix_repair", "it did not work out"),
    ("fix", "You maintain this project. Resolve the issue"),
    ("judge", "Judge each test that fails now"),
    ("repair", "but they do not:"),
    ("dispute", "do not agree:"),
    ("direct", "Write the tests that show the issue"),
)


def kind_of(prompt: str) -> str:
    """Which of redgreen's questions a prompt is."""
    return next(kind for kind, mark in _KINDS if mark in prompt)


def block(
    code: str, file: str = "tests/test_line.py", verb: str = "insert", at: str = "EOF"
) -> str:
    """An answer that holds one edit."""
    return f"```custom-diff\ndiff\n{file}\n{verb}\n{at}\n{code}\nend diff\n```\n"


RIGHT = block("def test_above():\n    assert clamp(10, 0, 9) == 9")
FIX = block(
    "def clamp(value, low, high):\n    if value < low:\n        return low\n"
    "    if value > high:\n        return high\n    return value",
    "shapes/line.py",
    "rewrite",
    "4",
)
USUAL: Mapping[str, Said] = {
    "locate": "CODE: shapes/line.py: clamp\nTEST: tests/test_line.py: test_below",
    "direct": RIGHT,
    "fix": FIX,
    "fix_repair": FIX,
    "judge": "It shows it.\nVERDICT: yes",
    "repair": RIGHT,
    "dispute": RIGHT,
}


class Answers:
    """The script of a `ScriptedModel`."""

    def __init__(self, **said: Said) -> None:
        self.said = {**USUAL, **said}
        self.kinds: list[str] = []
        """Kind of each sample that was asked for, in the order of asking."""
        self.prompts: list[str] = []

    def __call__(self, messages: Sequence[Message], index: int) -> str:
        prompt = messages[-1].content
        kind = kind_of(prompt)
        self.kinds.append(kind)
        self.prompts.append(prompt)
        said = self.said[kind]
        if isinstance(said, str):
            return said
        if callable(said):
            return said(prompt, index)
        return said[min(index, len(said) - 1)]

    def of(self, kind: str) -> list[str]:
        """The prompts of one kind."""
        return [p for k, p in zip(self.kinds, self.prompts, strict=True) if k == kind]


def shown_tests(prompt: str) -> list[str]:
    """The test patches that a question is about, in their order."""
    return re.findall(r"<test>\n(.*?)\n</test>", prompt, re.DOTALL)


def shown_test(prompt: str) -> str:
    """The first of them."""
    return next(iter(shown_tests(prompt)), "")


def refusing(mark: str, prompt: str) -> str:
    """A judge's answer that accepts every version but those that hold `mark`."""
    said = ("no" if mark in patch else "yes" for patch in shown_tests(prompt))
    return "\n".join(f"VERDICT {number}: {word}" for number, word in enumerate(said, 1))

"""Calls that an issue tells of in words: a function, and the kind of value that it fails on.

"`Price.parse()` raises TypeError on dict values" names all that a call needs. Several ways to write
the call are tried; which of them fails as the issue says is for the run to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from refute.issue.snippet.issue_reader import Piece, SessionStep

__all__ = ["spoken_calls"]

_NAMED = re.compile(r"(?<![\w.(])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(\)")
_OWN = re.compile(r"^test|__")
"""The reporter's own, and what nobody calls by its name."""
_FAILS = re.compile(
    r"\b(?:crash\w*|rais\w*|throw\w*|fail\w*|produc\w*|error\w*|\w+(?:Error|Exception))\b"
)
_LITERAL = re.compile(
    r"\b(?:on|with|for|when|given|of|to|is|like)\s+`{0,2}(\"[^\"\n]{0,40}\"|'[^'\n]{0,40}'|-?\d+(?:\.\d+)?|None|\[\]|\{\})(?!\w)"
)
_KINDS = (
    (r"empty str\w*", "''"),
    (r"non-str\w*", "1"),
    (r"empty list\w*|lists?", "[]"),
    (r"dict\w*|mappings?", "{}"),
    (r"tuples?", "()"),
    (r"sets?", "set()"),
    (r"None", "None"),
    (r"bytes\w*", "b'a'"),
    (r"memoryviews?", "memoryview(b'a')"),
    (r"floats?", "1.5"),
    (r"bool\w*", "True"),
    (r"int\w*", "1"),
    (r"strings?", "'a'"),
)
_MOST = 4
_FAR = 600
"""Characters of the first words of an issue."""


def spoken_calls(pieces: Sequence[Piece]) -> list[Piece]:
    """A session for each way to write a call that the first words of an issue tell of."""
    first = next((piece.text for piece in pieces if piece.kind == "prose"), "")
    sources = dict.fromkeys(source for part in _sentences(first) for source in _calls(part))
    return [Piece("session", s, steps=(SessionStep(s),)) for s in list(sources)[:_MOST]]


def _sentences(text: str) -> list[str]:
    """The title and the first sentences of a text that begins with it."""
    title, _, body = text.strip().partition("\n")
    return [title, *re.split(r"(?<=[.!?])\s|\n\n", body[:_FAR])]


def _calls(sentence: str) -> Iterator[str]:
    names = [n for n in dict.fromkeys(_NAMED.findall(sentence)) if not _OWN.search(n)]
    if not names or not _FAILS.search(sentence):
        return
    behind = sentence[sentence.rindex("()") + 2 :]
    values = dict.fromkeys(match[1] for match in _LITERAL.finditer(behind))
    if not values:
        values = dict.fromkeys(
            value for kind, value in _KINDS if re.search(rf"(?<![\w-])(?:{kind})\b", behind)
        )
    for name in names:
        for value in values:
            for function in _ways(name):
                yield f"{function}({value})"


def _ways(name: str) -> list[str]:
    """How a function may be reached: as it stands, or of an object of its class."""
    owner, _, method = name.rpartition(".")
    if not owner.rpartition(".")[2][:1].isupper():
        return [name]
    if owner.endswith("Field") and "." not in owner:  # Django has each for models and for forms
        return [f"models.{owner}().{method}", f"forms.{owner}().{method}"]
    return [f"{owner}().{method}", name]

"""Round trips: `decode(encode(x)) == x` where the description says that one undoes the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.function.examples.subject import Reading, Subject
from refute.problems import Expression

__all__ = ["round_trips"]

_UNDOES = re.compile(
    r"(?:encoded|encrypted|compressed|serialized|serialised|shifted|packed|escaped|encode)\s+"
    r"(?:with|by|using|via)\s+(?:the\s+)?(?:function\s+)?'?(?P<one>\w+)"
    r"|(?:inverse|opposite|reverse)\s+(?:operation\s+)?(?:of|to)\s+(?:the\s+)?(?:function\s+)?"
    r"'?(?P<two>\w+)"
    r"|(?:undoes|reverts|reverses|inverts)\s+(?:what\s+)?(?:the\s+)?(?:function\s+)?'?(?P<three>\w+)",
    re.I,
)
_INPUTS = ("", "a", "ab", "abc", "hello", "abcdefgh", "zyxwvut", "aabbccdd", "mississippi")
"""Lower-case words only: legal for any codec of text that is worth the name."""


def round_trips(about: Subject) -> Iterator[Reading]:
    """Expression tests over a function of the same module that the description says is undone."""
    if about.method or about.parameters is None or not about.fits(1):
        return
    for match in _UNDOES.finditer(about.plain):
        other = match["one"] or match["two"] or match["three"]
        if other not in about.defined or other == about.name:
            continue
        for value in _INPUTS:
            source = f"{about.name}({other}({value!r}))"
            yield Reading(Expression(source), value, "inverse", match.span())
        return

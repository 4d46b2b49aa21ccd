"""The diff of an answer as the model wrote it: nothing is repaired, `git apply` decides.

ZeroShot of SWT-Bench is this (section 4.1): with it, and with the custom diff beside it, the
paper's comparison of formats can be made.
"""

from __future__ import annotations

import re

__all__ = ["written_diff"]

_BLOCK = re.compile(
    r"^[ \t]*(?:(?P<fence>```+|~~~+)[ \t]*(?:diff|patch)[^\n]*|<(?P<tag>diff|patch)>[ \t]*)\n"
    r"(?P<text>.*?)^[ \t]*(?:(?P=fence)|</(?P=tag)>)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_HEADER = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)


def written_diff(answer: str) -> str:
    """The first block of an answer that is marked as a diff or a patch, else all of it from its
    first header on; "" where it has neither."""
    text = answer.replace("\r\n", "\n")
    if (block := _BLOCK.search(text)) is not None:
        return block["text"]
    header = _HEADER.search(text)
    return "" if header is None else text[header.start() :].rstrip("\n") + "\n"

"""A long issue as prompts show it: its longest logs, tracebacks and listings without their middle.

What makes an issue long is seldom what its author wrote: it is output that was pasted whole, and of
that the beginning and the end tell most. So the longest blocks give way first, all of them down to
one length, and paragraphs stay as they are.
"""

from __future__ import annotations

import re

from refute.issue.context.ranking import estimated_tokens

_LEAST = 600
"""Characters down to which a block is shortened; what is still too long then is no matter of single
blocks."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def shown_issue(text: str, tokens: int) -> str:
    """The issue in at most about `tokens` tokens, by a high estimate; it says what is left out."""
    asked = estimated_tokens(text)
    if asked <= tokens:
        return text
    room = len(text) * tokens // asked
    blocks = _blocks(text)
    cap = max(_cap([len(block) for block in blocks], room), _LEAST)
    cut = "".join(_without_middle(block, cap) for block in blocks)
    return cut if len(cut) <= room + _LEAST else _without_middle(cut, room)


def _blocks(text: str) -> list[str]:
    """The text in pieces: fenced blocks whole, and runs of lines between blank ones."""
    blocks, fence, open_run = [""], "", False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            blocks[-1] += line
            closes = mark is not None and line.strip() == mark[1] and mark[1].startswith(fence)
            fence, open_run = ("", False) if closes else (fence, True)
            continue
        if mark is not None:
            fence = mark[1]
        if fence or not open_run:
            blocks.append("")
        blocks[-1] += line
        open_run = bool(line.strip())
    return blocks


def _cap(sizes: list[int], room: int) -> int:
    """The length at which blocks are cut so that all of them together have `room` characters."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _without_middle(block: str, limit: int) -> str:
    """Whole lines of the beginning and, twice as much, of the end; of a single line, characters."""
    if len(block) <= limit:
        return block
    lines = block.splitlines(keepends=True)
    first, last, head, tail = 0, len(lines), 0, 0
    while True:
        ahead = 2 * head <= tail
        size = len(lines[first] if ahead else lines[last - 1])
        if head + tail + size > limit:
            break
        first, head = (first + 1, head + size) if ahead else (first, head)
        last, tail = (last, tail) if ahead else (last - 1, tail + size)
    if head + tail < limit // 2:  # one line is most of it
        start = limit // 3
        gone = len(block) - limit
        return f"{block[:start]} [... {gone} characters left out ...] {block[start + gone :]}"
    gap = f"[... {last - first} lines left out ...]\n"
    return f"{''.join(lines[:first])}{gap}{''.join(lines[last:])}"

"""What programs print, without what differs from run to run.

It becomes part of the next question, and an answer that is paid for is found again by its question:
were an address in it, a batch would never come to its end, and a server would be paid twice.
"""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,16}\b"), "0x..."
_OF_FAILURES = (
    _ADDRESS,
    (re.compile(r"/tmp/[\w./+-]+|/private/var/[\w./+-]+"), "/tmp/..."),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds?)\b"), "some time"),
    (re.compile(r"\b(?:pid|process) \d+\b"), "pid"),
)
_OF_COMMANDS = (
    (re.compile(r"\bin \d+(?:\.\d+)? ?(s\b|seconds?\b)(?: \(\d+:\d\d:\d\d\))?"), r"in 0.00 \1"),
    _ADDRESS,
    # a bar is as long as the line leaves room for, and the time in it has more digits or fewer
    (re.compile(r"^=+ (.*\bin 0\.00 s.*?) =+$", re.M), r"=== \1 ==="),
    (re.compile(r"(random seed: +)\d+"), r"\g<1>0"),
    (re.compile(r"/tmp/tmp[a-z0-9_]{8}\b"), "/tmp/tmp........"),
    (re.compile(r"/pytest-of-\w+/pytest-\d+\b"), "/pytest-of-root/pytest-0"),
)


def scrubbed(text: str, root: str) -> str:
    """How tests fail, without addresses, folders, times and colours; `root`: of the tree."""
    text = _COLOURS.sub("", text).replace(f"{root}/", "")
    for pattern, plain in _OF_FAILURES:
        text = pattern.sub(plain, text)
    return text


def steady(text: str, root: str) -> str:
    """What a command printed, which may be any file: only what cannot be meant is taken out."""
    text = _COLOURS.sub("", text).replace(f"{root}/", "")
    text = re.sub(rf"{re.escape(root)}(?![\w.-])", ".", text)
    for pattern, replacement in _OF_COMMANDS:
        text = pattern.sub(replacement, text)
    return "".join(c for c in text if c in "\n\t" or ord(c) >= 32)

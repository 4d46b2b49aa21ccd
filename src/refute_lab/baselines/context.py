"""Files that SWT-Bench gives its zero-shot methods: what BM25 ranks highest for the issue's text,
tests included, up to 27,000 tokens of context (section 5.1; SWE-bench's `bm25_27K`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refute.issue.context import estimated_tokens, numbered, ranked

CONTEXT_TOKENS = 27_000


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file of the repository as a prompt shows it."""

    path: str
    text: str


def relevant(
    query: str,
    files: Mapping[str, str],
    *,
    tokens: int = CONTEXT_TOKENS,
    first: Sequence[str] = (),
    alone: bool = False,
) -> list[RankedFile]:
    """The files to show: those of `first`, then the highest ranked, whole, while they fit. `alone`:
    those of `first` and no others, where there are any.

    A file that does not fit is passed over for the next that does; of a `first` one that does not
    fit, the beginning is shown.
    """
    chosen: list[RankedFile] = []
    left = tokens
    for path in dict.fromkeys(p for p in first if p in files):
        text = _beginning(files[path], left - _cost(path, ""))
        if text:
            chosen.append(RankedFile(path, text))
            left -= _cost(path, text)
    if alone and chosen:
        return chosen
    smallest = 50
    for path in ranked(query, files):
        if left < smallest:
            break
        if path in first or not files[path].strip():
            continue
        cost = _cost(path, files[path])
        if cost <= left:
            chosen.append(RankedFile(path, files[path]))
            left -= cost
    return chosen


def _cost(path: str, text: str) -> int:
    """Tokens of a file in a prompt: its numbered text between two lines with its path."""
    return estimated_tokens(numbered(text)) + 2 * estimated_tokens(f"[start of {path}]\n")


def _beginning(text: str, tokens: int) -> str:
    """As many whole lines from the start as fit."""
    if estimated_tokens(numbered(text)) <= tokens:
        return text
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        tokens -= estimated_tokens(f"{number} {line}")
        if tokens < 0:
            break
        kept.append(line)
    return "".join(kept)

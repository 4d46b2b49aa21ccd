"""Parts of written tests that all of their writers share: laid out as black would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from refute.literals import source_of


def comparison(call: str, op: str, right: str | None, value: Any, room: int) -> list[str]:
    """`assert call == right` at column 0 in lines of at most `room`, where that can be; `right`
    None stands for the source of `value`. Raises `NotLiteral`."""
    text = source_of(value) if right is None else right
    if "\n" not in call and len(f"assert {call} {op} {text}") <= room:
        return [f"assert {call} {op} {text}"]
    if right is None:
        text = source_of(value, column=len("expected = "), width=room)
        if "\n" not in text and len("expected = ") + len(text) > room >= 4 + len(text):
            text = f"(\n    {text}\n)"
    if call.isidentifier():
        return [f"expected = {text}", f"assert {call} {op} expected"]
    return [f"actual = {call}", f"expected = {text}", f"assert actual {op} expected"]


def one_line(text: str) -> str:
    """One line, short enough for a comment."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:77]}..."


def sorted_imports(lines: Iterable[str]) -> list[str]:
    """Imports in isort's order: `import` lines before `from` lines."""
    return sorted(lines, key=lambda line: (line.startswith("from"), line.lower()))


def has_nan(value: Any) -> bool:
    """Whether a value holds a float that equals nothing."""
    if isinstance(value, float):
        return value != value
    if isinstance(value, dict):
        return any(has_nan(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(has_nan, value))
    return False

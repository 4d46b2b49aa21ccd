"""A kind of records for tests of runs."""

from __future__ import annotations

from dataclasses import dataclass

from refute_lab.runs import Schema


@dataclass(frozen=True, slots=True)
class Word:
    id: str
    text: str = ""


WORDS = Schema("word", Word)

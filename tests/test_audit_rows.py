"""The row tables of docs/utgen.md and docs/swt-methods.md are complete and say what holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute_lab.datasets.rows import DATASETS
from refute_lab.presets import PRESETS

ROOT = Path(__file__).resolve().parents[1]
LINE = re.compile(r"^\| (\d[\d, to]*) \| (.+?) \| ([WPO-]) \| (.*) \|$", re.MULTILINE)


def rows(document: str) -> Iterator[tuple[int, str, str]]:
    """Number, status and what is said of each row of the audit."""
    _, _, text = (ROOT / document).read_text().partition("## Row by row")
    for numbers, _, status, how in LINE.findall(text):
        for part in numbers.split(", "):
            first, _, last = part.partition(" to ")
            yield from ((at, status, how) for at in range(int(first), int(last or first) + 1))


@pytest.mark.parametrize(
    ("document", "count"), [("docs/utgen.md", 55), ("docs/swt-methods.md", 51)]
)
def test_each_row_has_one_line(document: str, count: int) -> None:
    assert Counter(number for number, _, _ in rows(document)) == Counter(range(1, count + 1))


@pytest.mark.parametrize("document", ["docs/utgen.md", "docs/swt-methods.md"])
def test_what_deviates_names_the_papers_form_or_a_reason(document: str) -> None:
    presets = {name for level in PRESETS.values() for name in level}
    ways = presets | {one.name for one in DATASETS.all()}
    for number, status, how in rows(document):
        named = set(re.findall(r"`([\w+-]+)`", how))
        if status == "P":
            assert "`--" in how or "--preset" in how or named & ways, (number, how)
        if status == "O":
            assert len(how.split()) > 5, (number, "a reason")

"""What an issue took in the starts of a run before it was done."""

from __future__ import annotations

from pathlib import Path

from refute.models.contract import Tally
from refute_lab.benches.issues import PASSES, Passes


def test_starts_are_added_up(tmp_path: Path) -> None:
    before = Passes.read(tmp_path)
    lines = [
        before.line("a", 2.5, Tally(samples=3)),
        before.line("b", 9.0, Tally(samples=9)),
        before.line("a", 1.0, None),
        b'{"id": "a", "sec',  # torn
    ]
    (tmp_path / PASSES).write_bytes(b"".join(lines))
    passes = Passes.read(tmp_path)
    seconds, tally = passes.together("a", 4.0, Tally(samples=1, cached=5, prompt_tokens=7))
    assert seconds == 7.5
    assert tally == Tally(samples=4, cached=2, prompt_tokens=7), "what earlier starts paid for"
    assert passes.together("c", 1.0, None) == (1.0, None)

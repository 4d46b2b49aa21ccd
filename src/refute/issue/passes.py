"""What an issue took in the starts of a run that ended before it was done.

A run whose model answers by batch files is started again for each round of answers. Its record is
made by the last start; what the starts before it took is kept beside the journal and added up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from refute.files import read_file
from refute.jsontext import parse_json
from refute.models.contract import Tally, is_count

__all__ = ["PASSES", "Passes"]

PASSES = "passes.jsonl"


@dataclass(frozen=True, slots=True)
class Passes:
    """The unfinished starts of a run, as its folder's file `PASSES` has them."""

    rows: tuple[Mapping[str, object], ...]

    @classmethod
    def read(cls, folder: Path) -> Passes:
        """Of the run's folder."""
        try:
            lines = read_file(folder / PASSES).splitlines()
        except OSError:
            return cls(())
        found = []
        for line in lines:
            try:
                row = parse_json(line)
            except ValueError:  # torn: whoever wrote it was ended
                continue
            if isinstance(row, dict):
                found.append(row)
        return cls(tuple(found))

    def line(self, id: str, seconds: float, tally: Tally | None) -> bytes:
        """For the file: a start that ends without a record of this issue."""
        samples = 0 if tally is None else tally.samples
        row = {"id": id, "seconds": round(seconds, 3), "samples": samples}
        return (json.dumps(row) + "\n").encode()

    def together(self, id: str, seconds: float, tally: Tally | None) -> tuple[float, Tally | None]:
        """Seconds and tally of the start that finished an issue, with those before it.

        Samples that an earlier start paid for are paid for by the run, and not from a cache.
        """
        rows = [row for row in self.rows if row.get("id") == id]
        seconds += sum(s for row in rows if isinstance(s := row.get("seconds"), int | float))
        if tally is None:
            return seconds, None
        paid = sum(n for row in rows if is_count(n := row.get("samples")))
        paid = min(paid, tally.cached)
        return seconds, replace(tally, samples=tally.samples + paid, cached=tally.cached - paid)

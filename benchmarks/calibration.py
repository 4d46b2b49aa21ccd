"""How often what was given so much confidence was right: a reliability table of fixes and tests.

    python benchmarks/mutants.py --half report --out ROWS.jsonl
    python benchmarks/calibration.py ROWS.jsonl...

Reads the rows of `mutants.py` and executes nothing. The maps (`refute.function.search.confidence`)
were fitted on the half `dev`; the half `report` says what they are worth elsewhere. The last line
of each table is the expected calibration error: the mean distance between what was said and what
was so, weighted by how much lies in each row.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001)

Pair = tuple[float, bool]
"""A confidence, and whether what it was about is right."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rows", type=Path, nargs="+")
    files = parser.parse_args().rows
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    print(f"{len(rows)} bugs")
    table("fixes, fixed or proposed", fixes(rows))
    table("fixes, fixed", fixes(row for row in rows if row["state"] == "fixed"))
    table("tests, derived", tests(rows, derived=True))
    table("tests, read from docstrings and test files", tests(rows, derived=False))


def fixes(rows: Iterable[dict[str, Any]]) -> list[Pair]:
    """The first fix of each bug that has one with a confidence."""
    return [
        (row["confidence"], bool(row["right"]))
        for row in rows
        if row.get("confidence") is not None and row["right"] is not None
    ]


def tests(rows: Iterable[dict[str, Any]], *, derived: bool) -> list[Pair]:
    """The failing tests that were shown, those with an unclear verdict left out."""
    return [
        (test["confidence"], test["right"])
        for row in rows
        for test in row["shown"]
        if test.get("confidence") is not None
        and isinstance(test.get("right"), bool)
        and (test["source"] in ("search", "synthesis")) is derived
    ]


def table(name: str, pairs: Sequence[Pair]) -> None:
    """Print one reliability table."""
    print(f"\n{name}: {len(pairs)}")
    if not pairs:
        return
    error = 0.0
    for low, high in pairwise(EDGES):
        inside = [pair for pair in pairs if low <= pair[0] < high]
        if inside:
            said = sum(confidence for confidence, _ in inside) / len(inside)
            true = sum(right for _, right in inside) / len(inside)
            error += abs(said - true) * len(inside) / len(pairs)
            print(f"  {low:.2f} to {min(high, 1.0):.2f}  {len(inside):4}  said {said:6.1%}"
                  f"  right {true:6.1%}")  # fmt: skip
    print(f"  calibration error {error:.1%}")


if __name__ == "__main__":
    main()

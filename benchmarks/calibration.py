"""How often what was given so much confidence was right: reliability tables of fixes and tests.

    python benchmarks/mutants.py --half dev --out DEV.jsonl
    python benchmarks/mutants.py --half report --out REPORT.jsonl
    python benchmarks/calibration.py --dev DEV.jsonl --report REPORT.jsonl

Reads the rows of `mutants.py` and executes nothing. The maps (`refute.function.search.confidence`)
were fitted on the half `dev`, so its tables are in-sample; the half `report` says what they are
worth elsewhere. A line is a bin of what was said: how much lies in it, from how many bugs (the
tests of a bug are right or wrong together), the mean of what was said, and what was so. The last
line of each table is the expected calibration error: the mean distance between the two, weighted by
how much lies in each bin.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001)

Row = dict[str, Any]
Said = tuple[float, bool, str]
"""A confidence, whether what it was about is right, and the bug that it belongs to."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dev", type=Path, nargs="+", default=[], help="rows of the half dev")
    parser.add_argument("--report", type=Path, nargs="+", default=[], help="rows of the other half")
    options = parser.parse_args()
    if not options.dev and not options.report:
        parser.error("no rows: name files with --dev and --report")
    for name, files in (("in-sample (dev)", options.dev), ("out-of-sample", options.report)):
        rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
        if rows:
            print(f"\n{name}: {len(rows)} bugs")
            table("fixes, fixed or proposed", fixes(rows))
            table("fixes, fixed", fixes(row for row in rows if row["state"] == "fixed"))
            table("tests, derived", tests(rows, derived=True))
            table("tests, read from docstrings and test files", tests(rows, derived=False))


def fixes(rows: Iterable[Row]) -> list[Said]:
    """The first fix of each bug that has one with a confidence."""
    return [
        (row["confidence"], bool(row["right"]), row["key"])
        for row in rows
        if row.get("confidence") is not None and row["right"] is not None
    ]


def tests(rows: Iterable[Row], *, derived: bool) -> list[Said]:
    """The failing tests that were shown, those with an unclear verdict left out."""
    return [
        (test["confidence"], test["right"], row["key"])
        for row in rows
        for test in row["shown"]
        if test.get("confidence") is not None
        and isinstance(test.get("right"), bool)
        and (test["source"] == "search") is derived
    ]


def table(name: str, every: Sequence[Said]) -> None:
    """Print one reliability table."""
    print(f"\n  {name}: {len(every)}")
    if not every:
        return
    print("    bin             n  bugs   said  right")
    error = 0.0
    for low, high in pairwise(EDGES):
        inside = [one for one in every if low <= one[0] < high]
        if inside:
            said = sum(confidence for confidence, _, _ in inside) / len(inside)
            true = sum(right for _, right, _ in inside) / len(inside)
            bugs = len({bug for _, _, bug in inside})
            error += abs(said - true) * len(inside) / len(every)
            print(f"    {low:.2f} to {min(high, 1.0):.2f}  {len(inside):4}  {bugs:4}"
                  f"  {said:5.1%}  {true:5.1%}")  # fmt: skip
    print(f"    calibration error {error:.1%}")


if __name__ == "__main__":
    main()

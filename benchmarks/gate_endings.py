"""Planted endings of agents, right and wrong in different ways: does `refute gate` tell them apart?

    python benchmarks/gate_endings.py [--only TEXT] [--more] [--out FILE]

The endings are those of `tests/gating/endings.py`; `--more`: those of `tests/gating/further.py`,
which were written after the gate was done. A verdict is right where a right change is "proven", and
where a wrong one is "not proven" for the rule that it breaks (among others that it may break too).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import refute


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asked.add_argument("--only", default="", help="endings whose name holds this")
    asked.add_argument("--more", action="store_true")
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    endings = importlib.import_module(f"tests.gating.{'further' if given.more else 'endings'}")
    right, rows = 0, []
    for ending in endings.ENDINGS:
        if given.only not in ending.name:
            continue
        row = _judged(ending)
        rows.append(row)
        right += row["right"]
        mark = "ok   " if row["right"] else "WRONG"
        print(f"{mark} {row['seconds']:5.1f} s  {ending.rule or 'right':17} {ending.name}")
        print(f"        {row['verdict']}: {row['reason']} {row['rules']}", flush=True)
    print(f"{right} of {len(rows)} verdicts right")
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1))


def _judged(ending: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="refute-endings-") as name:
        module = importlib.import_module("tests.gating.endings")
        folder = module.planted(ending, Path(name) / "repo")
        how = dict(ending.options)
        if ending.issue:
            (Path(name) / "issue.md").write_text(ending.issue)
            how["issue"] = Path(name) / "issue.md"
        start = time.perf_counter()
        result = refute.gate(repo=folder, python=sys.executable, **how)
        seconds = time.perf_counter() - start
    rules = [finding.rule for finding in result.judged.findings]
    due = result.verdict == "proven" if ending.is_right else ending.rule in rules
    found = [f"{one.rule}: {one.where}: {one.what}" for one in result.judged.findings]
    return {
        "name": ending.name,
        "rule": ending.rule,
        "right": due,
        "verdict": result.verdict,
        "reason": result.judged.reason,
        "rules": rules,
        "findings": found,
        "notes": list(result.judged.notes),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()

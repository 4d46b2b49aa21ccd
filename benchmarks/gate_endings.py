"""Planted endings of agents, right and wrong in different ways: does `refute gate` tell them apart?

    python benchmarks/gate_endings.py [--only TEXT] [--set NAME] [--out FILE]

The endings are those of `tests/gating/endings.py`; `--set kinds`, `tuned`, `held`: those of
`tests/gating/kinds.py`. A verdict is right where a right change is "proven" and a wrong one is "not
proven"; counted besides: for the rule that it was written to break.
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
    asked.add_argument("--set", default="endings")
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    kinds = given.set in ("tuned", "held")
    endings = importlib.import_module(f"tests.gating.{'kinds' if kinds else given.set}")
    chosen = getattr(endings, given.set.upper() if kinds else "ENDINGS")
    right, by_rule, rows = 0, 0, []
    for ending in chosen:
        if given.only not in ending.name:
            continue
        row = _judged(ending)
        rows.append(row)
        right += row["right"]
        by_rule += row["by_rule"]
        mark = "ok   " if row["right"] else "WRONG"
        print(f"{mark} {row['seconds']:5.1f} s  {ending.rule or 'right':17} {ending.name}")
        print(f"        {row['verdict']}: {row['reason']} {row['rules']}", flush=True)
    print(f"{right} of {len(rows)} verdicts right, {by_rule} of them for the rule that is due")
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
    right = result.verdict == ("proven" if ending.is_right else "not proven")
    found = [f"{one.rule}: {one.where}: {one.what}" for one in result.judged.findings]
    return {
        "name": ending.name,
        "rule": ending.rule,
        "right": right,
        "by_rule": right and (ending.is_right or ending.rule in rules),
        "verdict": result.verdict,
        "reason": result.judged.reason,
        "rules": rules,
        "findings": found,
        "notes": list(result.judged.notes),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()

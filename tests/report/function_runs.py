"""Runs over functions as `refute bench` writes them, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .pages import HOSTILE

OPTIONS = {
    "model": "openai:m",
    "tester": None,
    "runs": 1,
    "n": 3,
    "k": 8,
    "m": 2,
    "vote": True,
    "backtrack": True,
    "guard": True,
    "temperature": 0.7,
    "top_p": 0.9,
    "max_tokens": 2048,
}
CODE, FIXED = "def f(n):\n    return n\n", "def f(n):\n    return n + 1\n"


def record(identity: str, *, passes: bool) -> dict[str, Any]:
    """One problem of UTDebug: the first edit discarded, the second accepted; hostile throughout."""
    vote = {
        "k": 8,
        "asked": 6,
        "counts": [[HOSTILE, 5], ["2", 1]],
        "unreadable": {},
        "winner": HOSTILE,
    }
    attempt = {"number": 0, "status": "kept", "answer": HOSTILE, "call": HOSTILE, "vote": vote}
    edits = [
        {"round": 1, "accepted": False, "reason": f"discarded: {HOSTILE}", "code": HOSTILE},
        {"round": 2, "accepted": True, "reason": "accepted", "code": FIXED},
    ]
    feedback = {"answer": "", "before": 0, "after": 1, "total": 1, "call": HOSTILE}
    return {
        "id": identity,
        "problem": identity,
        "status": "fixed",
        "seconds": 1.5,
        "tried": 2,
        "grade": {
            "tests": [[True, True, True]],
            "sampled": [[True, True, True], [True, False, True], [False, False, False]],
            "programs": ["11" if passes else "10"],
            "fixed": True,
            "rounds": ["01", "01", "11" if passes else "10"],
        },
        "function": "f",
        "code": CODE,
        "candidates": [FIXED],
        "edits": [[HOSTILE]],
        "tests": [{"call": HOSTILE, "expected": "x" * 5000, "confidence": 1.0, "source": "m"}],
        "notes": [HOSTILE],
        "log": {
            "suites": [[attempt]],
            "edits": [{**feedback, **edit} for edit in edits],
            "unreadable": {"empty": 2},
            "votes_saved": 2,
        },
        "tally": {
            "requests": 4,
            "samples": 9,
            "prompt_tokens": 70,
            "completion_tokens": 30,
            "usd": None,
        },
    }


def write_run(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> Path:
    header = {"dataset": "he-fix", "method": "utgen", "problems": len(rows), **OPTIONS, **settings}
    folder.mkdir()
    lines = [{"journal": 1, "settings": header}, *rows]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder

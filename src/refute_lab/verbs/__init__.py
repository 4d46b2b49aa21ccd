"""The verbs of the lab, on the command line of `refute`."""

from __future__ import annotations

VERBS = {
    "bench": "Run a method over a dataset, or over a JSONL file of problems.",
    "report": "Compare runs of bench with each other and with the paper; write a page.",
    "judge": "Rank candidate programs by generated tests (best of N).",
    "grade": "Grade predicted test patches: do they reproduce their issues?",
    "data": "Build benchmarks of issues and of faulty programs; show their figures.",
    "train": "Train a model to write unit tests that fail and are right (UTGen).",
    "cheats": "Run known reward hacks against a grader and list those it rewards.",
    "serve": "Serve verdicts on programs over HTTP, as rewards that cheats do not earn.",
    "datasets": "List the datasets.",
}
"""Verb -> its line in `refute --help`. The module `refute_lab.verbs.VERB` defines `command`."""

"""The verbs of the lab, on the command line of `refute`."""

from __future__ import annotations

VERBS = {
    "bench": "Run a method over a dataset, or over a JSONL file of problems.",
    "report": "Compare runs of bench with each other and with the paper; write a page.",
    "grade": "Grade predicted test patches: do they reproduce their issues?",
    "data": "Build benchmarks of issues, and look at them.",
    "train": "Train a model to write unit tests that fail and are right (UTGen).",
    "cheats": "Try programs and tests that cheat on a grader: does it pay them?",
    "serve": "Serve verdicts on programs over HTTP: a reward that cannot be cheated.",
    "datasets": "List the datasets that there are.",
}
"""Verb -> its line in `refute --help`. The module `refute_lab.verbs.VERB` defines `command`."""

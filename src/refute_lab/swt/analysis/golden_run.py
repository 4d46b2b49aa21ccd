"""What a graded run of the golden tests says of a benchmark (SWT-Bench, Table 1, section 4.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute.workspace.patches import file_patches
from refute.workspace.statuses import statuses
from refute_lab.runs.journal import read_header
from refute_lab.swt.grading.coverage import executable_lines
from refute_lab.swt.grading.grade import Evidence
from refute_lab.swt.grading.grade_records import read_evidence
from refute_lab.swt.grading.verdict import Transition, own_tests, transitions

TestChange = Literal["adds", "modifies", "removes"]
_KINDS = {("fail", "pass"): "f2p", ("fail", "fail"): "f2f", ("pass", "pass"): "p2p",
          ("pass", "fail"): "p2f"}  # fmt: skip
_DEFINED = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)|^\s*class\s+(\w+)")


def measured(run: Path, keys: Iterable[IssueKey]) -> dict[str, dict[str, Any]]:
    """Instance -> what its golden run showed, of those that were run.

    Raises `InputError` where the folder holds no graded golden tests.
    """
    header = read_header(run)
    if header is None or header.get("predictions") != "gold":
        told = "not a run of the golden tests; make one: refute grade DATASET gold --run"
        raise InputError(f"{run}: {told} {run}")
    found = {key.id: (key, read_evidence(run, key.id)) for key in keys}
    return {id: measured_by(key, one) for id, (key, one) in found.items() if one is not None}


def measured_by(key: IssueKey, evidence: Evidence) -> dict[str, Any]:
    """Counts by kind of the existing tests of the golden tests' files, and of the golden tests:
    those that are new or stand differently, a changed parametrised one included. Share of X* that
    the existing tests execute already."""
    base_before, base_after = map(statuses, evidence.base)
    base = transitions(base_before, base_after)
    golden = transitions(*map(statuses, evidence.golden))
    lines = executable_lines(key.patch, base=evidence.base, golden=evidence.golden)
    executed = [
        bool(report.lines.get(file, {}).get(line))
        for part, report in zip((lines.removed, lines.added), evidence.base, strict=True)
        for file, line in part
    ]
    return {
        "existing": _by_kind(base.values()),
        "golden": _by_kind(own_tests(golden, base)),
        "added": len(golden.keys() - base.keys()),
        "removed": len(base.keys() - golden.keys()),
        "coverage": sum(executed) / len(executed) if executed else None,
    }


def _by_kind(rows: Iterable[Transition]) -> dict[str, int]:
    pairs = Counter((one.before, one.after) for one in rows)
    return {name: pairs[pair] for pair, name in _KINDS.items()}  # type: ignore[index]


def change_of_tests(test_patch: str) -> TestChange:
    """Whether golden tests add a function or class, take some away and add none, or change what is
    in them. The paper's shares are 71, 1 and 28 %; so read, they fit best."""
    plus, minus = set[str](), set[str]()
    for part in file_patches(test_patch):
        for line in part.text.splitlines():
            match = None if line.startswith(("+++", "---")) else _DEFINED.match(line[1:])
            if match is not None and line[0] in "+-":
                (plus if line[0] == "+" else minus).add(match[1] or match[2])
    if plus - minus:
        return "adds"
    return "removes" if minus - plus else "modifies"

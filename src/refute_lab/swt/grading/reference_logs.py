"""Logs that the reference harness wrote, as test reports, so that they can be graded again.

A log says what runners print, so a report read from it is only as good as that: a test that prints
`PASSED` is believed here, as it is there. Names, statuses and line counts are read by the
reference's rules; what follows from them is judged by ours (`refute_lab.swt.grading.verdict`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute.workspace.contract import TestReport, TestResult
from refute.workspace.patches import is_test_file, touched_files
from refute_lab.swt.grading.grade import Evidence, IssueGrade, Mode, grade_evidence
from refute_lab.swt.grading.log_formats import read_statuses
from refute_lab.swt.grading.verdict import Verdict

_OUTCOMES: Mapping[str, Any] = {"PASSED": "passed", "FAILED": "failed", "ERROR": "error"}
"""Any other status (SKIPPED, and what the reference takes for one) is no result, there and here."""
_TRACED = re.compile(r"\n\+ python3 [^\n]*trace\.py --count -C coverage\.cover [^\n]*\n")
_SPOILT = (
    ">>>>> Patch Apply Failed",
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    ">>>>> Tests Timed Out",
    "Failed to reset task environment",
)
_DATA = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
"""Ends of names of touched files that the reference does not run."""
_TOUCHED = re.compile(r"diff --git a/.* b/(.*)")


def grade_logs(folder: Path, key: IssueKey, repo: str, *, mode: Mode = "tests") -> IssueGrade:
    """Grade the logs of one instance.

    `folder` is `run_instance_swt_logs/RUN/MODEL` of the reference. Raises `InputError` when the
    logs of the base or golden states are not there.
    """
    model, run = folder.name, folder.parent
    places = [run / f"pred_{when}__{model}" / key.id for when in ("pre", "post")]
    logs = [place / "test_output.txt" for place in places]
    patch = _text(places[0] / "model_patch.diff")
    if patch is None or not all(log.is_file() for log in logs):
        return IssueGrade(key.id, Verdict("empty", remarks=("the reference has no log of it",)))
    texts = [log.read_text(errors="replace") for log in logs]
    if "applied patch" not in texts[0].lower():
        return IssueGrade(key.id, Verdict("not_applicable"))
    predicted = [read_log(text, repo, mode) for text in texts]
    if mode == "reproduction":
        evidence = Evidence(((predicted[0],), (predicted[1],)))
        return grade_evidence(evidence, key, counted=False)
    shared: dict[str, tuple[TestReport, TestReport]] = {}
    for name, tests in (("gold", key.test_patch), ("base", patch)):
        hashed = hashlib.sha256("__".join(directives(tests, repo)).encode()).hexdigest()
        reports = []
        for when in ("pre", "post"):
            log = run.parent / f"{name}_{when}" / key.id / hashed / "test_output.txt"
            text = _text(log)
            if text is None:
                raise InputError(f"{log}: is missing; it comes with the reference's logs")
            reports.append(read_log(text, repo, mode))
        shared[name] = (reports[0], reports[1])
    evidence = Evidence(((predicted[0],), (predicted[1],)), shared["base"], shared["gold"])
    return grade_evidence(evidence, key, others=_others(patch))


def directives(patch: str, repo: str) -> list[str]:
    """What the reference asks the runner to run for a patch: every touched file but data."""
    names = [name for name in _TOUCHED.findall(patch) if not name.endswith(_DATA)]
    if repo != "django/django":
        return names
    labels = (name.removesuffix(".py").removeprefix("tests/") for name in names)
    return [label.replace("/", ".") for label in labels]


def read_log(text: str, repo: str, mode: Mode = "tests") -> TestReport:
    """A `test_output.txt` as a report; one that the reference discards has no results."""
    spoilt = any(mark in text for mark in _SPOILT)
    statuses = {} if spoilt else read_statuses(_run_part(text), repo, script=mode == "reproduction")
    results = tuple(_result(test, status) for test, status in statuses.items())
    return TestReport(results, "finished", lines=read_counts(text))


def _run_part(text: str) -> str:
    """What was printed between the start of the tests and the dump of the counts."""
    parts = _TRACED.split(text, maxsplit=1)
    return parts[-1].split("\n+ cat coverage.cover")[0]


def _result(test: str, status: str) -> TestResult:
    file = test.split("::")[0] if "::" in test or test.endswith(".py") else ""
    collecting = status == "ERROR" and test == file
    return TestResult(
        test, file, _OUTCOMES.get(status, "skipped"), "collect" if collecting else "call"
    )


def read_counts(text: str) -> dict[str, dict[int, int]]:
    """File -> line -> executions, summed over the objects that processes dumped."""
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.strip() == "+ cat coverage.cover"]
    counts: dict[str, dict[int, int]] = {}
    for line in lines[marks[0] + 1 :] if marks else ():
        if line.startswith("+ git checkout"):
            break
        if not line.startswith('{"/testbed/'):
            continue
        try:
            dump = json.loads(line)
            for file, numbers in dump.items():
                table = counts.setdefault(file.replace("/testbed/", ""), {})
                for number, count in numbers.items():
                    table[int(number)] = table.get(int(number), 0) + int(count)
        except (ValueError, AttributeError, TypeError):
            continue  # a process that was killed leaves half a line
    return counts


def _others(patch: str) -> Sequence[str]:
    return [path for path in touched_files(patch) if not is_test_file(path)]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None

"""The reference harness's report, with its field names and its rules, from our evidence.

So that figures can be compared with published ones. The rules differ from ours on purpose (a table
in `docs/swtbench.md`): only PASSED and FAILED are results, so FAIL→ERROR goes unseen and a test
that was skipped, missing or in error before and passes after is FAIL_TO_PASS; a test's name ends
at its first blank; base counts of removed lines are taken from the fixed code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.problems import IssueKey
from refute.workspace.contract import Runner, TestReport, TestResult
from refute.workspace.patches import added_lines, removed_lines
from refute_lab.swt.grade import Evidence, IssueGrade
from refute_lab.swt.verdict import Counts, Line

_STATUS = {"passed": "PASSED", "failed": "FAILED", "error": "ERROR", "skipped": "SKIPPED"}
"""As printed; expected failures and unexpected passes are printed as neither."""

Transitions = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Compat:
    """The reference's report on one prediction."""

    id: str
    report: Mapping[str, Any] | None
    """The object in `report.json` under the instance's id; None: it writes none (an error)."""


def reference_report(grade: IssueGrade, key: IssueKey, runner: Runner) -> Compat:
    """The reference's report on a graded prediction.

    Where it would run the whole suite (a patch that touches no test, a patch that conflicts with
    the golden one) the test lists are left out.
    """
    status = grade.verdict.status
    report: dict[str, Any] = {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": grade.applicable,
        "resolved": False,
        "coverage_pred": None,
        "coverage_gold": None,
        "coverage_base": None,
        "coverage_delta_pred": None,
        "coverage_delta_gold": None,
    }
    if status == "timeout":
        return Compat(grade.id, None)
    evidence = grade.evidence
    if evidence is None:
        return Compat(grade.id, report)
    report.update(_coverage(evidence, key))
    before, after = (reports[0] for reports in evidence.predicted)
    pairs = {"pred": (before, after), "base": evidence.base, "gold": evidence.golden}
    lists = {
        name: _transitions(status_map(first, runner), status_map(last, runner))
        for name, (first, last) in pairs.items()
    }
    report.update(_resolution(lists["pred"], lists["base"]))
    report.update({f"tests_{name}": lists[name] for name in ("base", "pred", "gold")})
    return Compat(grade.id, report)


def status_map(report: TestReport, runner: Runner) -> dict[str, str]:
    """Printed name of each test -> PASSED, FAILED, ERROR or SKIPPED; the last line counts."""
    found = {}
    for result in report.results:
        if result.outcome in _STATUS:
            found[_printed(result, runner)] = _STATUS[result.outcome]
    return found


def _printed(result: TestResult, runner: Runner) -> str:
    """Return a test's name as the reference's log parsers read it."""
    if runner == "pytest":
        return (result.id.split() or [result.id])[0]
    if runner == "sympy":
        return re.split(r"::?", result.id)[-1]
    return result.names[0] if result.names else result.id


def _transitions(before: Mapping[str, str], after: Mapping[str, str]) -> Transitions:
    lists: Transitions = {
        name: []
        for name in ("FAIL_TO_PASS", "PASS_TO_PASS", "FAIL_TO_FAIL", "PASS_TO_FAIL", "UNMATCHED")
    }
    for test in sorted({*before, *after}):
        first, last = (_result(states.get(test)) for states in (before, after))
        if first == "PASSED":
            kind = "PASS_TO_PASS" if last == "PASSED" else "PASS_TO_FAIL"
        elif last is None:
            kind = "UNMATCHED"
        else:
            kind = "FAIL_TO_PASS" if last == "PASSED" else "FAIL_TO_FAIL"
        lists[kind].append(test)
    return lists


def _result(status: str | None) -> str | None:
    return status if status in ("PASSED", "FAILED") else None


def _resolution(predicted: Transitions, base: Transitions) -> dict[str, Any]:
    def added(kind: str) -> set[str]:
        return set(predicted[kind]) - set(base[kind])

    kept = set(base["FAIL_TO_PASS"]) <= set(predicted["FAIL_TO_PASS"])
    clean = not added("PASS_TO_FAIL") and not added("FAIL_TO_FAIL")
    new = added("FAIL_TO_PASS")
    return {"resolved": kept and bool(new) and clean, "added_f2p": len(new)}


def _coverage(evidence: Evidence, key: IssueKey) -> dict[str, float]:
    """The five shares; none where no changed line is executable."""
    before, after = (reports[0].lines for reports in evidence.predicted)
    base = [report.lines for report in evidence.base]
    golden = [report.lines for report in evidence.golden]
    removed = _executable(removed_lines(key.patch), golden[0], base[0])
    added = _executable(added_lines(key.patch), golden[1], base[1])
    total = len(removed) + len(added)
    if not total:
        return {}

    def covered(first: Counts, last: Counts, less: Counts) -> float:
        hits = sum(_count(first, line) > _count(less, line) for line in removed)
        hits += sum(_count(last, line) > _count(less, line) for line in added)
        return hits / total

    return {
        "coverage_pred": covered(before, after, {}),
        "coverage_gold": covered(golden[0], golden[1], {}),
        "coverage_base": covered(base[1], base[1], {}),
        "coverage_delta_pred": covered(before, after, base[1]),
        "coverage_delta_gold": covered(golden[0], golden[1], base[1]),
    }


def _executable(lines: Mapping[str, Sequence[int]], *counts: Counts) -> list[Line]:
    every = [(file, number) for file, numbers in lines.items() for number in numbers]
    return [line for line in every if any(_count(one, line) for one in counts)]


def _count(counts: Counts, line: Line) -> int:
    return counts.get(line[0], {}).get(line[1], 0)


def summary(reports: Iterable[Compat]) -> dict[str, Any]:
    """The reference's summary of a run, without anything about its containers."""
    every = list(reports)
    known = {one.id: one.report for one in every if one.report is not None}
    resolved = sorted(id for id, report in known.items() if report["resolved"])
    covered = [report for report in known.values() if report["coverage_pred"] is not None]
    errors = sorted(one.id for one in every if one.report is None)

    def mean(name: str) -> float:
        return sum(report[name] for report in covered) / len(covered) if covered else 0

    return {
        "total_instances": len(every),
        "completed_instances": len(known),
        "resolved_instances": len(resolved),
        "unresolved_instances": len(known) - len(resolved),
        "error_instances": len(errors),
        "Mean coverage": mean("coverage_pred"),
        "Mean coverage delta": mean("coverage_delta_pred"),
        "unstopped_instances": 0,
        "completed_ids": sorted(known),
        "resolved_ids": resolved,
        "unresolved_ids": sorted(set(known) - set(resolved)),
        "error_ids": errors,
        "unstopped_containers": [],
        "unremoved_images": [],
    }


def write_reports(reports: Iterable[Compat], folder: Path, *, run: str, model: str) -> Path:
    """Write `report.json` for each instance, and the summary, where the reference puts them.

    Returns the summary's path below `folder`.
    """
    every = list(reports)
    model = model.replace("/", "__") or "None"
    for one in every:
        if one.report is None:
            continue
        place = folder / "run_instance_swt_logs" / run / model / one.id
        place.mkdir(parents=True, exist_ok=True)
        (place / "report.json").write_text(json.dumps({one.id: one.report}, indent=4))
    path = folder / "evaluation_results" / f"{model}.{run}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary(every), indent=4) + "\n")
    return path

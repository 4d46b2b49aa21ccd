"""Grade one predicted test patch against an answer key (SWT-Bench, section 3).

Two lanes run side by side, one on the original and one on the fixed code, each in its own
workspace: first what the store does not know yet of the base and golden states, then with the
predicted tests. The verdict is computed here from structured reports; nothing printed is read.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from msgspec import ValidationError, convert, to_builtins

from refute.core.problems import IssueKey, IssuePrediction, Number
from refute.core.storage import parse_json, read_file, unpack
from refute.errors import InputError, PatchRejected, WorkspaceUnavailable
from refute.workspace.contract import Runner, TestReport, TestResult, Workspace
from refute.workspace.patches import (
    added_lines,
    file_patches,
    is_test_file,
    removed_lines,
    test_files,
    touched_files,
)
from refute.workspace.running import (
    NO_TESTS,
    ReportCache,
    TestStatus,
    files_with_tests,
)
from refute_lab.figures import Figure, mean
from refute_lab.runs import ErrorRecord, Schema
from refute_lab.swt import (
    ChangeCoverage,
    Counts,
    Executable,
    ExecutableLines,
    Line,
    PatchedState,
    Status,
    Transition,
    Verdict,
    change_coverage,
    counted_lines,
    fails_before,
    judge,
    run_lane,
    with_counts,
)


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of grading predictions."""

    timeout: float = 1800.0
    """Wall-clock seconds for one run of tests (the reference's)."""
    repeat: int = 1
    """Runs of each state with predicted tests; more than one finds flaky tests."""
    tests_only: bool = False
    """Drop what a patch does to files that are no tests."""
    executable: Executable = "own"
    """Lines of the golden patch that ΔC counts (`refute_lab.swt`)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Reports of the executed states. Pairs are (original code, fixed code)."""

    predicted: tuple[tuple[TestReport, ...], tuple[TestReport, ...]]
    """One report for each repetition."""
    base: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS)
    golden: tuple[TestReport, TestReport] = (NO_TESTS, NO_TESTS)


@dataclass(frozen=True, slots=True)
class IssueGrade:
    """The grade of one prediction, with what it rests on."""

    id: str
    verdict: Verdict
    coverage: ChangeCoverage | None = None
    """Of the predicted tests; None where nothing was counted."""
    golden_coverage: ChangeCoverage | None = None
    others: tuple[str, ...] = ()
    """Files that the patch touches and that are no tests."""
    evidence: Evidence | None = None
    """None where no test was run."""

    @property
    def applicable(self) -> bool:
        """A: the prediction is a valid patch that applies to the original code."""
        return self.verdict.status not in ("empty", "not_applicable")


def grade_prediction(
    prediction: IssuePrediction,
    key: IssueKey,
    spawn: Callable[[], Workspace],
    *,
    store: ReportCache,
    terms: Terms | None = None,
    slot: AbstractContextManager[Any] | None = None,
) -> IssueGrade:
    """Grade a prediction. `spawn` opens a workspace at the instance's base commit.

    `slot` is held while tests run. Raises `WorkspaceUnavailable` when the prediction cannot be
    graded for a reason that is not its own.
    """
    terms = terms or Terms()
    patch, others = _prepared(prediction.patch, terms)
    if not patch.strip():
        why = () if prediction.patch.strip() == "" else ("the patch touches no test file",)
        return _without_run(key, "no_test" if why else "empty", others, *why)
    if not file_patches(patch):
        return _without_run(key, "not_applicable", others, "it is not a unified diff")
    files = test_files(patch)
    try:
        runnable = _applied(patch, files, spawn)
    except PatchRejected as error:
        return _without_run(key, "not_applicable", others, str(error))
    if not runnable:
        return _without_run(key, "no_test", others, "no touched file holds a test")
    evidence = run_states(patch, key, spawn, store, terms, slot, files)
    if isinstance(evidence, Conflict):
        verdict = Verdict("conflict", remarks=(evidence.why,), fails_before=evidence.fails_before)
        return IssueGrade(key.id, verdict, others=others)
    return grade_evidence(evidence, key, others=others)


def grade_evidence(evidence: Evidence, key: IssueKey, *, others: Sequence[str] = ()) -> IssueGrade:
    """The grade that the reports amount to.

    Raises `WorkspaceUnavailable` when the golden tests cannot be run on the fixed code, or the
    original tests did not finish without the patch, nor did the golden ones: where only the files
    that the patch chose do not, the choice is its own.
    """
    if why := unrunnable(evidence.golden[1]):
        raise WorkspaceUnavailable(f"the golden tests cannot be run here: {why}")
    for report in evidence.base:
        if report.status != "finished":
            why = f"the repository's own tests do not finish: {report.remark or report.status}"
            if any(not one.results or one.status != "finished" for one in evidence.golden):
                raise WorkspaceUnavailable(why)
            status: Status = "timeout" if report.status == "timeout" else "crashed"
            verdict = Verdict(status, remarks=(why,))
            return IssueGrade(key.id, verdict, others=tuple(others), evidence=evidence)
    verdict = judge(*evidence.predicted, *evidence.base)
    coverage = covered_by(key, evidence)
    first, last = evidence.golden
    golden = covered_by(key, replace(evidence, predicted=((first,), (last,))))
    return IssueGrade(key.id, verdict, coverage, golden, tuple(others), evidence)


def covered_by(
    key: IssueKey, evidence: Evidence, executable: ExecutableLines | None = None
) -> ChangeCoverage:
    """ΔC of the predicted tests in the evidence; see `change_coverage`."""
    before, after = (reports[0] for reports in evidence.predicted)
    return change_coverage(
        key.patch,
        before=before,
        after=after,
        base=evidence.base,
        golden=evidence.golden,
        executable=executable,
    )


def _prepared(patch: str, terms: Terms) -> tuple[str, tuple[str, ...]]:
    """The patch as it is applied, and the files in it that are no tests.

    A binary file without its data (`Binary files a and b differ`) is left out, as the reference
    leaves it out.
    """
    parts = [part for part in file_patches(patch) if not _is_hollow(part.text)]
    if not parts:
        return patch, ()
    others = tuple(sorted({part.path for part in parts if not is_test_file(part.path)}))
    if terms.tests_only:
        parts = [part for part in parts if part.path not in others]
    return "".join(part.text for part in parts), others


def _is_hollow(text: str) -> bool:
    return any(line.startswith("Binary files ") for line in text.splitlines())


def _applied(patch: str, files: Sequence[str], spawn: Callable[[], Workspace]) -> bool:
    """Apply the patch to the original code; say whether any of the files holds a test."""
    with spawn() as workspace:
        workspace.apply(patch)
        return bool(files_with_tests(workspace, files))


def _states(
    patch: str, key: IssueKey, files: tuple[str, ...], terms: Terms
) -> tuple[list[PatchedState], list[PatchedState]]:
    """The states on the original and on the fixed code: predicted ones, then base and golden, and
    the import of the golden tests' files that the base state does not run: what they and their
    conftest import, the suite has executed before any prediction does."""
    golden_files = test_files(key.test_patch)
    there = {part.new for part in file_patches(patch) if part.old is not None}
    unrun = tuple(file for file in golden_files if file not in files or file not in there)
    lines, touched = counted_lines(key.patch), touched_files(key.patch)
    lanes = []
    for fix in ("", key.patch):
        golden = PatchedState(fix, key.test_patch, golden_files, lines, touched)
        predicted = PatchedState(fix, patch, files, lines, touched)
        kept = predicted == golden and terms.repeat == 1
        base = PatchedState(fix, "", files, lines, touched)
        suite = replace(base, files=unrun if lines else (), import_only=True)
        lanes.append([*[replace(predicted, kept=kept)] * terms.repeat, base, golden, suite])
    return lanes[0], lanes[1]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The patch applies to the original code alone."""

    why: str
    fails_before: bool


def run_states(
    patch: str,
    key: IssueKey,
    spawn: Callable[[], Workspace],
    store: ReportCache,
    terms: Terms,
    slot: AbstractContextManager[Any] | None,
    files: tuple[str, ...],
) -> Evidence | Conflict:
    """Run all states that the grade of a patch with these test files rests on. Raises
    `WorkspaceUnavailable`."""
    before, after = _states(patch, key, files, terms)
    with ThreadPoolExecutor(2) as lanes:
        futures = [
            lanes.submit(run_lane, states, spawn, store, timeout=terms.timeout, slot=slot)
            for states in (before, after)
        ]
    n = terms.repeat
    first = futures[0].result()
    try:
        last = futures[1].result()
    except PatchRejected as error:
        return Conflict(str(error), fails_before(first[:n], first[n]))
    predicted = tuple(first[:n]), tuple(last[:n])
    base = with_counts(first[n], first[n + 2]), with_counts(last[n], last[n + 2])
    return Evidence(predicted, base, (first[n + 1], last[n + 1]))


def _without_run(key: IssueKey, status: Status, others: Sequence[str], *remarks: str) -> IssueGrade:
    return IssueGrade(key.id, Verdict(status, remarks=tuple(remarks)), others=tuple(others))


def unrunnable(report: TestReport) -> str:
    """Return in one line why the tests of a state known to be right cannot run here; "" if some
    test ran, or none exists.

    A runner that does not start, and files none of which can be imported, speak of the
    environment: it lacks a package, or has one that is too new. That does not count.
    """
    if any(result.phase != "collect" for result in report.results):
        return ""
    if not report.results:
        return "" if report.status != "crashed" else report.remark or "the runner did not start"
    failures = (one.failure for one in report.results if one.outcome == "error")
    failure = next((one for one in failures if one is not None), None)
    if failure is None:
        return ""
    file = report.results[0].file or report.results[0].id
    message = (failure.message.strip().splitlines() or [""])[-1]
    return f"{file} cannot be imported: {failure.type}: {message}"[:300]


# -- grade records ---------------------------------------------------------------------------------
# Grades as the records of a journal, and the reports that they rest on as files of a run.


@dataclass(frozen=True, slots=True)
class GoldenCheck:
    """A check that the golden tests reproduce the issue here."""

    works: bool
    missing: tuple[str, ...]
    """Tests of the row's FAIL_TO_PASS that do not go from fail to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRecord:
    """The grade of one prediction, without its evidence."""

    id: str
    status: Status
    own: tuple[tuple[str, TestStatus, TestStatus, bool], ...]
    """Each test of the patch: before, after, and whether it is flaky."""
    broken: tuple[str, ...]
    remarks: tuple[str, ...]
    others: tuple[str, ...]
    coverage: ChangeCoverage | None
    golden_coverage: ChangeCoverage | None
    golden: GoldenCheck | None = None
    seconds: Number | None = None
    repo: str | None = None
    fails_before: bool = False
    content: str = ""
    """A digest of the instance and one of the prediction."""


RECORDS = Schema("grade", GradeRecord)


def grade_record(
    grade: IssueGrade,
    *,
    golden: GoldenCheck | None = None,
    repo: str | None = None,
) -> GradeRecord:
    """A grade as it is stored, without its evidence."""
    verdict = grade.verdict
    return GradeRecord(
        id=grade.id,
        status=verdict.status,
        own=tuple((one.test, one.before, one.after, one.flaky) for one in verdict.own),
        broken=verdict.broken,
        remarks=verdict.remarks,
        others=grade.others,
        coverage=grade.coverage,
        golden_coverage=grade.golden_coverage,
        golden=golden,
        seconds=None,
        repo=repo,
        fails_before=verdict.fails_before,
    )


def read_grade(record: GradeRecord, evidence: Evidence | None = None) -> IssueGrade:
    """The grade in a record of a journal."""
    own = tuple(Transition(*row) for row in record.own)
    return IssueGrade(
        record.id,
        Verdict(record.status, own, record.broken, record.remarks, record.fails_before),
        record.coverage,
        record.golden_coverage,
        record.others,
        evidence,
    )


def evidence_files(grade: IssueGrade) -> dict[str, bytes]:
    """The reports that a grade rests on, as files of the run's folder by their paths in it."""
    if grade.evidence is None:
        return {}
    data = to_builtins(grade.evidence, str_keys=True)
    packed = gzip.compress(json.dumps(data).encode(), compresslevel=5, mtime=0)
    return {_evidence_path(grade.id): packed}


def read_evidence(run: Path, id: str) -> Evidence | None:
    """The reports of an instance; None where nothing was run. Raises `InputError`."""
    path = run / _evidence_path(id)
    try:
        return convert(parse_json(unpack(read_file(path))), Evidence, str_keys=True)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"{path}: not the reports of a run: {error}") from None


def _evidence_path(id: str) -> str:
    return "reports/" + re.sub(r"[^\w.+-]", "_", id) + ".json.gz"


# -- grade summary ---------------------------------------------------------------------------------


Grades = Mapping[str, GradeRecord | ErrorRecord]
"""Instance id -> its grade, or why there is none."""

Columns = Literal["v1", "later", "tdd"]
"""Definitions of a table: the paper's first version's, or the benchmark's of today."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's figures. Shares of instances, and means of ΔC over instances."""

    n: int
    """Instances with a grade."""
    figures: Mapping[str, Figure]
    statuses: Mapping[str, int]
    """Status -> number of instances."""
    errors: Mapping[str, str]
    """Instances without a grade, with the reason: infrastructure, never counted as wrong."""
    flaky: int
    """Instances with a flaky test of the patch."""
    doubtful: tuple[str, ...]
    """Instances whose golden tests show no F→P here."""
    others: int
    """Predictions that touch files besides tests."""
    counted: int
    """Instances that ΔC is a mean over: the others have no line that it counts."""


def summarize(keys: Sequence[IssueKey], records: Grades) -> Summary:
    """The figures over the instances that have a record, in the order of `keys`.

    ΔC is 0 for a prediction whose tests were not run. An instance is left out of it when its golden
    patch changes no line of Python, or none that the original or golden tests execute.
    """
    found = [records[key.id] for key in keys if key.id in records]
    graded = [record for record in found if not isinstance(record, ErrorRecord)]
    grades = [read_grade(record) for record in graded]
    by_id = {key.id: key for key in keys}
    covered = [(grade, c) for grade in grades if (c := _delta(grade, by_id[grade.id])) is not None]

    def share(holds: Callable[[IssueGrade], bool]) -> Figure:
        return mean(float(holds(grade)) for grade in grades)

    return Summary(
        n=len(grades),
        figures={
            "applicable": share(lambda g: g.applicable),
            "fail_to_any": share(lambda g: bool(g.verdict.fail_to_any)),
            "fail_to_pass": share(lambda g: bool(g.verdict.fail_to_pass)),
            "pass_to_pass": share(lambda g: bool(g.verdict.pass_to_pass)),
            "fail_to_any_v1": share(lambda g: g.applicable and g.verdict.fails_before),
            "pass_to_pass_v1": share(lambda g: g.applicable and not g.verdict.fails_before),
            "success": share(lambda g: g.verdict.success),
            "coverage": mean(value for _, value in covered),
            "coverage_success": mean(v for g, v in covered if g.verdict.success),
            "coverage_other": mean(v for g, v in covered if not g.verdict.success),
            "tdd_score": mean(_tdd_score(grade) for grade in grades),
        },
        statuses=dict(Counter(grade.verdict.status for grade in grades).most_common()),
        errors={one.id: one.error for one in found if isinstance(one, ErrorRecord)},
        flaky=sum(any(one.flaky for one in grade.verdict.own) for grade in grades),
        doubtful=tuple(r.id for r in graded if r.golden is not None and not r.golden.works),
        others=sum(bool(grade.others) for grade in grades),
        counted=len(covered),
    )


def best_records(samples: Sequence[Grades]) -> dict[str, GradeRecord | ErrorRecord]:
    """Of several samples of each instance the best graded one: the oracle of pass@k.

    Success counts most, then F→P, then ΔC, then applicability (the reference's order). An instance
    is without a grade when one of its samples is, and none succeeds.
    """
    best: dict[str, GradeRecord | ErrorRecord] = {}
    for id in dict.fromkeys(id for records in samples for id in records):
        rows = [records[id] for records in samples if id in records]
        errors = [row for row in rows if isinstance(row, ErrorRecord)]
        graded = [row for row in rows if not isinstance(row, ErrorRecord)]
        top = max(graded, key=_goodness) if graded else errors[0]
        best[id] = errors[0] if errors and top.status != "success" else top
    return best


def _goodness(record: GradeRecord) -> tuple[bool, bool, float, bool]:
    grade = read_grade(record)
    delta = grade.coverage.value if grade.coverage is not None else None
    verdict = grade.verdict
    return verdict.success, bool(verdict.fail_to_pass), delta or 0.0, grade.applicable


def _delta(grade: IssueGrade, key: IssueKey) -> float | None:
    if grade.coverage is not None:
        return grade.coverage.value
    return 0.0 if counted_lines(key.patch) else None


def _tdd_score(grade: IssueGrade) -> float:
    """TDD-Bench Verified's score of an instance (arXiv 2412.02883): F→P times the
    share of the changed lines that the test runs; of sympy F→P alone, as in its harness.

    Where the harness counts each changed line that is neither blank nor a comment, X* counts.
    """
    reached = grade.coverage.value if grade.coverage is not None else None
    adequacy = 1.0 if grade.id.startswith("sympy__") else reached or 0.0
    return adequacy * grade.verdict.success


# -- reference -------------------------------------------------------------------------------------
# The reference harness's report, with its field names and its rules, from our evidence.


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
    report.update(_reference_coverage(evidence, key))
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


def _reference_coverage(evidence: Evidence, key: IssueKey) -> dict[str, float]:
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

"""The tables about graded runs over issues."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from refute.core.remarks import few
from refute_lab.benches.issues import IssueBenchSettings, PredictionRecord, spent_on
from refute_lab.figures import (
    Estimate,
    Interval,
    Share,
    estimate,
    of_share,
)
from refute_lab.report import (
    Cell,
    Grid,
    Row,
    count_cell,
    estimate_cell,
    figure_document,
    figures_grid,
    number,
    p_cell,
    pairs_grid,
    print_grid,
    row_of,
)
from refute_lab.report.paper import (
    SWT_BENCH,
    Match,
    PaperFigure,
    RunKey,
    differing,
    matches,
    paper_figures,
    paper_grid,
    paper_rows,
)
from refute_lab.runs import ErrorRecord, read_header
from refute_lab.swt.grade import Columns, GradeRecord, Grades, Summary, read_grade
from refute_lab.swt.repair import FilterRun, FixRecord, FixSummary, Point
from refute_lab.swt.study import (
    Breakdown,
    Ensemble,
    GradedRun,
    Independence,
    StudiedRun,
    Study,
)

# -- filters ---------------------------------------------------------------------------------------


MOST_POINTS = 10
"""Points of the trade-off that are printed; JSON has all."""


def filter_document(run: FilterRun) -> dict[str, Any]:
    """`{"proposed", "applied", "unfiltered", "filtered", "curve", "instances", "errors", ...}`."""
    result = run.result
    return {
        "dataset": run.dataset,
        "fixer": run.fixer,
        "tests": run.tests,
        "run": str(run.folder),
        "proposed": result.proposed,
        "applied": result.unfiltered.kept,
        "unfiltered": _point(result.unfiltered),
        "filtered": _point(result.filtered),
        "curve": [_point(point) for point in result.curve],
        "instances": [
            {
                "id": one.id,
                "status": one.status,
                "resolved": one.resolved,
                "kept": one.kept,
                "tests": one.verdict,
                "confidence": one.confidence,
            }
            for one in run.judged
        ],
        "errors": dict(run.errors),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "threshold": point.threshold,
        "kept": point.kept,
        "right": point.right,
        "resolved": point.resolved,
        "precision": number(point.precision),
        "precision_interval": _interval(point.precision_interval),
        "recall": number(point.recall),
        "recall_interval": _interval(point.recall_interval),
    }


def _chosen(curve: Sequence[Point]) -> Sequence[Point]:
    """At most `MOST_POINTS`, evenly spread, the first among them."""
    step = max(1, math.ceil(len(curve) / MOST_POINTS))
    return curve[::step]


def _interval(interval: Interval) -> list[float | None]:
    return [number(interval.low), number(interval.high)]


ISSUE_HEADS = {
    "applicable": "A",
    "fail_to_any": "F→×",
    "fail_to_pass": "F→P",
    "pass_to_pass": "P→P",
    "success": "S",
    "coverage": "ΔC",
    "coverage_success": "ΔC of S",
    "coverage_other": "ΔC of others",
}
"""Figures of Tables 2 and 3 and the heads of their columns."""
V1_HEADS = {
    "applicable": "A",
    "fail_to_any_v1": "F→×",
    "success": "F→P",
    "pass_to_pass_v1": "P→P",
    "coverage": "ΔC",
    "coverage_success": "ΔC of F→P",
    "coverage_other": "ΔC of others",
}
"""The same as version 1 of the paper has them: its F→P is our S; F→× counts a file that cannot be
imported, and P→P is every other patch that applies, so that A = F→× + P→P."""
_TDD_HEADS = {"applicable": "A", "success": "F→P", "coverage": "adequacy", "tdd_score": "tddScore"}
"""As TDD-Bench Verified has them (arXiv 2412.02883)."""
HEADS: Mapping[Columns, Mapping[str, str]] = {
    "v1": V1_HEADS, "later": ISSUE_HEADS, "tdd": _TDD_HEADS,
}  # fmt: skip
_BESIDE = {**ISSUE_HEADS, "fail_to_any_v1": "F→× (v1)", "pass_to_pass_v1": "P→P (v1)"}
"""Names of figures beside the paper's, where both kinds stand in one column."""
_MEANING = (
    "% of the n instances, or of as many as it says [95 % interval]. A: the patch applies. "
    "F→×, F→P, P→P: some test of it does so before → after the golden patch. S: F→P and nothing "
    "fails after. ΔC: change coverage."
)


def issue_grids(study: Study, *, as_model: str | None = None) -> list[Grid]:
    """All tables of a study, the main one first."""
    found = [issue_matches(subject, study, as_model) for subject in study.subjects]
    beside = [
        (subject.label, match)
        for subject, own in zip(study.subjects, found, strict=True)
        for match in own
    ]
    grids = [
        _main(study, found),
        *paper_grid(_name(study), study.dataset, beside, _BESIDE),
        *_samples(study),
    ]
    grids += [_breakdown(one, study) for one in study.breakdowns if len(one.groups) > 1]
    if study.pairs:
        labels, title = [one.label for one in study.subjects], f"{_name(study)}, two runs on the "
        grids.append(_regions(study))
        grids += pairs_grid(f"{title}same instances", study.pairs, labels, ISSUE_HEADS)
    grids += [_fixes(name, rows, study, as_model) for name, rows in study.fixes]
    return [*grids, *_costs(study), *_version_1(study, found), *_contexts(study, as_model)]


def issue_estimate(subject: StudiedRun, name: str) -> Estimate:
    """A figure of a run with its interval."""
    return estimate(subject.summary.figures.get(name))


def issue_matches(
    subject: StudiedRun, study: Study, as_model: str | None, *, among_contexts: bool = False
) -> tuple[Match, ...]:
    """Find the same run in SWT-Bench and its leaderboard; `among_contexts`: in Table 5."""

    def value(figure: PaperFigure) -> Estimate | None:
        if figure.metric == "usd":
            usd = None if subject.cost is None else subject.cost.usd_per_instance
            return None if usd is None else Estimate(usd)
        if figure.metric not in subject.summary.figures:
            return None
        return issue_estimate(subject, figure.metric)

    key = replace(_key(subject, study, as_model), among_contexts=among_contexts)
    return tuple(matches(key, value))


def _key(subject: StudiedRun, study: Study, as_model: str | None) -> RunKey:
    run = subject.run
    return RunKey(
        paper=SWT_BENCH,
        dataset=study.dataset,
        method=_paper_method(run),
        model=run.model,
        problems=subject.summary.n,
        given=run.given,
        rules=_rules(run),
        as_model=as_model,
    )


def _rules(run: GradedRun) -> str:
    """Rules for the lines that ΔC counts: `v1` where the grading took those of the printed
    formula."""
    return "v1" if _executable(run) == "printed" else "later"


def _executable(run: GradedRun) -> str:
    """The lines that ΔC counts, as `executable` of the grading named them."""
    header = read_header(run.folder / "grades" / "predictions") or read_header(run.folder) or {}
    terms = header.get("terms")
    return str(terms.get("executable", "own")) if isinstance(terms, dict) else "own"


def _paper_method(run: GradedRun) -> str:
    """As the paper's tables name it; the first of several samples is in none of them."""
    if run.gold:
        return "gold"
    if run.oracle:
        return run.method.partition(" of ")[0]
    return f"first of {run.method}" if run.method.startswith("pass@") else run.method


def _name(study: Study) -> str:
    return Path(study.dataset).name


def _main(study: Study, found: Sequence[Sequence[Match]]) -> Grid:
    models = {subject.run.model for subject in study.subjects}
    title = _name(study)
    if len(models) == 1 and None not in models:
        title += f": {models.pop()}"
    rows = _figures(study, found, ISSUE_HEADS)
    heads = ("", "n", *ISSUE_HEADS.values())
    return Grid("figures", title, heads, rows, (*cautions(study), *_best_listed(study), _MEANING))


def _best_listed(study: Study) -> list[str]:
    """The leaderboard's best, so that a run stands not only beside rows of its own method."""
    rows = [
        one
        for one in paper_figures(SWT_BENCH)
        if (one.version, one.metric, one.dataset) == ("later", "success", _name(study))
    ]
    best = sorted(rows, key=lambda one: -one.value)[:3]
    told = (f"{one.method.removeprefix('external: ')} {one.value} ({one.table})" for one in best)
    return [f"S of the leaderboard's best: {', '.join(told)}"] if best else []


def _version_1(study: Study, found: Sequence[Sequence[Match]]) -> list[Grid]:
    """Tables 2 to 4 with the columns of the paper's first version."""
    if not any("fail_to_any_v1" in subject.summary.figures for subject in study.subjects):
        return []
    rows = _figures(study, found, V1_HEADS)
    title = f"{_name(study)}, by version 1's definitions (SWT-Bench, Tables 2 to 4)"
    notes = ["F→P: one test fails before and all pass after. A = F→× + P→P."]
    other = [one.label for one in study.subjects if _executable(one.run) != "printed"]
    if other:
        shown = few(other)
        notes.append(f"ΔC of {shown} counts other lines than version 1's (executable=printed)")
    return [Grid("swt-2", title, ("", "n", *V1_HEADS.values()), rows, tuple(notes), shown=False)]


def _figures(
    study: Study, found: Sequence[Sequence[Match]], heads: Mapping[str, str]
) -> tuple[Row, ...]:
    rows: list[Row] = []
    for subject, own in zip(study.subjects, found, strict=True):
        rows.append(figures_row(subject.label, subject.summary, heads, subject.run.missing))
        rows += paper_rows(own, heads, empty=1, digits=1)
    return tuple(rows)


def figures_row(label: str, summary: Summary, heads: Mapping[str, str], missing: int = 0) -> Row:
    """The figures of one graded run; what is not a share of all its `n` says of how many it is."""
    size = Cell(f"{summary.n}" + (f" (+{missing})" if missing else ""), summary.n)
    figures = (estimate(summary.figures.get(name)) for name in heads)
    return row_of(label, size, *(estimate_cell(one, over=summary.n) for one in figures))


def cautions(study: Study) -> list[str]:
    """List what a reader must be careful about."""
    sets = [frozenset(subject.run.graded) for subject in study.subjects]
    lines = []
    if len(set(sets)) > 1:
        common = frozenset.intersection(*sets)
        lines.append(differing("instances", list(map(len, sets)), len(common)))
    ways = [_executable(subject.run) for subject in study.subjects]
    if len(set(ways)) > 1:
        each = zip(study.subjects, ways, strict=True)
        told = "; ".join(f"{subject.label}: {way}" for subject, way in each)
        lines.append(f"ΔC counts other lines from run to run (executable): {told}")
    for subject in study.subjects:
        summary = subject.summary
        if summary.counted < summary.n:
            lines.append(
                f"{subject.label}: ΔC is a mean over {summary.counted} of {summary.n}, "
                "as the others have no line that it counts"
            )
        if summary.errors:
            lines.append(f"{subject.label}: no grade for {few(sorted(summary.errors))}")
        if summary.doubtful:
            doubtful = few(summary.doubtful)
            lines.append(f"{subject.label}: the golden tests reproduce nothing here: {doubtful}")
    return lines


def _samples(study: Study) -> list[Grid]:
    most = max((len(subject.pass_at) for subject in study.subjects), default=0)
    if not most:
        return []
    rows = [
        row_of(
            subject.run.method,
            *(estimate_cell(estimate(one)) for one in subject.pass_at),
            *[""] * (most - len(subject.pass_at)),
        )
        for subject in study.subjects
        if subject.pass_at
    ]
    heads = ("", *(f"pass@{k + 1}" for k in range(most)))
    return [Grid("samples", f"{_name(study)}, S of the best of k samples", heads, tuple(rows))]


def _breakdown(one: Breakdown, study: Study) -> Grid:
    """Figures 5 and 6: S in groups of instances, and what fixes resolve there."""
    sizes = (count_cell(len(group.ids)) for group in one.groups)
    rows = [row_of("instances", *sizes, kind="total")]
    rows += [
        row_of(subject.label, *_shares([shares[at] for shares in one.shares], one))
        for at, subject in enumerate(study.subjects)
    ]
    rows += [row_of(f"fixes: {name}", *_shares(shares, one)) for name, shares in one.fixes]
    heads = ("", *(group.label for group in one.groups))
    name = "-".join(one.title.split()[:2])
    return Grid(name, f"{_name(study)}, S {one.title}, %", heads, tuple(rows))


def _shares(shares: Sequence[Share], one: Breakdown) -> Iterator[Cell]:
    for share, group in zip(shares, one.groups, strict=True):
        yield estimate_cell(of_share(share), over=len(group.ids))


def _regions(study: Study) -> Grid:
    found = study.ensemble
    rows = [
        row_of(region_name(places, study), count_cell(count))
        for places, count in found.regions.items()
    ]
    rows.append(row_of("the ideal ensemble", _ideal(found), kind="total"))
    title = f"{_name(study)}, overlap of S on {found.n} common instances"
    return Grid("overlap", title, ("solved by just", "instances"), tuple(rows))


def _ideal(found: Ensemble) -> Cell:
    """Count the issues that a perfect choice among the runs would solve."""
    share = f" ({100 * found.ideal / found.n:.1f} %)" if found.n else ""
    return Cell(f"{found.ideal}{share}", found.ideal)


def region_name(places: Sequence[int], study: Study) -> str:
    """The runs of a region of the Venn diagram."""
    if len(places) > 1 and len(places) == sum(one.run.is_method for one in study.subjects):
        return "all"
    return " + ".join(study.subjects[at].label for at in places)


def _fixes(name: str, rows: Sequence[Independence], study: Study, as_model: str | None) -> Grid:
    """Table 6: instances whose tests succeed against those whose fixes do."""
    lines: list[Row] = []
    for subject, found in zip(study.subjects, rows, strict=True):
        counts = (found.n, found.both + found.only_tests, found.both + found.only_fixes, found.both)
        expected = count_cell(found.expected, ".1f")
        tests = map(p_cell, (found.p_greater, found.p, found.p_chi_squared))
        lines.append(row_of(subject.label, *map(count_cell, counts), expected, *tests))
        printed = matches(
            _key(subject, study, as_model),
            lambda figure: Estimate(1.0) if figure.table == "Table 6" else None,
        )
        values = {match.figure.metric: match.figure for match in printed}
        if values:
            counts_there = [values[m].value for m in ("solved_tests", "solved_fixes", "overlap")]
            lines.append(
                row_of(
                    f"  {printed[0].version}: {printed[0].table}",
                    count_cell(values["p"].size),
                    *map(count_cell, counts_there),
                    "",
                    p_cell(values["p"].value / 100),
                    "",
                    "",
                    kind="paper",
                )
            )
    heads = ("", "n", "tests", "fixes", "both", "if independent", "p, one-sided", "p", "p (χ²)")
    title = f"{_name(study)}, solving tests and solving fixes: {name}"
    note = (
        "if independent: so many of both were to be expected; p: Fisher's exact test, one-sided "
        "(which fits the paper's) and two-sided; Pearson's χ²",
    )
    return Grid("fixes", title, heads, tuple(lines), note)


def _costs(study: Study) -> list[Grid]:
    rows = []
    for subject in study.subjects:
        cost = subject.cost
        if cost is not None and cost.samples:
            money = (cost.usd, cost.usd_per_instance, cost.usd_per_success)
            rows.append(
                row_of(
                    subject.label,
                    *map(count_cell, (cost.instances, cost.samples, cost.tokens)),
                    *(count_cell(value, ".2f") for value in money),
                    count_cell(cost.seconds / 3600, ".1f"),
                )
            )
    heads = ("", "instances", "samples", "tokens", "US$", "a piece", "per success", "hours")
    return [Grid("cost", f"{_name(study)}, cost", heads, tuple(rows))] if rows else []


def _contexts(study: Study, as_model: str | None) -> list[Grid]:
    """Table 5: one method given test files, or patches, beside what it does without."""
    rows: list[Row] = []
    for subject in study.subjects:
        own = issue_matches(subject, study, as_model, among_contexts=True)
        given = subject.run.given
        test = "golden" if "golden test files" in given else "-"
        patches = [word for word in given if "patch" in word and "test" not in word]
        told = "may be wrong" if any("wrong" in word for word in given) else ""
        names = ("applicable", "fail_to_any_v1", "success", "pass_to_pass_v1")
        n = subject.summary.n
        cells = [estimate_cell(issue_estimate(subject, name), over=n) for name in names]
        besides = "-" if "alone" in given else "BM25's files"
        where = (test, patches[0] if patches else "-", told, besides)
        rows.append(row_of(subject.label, *where, count_cell(n), *cells))
        rows += paper_rows(own, names, empty=5, digits=1)
    if not any(subject.run.given for subject in study.subjects):
        return []
    heads = ("", "test files", "patch", "told", "besides", "n", "A", "F→×", "S", "P→P")
    title = f"{_name(study)}, by what is given (SWT-Bench, Table 5)"
    note = "F→×, S, P→P: version 1's; S is its F→P"
    return [Grid("swt-5", title, heads, tuple(rows), (note,), shown=False)]


def filter_grid(run: FilterRun) -> Grid:
    """Precision and recall of all fixes, of kept ones, and of those kept at some confidence."""
    result = run.result
    left_out = result.proposed - result.unfiltered.kept
    notes = [f"{left_out} fixes do not apply"] if left_out else []
    notes.append("%, with 95 % intervals; right: by the golden tests")
    points = [("all that apply", result.unfiltered), ("kept by generated tests", result.filtered)]
    points += [(f"  confidence ≥ {one.threshold:.2f}", one) for one in _chosen(result.curve[:-1])]
    rows = [
        row_of(
            label,
            count_cell(one.kept),
            count_cell(one.right),
            _share_cell(one.precision, one.precision_interval),
            _share_cell(one.recall, one.recall_interval),
        )
        for label, one in points
    ]
    heads = ("", "fixes", "right", "precision", "recall")
    return Grid("filter", run.title, heads, tuple(rows), tuple(notes))


def _share_cell(value: float, interval: Interval) -> Cell:
    return estimate_cell(Estimate(value, interval.low, interval.high))


# -- benches and grades ----------------------------------------------------------------------------


def issue_bench_document(
    settings: IssueBenchSettings,
    ids: Sequence[str],
    records: Mapping[str, PredictionRecord | ErrorRecord],
    directory: Path,
) -> dict[str, Any]:
    """`{"dataset", "method", "model", "n", "status": {...}, "run", "cost"}`."""
    status = {"predicted": 0, "abstained": 0, "error": 0}
    for record in records.values():
        status[record.status] += 1
    spent = spent_on(records.values())
    return {
        "dataset": settings.dataset,
        "method": settings.method,
        "model": settings.model,
        "n": len(ids),
        "status": status,
        "run": str(directory),
        "cost": {
            "usd": None if spent.usd is None else round(spent.usd, 6),
            "samples": spent.samples + spent.cached,
            "tokens": spent.prompt_tokens + spent.completion_tokens,
        },
    }


# -- grades ----------------------------------------------------------------------------------------


STATUSES = {
    "success": "reproduces the issue",
    "empty": "no patch",
    "not_applicable": "does not apply",
    "no_test": "touches no test",
    "conflict": "conflicts with the golden patch",
    "not_trusted": "results were meddled with",
    "timeout": "ran out of time",
    "crashed": "the test process died",
    "collection_error": "cannot be imported after the golden patch",
    "fails_after": "a test fails after the golden patch",
    "no_test_ran": "none of its tests ran",
    "passes_before": "no test fails on the original code",
}
"""Status of an instance -> what it says to people."""


def grade_document(
    dataset: str, summary: Summary, records: Grades, ids: Sequence[str], run: str
) -> dict[str, Any]:
    """`{"dataset", "n", "n_coverage", "metrics": {name: {"value", "stderr"}}, "statuses", ...}`."""
    return {
        "dataset": dataset,
        "n": summary.n,
        "n_coverage": summary.counted,
        "metrics": {name: figure_document(figure) for name, figure in summary.figures.items()},
        "statuses": dict(summary.statuses),
        "errors": dict(summary.errors),
        "flaky": summary.flaky,
        "doubtful": list(summary.doubtful),
        "other_files": summary.others,
        "instances": [_instance(records[id]) for id in ids if id in records],
        "run": run,
    }


def _instance(record: GradeRecord | ErrorRecord) -> dict[str, Any]:
    if isinstance(record, ErrorRecord):
        return {"id": record.id, "status": "error", "error": record.error}
    grade = read_grade(record)
    verdict = grade.verdict
    return {
        "id": grade.id,
        "status": verdict.status,
        "fail_to_pass": list(verdict.fail_to_pass),
        "fail_to_any": list(verdict.fail_to_any),
        "pass_to_pass": list(verdict.pass_to_pass),
        "failing_after": list(verdict.failing_after),
        "flaky": [one.test for one in verdict.own if one.flaky],
        "broken": list(verdict.broken),
        "coverage": None if grade.coverage is None else grade.coverage.value,
        "golden_coverage": None if grade.golden_coverage is None else grade.golden_coverage.value,
        "golden": None if record.golden is None else asdict(record.golden),
        "other_files": list(grade.others),
        "remarks": list(verdict.remarks),
        "seconds": record.seconds,
    }


def print_grades(
    title: str, summary: Summary, console: Console, columns: Columns = "later"
) -> None:
    """The figures, then why instances failed, then what to be careful about."""
    whole = f" of {summary.n + len(summary.errors)}" if summary.errors else ""
    heading = f"{title}, {summary.n}{whole} instances"
    if not summary.n:
        console.print(Text(heading, style="bold"), soft_wrap=True)
    else:
        row = figures_row("", summary, HEADS[columns])
        print_grid(Grid("figures", heading, ("", "n", *HEADS[columns].values()), (row,)), console)
    for status, count in summary.statuses.items():
        console.print(Text(f"{count:5}  {STATUSES.get(status, status)}"))
    if summary.errors:
        console.print(Text(f"{len(summary.errors):5}  without a grade (not counted)"))
    for text in _cautions(summary):
        console.print(Text(f"note: {text}", style="dim"))


def _cautions(summary: Summary) -> list[str]:
    notes = []
    if summary.counted < summary.n:
        notes.append(f"ΔC is a mean over {summary.counted}: the others have no line that it counts")
    if summary.others:
        notes.append(
            f"{summary.others} predictions touch files that are no tests (--set tests_only=true)"
        )
    if summary.flaky:
        notes.append(f"{summary.flaky} predictions hold a flaky test; it counts against them")
    if summary.doubtful:
        doubtful = few(summary.doubtful, 5)
        notes.append(f"the golden tests reproduce nothing here, so doubt: {doubtful}")
    return notes


# -- repairs ---------------------------------------------------------------------------------------


FIX_STATUSES = {
    "resolved": "resolves the issue",
    "empty": "no patch",
    "no_code": "changes tests alone",
    "not_applicable": "does not apply",
    "conflict": "conflicts with the golden tests",
    "not_trusted": "meddles with the tests",
    "timeout": "ran out of time",
    "crashed": "the test process died",
    "fails": "a golden test that it has to turn green fails",
    "breaks": "breaks a golden test that passed",
}
"""Status of a fix -> what it says to people."""


def fix_grades_document(
    dataset: str,
    summary: FixSummary,
    ids: Sequence[str],
    records: Mapping[str, FixRecord | ErrorRecord],
    run: str,
) -> dict[str, Any]:
    """`{"dataset", "task", "n", "figures", "status", "resolved", "errors", "instances", "run"}`."""
    return {
        "dataset": dataset,
        "task": "repair",
        "n": summary.n,
        "figures": {name: figure_document(one) for name, one in summary.figures.items()},
        "status": dict(summary.statuses),
        "resolved": list(summary.resolved_ids),
        "errors": dict(summary.errors),
        "instances": [asdict(records[id]) for id in ids if id in records],
        "run": run,
    }


def print_fix_grades(title: str, summary: FixSummary, console: Console) -> None:
    """The figures, then how many fixes came to what."""
    labels = ("resolved", "applies", "resolved by the lists")
    print_grid(figures_grid(title, zip(labels, summary.figures.values(), strict=True)), console)
    for status, count in summary.statuses.items():
        console.print(Text(f"{count:5d}  {FIX_STATUSES[status]}"))
    if summary.errors:
        console.print(Text(f"{len(summary.errors):5d}  have no grade"))

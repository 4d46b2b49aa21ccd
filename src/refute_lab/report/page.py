"""One self-contained HTML page about a few runs: tables, charts, and each problem in detail.

What models and programs wrote is hostile: everything is escaped, and the page forbids itself every
script and every address (Content-Security-Policy). Templates draw the charts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.function.source import unified_diff
from refute_lab.benches import (
    FunctionRecord,
    StoredEdit,
    StoredLog,
    StoredVote,
    grades,
    read_grade,
)
from refute_lab.benches.issues import PredictionRecord
from refute_lab.figures import Estimate, estimate, of_share
from refute_lab.report import Grid, estimate_cell
from refute_lab.report.function_grids import (
    ROWS,
    DatasetStudy,
    FunctionRun,
    by_tests,
    cost_text,
    function_grids,
    utgen_tables,
)
from refute_lab.report.issue_grids import (
    ISSUE_HEADS,
    STATUSES,
    filter_grid,
    issue_estimate,
    issue_grids,
)
from refute_lab.report.paper import SWT_BENCH, UTGEN, claims, facts
from refute_lab.runs import ErrorRecord
from refute_lab.swt.grade import GradeRecord
from refute_lab.swt.grade import read_grade as read_issue_grade
from refute_lab.swt.repair import FilterRun
from refute_lab.swt.study import Breakdown, StudiedRun, Study


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One row of a dot plot: a figure of several series, None where one has none."""

    label: str
    figures: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a line plot."""

    label: str
    points: tuple[tuple[float, Estimate], ...]
    """(x, figure), x rising. Without one nothing is drawn, and later lines keep their marks."""


# -- template --------------------------------------------------------------------------------------


LONGEST = 600
"""Characters of a value or a call that are shown."""


def rendered(template: str, **variables: Any) -> str:
    """The page as HTML text; a variable that the template misses is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("refute_lab.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"told": _told, "votes": _votes, "zip": zip}
    environment.filters |= {"short": shortened, "marked": diff_lines}
    return environment.get_template(template).render(**variables)


def _told(figure: Estimate) -> str:
    return estimate_cell(figure).text


def dot_plot(title: str, labels: Sequence[str], rows: Sequence[ChartRow]) -> Mapping[str, Any]:
    """Figures as marks on a scale from 0 to 100 %, with their intervals, for the template."""
    return {"title": title, "legend": list(enumerate(labels)), "rows": rows}


def line_plot(
    title: str, lines: Sequence[ChartLine], x: str, y: str, *, shares: bool = False
) -> Mapping[str, Any]:
    """Figures over a small whole number (a round, a number of tests), y from 0 to 100 %.

    `shares`: x is a share as well, from 0 to 100 %.
    """
    whole = sorted({at for one in lines for at, _ in one.points})
    ticks = {at / 5: f"{20 * at} %" for at in range(6)} if shares else {n: f"{n:g}" for n in whole}
    legend = [(at, one.label) for at, one in enumerate(lines) if one.points]
    # lines at one x stand beside each other, so that intervals do not hide each other
    named = {"title": title, "legend": legend, "lines": lines, "ticks": ticks, "x": x, "y": y}
    return {**named, "spread": 0 if shares else 4}


def diff_lines(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Lines of a diff, each with its kind: add, del, at or same."""
    kinds = {"+": "add", "-": "del", "@": "at"}
    return [(kinds.get(line[:1], "same"), line) for line in lines]


def shortened(text: Any) -> str:
    """The text of a value, cut where it is longer than anyone reads."""
    text = str(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def render_page(studies: Sequence[DatasetStudy]) -> str:
    """The page as HTML text."""
    forms = utgen_tables(studies)
    return rendered(
        "page.html.jinja",
        datasets=[_dataset(study, function_grids([study])) for study in studies],
        forms=forms,
        runs=[_run(run) for study in studies for run in study.runs],
        claims=claims(),
        facts=facts(UTGEN),
    )


# -- a dataset: the tables and the charts ---------------------------------------------------------


def _dataset(study: DatasetStudy, grids: Sequence[Grid]) -> Mapping[str, Any]:
    return {
        "name": study.dataset,
        "labels": [run.label for run in study.runs],
        "main": grids[0],
        "grids": grids[1:],
        "charts": list(_charts(study)),
    }


def _charts(study: DatasetStudy) -> Iterator[Mapping[str, Any]]:
    runs, labels = study.runs, [run.label for run in study.runs]
    names = [name for name in ROWS if any(name in run.result.figures for run in runs)]
    dots = [ChartRow(ROWS[name], tuple(run.estimate(name) for run in runs)) for name in names]
    yield dot_plot("Figures", labels, dots)
    lines = [ChartLine(run.label, _by_round(run)) for run in runs]
    if any(line.points for line in lines):
        title = "Code accuracy by round"
        yield line_plot(title, lines, "rounds of debugging", ROWS["code_accuracy"])
    lines = [
        ChartLine(name, tuple((float(n), figure) for n, figure in points.items()))
        for name, points in by_tests(study).items()
    ]
    if lines:
        title = "Code accuracy by number of unit tests"
        yield line_plot(title, lines, "unit tests (n)", ROWS["code_accuracy"])


def _by_round(run: FunctionRun) -> tuple[tuple[float, Estimate], ...]:
    count = len(run.result.rounds)
    return tuple((float(at), run.after(at)) for at in range(count)) if count > 1 else ()


# -- a run: its problems ---------------------------------------------------------------------------


def _run(run: FunctionRun) -> Mapping[str, Any]:
    result, settings = run.result, run.result.settings
    groups: dict[str, list[Mapping[str, Any]]] = {
        "wrong fixes": [],
        "no fix": [],
        "right fixes": [],
        "left as they were, and right": [],
        "without a result": [],
    }
    for record in run.records:
        group, problem = _problem(record)
        groups[group].append(problem)
    return {
        "label": f"{settings.dataset}: {run.label}",
        "folder": str(result.run),
        "summary": f"{result.n} problems graded"
        + (f", {result.missing} not done yet" if result.missing else ""),
        "cost": None if result.cost is None else cost_text(result.cost),
        "groups": [(name, problems) for name, problems in groups.items() if problems],
    }


def _problem(record: FunctionRecord | ErrorRecord) -> tuple[str, Mapping[str, Any]]:
    """The group that a problem belongs to, and what is shown of it."""
    if isinstance(record, ErrorRecord):
        return "without a result", {"id": record.id, "error": record.error}
    grade, log = read_grade(record), record.log or StoredLog()
    best = record.candidates[0] if record.candidates else None
    if grade.fixed:
        group = "right fixes" if grade.passed else "wrong fixes"
    else:
        group = "left as they were, and right" if grade.passed else "no fix"
    view = {
        "id": record.id,
        "error": None,
        "private": f"{sum(grade.programs[0].verdicts)} of {len(grade.programs[0].verdicts)}",
        "record": record,
        "log": log,
        "edits": list(_edits(log, record.code)),
        "rounds": [p.passed for p in grades(record.grade.rounds or ())],
        "fix": None if best is None else _diff(record.code, best),
    }
    return group, view


def _votes(vote: StoredVote) -> Sequence[tuple[str, int, bool, bool]]:
    """Each output with its votes of the k, most first; whether it was asked for, and won."""
    rows = [(text, count, True, text == vote.winner) for text, count in vote.counts]
    rows += [(f"unreadable: {kind}", n, True, False) for kind, n in vote.unreadable.items()]
    rows.sort(key=lambda row: -row[1])
    spared = vote.k - vote.asked
    return [*rows, *[("not asked for: the outcome was clear", spared, False, False)] * (spared > 0)]


def _edits(log: StoredLog, code: str) -> Iterator[tuple[StoredEdit, list[tuple[str, str]] | None]]:
    """Rounds of debugging, each edit with its diff of the program that it was made on."""
    current = code
    for edit in log.edits:
        yield edit, None if edit.code is None else _diff(current, edit.code)
        if edit.accepted and edit.code is not None:
            current = edit.code


def _diff(before: str, after: str) -> list[tuple[str, str]]:
    return diff_lines(unified_diff(before, after, "code.py").splitlines()[2:])


# -- study page ------------------------------------------------------------------------------------


LONGEST_PATCH = 200
"""Lines of a patch that are shown."""
MOST_TESTS = 50
"""Tests of one instance that are shown."""


def render_studies(
    studies: Sequence[Study],
    filters: Sequence[FilterRun] = (),
    *,
    as_model: str | None = None,
) -> str:
    """The page as HTML text."""
    datasets = [one.dataset for one in studies] or [one.dataset for one in filters]
    return rendered(
        "studies.html.jinja",
        datasets=[Path(name).name for name in dict.fromkeys(datasets)],
        studies=[_study(one, as_model) for one in studies],
        filters=[_filter(one) for one in filters],
        claims=claims(SWT_BENCH),
        facts=facts(SWT_BENCH),
    )


def _filter(run: FilterRun) -> Mapping[str, Any]:
    points = [
        (point.recall, Estimate(point.precision, interval.low, interval.high))
        for point in (*run.result.curve, run.result.unfiltered)
        if not math.isnan(point.recall)
        for interval in (point.precision_interval,)
    ]
    shown = ChartLine(run.fixer, tuple(sorted(points, key=lambda point: point[0])))
    title = "Precision over recall, by the confidence that is asked for; last, without the filter"
    return {
        "title": run.title,
        "dataset": Path(run.dataset).name,
        "folder": str(run.folder),
        "grid": filter_grid(run),
        "charts": [line_plot(title, [shown], "recall", "precision", shares=True)] if points else [],
    }


def _study(study: Study, as_model: str | None) -> Mapping[str, Any]:
    grids = issue_grids(study, as_model=as_model)
    return {
        "name": Path(study.dataset).name,
        "main": grids[0],
        "grids": grids[1:],
        "charts": list(_study_charts(study)),
        "runs": [_study_run(subject) for subject in study.subjects],
    }


def _study_charts(study: Study) -> Iterator[Mapping[str, Any]]:
    subjects, labels = study.subjects, [subject.label for subject in study.subjects]
    dots = [
        ChartRow(head, tuple(issue_estimate(subject, name) for subject in subjects))
        for name, head in ISSUE_HEADS.items()
    ]
    yield dot_plot("Figures", labels, dots)
    lines = [
        ChartLine(
            s.label,
            tuple((float(k), estimate(one, s.summary.n)) for k, one in enumerate(s.pass_at, 1)),
        )
        for s in subjects
    ]
    if any(line.points for line in lines):
        yield line_plot("S of the best of k samples", lines, "samples (k)", "S of the best of k")
    for one in study.breakdowns:
        if len(one.groups) > 1:
            names = [*labels, *(f"fixes: {name}" for name, _ in one.fixes)]
            yield dot_plot(f"S {one.title}", names, _groups(one))


def _groups(one: Breakdown) -> list[ChartRow]:
    return [
        ChartRow(
            group.label,
            (
                *(of_share(share) for share in one.shares[at]),
                *(of_share(shares[at]) for _, shares in one.fixes),
            ),
        )
        for at, group in enumerate(one.groups)
    ]


# -- a run: its instances --------------------------------------------------------------------------


def _study_run(subject: StudiedRun) -> Mapping[str, Any]:
    run = subject.run
    work = {one.id: one for one in run.work if not isinstance(one, ErrorRecord)}
    groups: dict[str, list[Mapping[str, Any]]] = {label: [] for label in STATUSES.values()}
    groups["without a grade"] = []
    for id, record in run.grades.items():
        label = STATUSES.get(record.status, "without a grade")
        groups[label].append(_instance(id, record, work.get(id)))
    return {
        "label": subject.label,
        "folder": str(run.folder),
        "groups": [(label, rows) for label, rows in groups.items() if rows],
    }


def _instance(
    id: str, record: GradeRecord | ErrorRecord, work: PredictionRecord | None
) -> Mapping[str, Any]:
    notes = () if work is None else work.prediction.notes
    patch = "" if work is None else work.prediction.patch
    shown = {"id": id, "patch": patch.splitlines()[:LONGEST_PATCH], "tests": (), "coverage": None}
    if isinstance(record, ErrorRecord):
        return {**shown, "lines": [record.error, *notes]}
    grade = read_issue_grade(record)
    return {
        **shown,
        "lines": [*grade.verdict.remarks, *notes],
        "tests": grade.verdict.own[:MOST_TESTS],
        "coverage": None if grade.coverage is None else grade.coverage.value,
    }

"""One self-contained HTML page about graded runs over issues."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from refute.figures import Figure, mean
from refute.issue.analysis.filters import FilterRun
from refute.issue.analysis.groups import Share
from refute.issue.analysis.study import Breakdown, StudiedRun, Study
from refute.issue.bench import PredictionRecord
from refute.issue.grading.grade_records import GradeRecord, read_grade
from refute.report.charts import ChartLine, ChartRow, dot_plot, line_plot, trade_off
from refute.report.filters import FILTER_HEADS, filter_rows
from refute.report.grade import STATUSES
from refute.report.paper import claims
from refute.report.studies import (
    COST_HEADS,
    FIX_HEADS,
    PAIR_HEADS,
    cautions,
    cost_cells,
    figure_heads,
    figure_rows,
    ideal_text,
    independence_cells,
    pair_cells,
    region_name,
    share_text,
)
from refute.report.template import diff_lines, rendered, shortened
from refute.runs.records import ErrorRecord

__all__ = ["render_studies"]

CHARTED = {
    "applicable": "A",
    "fail_to_any": "F→×",
    "fail_to_pass": "F→P",
    "success": "S",
    "coverage": "ΔC",
}
LONGEST_PATCH = 200
"""Lines of a patch that are shown."""
MOST_TESTS = 50
"""Tests of one instance that are shown."""
BAR = 20.0
"""Width of the longest bar, in em."""


def render_studies(studies: Sequence[Study], filters: Sequence[FilterRun] = ()) -> str:
    """The page as HTML text."""
    datasets = [one.dataset for one in studies] or [one.dataset for one in filters]
    return rendered(
        "studies.html.jinja",
        datasets=[Path(name).name for name in dict.fromkeys(datasets)],
        studies=[_study(one) for one in studies],
        filters=[_filter(one) for one in filters],
        filter_heads=FILTER_HEADS,
        claims=claims("SWT-Bench"),
    )


def _filter(run: FilterRun) -> Mapping[str, Any]:
    nothing = math.nan
    points = [
        (point.recall, Figure(point.precision, nothing))
        for point in (*run.result.curve, run.result.unfiltered)
    ]
    shown = sorted((p for p in points if not math.isnan(p[0])), key=lambda point: point[0])
    return {
        "title": run.title,
        "dataset": Path(run.dataset).name,
        "folder": str(run.folder),
        "rows": filter_rows(run),
        "svg": Markup(trade_off([ChartLine(run.fixer, tuple(shown))])) if shown else None,
    }


def _study(study: Study) -> Mapping[str, Any]:
    subjects, labels = study.subjects, [subject.label for subject in study.subjects]
    most = max(study.ensemble.regions.values(), default=1)
    return {
        "name": Path(study.dataset).name,
        "labels": labels,
        "heads": figure_heads(),
        "figures": figure_rows(study),
        "cautions": cautions(study),
        "dots": _dots(subjects, labels),
        "samples": _samples(subjects),
        "breakdowns": [_breakdown(b, labels) for b in study.breakdowns if len(b.groups) > 1],
        "common": study.ensemble.n,
        "ideal": ideal_text(study.ensemble),
        "regions": [
            {"name": region_name(at, study), "count": n, "width": round(BAR * n / most, 2)}
            for at, n in study.ensemble.regions.items()
        ],
        "pair_heads": PAIR_HEADS,
        "pairs": [pair_cells(pair, study) for pair in study.pairs],
        "fix_heads": FIX_HEADS,
        "fixes": [
            (
                name,
                [(s.label, *independence_cells(r)) for s, r in zip(subjects, rows, strict=True)],
            )
            for name, rows in study.fixes
        ],
        "cost_heads": COST_HEADS,
        "costs": [(s.label, *cost_cells(s.cost)) for s in subjects if s.cost is not None],
        "runs": [_run(subject) for subject in subjects],
    }


def _dots(subjects: Sequence[StudiedRun], labels: Sequence[str]) -> Markup:
    rows = [
        ChartRow(label, tuple(subject.summary.figures[name] for subject in subjects))
        for name, label in CHARTED.items()
    ]
    return Markup(dot_plot(rows, labels))


def _samples(subjects: Sequence[StudiedRun]) -> Mapping[str, Any] | None:
    lines = [
        ChartLine(s.label, tuple((float(k), figure) for k, figure in enumerate(s.pass_at, 1)))
        for s in subjects
        if s.pass_at
    ]
    if not lines:
        return None
    return {
        "labels": [line.label for line in lines],
        "svg": Markup(line_plot(lines, "samples (k)")),
    }


def _breakdown(one: Breakdown, labels: Sequence[str]) -> Mapping[str, Any]:
    rows = [
        ChartRow(group.label, tuple(_figure(share) for share in shares))
        for group, shares in zip(one.groups, one.shares, strict=True)
    ]
    return {
        "title": one.title,
        "dots": Markup(dot_plot(rows, labels)),
        "heads": ["", *labels],
        "rows": [
            (group.label, *(share_text(share) for share in shares))
            for group, shares in zip(one.groups, one.shares, strict=True)
        ],
    }


def _figure(share: Share) -> Figure:
    return mean([1.0] * share.successes + [0.0] * (share.n - share.successes))


# -- a run: its instances --------------------------------------------------------------------------


def _run(subject: StudiedRun) -> Mapping[str, Any]:
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
    notes = [] if work is None else [shortened(note) for note in work.prediction.notes]
    written = "" if work is None else work.prediction.patch
    patch = diff_lines(written.splitlines()[:LONGEST_PATCH])
    if isinstance(record, ErrorRecord):
        lines = [shortened(record.error), *notes]
        return {"id": id, "lines": lines, "tests": [], "coverage": "", "patch": patch}
    grade = read_grade(record)
    value = None if grade.coverage is None else grade.coverage.value
    return {
        "id": id,
        "lines": [*(shortened(remark) for remark in grade.verdict.remarks), *notes],
        "tests": [
            (shortened(one.test), one.before, one.after, one.flaky)
            for one in grade.verdict.own[:MOST_TESTS]
        ],
        "coverage": "" if value is None else f"{100 * value:.0f}",
        "patch": patch,
    }

"""One self-contained HTML page about a few runs: tables, charts, and each problem in detail.

What models and programs wrote is hostile: everything is escaped, and the page forbids itself every
script and every address (Content-Security-Policy).

Pages from templates: what all of them share.

What models and programs wrote is hostile: everything is escaped, and the pages forbid themselves
every script and every address (Content-Security-Policy).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from refute.function.source import unified_diff
from refute_lab.benches import FunctionRecord, StoredLog, StoredVote, grades, read_grade
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

COLOURS = 8
LABEL = 6.6
"""Width of a letter of the labels, in pixels, about."""
_MARKS = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",  # circle
    "M-3.7 -3.7H3.7V3.7H-3.7Z",  # square
    "M0 -5L4.8 3.6H-4.8Z",  # triangle
    "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",  # diamond
    "M0 5L4.8 -3.6H-4.8Z",  # triangle, down
    "M-1.6 -5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",  # cross
    "M-4 -2L-2 -4L0 -2L2 -4L4 -2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0Z",  # x
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")


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


def marker(at: int, x: float = 0, y: float = 0) -> str:
    """The mark of a series."""
    d = _MARKS[at % len(_MARKS)]
    return f'<path class="dot c{at % COLOURS}" transform="translate({x:.1f} {y:.1f})" d="{d}"/>'


def dot_plot(rows: Sequence[ChartRow], series: Sequence[str], x_label: str) -> str:
    """Figures as marks on a scale from 0 to 100 %, with their intervals."""
    left = 16 + LABEL * max((len(row.label) for row in rows), default=0)
    width, pitch, gap = 760.0, 17.0, 14.0
    right = width - 170
    parts = []
    y = 24.0
    for row in rows:
        top = y
        for at, figure in enumerate(row.figures):
            if figure is not None and not math.isnan(figure.value):
                parts.append(_dot_row(figure, at, y, left, right, series[at]))
                y += pitch
        if y > top:
            parts.append(_text(left - 10, (top + y - pitch) / 2 + 4, row.label, anchor="end"))
            y += gap
    grid = [_vertical(left + (right - left) * at / 5, 10, y - 8, f"{20 * at} %") for at in range(6)]
    name = _text((left + right) / 2, y + 26, x_label, anchor="middle", kind="axis")
    return _svg(width, y + 36, [*grid, *parts, name], x_label)


def _dot_row(figure: Estimate, at: int, y: float, left: float, right: float, name: str) -> str:
    def place(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), 1.0)

    bars = ""
    if not math.isnan(figure.low):
        d = f"M{place(figure.low):.1f} {y:.1f}H{place(figure.high):.1f}"
        bars = f'<path class="whisker c{at % COLOURS}" d="{d}"/>'
    value = estimate_cell(figure).text
    title = f"<title>{escape(name)}: {value}</title>"
    shown = _text(right + 10, y + 4, value, kind="value")
    return f"<g>{title}{bars}{marker(at, place(figure.value), y)}{shown}</g>"


def line_plot(
    lines: Sequence[ChartLine], x_label: str, y_label: str, *, shares: bool = False
) -> str:
    """Figures over a small whole number (a round, a number of tests), y from 0 to 100 %.

    `shares`: x is a share as well, from 0 to 100 %, and the points stand where they are.
    """
    xs = (
        [at / 5 for at in range(6)]
        if shares
        else sorted({x for one in lines for x, _ in one.points})
    )
    low, high = (xs[0], xs[-1]) if xs else (0.0, 1.0)

    def across(x: float) -> float:
        return (x - low) / (high - low) if high > low else 0.5

    ticks = [(x, f"{100 * x:.0f} %" if shares else f"{x:g}") for x in xs]
    spread = 0.0 if shares else 4.0
    return _plot(lines, across, ticks, x_label, y_label, spread=spread)


def _plot(
    lines: Sequence[ChartLine],
    across: Callable[[float], float],
    ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_label: str,
    *,
    spread: float,
) -> str:
    """`across` places an x in [0, 1]. `spread`: pixels between lines at one x, so that intervals do
    not hide each other."""
    left, right, top, bottom = 70.0, 740.0, 14.0, 270.0

    def place(x: float) -> float:
        return left + 20 + (right - left - 40) * across(x)

    def up(value: float) -> float:
        return bottom - (bottom - top) * min(max(value, 0.0), 1.0)

    parts = []
    for fifth in range(6):
        y = up(fifth / 5)
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(_text(left - 8, y + 4, f"{20 * fifth} %", anchor="end", kind="axis"))
    parts += [_vertical(place(x), bottom, bottom + 4, label) for x, label in ticks]
    parts.append(_text((left + right) / 2, bottom + 40, x_label, anchor="middle", kind="axis"))
    parts.append(_sideways(16, (top + bottom) / 2, y_label))
    for at, line in enumerate(lines):
        shift = spread * (at - (len(lines) - 1) / 2)
        shown = [(place(x) + shift, x, one) for x, one in line.points if not math.isnan(one.value)]
        path = "L".join(f"{x:.1f} {up(figure.value):.1f}" for x, _, figure in shown)
        if len(shown) > 1:
            dash = f' stroke-dasharray="{_DASHES[at % len(_DASHES)]}"' if at % len(_DASHES) else ""
            parts.append(f'<path class="line c{at % COLOURS}"{dash} d="M{path}"/>')
        parts += [_point(at_x, x, figure, up, at, line.label) for at_x, x, figure in shown]
    return _svg(760, bottom + 50, parts, f"{y_label} over {x_label}")


def _point(
    place: float, x: float, figure: Estimate, up: Callable[[float], float], at: int, name: str
) -> str:
    bars = ""
    if not math.isnan(figure.low):
        d = f"M{place:.1f} {up(figure.low):.1f}V{up(figure.high):.1f}"
        bars = f'<path class="whisker c{at % COLOURS}" d="{d}"/>'
    title = f"<title>{escape(name)}, {x:,.4g}: {estimate_cell(figure).text}</title>"
    return f"<g>{title}{bars}{marker(at, place, up(figure.value))}</g>"


def _vertical(x: float, top: float, bottom: float, label: str) -> str:
    line = f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
    return line + (_text(x, bottom + 14, label, anchor="middle", kind="axis") if label else "")


def _sideways(x: float, y: float, text: str) -> str:
    turned = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"'
    return f'<text class="axis" {turned} text-anchor="middle">{escape(text)}</text>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str], name: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px"'
    return (
        f'<svg class="chart" {size} role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


# -- page ------------------------------------------------------------------------------------------


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
    environment.globals["marker"] = lambda at: Markup(marker(at))
    return environment.get_template(template).render(colours=COLOURS, **variables)


def chart(title: str, labels: Sequence[str], svg: str) -> Mapping[str, Any]:
    """A chart of ours with its title and its legend, for a template."""
    return {"title": title, "legend": list(enumerate(labels)), "svg": Markup(svg)}


def line_chart(title: str, lines: Sequence[ChartLine], svg: str) -> Mapping[str, Any]:
    """A chart of lines; the legend leaves out those without a point."""
    legend = [(at, line.label) for at, line in enumerate(lines) if line.points]
    return {"title": title, "legend": legend, "svg": Markup(svg)}


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
    yield chart("Figures", labels, dot_plot(dots, labels, "%, with 95 % intervals"))
    lines = [ChartLine(run.label, _by_round(run)) for run in runs]
    if any(line.points for line in lines):
        svg = line_plot(lines, "rounds of debugging", ROWS["code_accuracy"])
        yield line_chart("Code accuracy by round", lines, svg)
    lines = [
        ChartLine(name, tuple((float(n), figure) for n, figure in points.items()))
        for name, points in by_tests(study).items()
    ]
    if lines:
        svg = line_plot(lines, "unit tests (n)", ROWS["code_accuracy"])
        yield line_chart("Code accuracy by number of unit tests", lines, svg)


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
        "tests": list(_tests(record)),
        "suites": list(_suites(log)),
        "edits": list(_edits(log, record.code)),
        "rounds": [p.passed for p in grades(record.grade.rounds or ())],
        "fix": None if best is None else _diff(record.code, best),
        "lines": [line for lines in record.edits[:1] for line in lines],
        "notes": [] if log.edits else record.notes,
        "unreadable": log.unreadable,
        "too_long": log.too_long,
    }
    return group, view


def _tests(record: FunctionRecord) -> Iterator[Mapping[str, Any]]:
    for test, marks in zip(record.tests, record.grade.tests, strict=True):
        valid, attacks, accurate = marks
        yield {
            "call": shortened(test.call),
            "expected": shortened(test.expected),
            "valid": valid,
            "attacks": attacks,
            "accurate": accurate,
        }


def _suites(log: StoredLog) -> Iterator[Sequence[Mapping[str, Any]]]:
    for suite in log.suites:
        yield [
            {
                "number": attempt.number,
                "status": attempt.status,
                "call": shortened(attempt.call or "-"),
                "stated": shortened(attempt.stated or attempt.unreadable or "-"),
                "votes": _votes(attempt.vote),
            }
            for attempt in suite
        ]


def _votes(vote: StoredVote | None) -> Sequence[Mapping[str, Any]]:
    """Each output with its share of the k votes, most first."""
    if vote is None:
        return []
    asked, k = vote.asked, max(vote.k, 1)
    rows = [(output, count, True) for output, count in vote.counts]
    rows += [(f"unreadable: {kind}", count, True) for kind, count in vote.unreadable.items()]
    rows.sort(key=lambda row: -row[1])
    if asked < k:
        rows.append(("not asked for: the outcome was clear", k - asked, False))
    return [
        {
            "output": shortened(output),
            "count": count,
            "share": round(100 * count / k),
            "won": was_asked and output == vote.winner,
            "asked": was_asked,
        }
        for output, count, was_asked in rows
    ]


def _edits(log: StoredLog, code: str) -> Iterator[Mapping[str, Any]]:
    """Rounds of debugging, each edit as a diff of the program that it was made on."""
    current = code
    for edit in log.edits:
        yield {
            "round": edit.round,
            "accepted": edit.accepted,
            "reason": edit.reason,
            "call": shortened(edit.call or edit.feedback),
            "expected": shortened(edit.expected or ""),
            "diff": None if edit.code is None else _diff(current, edit.code),
        }
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
    svg = line_plot([shown], "recall", "precision", shares=True)
    return {
        "title": run.title,
        "dataset": Path(run.dataset).name,
        "folder": str(run.folder),
        "grid": filter_grid(run),
        "charts": [chart(title, [run.fixer], svg)] if points else [],
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
    scale = "%, with 95 % intervals"
    dots = [
        ChartRow(head, tuple(issue_estimate(subject, name) for subject in subjects))
        for name, head in ISSUE_HEADS.items()
    ]
    yield chart("Figures", labels, dot_plot(dots, labels, scale))
    lines = [
        ChartLine(
            s.label,
            tuple((float(k), estimate(one, s.summary.n)) for k, one in enumerate(s.pass_at, 1)),
        )
        for s in subjects
    ]
    if any(line.points for line in lines):
        svg = line_plot(lines, "samples (k)", "S of the best of k")
        yield line_chart("S of the best of k samples", lines, svg)
    for one in study.breakdowns:
        if len(one.groups) > 1:
            names = [*labels, *(f"fixes: {name}" for name, _ in one.fixes)]
            yield chart(f"S {one.title}", names, dot_plot(_groups(one), names, scale))


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
    notes = [] if work is None else [shortened(note) for note in work.prediction.notes]
    written = "" if work is None else work.prediction.patch
    patch = diff_lines(written.splitlines()[:LONGEST_PATCH])
    if isinstance(record, ErrorRecord):
        lines = [shortened(record.error), *notes]
        return {"id": id, "lines": lines, "tests": [], "coverage": "", "patch": patch}
    grade = read_issue_grade(record)
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

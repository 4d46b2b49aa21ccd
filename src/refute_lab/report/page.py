"""One self-contained HTML page about a few runs: tables, charts, and each problem in detail.

What models and programs wrote is hostile: everything is escaped, and the page forbids itself every
script and every address (Content-Security-Policy).

Pages from templates: what all of them share.

What models and programs wrote is hostile: everything is escaped, and the pages forbid themselves
every script and every address (Content-Security-Policy).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from refute.function.source import unified_diff
from refute_lab.benches.issues import PredictionRecord
from refute_lab.benches.records import FunctionRecord, StoredLog, StoredVote, grades, read_grade
from refute_lab.figures import Estimate, Interval, estimate, of_share
from refute_lab.report.bench import ROWS, STATUSES, bench_document, cost_text, figure_document
from refute_lab.report.charts import (
    COLOURS,
    MOST_SETS,
    ChartLine,
    ChartRow,
    dot_plot,
    line_plot,
    marker,
    over_tokens,
    venn,
)
from refute_lab.report.function_grids import by_tests, function_grids, utgen_tables
from refute_lab.report.function_study import DatasetStudy, FunctionRun, PairedRuns
from refute_lab.report.grids import Grid, grid_document, number
from refute_lab.report.issue_grids import (
    ISSUE_HEADS,
    filter_grid,
    issue_estimate,
    issue_grids,
    issue_matches,
)
from refute_lab.report.paper import SWT_BENCH, UTGEN, claims, facts, match_document
from refute_lab.runs.journal import ErrorRecord
from refute_lab.swt.filtering import FilterRun
from refute_lab.swt.grade_records import GradeRecord
from refute_lab.swt.grade_records import read_grade as read_issue_grade
from refute_lab.swt.measures import RunCost
from refute_lab.swt.study import Breakdown, Independence, Pair, StudiedRun, Study

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
    lines = [
        ChartLine(run.label, ((run.tokens, run.estimate("code_accuracy")),) if run.tokens else ())
        for run in runs
    ]
    if any(line.points for line in lines):
        svg = over_tokens(lines, ROWS["code_accuracy"])
        yield line_chart("Code accuracy over tokens", lines, svg)


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


# -- study documents -------------------------------------------------------------------------------


def study_document(study: Study, *, as_model: str | None = None) -> dict[str, Any]:
    """`{"dataset", "runs", "breakdowns", "overlap", "pairs", "fixes", "paper", "tables"}`."""
    return {
        "dataset": study.dataset,
        "runs": [_subject_document(subject) for subject in study.subjects],
        "breakdowns": [_breakdown_document(one, study) for one in study.breakdowns],
        "overlap": {
            "n": study.ensemble.n,
            "ideal_ensemble": study.ensemble.ideal,
            "regions": [
                {"runs": [study.subjects[at].label for at in places], "instances": count}
                for places, count in study.ensemble.regions.items()
            ],
        },
        "pairs": [_pair_document(pair, study) for pair in study.pairs],
        "fixes": {
            name: {
                subject.label: _independence_document(found)
                for subject, found in zip(study.subjects, rows, strict=True)
            }
            for name, rows in study.fixes
        },
        "paper": [
            match_document(subject.label, match)
            for subject in study.subjects
            for match in issue_matches(subject, study, as_model)
        ],
        "tables": [grid_document(grid) for grid in issue_grids(study, as_model=as_model)],
    }


def _subject_document(subject: StudiedRun) -> dict[str, Any]:
    run, summary = subject.run, subject.summary
    return {
        "label": subject.label,
        "method": run.method,
        "model": run.model,
        "given": list(run.given),
        "run": str(run.folder),
        "n": summary.n,
        "missing": run.missing,
        "metrics": {name: figure_document(summary.figures[name]) for name in ISSUE_HEADS},
        "statuses": dict(summary.statuses),
        "errors": dict(summary.errors),
        "pass_at": [figure_document(figure) for figure in subject.pass_at],
        "cost": None if subject.cost is None else _cost_document(subject.cost),
    }


def _cost_document(cost: RunCost) -> dict[str, Any]:
    return {
        **asdict(cost),
        "usd_per_instance": cost.usd_per_instance,
        "usd_per_success": cost.usd_per_success,
    }


def _breakdown_document(one: Breakdown, study: Study) -> dict[str, Any]:
    return {
        "title": one.title,
        "fixes": {
            name: [{**asdict(share), "interval": _interval(share.interval)} for share in shares]
            for name, shares in one.fixes
        },
        "groups": [
            {
                "group": group.label,
                "instances": len(group.ids),
                "success": {
                    subject.label: {**asdict(share), "interval": _interval(share.interval)}
                    for subject, share in zip(study.subjects, shares, strict=True)
                },
            }
            for group, shares in zip(one.groups, one.shares, strict=True)
        ],
    }


def _pair_document(pair: Pair, study: Study) -> dict[str, Any]:
    return {
        **asdict(pair),
        "first": study.subjects[pair.first].label,
        "second": study.subjects[pair.second].label,
        "n": pair.n,
        "difference": pair.difference,
        "interval": _interval(pair.interval),
    }


def _independence_document(found: Independence) -> dict[str, Any]:
    return {
        **asdict(found),
        "expected": found.expected,
        "p": found.p,
        "p_greater": found.p_greater,
        "p_chi_squared": number(found.p_chi_squared),
    }


def _interval(interval: Interval) -> list[float | None]:
    return [number(interval.low), number(interval.high)]


def functions_document(studies: Sequence[DatasetStudy]) -> dict[str, Any]:
    """`{"runs": [document of bench, ...], "paper", "pairs", "datasets", "tables"}`."""
    runs = [run for study in studies for run in study.runs]
    return {
        "runs": [{"label": run.label, **bench_document(run.result)} for run in runs],
        "paper": [match_document(run.label, match) for run in runs for match in run.matches],
        "pairs": [_pair(pair, study) for study in studies for pair in study.pairs],
        "datasets": [
            {"name": study.dataset, "common": len(study.common), "differ": study.differ}
            for study in studies
        ],
        "tables": [grid_document(g) for g in [*function_grids(studies), *utgen_tables(studies)]],
    }


def _pair(pair: PairedRuns, study: DatasetStudy) -> dict[str, Any]:
    return {
        **asdict(pair),
        "dataset": study.dataset,
        "first": study.runs[pair.first].label,
        "second": study.runs[pair.second].label,
        "interval": [number(pair.interval.low), number(pair.interval.high)],
    }


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
    drawn = _venn(study)
    return {
        "name": Path(study.dataset).name,
        "main": grids[0],
        "grids": grids[1:],
        "charts": list(_study_charts(study)),
        "venn": None if drawn is None else Markup(drawn),
        "left_out": len(_methods(study)) > MOST_SETS,
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
    lines = [ChartLine(s.label, _over_tokens(s)) for s in subjects]
    if any(line.points for line in lines):
        yield line_chart("S over tokens", lines, over_tokens(lines, "S"))
    for one in study.breakdowns:
        if len(one.groups) > 1:
            names = [*labels, *(f"fixes: {name}" for name, _ in one.fixes)]
            yield chart(f"S {one.title}", names, dot_plot(_groups(one), names, scale))


def _over_tokens(subject: StudiedRun) -> tuple[tuple[float, Estimate], ...]:
    if subject.cost is None or not subject.cost.tokens:
        return ()
    tokens = subject.cost.tokens / subject.cost.instances
    return ((tokens, issue_estimate(subject, "success")),)


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


def _methods(study: Study) -> list[int]:
    """Places of the runs that are compared with each other, those that solve most first."""
    places = [at for at, subject in enumerate(study.subjects) if subject.run.is_method]
    regions = study.ensemble.regions.items()
    solved = {at: sum(count for where, count in regions if at in where) for at in places}
    return sorted(places, key=lambda at: (-solved[at], at))


def _venn(study: Study) -> str | None:
    """SWT-Bench's Figure 7, of the runs that solve most; None for fewer than two."""
    chosen = sorted(_methods(study)[:MOST_SETS])
    if len(chosen) < 2:
        return None
    regions: Counter[tuple[int, ...]] = Counter()
    for where, count in study.ensemble.regions.items():
        regions[tuple(chosen.index(at) for at in where if at in chosen)] += count
    regions.pop((), None)
    return venn([study.subjects[at].label for at in chosen], regions)


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

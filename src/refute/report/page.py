"""One self-contained HTML page about a few runs: tables, charts, and each problem in detail.

What models and programs wrote is hostile: everything is escaped, and the page forbids itself every
script and every address (Content-Security-Policy).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from markupsafe import Markup

from refute.figures import Figure
from refute.function.bench.log import StoredLog, StoredVote
from refute.function.bench.records import FunctionRecord, grades, read_grade
from refute.function.bench.summary import BenchSummary
from refute.function.source import unified_diff
from refute.report.bench import ROWS, cost_text, percent
from refute.report.charts import ChartLine, ChartRow, dot_plot, line_plot
from refute.report.paper import claims, paper_figures
from refute.report.template import diff_lines, rendered, shortened
from refute.runs.records import ErrorRecord

__all__ = ["PageRun", "render_page", "run_labels"]

CHARTED = ("attack_rate", "output_accuracy", "accuracy_and_attack", "code_accuracy")


@dataclass(frozen=True, slots=True)
class PageRun:
    """A run with its figures and its records."""

    result: BenchSummary
    records: Sequence[FunctionRecord | ErrorRecord]


def render_page(runs: Sequence[PageRun]) -> str:
    """The page as HTML text."""
    labels = run_labels([run.result for run in runs])
    datasets = dict.fromkeys(run.result.settings.dataset for run in runs)
    return rendered(
        "page.html.jinja",
        datasets=[_dataset(name, runs, labels) for name in datasets],
        runs=[_run(run, label) for run, label in zip(runs, labels, strict=True)],
        claims=claims(),
    )


def run_labels(results: Sequence[BenchSummary]) -> list[str]:
    """What tells the runs apart, shortest first: method, model, what is not the default, folder."""
    forms = [
        [result.settings.method for result in results],
        [_words(result, model=True, options=False) for result in results],
        [_words(result, model=True, options=True) for result in results],
    ]
    keys = [result.settings.dataset for result in results]
    for labels in forms:
        if len(set(zip(keys, labels, strict=True))) == len(labels):
            return labels
    return [f"{label} [{r.run.name}]" for label, r in zip(forms[-1], results, strict=True)]


def _words(result: BenchSummary, *, model: bool, options: bool) -> str:
    settings = result.settings
    words = [settings.method]
    if model and settings.model is not None:
        words.append(settings.model)
        if settings.tester is not None:
            words.append(f"tests by {settings.tester}")
    if options and settings.options is not None:
        for option in fields(settings.options):
            value = getattr(settings.options, option.name)
            if value != option.default:
                words.append(f"{option.name}={value}")
    return " ".join(words)


# -- a dataset: the table and the charts ----------------------------------------------------------


def _dataset(name: str, runs: Sequence[PageRun], labels: Sequence[str]) -> Mapping[str, Any]:
    chosen = [
        (run.result, label)
        for run, label in zip(runs, labels, strict=True)
        if run.result.settings.dataset == name
    ]
    names = [row for row in ROWS if any(row in result.figures for result, _ in chosen)]
    paper = paper_figures(name)
    return {
        "name": name,
        "labels": [label for _, label in chosen],
        "sizes": [result.n for result, _ in chosen],
        "paper": any(figure.metric in names for figure in paper),
        "rows": [
            {
                "label": ROWS[row],
                "cells": [_cell(result.figures.get(row)) for result, _ in chosen],
                "paper": [f for f in paper if f.metric == row],
            }
            for row in names
        ],
        "figures": _dots(chosen),
        "rounds": _rounds(chosen),
        "sizes_chart": _by_tests(chosen),
    }


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    error = percent(figure.stderr)
    return percent(figure.value) + (f" ± {error}" if error != "-" else "")


def _dots(chosen: Sequence[tuple[BenchSummary, str]]) -> Markup:
    rows = [
        ChartRow(ROWS[name], tuple(result.figures.get(name) for result, _ in chosen))
        for name in CHARTED
    ]
    return Markup(dot_plot(rows, [label for _, label in chosen]))


def _rounds(chosen: Sequence[tuple[BenchSummary, str]]) -> Markup | None:
    lines = [
        ChartLine(label, tuple((float(at), figure) for at, figure in enumerate(result.rounds)))
        for result, label in chosen
    ]
    if not any(line.points for line in lines):
        return None
    return Markup(line_plot(lines, "rounds of debugging"))


def _by_tests(chosen: Sequence[tuple[BenchSummary, str]]) -> Mapping[str, Any] | None:
    """Code accuracy over n, for methods that were run with different numbers of tests."""
    groups: dict[str, dict[float, Figure]] = {}
    for result, _ in chosen:
        count = getattr(result.settings.options, "n", None)
        if count is not None:
            name = _words(result, model=True, options=False)
            groups.setdefault(name, {})[float(count)] = result.figures["code_accuracy"]
    lines = [
        ChartLine(name, tuple(sorted(points.items(), key=lambda point: point[0])))
        for name, points in groups.items()
        if len(points) > 1
    ]
    if not lines:
        return None
    return {
        "labels": [line.label for line in lines],
        "svg": Markup(line_plot(lines, "unit tests (n)")),
    }


# -- a run: its problems ---------------------------------------------------------------------------


def _run(run: PageRun, label: str) -> Mapping[str, Any]:
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
        "label": f"{settings.dataset}: {label}",
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

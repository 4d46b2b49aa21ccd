"""One self-contained HTML page about a few runs: tables, charts, and each problem in detail.

What models and programs wrote is hostile: everything is escaped, and the page forbids itself every
script and every address (Content-Security-Policy).

Pages from templates: what all of them share.

What models and programs wrote is hostile: everything is escaped, and the pages forbid themselves
every script and every address (Content-Security-Policy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from refute.function.source import unified_diff
from refute_lab.benches.records import FunctionRecord, StoredLog, StoredVote, grades, read_grade
from refute_lab.figures import Estimate
from refute_lab.report.bench import ROWS, cost_text
from refute_lab.report.charts import (
    COLOURS,
    ChartLine,
    ChartRow,
    dot_plot,
    line_plot,
    marker,
    over_tokens,
)
from refute_lab.report.function_grids import by_tests, function_grids, utgen_tables
from refute_lab.report.function_study import DatasetStudy, FunctionRun
from refute_lab.report.grids import Grid
from refute_lab.report.paper import UTGEN, claims, facts
from refute_lab.runs.records import ErrorRecord

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

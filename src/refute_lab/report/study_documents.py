"""Analyses of graded runs over issues as JSON: the shape that scripts rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from refute_lab.figures import Interval
from refute_lab.papers.paper import match_document
from refute_lab.papers.utgen_tables import utgen_tables
from refute_lab.report.bench import bench_document, figure_document
from refute_lab.report.function_grids import function_grids
from refute_lab.report.function_pairs import PairedRuns
from refute_lab.report.function_study import DatasetStudy
from refute_lab.report.grids import grid_document, number
from refute_lab.report.issue_grids import ISSUE_HEADS, issue_grids, issue_matches
from refute_lab.swt.analysis.figures import RunCost
from refute_lab.swt.analysis.overlap import Independence, Pair
from refute_lab.swt.analysis.study import Breakdown, StudiedRun, Study


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

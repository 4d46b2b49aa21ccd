"""Analyses of graded runs over issues as JSON: the shape that scripts rely on."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from refute.figures import Figure
from refute.issue.analysis.inference import Interval
from refute.issue.analysis.overlap import Independence, Pair
from refute.issue.analysis.sampling import RunCost
from refute.issue.analysis.study import Breakdown, StudiedRun, Study
from refute.issue.grading.grade_summary import FIGURES
from refute.report.paper import paper_figures

__all__ = ["study_document"]


def study_document(study: Study) -> dict[str, Any]:
    """`{"dataset", "runs": [...], "breakdowns", "overlap", "pairs", "fixes", "paper"}`."""
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
        "paper": [asdict(figure) for figure in paper_figures(study.dataset)],
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
        "metrics": {name: _figure(summary.figures[name]) for name in FIGURES},
        "statuses": dict(summary.statuses),
        "errors": dict(summary.errors),
        "pass_at": [_figure(figure) for figure in subject.pass_at],
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
        "p_chi_squared": _number(found.p_chi_squared),
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": _number(figure.value), "stderr": _number(figure.stderr)}


def _interval(interval: Interval) -> list[float | None]:
    return [_number(interval.low), _number(interval.high)]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value

"""Runs over functions as JSON: the shape that scripts rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from refute_lab.papers.paper_join import match_document
from refute_lab.papers.utgen_tables import utgen_tables
from refute_lab.report.bench import bench_document
from refute_lab.report.function_grids import function_grids
from refute_lab.report.function_pairs import PairedRuns
from refute_lab.report.function_study import DatasetStudy
from refute_lab.report.grids import grid_document, number


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

"""Runs side by side on the terminal and as JSON, with the paper's figures on the same dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.figures import Figure
from refute.function.bench.summary import BenchSummary
from refute.report.bench import ROWS, bench_document, percent
from refute.report.page import run_labels
from refute.report.paper import paper_figures

__all__ = ["compare_document", "print_comparison"]

_HEADS = {
    "attack_rate": "attack",
    "output_accuracy": "output",
    "accuracy_and_attack": "both",
    "code_accuracy": "code",
    "pass_rate": "private",
}
"""Columns of the first table: attack rate, output accuracy, accuracy ∩ attack, code accuracy and
share of private tests passed."""


def compare_document(results: Sequence[BenchSummary]) -> dict[str, Any]:
    """`{"runs": [document of bench, ...], "paper": [figure of the paper, ...]}`."""
    datasets = dict.fromkeys(result.settings.dataset for result in results)
    return {
        "runs": [bench_document(result) for result in results],
        "paper": [asdict(figure) for name in datasets for figure in paper_figures(name)],
    }


def print_comparison(results: Sequence[BenchSummary], console: Console) -> None:
    """For each dataset the runs' figures above the paper's, then code accuracy by round."""
    labels = run_labels(results)
    for dataset in dict.fromkeys(result.settings.dataset for result in results):
        chosen = [
            (result, label)
            for result, label in zip(results, labels, strict=True)
            if result.settings.dataset == dataset
        ]
        console.print(_figures(dataset, chosen))
        if any(result.rounds for result, _ in chosen):
            console.print(_rounds(dataset, chosen))
    meaning = "; ".join(f"{head}: {ROWS[name]}" for name, head in _HEADS.items())
    console.print(Text(f"% ± standard error. {meaning}", style="dim"))


def _figures(dataset: str, chosen: Sequence[tuple[BenchSummary, str]]) -> Table:
    table = _table(dataset, ["", "problems", *_HEADS.values()])
    for result, label in chosen:
        size = f"{result.n}" + (f" (+{result.missing})" if result.missing else "")
        cells = [_cell(result.figures.get(name)) for name in _HEADS]
        table.add_row(*map(Text, (label, size, *cells)))
    for figure in paper_figures(dataset):
        if figure.metric in _HEADS:
            cells = [f"{figure.value:.2f}" if name == figure.metric else "" for name in _HEADS]
            label = f"paper: {figure.method}, {figure.model} ({figure.where})"
            table.add_row(*(Text(cell, style="dim") for cell in (label, "", *cells)))
    return table


def _rounds(dataset: str, chosen: Sequence[tuple[BenchSummary, str]]) -> Table:
    longest = max(len(result.rounds) for result, _ in chosen)
    heads = ["", *(f"round {at}" for at in range(longest))]
    table = _table(f"{dataset}, code accuracy by round", heads)
    for result, label in chosen:
        if result.rounds:
            cells = [_cell(figure) for figure in result.rounds]
            table.add_row(*map(Text, (label, *cells, *[""] * (longest - len(cells)))))
    return table


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left")
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left", no_wrap=at > 0, overflow="fold")
    return table


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    error = percent(figure.stderr)
    return percent(figure.value) + (f" ± {error}" if error != "-" else "")

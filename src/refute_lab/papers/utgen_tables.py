"""UTGen's own tables (arXiv 2502.01619), filled with runs: one table over all data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from refute_lab.report.function_study import DatasetStudy, FunctionRun, words_of
from refute_lab.report.grids import (
    Cell,
    Grid,
    Row,
    difference_cell,
    estimate_cell,
    row_of,
    text_cell,
)
from refute_lab.report.intervals import Estimate, unknown

_INTRINSIC = {"attack_rate": "attack", "output_accuracy": "output", "accuracy_and_attack": "both"}
_ABLATIONS = {(True, True): "UTDebug", (False, True): "no vote", (True, False): "no backtracking"}
"""(vote, backtrack) -> the row of Table 4."""

_Config = tuple[str, str]
"""Model with its tester, and method with its options: a row of a table."""


def utgen_tables(studies: Sequence[DatasetStudy]) -> list[Grid]:
    """Tables 1, 5, 6 (intrinsic), 2 (debugging), 3 (judges), 4 (ablations), as far as runs go."""
    return [*_intrinsic(studies), *_debugging(studies), *_judges(studies), *_ablations(studies)]


def _rows_of(
    studies: Sequence[DatasetStudy], wanted: Callable[[FunctionRun], bool]
) -> dict[_Config, dict[str, FunctionRun]]:
    """Runs of a kind by configuration, then by data set."""
    found: dict[_Config, dict[str, FunctionRun]] = {}
    for study in studies:
        for run in filter(wanted, study.runs):
            settings = run.result.settings
            method = words_of(run.result, model=False)
            model = settings.model or "-"
            if settings.tester is not None:
                model += f", tests by {settings.tester}"
            taken = found.get((model, method), {})
            if study.dataset in taken:
                method = f"{method} [{run.result.run.name}]"
            found.setdefault((model, method), {})[study.dataset] = run
    return dict(sorted(found.items(), key=lambda item: item[0][0]))


def _datasets(rows: Mapping[_Config, Mapping[str, FunctionRun]]) -> list[str]:
    return list(dict.fromkeys(name for runs in rows.values() for name in runs))


def _printed(run: FunctionRun | None, metric: str) -> Cell:
    """What the paper prints of the same run."""
    for match in run.matches if run is not None else ():
        if match.figure.metric == metric:
            return Cell(f"{match.figure.value:.2f}", match.figure.value)
    return text_cell("")


def _with_paper(
    config: _Config,
    places: Sequence[tuple[str, str]],
    runs: Mapping[str, FunctionRun],
    cell: Callable[[FunctionRun, str], Cell],
) -> list[Row]:
    """A row of ours and, where the paper has it too, one of the paper's."""
    ours = [cell(runs[d], metric) if d in runs else text_cell("") for d, metric in places]
    theirs = [_printed(runs.get(d), metric) for d, metric in places]
    rows = [row_of(*config, *ours)]
    if any(one.value is not None for one in theirs):
        rows.append(row_of(config[0], "  paper", *theirs, kind="paper"))
    return rows


def _intrinsic(studies: Sequence[DatasetStudy]) -> list[Grid]:
    rows = _rows_of(studies, lambda run: run.tested > 0 and run.result.cost is not None)
    if not rows:
        return []
    places = [(dataset, metric) for dataset in _datasets(rows) for metric in _INTRINSIC]
    lines = [
        line
        for config, runs in rows.items()
        for line in _with_paper(
            config, places, runs, lambda run, metric: estimate_cell(run.estimate(metric), 2)
        )
    ]
    heads = ("model", "method", *(f"{dataset} {_INTRINSIC[metric]}" for dataset, metric in places))
    title = "UTGen, Tables 1, 5 and 6: attack rate, output accuracy, accuracy ∩ attack"
    return [Grid("utgen-1", title, heads, tuple(lines), shown=False)]


def _debugging(studies: Sequence[DatasetStudy]) -> list[Grid]:
    rows = _rows_of(studies, lambda run: len(run.result.rounds) > 1)
    if not rows:
        return []
    places = [(dataset, "code_accuracy") for dataset in _datasets(rows)]
    lines = [
        line
        for config, runs in rows.items()
        for line in _with_paper(config, places, runs, lambda run, _: estimate_cell(run.after(3), 2))
    ]
    heads = ("model", "method", *_datasets(rows))
    title = "UTGen, Table 2: code accuracy after three rounds of debugging"
    return [Grid("utgen-2", title, heads, tuple(lines), shown=False)]


def _judges(studies: Sequence[DatasetStudy]) -> list[Grid]:
    rows = _rows_of(studies, lambda run: run.result.settings.method.startswith("judge"))
    if not rows:
        return []
    datasets = _datasets(rows)
    kinds = {
        "code_accuracy": "",
        "written_accuracy": "one sample",
        "oracle_accuracy": "perfect judge",
    }
    lines: list[Row] = []
    for config, runs in rows.items():
        for metric, name in kinds.items():
            if not any(metric in run.result.figures for run in runs.values()):
                continue
            here = (config[0], name or config[1])
            places = [(dataset, metric) for dataset in datasets]
            lines += _with_paper(
                here, places, runs, lambda run, one: estimate_cell(run.estimate(one), 2)
            )
    title = "UTGen, Table 3: best of N by judge, beside one sample and a perfect judge"
    return [Grid("utgen-3", title, ("model", "judge", *datasets), tuple(lines), shown=False)]


def _ablations(studies: Sequence[DatasetStudy]) -> list[Grid]:
    """Code accuracy and the difference that leaving a part out makes, for each method."""
    lines = []
    for study in studies:
        groups: dict[str, dict[tuple[bool, bool], FunctionRun]] = {}
        for run in study.runs:
            options = run.result.settings.options
            if len(run.result.rounds) > 1 and hasattr(options, "vote"):
                name = words_of(run.result, model=True, but=("vote", "backtrack"))
                groups.setdefault(name, {})[options.vote, options.backtrack] = run
        for name, runs in groups.items():
            full = runs.get((True, True))
            if len(runs) > 1 and full is not None:
                lines += [
                    row_of(
                        study.dataset,
                        name,
                        label,
                        estimate_cell(runs[key].after(3), 2),
                        difference_cell(
                            _lost(runs[key], full) if runs[key] is not full else unknown
                        ),
                        _printed(runs[key], "code_accuracy"),
                    )
                    for key, label in _ABLATIONS.items()
                    if key in runs
                ]
    heads = ("data set", "method", "", "code accuracy", "difference", "paper")
    title = "UTGen, Table 4: debugging without its parts, after three rounds"
    notes = ("the interval of a difference is in the table of pairs",)
    return [Grid("utgen-4", title, heads, tuple(lines), notes, shown=False)] if lines else []


def _lost(run: FunctionRun, full: FunctionRun) -> Estimate:
    return Estimate(run.after(3).value - full.after(3).value)

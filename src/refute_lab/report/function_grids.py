"""The tables about runs over functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from refute_lab.figures import Estimate, unknown
from refute_lab.report.bench import BY_QUESTION, ROWS
from refute_lab.report.function_study import DatasetStudy, FunctionRun, words_of
from refute_lab.report.grids import (
    Cell,
    Grid,
    Row,
    count_cell,
    difference_cell,
    estimate_cell,
    p_cell,
    row_of,
    text_cell,
)
from refute_lab.report.paper import differing, paper_grid, paper_rows

HEADS = {
    "attack_rate": "attack",
    "output_accuracy": "output",
    "accuracy_and_attack": "both",
    "code_accuracy": "code",
    "pass_rate": "private",
}
"""Columns of the first table: attack rate, output accuracy, accuracy ∩ attack, code accuracy and
share of private tests passed."""
MORE = {
    "kept_attack_rate": "kept: attack",
    "kept_output_accuracy": "kept: output",
    "kept_accuracy_and_attack": "kept: both",
    "hit_rate": "hit",
    "tested": "tested",
    "code_accuracy_top3": "code, top 3",
    "fix_precision": "fixes right",
    "written_accuracy": "written anew",
    "oracle_accuracy": "one right",
}
"""Columns of the second: of the tests that passed the vote; problems with a right attacking test,
and with any test; one of the first three choices; right fixes; programs written from the
description alone that are right, and problems with one that is."""
MOST_PAIRS = 15
"""Rows about pairs of runs that are printed without being asked for."""


def function_grids(studies: Sequence[DatasetStudy]) -> list[Grid]:
    """All tables, data set by data set, the main one first."""
    grids = []
    for study in studies:
        grids += [_main(study), *_paper(study), *_rounds(study)]
        grids += [*_by_tests(study), *_pairs(study), *_cost(study), _more(study)]
    return grids


def _paper(study: DatasetStudy) -> list[Grid]:
    found = [(run.label, match) for run in study.runs for match in run.matches]
    return paper_grid(study.dataset, study.dataset, found, HEADS)


def _main(study: DatasetStudy) -> Grid:
    rows = []
    for run in study.runs:
        rows.append(
            row_of(
                run.label,
                _size(run),
                *(estimate_cell(run.estimate(name), 2, run.problems) for name in HEADS),
            )
        )
        rows += paper_rows(run.matches, HEADS, empty=1, digits=2)
    meaning = "; ".join(f"{head}: {ROWS[name]}" for name, head in HEADS.items())
    lines = [
        *_warnings(study),
        f"% of the problems, or of as many as it says [95 % interval]. {meaning}",
    ]
    heads = ("", "problems", *HEADS.values())
    title = f"{study.dataset}: {study.shared}" if study.shared else study.dataset
    return Grid("figures", title, heads, tuple(rows), tuple(lines))


def _warnings(study: DatasetStudy) -> list[str]:
    asked = {run.label: run.result.questions for run in study.runs}
    lines = [f"{label}: {count:,} votes {BY_QUESTION}" for label, count in asked.items() if count]
    if study.differ:
        sizes = [run.problems for run in study.runs]
        lines.append(differing("problems", sizes, len(study.common)))
    return lines


def _rounds(study: DatasetStudy) -> list[Grid]:
    longest = max((len(run.result.rounds) for run in study.runs), default=0)
    if not longest:
        return []
    rows = [
        row_of(
            run.label,
            *(
                estimate_cell(run.after(at), 2) if at < len(run.result.rounds) else text_cell("")
                for at in range(longest)
            ),
        )
        for run in study.runs
        if run.result.rounds
    ]
    heads = ("", *(f"round {at}" if at else "at first" for at in range(longest)))
    return [Grid("rounds", f"{study.dataset}, code accuracy by round", heads, tuple(rows))]


def by_tests(study: DatasetStudy) -> dict[str, dict[int, Estimate]]:
    """Code accuracy over n (Figure 4): a line for each method with all its other options.

    A second run of the same n becomes a line of its own; nothing is overwritten.
    """
    lines: dict[str, dict[int, Estimate]] = {}
    for run in study.runs:
        count = getattr(run.result.settings.options, "n", None)
        if count is None:
            continue
        name = words_of(run.result, model=True, but=("n",))
        if count in lines.get(name, {}):
            name = f"{name} [{run.result.run.name}]"
        lines.setdefault(name, {})[int(count)] = run.estimate("code_accuracy")
    return {name: dict(sorted(line.items())) for name, line in lines.items() if len(line) > 1}


def _by_tests(study: DatasetStudy) -> list[Grid]:
    lines = by_tests(study)
    if not lines:
        return []
    counts = sorted({count for line in lines.values() for count in line})
    rows = [
        row_of(
            name,
            *(estimate_cell(line[n], 2) if n in line else text_cell("") for n in counts),
        )
        for name, line in lines.items()
    ]
    title = f"{study.dataset}, code accuracy by number of unit tests (Figure 4)"
    return [Grid("tests", title, ("", *(f"n = {n}" for n in counts)), tuple(rows))]


def _pairs(study: DatasetStudy) -> list[Grid]:
    if not study.pairs:
        return []
    labels = [run.label for run in study.runs]
    rows = [
        row_of(
            f"{labels[pair.first]} / {labels[pair.second]}",
            HEADS[pair.metric],
            count_cell(pair.n),
            count_cell(pair.better),
            count_cell(pair.worse),
            difference_cell(Estimate(pair.difference, pair.interval.low, pair.interval.high)),
            p_cell(pair.p),
            p_cell(pair.adjusted),
        )
        for pair in study.pairs
        if not math.isnan(pair.difference)
    ]
    heads = ("", "figure", "n", "first better", "second better", "difference", "p", "p (Holm)")
    return [
        Grid(
            "pairs",
            f"{study.dataset}, two runs on the same problems",
            heads,
            tuple(rows),
            (
                "points, first less second [95 %]; p: exact sign test over problems (McNemar's for "
                "one answer a problem), and adjusted for the pairs (Holm)",
            ),
            shown=len(rows) <= MOST_PAIRS,
        )
    ]


def _cost(study: DatasetStudy) -> list[Grid]:
    rows = []
    for run in study.runs:
        cost = run.result.cost
        if cost is not None and cost.samples:
            right = run.estimate("code_accuracy").value * run.result.n
            tokens = cost.prompt_tokens + cost.completion_tokens
            rows.append(
                row_of(
                    run.label,
                    count_cell(cost.samples),
                    count_cell(tokens),
                    count_cell(run.tokens),
                    count_cell(tokens / right if right else None),
                    count_cell(cost.usd, ",.2f"),
                )
            )
    heads = ("", "samples", "tokens", "a problem", "per right program", "US$")
    title = f"{study.dataset}, cost"
    return [Grid("cost", title, heads, tuple(rows))] if rows else []


def _more(study: DatasetStudy) -> Grid:
    names: Mapping[str, str] = {
        name: head
        for name, head in MORE.items()
        if any(name in run.result.figures for run in study.runs)
    }
    rows = [
        row_of(run.label, *(estimate_cell(run.estimate(name), 2) for name in names))
        for run in study.runs
    ]
    return Grid(
        "more",
        f"{study.dataset}, further figures",
        ("", *names.values()),
        tuple(rows),
        (
            "kept: of the tests that passed the vote; hit: problems with a right test that "
            "attacks, tested: with any test",
        ),
        shown=False,
    )


def _size(run: FunctionRun) -> Cell:
    more = f" (+{run.result.missing})" if run.result.missing else ""
    return Cell(f"{run.problems}{more}", run.problems)


# -- utgen tables ----------------------------------------------------------------------------------


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
    """Return the paper's figures of the same run."""
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

"""The tables about runs over functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from rich.console import Console
from rich.text import Text

from refute.core.registry import Preset, preset_of, presets_of
from refute.errors import InputError
from refute_lab.benches import BenchSummary, FunctionRecord, ModelCost, read_grade, restricted
from refute_lab.benches.grade import Grade
from refute_lab.figures import (
    Estimate,
    PairedRuns,
    Sums,
    estimate,
    paired,
    unknown,
)
from refute_lab.report import (
    Cell,
    Grid,
    Row,
    count_cell,
    difference_cell,
    estimate_cell,
    figure_document,
    figures_grid,
    number,
    pairs_grid,
    print_grid,
    row_of,
    text_cell,
)
from refute_lab.report.paper import (
    UTGEN,
    Match,
    PaperFigure,
    RunKey,
    differing,
    matches,
    paper_grid,
    paper_rows,
)
from refute_lab.runs import ErrorRecord

# -- function pairs --------------------------------------------------------------------------------


PAIRED: Mapping[str, Callable[[Grade], tuple[float, int]]] = {
    "code_accuracy": lambda grade: (float(grade.passed), 1),
    "attack_rate": lambda grade: (grade.tests.attacks, len(grade.tests.verdicts)),
    "output_accuracy": lambda grade: (grade.tests.accurate, len(grade.tests.verdicts)),
    "accuracy_and_attack": lambda grade: (grade.tests.both, len(grade.tests.verdicts)),
}


def problems_of(records: Sequence[object]) -> frozenset[str]:
    """The problems that have a grade."""
    return frozenset(one.problem for one in records if isinstance(one, FunctionRecord))


def paired_runs(runs: Sequence[Sequence[object]]) -> tuple[PairedRuns, ...]:
    """Every two runs, given by their records, on each figure of `PAIRED` that both have."""
    found: list[PairedRuns] = []
    for metric in PAIRED:
        found += paired(metric, [_sums(records, metric) for records in runs])
    return tuple(found)


def _sums(records: Sequence[object], metric: str) -> Sums:
    """Over the tests as they were sampled, where a model wrote them."""
    part = PAIRED[metric]
    sums: dict[str, tuple[float, int]] = {}
    for record in records:
        if not isinstance(record, FunctionRecord):
            continue
        which = "tests" if record.grade.sampled is None else "sampled"
        more, counted = part(read_grade(record, which))  # type: ignore[arg-type]
        total, count = sums.get(record.problem, (0.0, 0))
        if counted:
            sums[record.problem] = (total + more, count + counted)
    return sums


@dataclass(frozen=True, slots=True)
class PageRun:
    """A run with its figures and its records."""

    result: BenchSummary
    records: Sequence[FunctionRecord | ErrorRecord]


@dataclass(frozen=True, slots=True)
class FunctionRun:
    """One run of a study."""

    label: str
    result: BenchSummary
    records: Sequence[FunctionRecord | ErrorRecord]
    problems: int
    tested: int
    """Problems with a test, as sampled or, without a model, as found."""
    matches: tuple[Match, ...]

    def estimate(self, name: str) -> Estimate:
        """A figure of the run with its interval."""
        return estimate(self.result.figures.get(name), self.problems)

    def after(self, round: int) -> Estimate:
        """Code accuracy after a round of debugging; a run that ended earlier keeps its last."""
        rounds = self.result.rounds
        if not rounds:
            return self.estimate("code_accuracy")
        return estimate(rounds[min(round, len(rounds) - 1)], self.problems)

    @property
    def tokens(self) -> float | None:
        """Tokens a problem, of the prompts and of the answers; None: no model was asked."""
        cost = self.result.cost
        if cost is None or not self.result.n:
            return None
        return (cost.prompt_tokens + cost.completion_tokens) / self.result.n


@dataclass(frozen=True, slots=True)
class DatasetStudy:
    """The runs over one data set."""

    dataset: str
    shared: str
    """Models and options that all runs have alike, which their labels leave out."""
    runs: tuple[FunctionRun, ...]
    pairs: tuple[PairedRuns, ...]
    common: frozenset[str]
    """Problems that all runs have a grade for."""
    differ: bool
    """True: the runs cover different problems."""


def dataset_studies(
    runs: Sequence[PageRun], *, common: bool = False, as_model: str | None = None
) -> tuple[DatasetStudy, ...]:
    """One study for each data set, in the order of the runs.

    `common`: over the problems that all runs of the data set have only. `as_model`: the paper's
    model to compare all runs with. Raises `InputError` where nothing is in common.
    """
    labels = run_labels([run.result for run in runs])
    studies = []
    for dataset in dict.fromkeys(run.result.settings.dataset for run in runs):
        places = [at for at, run in enumerate(runs) if run.result.settings.dataset == dataset]
        sets = [problems_of(runs[at].records) for at in places]
        shared = frozenset.intersection(*sets)
        chosen = [runs[at] for at in places]
        if common and not shared:
            raise InputError(f"common: the runs over {dataset} have no problem in common")
        if common:
            chosen = [PageRun(*restricted(run.result, run.records, shared)) for run in chosen]
        studies.append(
            DatasetStudy(
                dataset,
                ", ".join(_shared([runs[at].result for at in places])),
                tuple(
                    _run(run, labels[at], as_model) for run, at in zip(chosen, places, strict=True)
                ),
                paired_runs([run.records for run in chosen]),
                shared,
                differ=not common and any(one != shared for one in sets),
            )
        )
    return tuple(studies)


def _run(run: PageRun, label: str, as_model: str | None) -> FunctionRun:
    good = [one for one in run.records if not isinstance(one, ErrorRecord)]
    tests = ((one, one.grade.sampled) for one in good)
    tested = {one.problem for one, drawn in tests if (one.tests if drawn is None else drawn)}
    bare = FunctionRun(
        label, run.result, run.records, len(problems_of(good)), len(tested), matches=()
    )
    settings = run.result.settings
    key = RunKey(
        paper=UTGEN,
        dataset=settings.dataset,
        method=settings.method,
        model=settings.model,
        problems=bare.problems,
        options={**options_of(run.result), **_conditions(run.result), **_fallback(run.result)},
        as_model=as_model,
    )

    def value(figure: PaperFigure) -> Estimate | None:
        if figure.metric == "code_accuracy" and "m" in figure.options:
            return bare.after(int(figure.options["m"]))
        if figure.metric not in run.result.figures:
            return None
        return bare.estimate(figure.metric)

    another = any(name not in _OURS for name, _ in _given(run.result))
    found = () if another else tuple(matches(key, value))
    return FunctionRun(label, run.result, run.records, bare.problems, bare.tested, found)


def _fallback(result: BenchSummary) -> Mapping[str, str]:
    """Return an option that the model could not follow, as it was done."""
    return {"vote_by": "question"} if result.questions else {}


def options_of(result: BenchSummary) -> Mapping[str, Any]:
    """The method's options by name; {} for a method that is not installed."""
    options = result.settings.options
    return {} if options is None else asdict(options)


def run_labels(results: Sequence[BenchSummary]) -> list[str]:
    """Label the runs over one data set by method and by the models and options that differ.

    Options at their default are not named, nor are those that a preset sets beside its name. Runs
    that are still called alike have their folder.
    """
    labels = []
    for result in results:
        others = [one for one in results if one.settings.dataset == result.settings.dataset]
        words = _words(result, others)
        labels.append(
            " ".join([result.settings.method, *(w for w in words if w not in _shared(others))])
        )
    keys = [(r.settings.dataset, label) for r, label in zip(results, labels, strict=True)]
    return [
        f"{label} [{result.run.name}]" if keys.count(key) > 1 else label
        for result, label, key in zip(results, labels, keys, strict=True)
    ]


def _shared(results: Sequence[BenchSummary]) -> list[str]:
    """Models and options that all runs have alike; no option, where there is one run only."""
    first, *others = [_words(result, results) for result in results]
    return [word for word in first if all(word in words for words in others)]


def _words(result: BenchSummary, among: Sequence[BenchSummary]) -> list[str]:
    """Models, and every option that is not at its default."""
    settings = result.settings
    words = []
    if settings.model is not None:
        words.append(_short(settings.model, among))
        if settings.tester is not None:
            words.append(f"tests by {_short(settings.tester, among)}")
    return [*words, *(f"{name}={value}" for name, value in _options(result))]


def _short(spec: str, among: Sequence[BenchSummary]) -> str:
    """The last part of a model's name, where no other model ends in the same."""
    specs = {s for r in among for s in (r.settings.model, r.settings.tester) if s is not None}
    last = {one: one.partition(":")[2].rstrip("/").rsplit("/", 1)[-1] or one for one in specs}
    return last[spec] if list(last.values()).count(last[spec]) == 1 else spec


def _options(result: BenchSummary, but: Collection[str] = ()) -> list[tuple[str, Any]]:
    """The options that are neither at their default nor as the run's preset has them, which is
    named, and the tests that a method gets besides."""
    options, found = result.settings.options, []
    if options is not None:
        preset = _preset(result).options
        values = [(one.name, getattr(options, one.name), one.default) for one in fields(options)]
        found = [
            (name, value) for name, value, default in values if value != preset.get(name, default)
        ]
    return [pair for pair in [*found, *_given(result)] if pair[0] not in but]


def words_of(result: BenchSummary, *, model: bool, but: Collection[str] = ()) -> str:
    """Method, model, and every option (but some) that is not at its default."""
    words = [result.settings.method]
    if model and result.settings.model is not None:
        words.append(_short(result.settings.model, [result]))
    return " ".join([*words, *(f"{name}={value}" for name, value in _options(result, but))])


_NAMED = frozenset(
    {"dataset", "method", "limit", "ids", "seed", "model", "tester", "options", "runs"}
)
"""Settings that are no condition of the method, or are named elsewhere."""


_OURS = frozenset({"preset", "evaluation", "subset", "prompts", "editor_tests"})
"""Conditions under which a run still is the paper's experiment. Tests or outputs that are given
make it another one, which has no figure there."""


def _given(result: BenchSummary) -> list[tuple[str, Any]]:
    """Conditions of the run that are not at their default: tests that it is given, a preset (but
    not what the preset says anyway)."""
    expected = {one.name: one.default for one in fields(result.settings)}
    expected |= _preset(result).settings
    return [(n, value) for n, value in _conditions(result).items() if value != expected[n]]


def _preset(result: BenchSummary) -> Preset:
    """The run's preset; for none, or one that is no longer there, one that sets nothing."""
    name = result.settings.preset
    return preset_of(name if name in presets_of("function") else None, "function")


def _conditions(result: BenchSummary) -> dict[str, Any]:
    """Of the run, besides the method's options."""
    names = [one.name for one in fields(result.settings) if one.name not in _NAMED]
    return {name: getattr(result.settings, name) for name in names}


# -- function grids --------------------------------------------------------------------------------


_TESTS = {
    "attack_rate": "attack rate",
    "output_accuracy": "output accuracy",
    "accuracy_and_attack": "accuracy ∩ attack",
}
_KEPT = {f"kept_{name}": f"{label}, kept tests" for name, label in _TESTS.items()}
_CODE = {
    "code_accuracy": "code accuracy, first choice",
    "code_accuracy_top3": "code accuracy, first three",
    "written_accuracy": "programs written anew, right",
    "oracle_accuracy": "... one of them right",
    "pass_rate": "private tests passed",
}
BY_QUESTION = "by a question, not by a continuation: the model continues no answer"
ROWS = {**_TESTS, **_KEPT, **_CODE}
"""Figures of the table with their labels; `kept_` ones only where a model wrote the tests."""


def bench_document(result: BenchSummary) -> dict[str, Any]:
    """`{"dataset", "method", "n", "metrics": {name: {"value", "stderr", "n"}}, "run", ...}`."""
    names = [*ROWS, "hit_rate", "tested", "fix_precision"]
    settings = result.settings
    document: dict[str, Any] = {
        "dataset": settings.dataset,
        "method": settings.method,
        "n": result.n,
        "metrics": {n: figure_document(result.figures[n]) for n in names if n in result.figures},
        "run": str(result.run),
        "abstained": result.abstained,
        "wrong_fixes": result.wrong_fixes,
        "errors": dict(result.errors),
        "seconds_median": number(result.seconds),
    }
    if result.cost is None:
        return document
    return {
        **document,
        "missing": result.missing,
        "model": settings.model,
        "tester": settings.tester,
        "options": {} if settings.options is None else asdict(settings.options),
        "runs": [
            {name: figure_document(figures[name]) for name in names if name in figures}
            for figures in result.by_run
        ],
        "rounds": [figure_document(figure) for figure in result.rounds],
        "cost": asdict(result.cost),
        "votes_by_question": result.questions,
    }


def print_bench(result: BenchSummary, console: Console) -> None:
    """The same run prints the same table, however often it was interrupted."""
    settings = result.settings
    runs = f", {settings.runs} runs" if settings.runs > 1 else ""
    model = f" with {settings.model}" if settings.model is not None else ""
    title = f"{settings.dataset}, method {settings.method}{model}, {result.n} problems{runs}"
    named = [(label, result.figures[n]) for n, label in ROWS.items() if n in result.figures]
    for place, figure in enumerate(result.rounds):
        after = f"code accuracy after round {place}" if place else "code accuracy at the start"
        named.append((after, figure))
    print_grid(figures_grid(title, named, -(-result.n // settings.runs)), console)
    fixed = result.n - result.abstained
    right = fixed - result.wrong_fixes
    parts = ["the code as it is, no method"]
    if settings.method != "none":
        parts = [f"fixes: {right} right, {result.wrong_fixes} wrong, {result.abstained} abstained"]
    if result.errors:
        parts.append(f"{len(result.errors)} without a result (not counted)")
    if result.missing:
        parts.append(f"{result.missing} not done yet")
    console.print(Text("; ".join(parts)))
    if result.cost is not None:
        console.print(Text(cost_text(result.cost)))
    if result.questions:
        console.print(Text(f"{result.questions:,} votes {BY_QUESTION}"))


def cost_text(cost: ModelCost) -> str:
    """Format the costs that do not depend on how often the run was interrupted."""
    price = "price not known" if cost.usd is None else f"${cost.usd:.4f}"
    too_long = f", {cost.too_long:,} too long for the model" if cost.too_long else ""
    return (
        f"{cost.samples:,} samples, {cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens, "
        f"{price}; {cost.unreadable:,} answers unreadable{too_long}, "
        f"{cost.saved:,} votes not needed"
    )


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
    labels = [run.label for run in study.runs]
    return pairs_grid(f"{study.dataset}, two runs on the same problems", study.pairs, labels, HEADS)


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

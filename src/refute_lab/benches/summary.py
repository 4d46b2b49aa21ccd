"""The figures of a run, from its journal alone."""

from __future__ import annotations

import hashlib
import math
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from refute.core.registry import METHODS
from refute.errors import InputError
from refute.function.formatting import call_source, expected_source
from refute.sandbox import values
from refute.source.literals import NotLiteral, source_of
from refute_lab.benches.grade import metrics
from refute_lab.benches.records import RECORDS, FunctionRecord, grades, read_grade
from refute_lab.datasets import Item, load
from refute_lab.datasets.rows import Evaluation, Subset
from refute_lab.figures import Figure, clustered, mean
from refute_lab.runs.journal import ErrorRecord, Journal, StoredTally, read_run
from refute_lab.runs.run import versions

# -- settings --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Everything that a run's figures depend on; goes into the journal's header."""

    dataset: str
    method: str
    limit: int | None = None
    ids: tuple[str, ...] | None = None
    seed: int = 0
    visible_tests: int = 0
    """Visible asserts that are shown with each problem (MBPP)."""
    failing_tests: int = 0
    """Right failing tests that are given with each problem (the experiment with perfect tests)."""
    gold_outputs: bool = False
    """The reference's outputs for the inputs that the method proposes (`bench.gold`)."""
    editor_tests: int = 0
    """Visible asserts that are shown where code is edited, and nowhere else (MBPP)."""
    evaluation: Evaluation = "evalplus"
    """Whose rules of grading: see `refute_lab.datasets.rows`."""
    subset: Subset = "all"
    """Which rows of HumanEval+ and MBPP+: see `refute_lab.datasets.rows`."""
    preset: str | None = None
    """What sets the values that were not given: see `refute.core.selection`."""
    prompts: str = ""
    """Digest of the templates that stand for ours; "": there are none."""
    model: str | None = None
    """What is asked, as `--model` names it; None: the method asks no model."""
    tester: str | None = None
    """The model that writes the unit tests, where it is another one."""
    options: Any = None
    """The method's: a dataclass as `MethodSpec.options`; in the header each under its own name.
    None: of a stored run whose method is not installed."""
    runs: int = 1
    """Every problem is worked on this often, with seeds `seed`, `seed + 1`, ..."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a number of runs that makes no sense."""
        runs: Any = self.runs
        if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
            raise InputError(f"runs = {_short(runs)}: must be from 1 to {MOST_RUNS}")

    def header(self, items: Sequence[Item]) -> dict[str, Any]:
        """The settings with what the figures depend on besides: the content and the versions."""
        settings = asdict(self)
        options = settings.pop("options")
        if self.model is None:
            for name in ("model", "tester", "runs"):
                del settings[name]
        for one in fields(self):  # headers of before have none of these
            if one.name in _NEWER and settings[one.name] == one.default:
                del settings[one.name]
        return {
            **settings,
            **(options or {}),
            "problems": len(items),
            "content": _digest(items),
            **versions(),
        }


MOST_RUNS = 10_000
_NEWER = ("gold_outputs", "editor_tests", "evaluation", "subset", "preset", "prompts")


def stored_settings(header: Mapping[str, Any]) -> BenchSettings:
    """The settings that a header holds. Raises `InputError` for a number that makes no sense."""
    own = {f.name: header[f.name] for f in fields(BenchSettings) if f.name in header}
    if isinstance(own.get("ids"), list):
        own["ids"] = tuple(own["ids"])
    own["options"] = None
    if header["method"] in METHODS:
        kind = METHODS.get(header["method"]).options
        names = [f.name for f in fields(kind)]
        own["options"] = kind(**{name: header[name] for name in names if name in header})
    return BenchSettings(**own)


def load_items(settings: BenchSettings, data: Path | None) -> list[Item]:
    """The problems of the run. Raises `InputError`."""
    try:
        items = load(
            settings.dataset,
            data=data,
            visible_tests=settings.visible_tests,
            ids=settings.ids,
            limit=settings.limit,
            editor_tests=settings.editor_tests,
            evaluation=settings.evaluation,
            subset=settings.subset,
        )
    except OSError as error:
        raise InputError(f"{error.filename or data}: {error.strerror}") from None
    if not items:
        raise InputError(f"{settings.dataset}: no problem is left to run")
    return items


def _short(value: Any) -> str:
    text = str(value) if not isinstance(value, int) or value.bit_length() < 64 else "a long number"
    return text[:40]


def _digest(items: Sequence[Item]) -> str:
    """Hash the problems and keys, whatever file they were read from."""
    digest = hashlib.sha256()
    for item in items:
        problem, key = item.problem, item.key
        texts = [problem.id, problem.description, problem.signature, problem.entry_point]
        texts += [problem.code, key.reference, repr(key.atol), str(key.checker), str(key.contract)]
        texts += problem.editor_lines
        texts += [] if key.seconds is None else [repr(key.seconds)]
        tests = [(call_source(t.call, ""), expected_source(t)) for t in problem.tests]
        for part in (texts, tests, list(key.inputs), key.expected):
            digest.update(_bytes(part))
    return digest.hexdigest()[:32]


def _bytes(value: Any) -> bytes:
    if values.is_plain(value):
        return values.encode(value)
    try:
        return source_of(value).encode(errors="surrogatepass")
    except NotLiteral:
        return repr(value).encode(errors="surrogatepass")


_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Cost of the model over all problems of the run."""

    requests: int
    samples: int
    """Samples that the methods used, from the model or from the cache."""
    cached: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """None: the price of the model is not known."""
    seconds: float
    """Waiting for answers, added up over requests."""
    unreadable: int
    """Answers from which no test (or no program) could be read."""
    saved: int
    """Samples of votes that were not drawn, because the winner was certain before."""
    too_long: int = 0
    """Samples that were not drawn, because their request did not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class BenchSummary:
    """The figures of a run. `figures` as in `refute_lab.benches.grade`."""

    settings: BenchSettings
    n: int
    """Problems that were graded (problems times runs, where there are several runs)."""
    figures: Mapping[str, Figure]
    abstained: int
    wrong_fixes: int
    """Problems for which a fix was proposed whose first choice fails a private test."""
    seconds: float
    """Median time of the method over the problems; NaN where there are none."""
    errors: Mapping[str, str]
    """Problems without a result, with the reason: infrastructure, never counted as wrong."""
    run: Path
    missing: int = 0
    """Problems that have no record yet: answers or the budget are wanting."""
    rounds: tuple[Figure, ...] = ()
    """Code accuracy after each round of debugging, 0 (the code under test) first."""
    by_run: tuple[Mapping[str, Figure], ...] = ()
    """The figures of each run, where there are several."""
    cost: ModelCost | None = None
    """None: no model was asked."""
    questions: int = 0
    """Votes by a question where the settings say by a continuation: the model continues none."""


def record_names(problem: str, runs: int) -> list[str]:
    """The ids of a problem's records in the journal, one for each run."""
    return [problem, *(f"{problem} run {number}" for number in range(2, runs + 1))]


def summarize(
    items: Sequence[Item], settings: BenchSettings, journal: Journal[FunctionRecord]
) -> BenchSummary:
    """The figures of a finished run, from its journal alone; in the order of the dataset."""
    names = [record_names(item.problem.id, settings.runs) for item in items]
    wanted = [row[at] for at in range(settings.runs) for row in names]
    records = [journal.records[name] for name in wanted if name in journal.records]
    return _result(settings, records, journal.directory, missing=len(wanted) - len(records))


def read_result(directory: Path) -> tuple[BenchSummary, list[FunctionRecord | ErrorRecord]]:
    """The figures and the records of a run that may still be under way, problems sorted by id.

    Raises `InputError` where there is no run of `refute bench`.
    """
    header, records = read_run(directory, RECORDS)
    if not {"dataset", "method", "problems"} <= header.keys():
        raise InputError(f"{directory}: not a run of refute bench over functions")
    settings = stored_settings(header)
    records.sort(key=lambda record: _natural(record.id))
    missing = int(header["problems"]) * settings.runs - len(records)
    return _result(settings, records, directory, missing=missing), records


def restricted(
    result: BenchSummary,
    records: Sequence[FunctionRecord | ErrorRecord],
    problems: Collection[str],
) -> tuple[BenchSummary, list[FunctionRecord | ErrorRecord]]:
    """The figures and the records of a run over some of its problems only."""
    good = [one for one in records if not isinstance(one, ErrorRecord)]
    chosen: list[FunctionRecord | ErrorRecord] = [one for one in good if one.problem in problems]
    return _result(result.settings, chosen, result.run), chosen


def _natural(identity: str) -> list[tuple[int, str]]:
    """Sorts `Mbpp/9` before `Mbpp/10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(identity)]


def _result(
    settings: BenchSettings,
    records: Sequence[FunctionRecord | ErrorRecord],
    run: Path,
    *,
    missing: int = 0,
) -> BenchSummary:
    """The figures over the records of a run."""
    good = [record for record in records if not isinstance(record, ErrorRecord)]
    graded = [read_grade(record) for record in good]
    seconds = [record.seconds for record in good]
    return BenchSummary(
        settings=settings,
        n=len(good),
        figures=_figures(good, settings),
        abstained=sum(not grade.fixed for grade in graded),
        wrong_fixes=sum(grade.fixed and not grade.passed for grade in graded),
        seconds=statistics.median(seconds) if seconds else math.nan,
        errors={one.id: one.error for one in records if isinstance(one, ErrorRecord)},
        run=run,
        missing=missing,
        rounds=_rounds(good),
        by_run=_by_run(good, settings),
        cost=_cost(good) if settings.model is not None else None,
        questions=_questions(good, settings),
    )


def _questions(records: Sequence[FunctionRecord], settings: BenchSettings) -> int:
    if getattr(settings.options, "vote_by", "") != "continuation":
        return 0
    suites = [suite for one in records if one.log is not None for suite in one.log.suites]
    votes = [one.vote for suite in suites for one in suite if one.vote is not None]
    return sum(vote.continued is False for vote in votes)


def _by_run(
    records: Sequence[FunctionRecord], settings: BenchSettings
) -> tuple[Mapping[str, Figure], ...]:
    if settings.runs == 1:
        return ()
    rows: list[list[FunctionRecord]] = [[] for _ in range(settings.runs)]
    for record in records:
        rows[record_names(record.problem, settings.runs).index(record.id)].append(record)
    return tuple(_figures(row, settings) for row in rows)


_OVER_TESTS = ("attack_rate", "output_accuracy", "accuracy_and_attack")


def _figures(good: Sequence[FunctionRecord], settings: BenchSettings) -> dict[str, Figure]:
    """The figures over records that have a result; see `refute_lab.benches.grade.metrics`.

    Where a model wrote the tests, those over the tests are over the tests as they were sampled (the
    paper's intrinsic metrics), and `kept_` before a name means the ones that passed the vote. A
    method that writes no tests for the code under test (a judge's are for other programs) has none.
    """
    figures = metrics([read_grade(record) for record in good])
    method = settings.method
    if method in METHODS and not METHODS.get(method).writes_tests:
        for name in (*_OVER_TESTS, "hit_rate", "tested"):
            del figures[name]
        return figures | _written(good)
    as_sampled = [record for record in good if record.grade.sampled is not None]
    if as_sampled:
        sampled = metrics([read_grade(record, "sampled") for record in as_sampled])
        for name in _OVER_TESTS:
            figures[f"kept_{name}"] = figures[name]
            figures[name] = sampled[name]
    return figures | _written(good)


def _written(good: Sequence[FunctionRecord]) -> dict[str, Figure]:
    """Of the programs that were written from the description alone (Table 3 of the paper): how
    many are right (`written_accuracy`, pass@1 of the model), and for how many problems one is
    (`oracle_accuracy`, pass@N)."""
    rows: dict[str, list[bool]] = {}
    for record in good:
        programs = record.grade.written
        if programs:
            rows.setdefault(record.problem, []).extend(p != "" and "0" not in p for p in programs)
    if not rows:
        return {}
    groups = [(float(sum(row)), len(row)) for row in rows.values()]
    return {
        "written_accuracy": clustered(groups),
        "oracle_accuracy": mean(float(any(row)) for row in rows.values()),
    }


def _rounds(records: Sequence[FunctionRecord]) -> tuple[Figure, ...]:
    """Code accuracy after each round; a problem that ended early keeps its last program."""
    passed = []
    for record in records:
        if record.grade.rounds:
            passed.append([program.passed for program in grades(record.grade.rounds)])
    longest = max(map(len, passed), default=0)
    return tuple(mean(float(row[min(at, len(row) - 1)]) for row in passed) for at in range(longest))


def _cost(records: Sequence[FunctionRecord]) -> ModelCost:
    tallies = [record.tally or StoredTally() for record in records]
    logs = [record.log for record in records if record.log is not None]
    known = [tally.usd for tally in tallies if tally.usd is not None]
    return ModelCost(
        requests=sum(tally.requests for tally in tallies),
        samples=sum(tally.samples + tally.cached for tally in tallies),
        cached=sum(tally.cached for tally in tallies),
        prompt_tokens=sum(tally.prompt_tokens for tally in tallies),
        completion_tokens=sum(tally.completion_tokens for tally in tallies),
        usd=math.fsum(known) if len(known) == len(tallies) else None,
        seconds=math.fsum(tally.seconds for tally in tallies),
        unreadable=sum(sum(log.unreadable.values()) for log in logs),
        saved=sum(log.votes_saved for log in logs),
        too_long=sum(log.too_long for log in logs),
    )

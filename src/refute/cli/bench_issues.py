"""`refute bench` over issues: a reproducer's predictions, and on demand their grades."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.bench_filter import filter_fixes
from refute.cli.options import FILE, gathering, workspace_option
from refute.cli.output import consoles, print_json, remark
from refute.cli.reproducing import ReproducingOptions
from refute.cli.subject import issue_items
from refute.errors import UNAVAILABLE

if TYPE_CHECKING:
    from rich.console import Console

    from refute.cli.selected import Selected
    from refute.datasets.swe import IssueItem
    from refute.issue.bench import Settings
    from refute.methods import Given, Spawn
    from refute.models.asking import Asked
    from refute.problems import IssueProblem
    from refute.runs import Journal
    from refute.runs.loop import Ending
    from refute.workspace.opening import Backend

__all__ = ["IssueBenchOptions", "bench_issues", "issue_bench_options"]


@dataclass(frozen=True, slots=True)
class IssueBenchOptions:
    """What the options about a run over issues say, besides method and model."""

    test_files: str = "none"
    code_patch: str = ""
    patch_may_be_wrong: bool = False
    grade: bool = False
    fixes: Path | None = None
    """Proposed fixes that the tests of the run are to filter (section 5.3)."""
    workspace: str = "local"


_OPTIONS = (
    click.option(
        "--given-tests",
        "test_files",
        type=click.Choice(["none", "golden"]),
        default="none",
        help="Issues: tell the method the golden tests' files (Table 5).",
    ),
    click.option(
        "--given-patch",
        "code_patch",
        default="",
        metavar="golden|FILE",
        help="Issues: show it the golden patch, or a proposal (predictions' file).",
    ),
    click.option(
        "--patch-may-be-wrong", is_flag=True, help="Issues: ... and say that it may be wrong."
    ),
    click.option("--grade", is_flag=True, help="Issues: grade the predictions as well."),
    click.option(
        "--filter",
        "fixes",
        type=FILE,
        metavar="FIXES",
        help="Issues: judge these fixes (SWE-bench predictions) by the tests of --run.",
    ),
    workspace_option,
)


def issue_bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options about a run over issues, as one argument `issues`."""
    return gathering(command, "issues", IssueBenchOptions, _OPTIONS)


def bench_issues(
    selected: Selected,
    asked: Asked,
    how: ReproducingOptions,
    issues: IssueBenchOptions,
    *,
    jobs: int | None,
    as_json: bool,
) -> int:
    """The command. Exit status 3: some issues have no prediction (run again to go on)."""
    if issues.fixes is not None:
        where = issues.workspace
        return filter_fixes(selected, issues.fixes, workspace=where, jobs=jobs, as_json=as_json)
    from dataclasses import replace

    from refute.errors import InputError
    from refute.issue.bench import Settings, damage, resumed, save_predictions, variant
    from refute.issue.choosing import check_given, chosen_method
    from refute.issue.grading import default_jobs
    from refute.issue.places import as_placed, check_engine
    from refute.report.terminal import counting
    from refute.runs import Journal, new_run, read_header

    out, err = consoles()
    header = None if selected.run is None else read_header(selected.run)
    if header is not None:
        stored = {
            k: header[k] for k in ("method", "model") if k in header and k not in selected.given
        }
        asked = replace(asked, **stored)
    asked = replace(asked, options={**asked.options, **how.given})
    name, spec, options = chosen_method(asked, graded=True)
    settings = Settings(
        dataset=selected.dataset,
        method=name,
        model=asked.model,
        limit=selected.limit,
        ids=selected.ids,
        options=options,
        bounds=how.bounds,
        **{k: v for k, v in asdict(issues).items() if k not in ("grade", "fixes")},
    )
    if header is not None:
        settings = resumed(settings, header, selected.given)
    if settings.patch_may_be_wrong and not settings.code_patch:
        raise InputError("--patch-may-be-wrong is about the patch of --given-patch; give one")
    check_engine(settings.workspace)
    items = issue_items(settings.dataset, selected.data, settings.ids, settings.limit)
    given = _given(items, settings, err)
    for one in given.values():
        check_given(spec, one)
    directory = selected.run or new_run(
        selected.runs_dir, f"{Path(settings.dataset).stem}-{variant(asdict(settings))}"
    )
    problems = [as_placed(item.problem, settings.workspace) for item in items]
    with Journal(directory, settings.header(problems, given), damage=damage) as journal:
        remark(err, [f"{len(items)} issues into {directory}"])
        try:
            with counting(len(items), err) as progress:
                at_once = jobs or default_jobs()
                work = _work(problems, given, settings, journal, asked, at_once, progress)
                ending = asyncio.run(work)
        except BaseException:
            again = f"refute bench {settings.dataset} --run {directory}"
            remark(err, [f"stopped; go on with: {again}"])
            raise
        finally:
            files = save_predictions(journal, settings)
        records = dict(journal.records)
    remark(err, [f"predictions: {', '.join(map(str, files))}"])
    missing = _say_missing(items, records, ending, directory, settings, err)
    document = _document(settings, items, records, directory)
    if issues.grade and not missing:
        from refute.cli.grade import grade_run

        document["grades"] = grade_run(items, settings, files, directory, jobs, out, err, as_json)
    if as_json:
        print_json(document)
    elif not issues.grade:
        counts = ", ".join(f"{count} {what}" for what, count in document["status"].items())
        out.print(f"{settings.method} on {settings.dataset}: {counts}", markup=False)
    return UNAVAILABLE if missing else 0


async def _work(
    problems: Sequence[IssueProblem],
    given: Mapping[str, Given],
    settings: Settings,
    journal: Journal,
    asked: Asked,
    at_once: int,
    progress: Callable[[int], None],
) -> Ending:
    from refute.issue.bench import run_bench
    from refute.models.asking import open_sessions

    async with open_sessions(asked) as models:
        return await run_bench(
            problems,
            settings,
            journal,
            given=given,
            session=models.get("model"),
            place=_placing(settings.workspace),
            at_once=at_once,
            progress=progress,
        )


def _given(items: Sequence[IssueItem], settings: Settings, err: Console) -> dict[str, Given]:
    """What the method is given for each issue (Table 5), by the issue's id."""
    from refute.issue.bench import given_away
    from refute.issue.predictions import read_predictions

    proposals: dict[str, str] = {}
    if settings.code_patch not in ("", "golden"):
        found = read_predictions(Path(settings.code_patch))
        proposals = {id: one.patch for id, one in found.items()}
        without = [i.problem.id for i in items if not proposals.get(i.problem.id, "").strip()]
        if without:
            there = f"{settings.code_patch} has no patch for {len(without)} issues"
            remark(err, [f"{there}; they are shown none, e.g. {without[0]}"])
    return {item.problem.id: given_away(item.key, settings, proposals) for item in items}


def _placing(backend: Backend) -> Callable[[IssueProblem], Spawn]:
    """How workspaces are opened: what has to be built is built first, so that the time that it
    takes is not the method's."""
    from refute.issue.places import prepared
    from refute.workspace.opening import open_workspace

    def place(problem: IssueProblem) -> Spawn:
        base = prepared(problem, backend)
        return lambda: open_workspace(base, backend=backend)

    return place


def _say_missing(
    items: Sequence[IssueItem],
    records: dict[str, dict[str, Any]],
    ending: Ending,
    directory: Path,
    settings: Settings,
    err: Any,
) -> int:
    """How many issues have no prediction; why is said on stderr."""
    errors = {id: r["error"] for id, r in records.items() if r["status"] == "error"}
    remark(err, (f"{id}: no prediction: {reason}" for id, reason in errors.items()))
    if ending.put_off:
        again = f"refute bench {settings.dataset} --run {directory}"
        waiting = f"{len(ending.put_off)} issues are not finished: {ending.reason}"
        remark(err, [f"{waiting}; then go on with: {again}"])
    return sum(item.problem.id not in records for item in items) + len(errors)


def _document(
    settings: Settings,
    items: Sequence[IssueItem],
    records: dict[str, dict[str, Any]],
    directory: Path,
) -> dict[str, Any]:
    """`{"dataset", "method", "model", "n", "status": {...}, "run", "cost"}`."""
    status = {"predicted": 0, "abstained": 0, "error": 0}
    for record in records.values():
        status[record["status"]] += 1
    tallies = [record["tally"] for record in records.values() if record.get("tally")]
    prices = [tally["usd"] for tally in tallies]
    return {
        "dataset": settings.dataset,
        "method": settings.method,
        "model": settings.model,
        "n": len(items),
        "status": status,
        "run": str(directory),
        "cost": {
            "usd": None if None in prices else round(sum(prices), 6),
            "samples": sum(tally["samples"] + tally["cached"] for tally in tallies),
            "tokens": sum(t["prompt_tokens"] + t["completion_tokens"] for t in tallies),
        },
    }

"""`refute bench DATASET --filter FIXES --run RUN`: a run's tests as a filter of fixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.cli.output import consoles, print_json, remark
from refute.cli.selected import Selected
from refute.cli.subject import issue_items
from refute.errors import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from refute.issue.filtering import FilterTask
    from refute.issue.predictions import Prediction

__all__ = ["filter_fixes"]


def filter_fixes(
    selected: Selected, fixes: Path, *, workspace: str, jobs: int | None, as_json: bool
) -> int:
    """Judge the fixes of a file of SWE-bench's predictions by the tests of a run of bench.

    The judgements go into `RUN/filter/NAME`; the same command goes on where it stopped. Exit status
    3: some fixes have no judgement.
    """
    from refute.errors import InputError
    from refute.issue.analysis.filters import read_filter
    from refute.issue.bench import variant
    from refute.issue.filtering import FilterSettings, damage, evaluate_filter
    from refute.issue.grading import default_jobs
    from refute.issue.places import check_engine
    from refute.issue.predictions import read_predictions
    from refute.report.filters import filter_document, print_filter
    from refute.report.terminal import counting
    from refute.runs import Journal, read_header

    out, err = consoles()
    if selected.run is None:
        raise InputError("--filter needs the run whose tests are to filter: --run DIR")
    header = read_header(selected.run)
    if header is None or header.get("kind") != "issues":
        raise InputError(f"{selected.run}: not a run of refute bench over issues")
    if header["dataset"] != selected.dataset:
        raise InputError(f"{selected.run}: is over {header['dataset']}, not {selected.dataset}")
    backend: Any = workspace
    check_engine(backend)
    proposed = read_predictions(fixes)
    tasks = _tasks(selected, proposed, err)
    settings = FilterSettings(
        dataset=selected.dataset,
        fixes=str(fixes),
        fixer=next((one.model for one in proposed.values() if one.model), "None"),
        tests=" ".join(filter(None, (variant(header), header.get("model")))),
        workspace=backend,
    )
    directory = selected.run / "filter" / fixes.name.split(".")[0]
    with Journal(directory, settings.header(), damage=damage) as journal:
        remark(err, [f"{len(tasks)} fixes into {directory}"])
        work = evaluate_filter(tasks, settings, journal, jobs=jobs or default_jobs())
        try:
            with counting(len(tasks), err) as progress:
                for done in work:
                    progress(done)
        except BaseException:
            remark(err, ["stopped; go on with the same command"])
            raise
    found = read_filter(directory)
    if as_json:
        print_json(filter_document(found))
    else:
        print_filter(found, out)
    remark(err, (f"{id}: not judged: {reason}" for id, reason in found.errors.items()))
    return UNAVAILABLE if found.errors else 0


def _tasks(
    selected: Selected, proposed: Mapping[str, Prediction], err: Console
) -> list[FilterTask]:
    """The proposed fixes, each with what the run's journal has for its issue."""
    from refute.errors import InputError
    from refute.issue import bench
    from refute.issue.filtering import FilterTask
    from refute.runs import read_run

    assert selected.run is not None
    items = issue_items(selected.dataset, selected.data, selected.ids, selected.limit)
    chosen = [item for item in items if item.problem.id in proposed]
    if not chosen:
        raise InputError(f"no fix for any of the {len(items)} instances")
    _, records = read_run(selected.run, bench.damage)
    work = {record["id"]: record for record in records if record["status"] != "error"}
    waiting = [item.problem.id for item in chosen if item.problem.id not in work]
    if waiting:
        remark(err, [f"{len(waiting)} fixes have no tests in the run yet, e.g. {waiting[0]}"])
    tasks = []
    for item in chosen:
        id = item.problem.id
        if id in work:
            tests = work[id]["prediction"]
            tasks.append(FilterTask(item, proposed[id].patch, tests["patch"], tests["confidence"]))
    if not tasks:
        raise InputError(f"{selected.run}: no tests yet for any of the {len(chosen)} fixes")
    return tasks

"""`refute report`: runs of `bench`, `grade` and of filters side by side, and a page about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.options import FILE, json_option
from refute.cli.output import consoles, print_json, remark

if TYPE_CHECKING:
    from refute.issue.analysis.study import Study

__all__ = ["command"]


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@click.option("-o", "output", type=FILE, metavar="FILE.html", help="Write a page about them.")
@click.option(
    "--data", type=FILE, metavar="PATH", help="Issues: the data set's file or folder (REFUTE_DATA)."
)
@click.option(
    "--fixes",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help='Issues: what fixes resolve, SWE-bench\'s results ({"resolved": [id...]}).',
)
@click.option(
    "--cutoff", metavar="YYYY-MM-DD", help="Issues: tell those until this day and later ones apart."
)
@json_option
def command(
    runs: tuple[Path, ...],
    output: Path | None,
    data: Path | None,
    fixes: tuple[Path, ...],
    cutoff: str | None,
    as_json: bool,
) -> int:
    """Compare runs of bench with each other and with the paper.

    RUN: a folder that `refute bench` wrote; the run may still be under way. The page needs nothing
    but itself: figures with error bars, and every problem in detail. Functions: accuracy by round
    and by number of tests. Issues (graded runs, folders of `refute grade` as well): SWT-Bench's
    tables, success by repository and by length, overlap, paired tests, cost, filters of fixes.
    """
    from refute.errors import InputError
    from refute.runs.journal import read_header

    directories = list(dict.fromkeys(runs))
    kinds = [(read_header(directory) or {}).get("kind") for directory in directories]
    about_issues = [kind in ("issues", "grades", "filter") for kind in kinds]
    if any(about_issues) and not all(about_issues):
        other = directories[about_issues.index(False)]
        raise InputError(f"{other}: not a run over issues; report on them one kind at a time")
    if any(about_issues):
        page = _issues(directories, data, fixes, cutoff, output is not None, as_json)
    elif fixes or cutoff:
        raise InputError("--fixes and --cutoff are for runs over issues")
    else:
        page = _functions(directories, output is not None, as_json)
    if output is not None:
        try:
            output.write_text(page, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InputError(f"{output}: {error.strerror}") from None
        remark(consoles()[1], [f"page written to {output}"])
    return 0


def _functions(directories: Sequence[Path], wants_page: bool, as_json: bool) -> str:
    """Print the comparison; return the page ("" where none is wanted)."""
    from refute.function.bench.summary import read_result
    from refute.report.compare import compare_document, print_comparison
    from refute.report.page import Run, render_page

    read = [Run(*read_result(directory)) for directory in directories]
    results = [run.result for run in read]
    if as_json:
        print_json(compare_document(results))
    else:
        print_comparison(results, consoles()[0])
    return render_page(read) if wants_page else ""


def _issues(
    directories: Sequence[Path],
    data: Path | None,
    fixes: Sequence[Path],
    cutoff: str | None,
    wants_page: bool,
    as_json: bool,
) -> str:
    """The same for graded runs over issues, and for filters of fixes."""
    from refute.issue.analysis.filters import filters_of, read_filter
    from refute.issue.analysis.fixes import read_resolved
    from refute.report.filters import filter_document, print_filter
    from refute.report.studies import print_study
    from refute.report.study_documents import study_document
    from refute.report.study_page import render_studies
    from refute.runs.journal import read_header

    is_filter = {path: (read_header(path) or {}).get("kind") == "filter" for path in directories}
    runs = [path for path in directories if not is_filter[path]]
    found = [read_filter(path) for path in directories if is_filter[path]]
    found += [one for path in runs for one in filters_of(path) if one.folder not in is_filter]
    resolved = {path.stem: read_resolved(path) for path in fixes}
    for one in found:
        resolved[f"{one.fixer} ({one.folder.name})"] = one.result.resolved_ids
    studies = _studies(runs, data, resolved, cutoff)
    if as_json:
        documents = [study_document(study) for study in studies]
        print_json({"studies": documents, "filters": [filter_document(one) for one in found]})
    else:
        for study in studies:
            print_study(study, consoles()[0])
        for one in found:
            print_filter(one, consoles()[0])
    return render_studies(studies, found) if wants_page else ""


def _studies(
    directories: Sequence[Path],
    data: Path | None,
    resolved: Mapping[str, Collection[str]],
    cutoff: str | None,
) -> list[Study]:
    """One study for each data set."""
    from refute.datasets.swe import load_issues
    from refute.errors import InputError
    from refute.issue.analysis.groups import is_day
    from refute.issue.analysis.runs import read_graded
    from refute.issue.analysis.study import study

    if cutoff is not None and not is_day(cutoff):
        raise InputError(f"--cutoff {cutoff}: not a day like 2023-04-30")
    runs = [run for directory in directories for run in read_graded(directory)]
    studies = []
    for dataset in dict.fromkeys(run.dataset for run in runs):
        chosen = [run for run in runs if run.dataset == dataset]
        ids = dict.fromkeys(id for run in chosen for id in run.grades)
        if not ids:
            raise InputError(f"{chosen[0].folder}: no instance has a grade yet")
        items = load_issues(dataset, data=data, ids=ids)
        problems, keys = [item.problem for item in items], [item.key for item in items]
        studies.append(study(dataset, chosen, problems, keys, fixes=resolved, cutoff=cutoff))
    return studies

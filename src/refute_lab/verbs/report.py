"""`report`: runs of `bench`, `grade` and of filters side by side, and a page about them.

>>> from refute_lab.verbs.report import report
>>> report("runs/a", "runs/b").write("page.html")
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import parse_json, read_file, write_output
from refute.errors import InputError
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.output import Shown
from refute_lab.report import Grid, as_csv, as_latex, grid_document, print_grid
from refute_lab.runs import read_header
from refute_lab.verbs.options import Tables, show_tables

if TYPE_CHECKING:
    from refute_lab.report.function_grids import DatasetStudy
    from refute_lab.swt.repair import FilterRun
    from refute_lab.swt.study import Study


# -- tables ----------------------------------------------------------------------------------------


class Tabled(Shown):
    """A result of tables, which also says them as CSV and as LaTeX."""

    __slots__ = ()

    def tables(self) -> list[Grid]:
        """All tables, those that are printed on request alone too."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {"tables": [grid_document(grid) for grid in self.tables()]}

    def print(self, console: Console) -> None:
        """Print the result as the command does."""
        for grid in self.tables():
            if grid.shown:
                print_grid(grid, console)

    def chosen(self, names: Sequence[str]) -> list[Grid]:
        """The tables of these names; all for none. Raises `InputError` for a name without one."""
        tables = self.tables()
        known = list(dict.fromkeys(grid.name for grid in tables))
        for name in names:
            if name not in known:
                raise InputError(
                    f"--table {name}: no such table here; there are {', '.join(known)}"
                )
        return [grid for grid in tables if not names or grid.name in names]

    def csv(self, *names: str) -> str:
        """The tables of these names (all) as CSV. Raises `InputError`."""
        return as_csv(self.chosen(names))

    def latex(self, *names: str) -> str:
        """The tables of these names (all) as LaTeX `tabular`s. Raises `InputError`."""
        return as_latex(self.chosen(names))


class _Report(Tabled):
    __slots__ = ()

    def page(self) -> str:
        """A self-contained HTML page."""
        raise NotImplementedError

    def write(self, path: Path | str) -> None:
        """Write the page. Raises `InputError`."""
        try:
            write_output(Path(path), self.page().encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class FunctionReport(_Report):
    """Runs over functions, beside each other."""

    studies: tuple[DatasetStudy, ...]

    def tables(self) -> list[Grid]:
        """All tables, those of the paper's forms last."""
        from refute_lab.report.function_grids import function_grids, utgen_tables

        return [*function_grids(self.studies), *utgen_tables(self.studies)]

    def page(self) -> str:
        """A self-contained HTML page."""
        from refute_lab.report.page import render_page

        return render_page(self.studies)


@dataclass(frozen=True, slots=True)
class IssueReport(_Report):
    """Graded runs over issues, by dataset, and filters of fixes."""

    studies: tuple[Study, ...]
    filters: tuple[FilterRun, ...]
    paper_model: str | None = None

    def tables(self) -> list[Grid]:
        """All tables, study by study, then those of the filters."""
        from refute_lab.report.issue_grids import filter_grid, issue_grids

        grids = [g for study in self.studies for g in issue_grids(study, as_model=self.paper_model)]
        return [*grids, *map(filter_grid, self.filters)]

    def page(self) -> str:
        """A self-contained HTML page."""
        from refute_lab.report.page import render_studies

        return render_studies(self.studies, self.filters, as_model=self.paper_model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Tables):
    """The options of `report`."""

    runs: tuple[Path, ...] = parameter(
        MISSING, "Folders of runs.", positional=True, metavar="RUN..."
    )
    output: Path | None = parameter(
        None, "Write a page about them.", flag="-o", metavar="FILE.html", writes=True
    )
    data: Path | None = parameter(
        None, "Issues: the dataset's file or folder (or REFUTE_DATA).", metavar="PATH"
    )
    fixes: tuple[Path, ...] = parameter(
        (),
        'Issues: what fixes resolve, files of SWE-bench\'s results ({"resolved": [id...]}).',
        metavar="FILE",
    )
    cutoff: str | None = parameter(
        None, "Issues: a day (YYYY-MM-DD); those until then and later ones apart.", by_name=True
    )
    common: bool = parameter(
        False, "Only the problems that all runs have a grade for.", by_name=True
    )
    paper_model: str | None = parameter(
        None,
        'The paper\'s model to compare with ("Qwen2.5 7B"), whatever ours is called.',
        by_name=True,
    )


def report(
    *runs: Path | str, options: ReportOptions | None = None, **given: Any
) -> FunctionReport | IssueReport:
    """Compare runs of `bench`, `grade` and of filters, with each other and with the paper.

    `options`: a `ReportOptions`, or its fields by name. Without `paper_model` only figures of the
    very model are shown. Raises `InputError` for folders that hold no run, or runs of both levels.
    """
    told = {"runs": runs, **given} if runs or options is None else given
    chosen = options_with(ReportOptions, options, told)
    _check_model(chosen.paper_model)
    directories = list(dict.fromkeys(chosen.runs))
    if not directories:
        raise InputError("name a run: a folder that refute bench wrote")
    for path in directories:
        if path.is_file():
            raise InputError(f"{path}: is a file; a run is the folder that refute bench wrote")
    kinds = {path: (read_header(path) or {}).get("kind") for path in directories}
    of_issues = ("issues", "grades", "fix grades", "filter")
    others = [path for path, kind in kinds.items() if kind not in of_issues]
    if not others:
        return _of_issues(kinds, chosen)
    if len(others) < len(directories):
        if read_header(others[0]) is None:
            raise InputError(f"{others[0]}: no run is there")
        raise InputError(f"{others[0]}: not a run over issues; report on them one kind at a time")
    if chosen.fixes or chosen.cutoff:
        raise InputError("fixes and cutoff are for runs over issues")
    from refute_lab.benches import read_result
    from refute_lab.report.function_grids import PageRun, dataset_studies

    found = [PageRun(*read_result(directory)) for directory in directories]
    studies = dataset_studies(found, common=chosen.common, as_model=chosen.paper_model)
    return FunctionReport(studies)


def _check_model(name: str | None) -> None:
    from refute_lab.report.paper import PAPER_MODELS

    if name is not None and name not in PAPER_MODELS:
        raise InputError(f"paper_model = {name}: must be one of {', '.join(PAPER_MODELS)}")


def _of_issues(kinds: Mapping[Path, str | None], options: ReportOptions) -> IssueReport:
    from refute_lab.swt.repair import filters_of, read_filter

    runs = [path for path, kind in kinds.items() if kind != "filter"]
    found = [read_filter(path) for path, kind in kinds.items() if kind == "filter"]
    given = {one.folder for one in found}
    found += [one for path in runs for one in filters_of(path) if one.folder not in given]
    resolved: dict[str, Collection[str]] = {
        path.stem: read_resolved(path) for path in options.fixes
    }
    for one in found:
        resolved[f"{one.fixer} ({one.folder.name})"] = one.result.resolved_ids
    studies = _studies(runs, resolved, options)
    return IssueReport(tuple(studies), tuple(found), options.paper_model)


def _studies(
    directories: Sequence[Path], resolved: Mapping[str, Collection[str]], options: ReportOptions
) -> list[Study]:
    """One study for each dataset."""
    from refute_lab.datasets.swe import load_issues
    from refute_lab.swt.study import is_day, on_common, read_graded, study

    cutoff = options.cutoff
    if cutoff is not None and not is_day(cutoff):
        raise InputError(f"cutoff = {cutoff}: not a day like 2023-04-30")
    runs = [run for directory in directories for run in read_graded(directory)]
    studies = []
    for dataset in dict.fromkeys(run.dataset for run in runs):
        chosen = [run for run in runs if run.dataset == dataset]
        if options.common:
            chosen = on_common(chosen)
        ids = dict.fromkeys(id for run in chosen for id in run.grades)
        if not ids:
            raise InputError(f"{chosen[0].folder}: no instance has a grade yet")
        items = load_issues(dataset, data=options.data, ids=ids)
        problems, keys = [item.problem for item in items], [item.key for item in items]
        studies.append(study(dataset, chosen, problems, keys, fixes=resolved, cutoff=cutoff))
    return studies


# -- what fixes resolve ---------------------------------------------------------------------------


_NAMES = ("resolved", "resolved_ids")


def read_resolved(path: Path) -> frozenset[str]:
    """Ids of resolved instances in a file of results: `{"resolved": [id, ...]}`.

    `resolved_ids`, as newer harnesses write it, and a plain list of ids are taken as well, and the
    folder of a graded run of `--task repair`. Raises `InputError`.
    """
    if path.is_dir():
        places = (path, path / "grades" / "predictions")
        path = next((p / "results.json" for p in places if (p / "results.json").is_file()), path)
    try:
        document = parse_json(read_file(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    ids = document
    if isinstance(document, dict):
        ids = next((document[name] for name in _NAMES if name in document), None)
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise InputError(f'{path}: expected {{"resolved": [instance id, ...]}}')
    return frozenset(ids)


# -- the command -----------------------------------------------------------------------------------


@click.command("report", cls=MethodCommand, more=(ReportOptions,))
@offered(ReportOptions)
def command(options: ReportOptions) -> int:
    """Compare runs of bench with each other and with the paper.

    RUN: a folder that `refute bench` wrote; the run may still be under way. The page needs nothing
    but itself: figures with error bars, and every problem in detail. Functions: accuracy by round
    and by number of tests, paired tests. Issues (graded runs, folders of `refute grade` as well):
    SWT-Bench's tables, success by repository and by length, overlap, paired tests, cost, filters of
    fixes. The paper's figure stands beside a run of the same dataset, model, method and options.
    """
    found = report(options=options)
    if options.output is not None:  # first: whoever reads the tables may go before their end
        found.write(options.output)
        remark([f"page written to {options.output}"])
    show_tables(found, options)
    return 0

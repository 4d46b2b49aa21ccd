"""`build_swt` and `statistics`: benchmarks of issues, made and looked at.

>>> from refute_lab.verbs.data_issues import statistics
>>> statistics("rows.jsonl").figures
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from rich.table import Table

from refute.core.parameters import options_with, parameter
from refute.core.problems import IssueProblem
from refute.core.remarks import remark
from refute.core.starting import Variable
from refute.core.storage import parse_json, read_file, write_output
from refute.errors import InputError, WorkspaceUnavailable
from refute.verbs.output import Shown
from refute.workspace.contract import Recipe
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.infer import infer_recipe
from refute.workspace.patches import FilePatch, file_patches
from refute.workspace.repositories import Clone, GitFailed, find_clone
from refute_lab.datasets.rows import read_rows
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.report import Grid, count_cell, row_of
from refute_lab.runs.executors import Run
from refute_lab.swt.build import (
    REASONS,
    RECORDS,
    BuildSettings,
    BuiltBenchmark,
    Commit,
    Issue,
    Place,
    Preparer,
    Pull,
    build,
    read_commits,
    read_issues,
    read_pulls,
)
from refute_lab.swt.study import change_of_tests, measured
from refute_lab.swt.workspaces import environment_of, recipe_of_row
from refute_lab.verbs.options import Tables
from refute_lab.verbs.report import Tabled

# -- statistics ------------------------------------------------------------------------------------


_WORD = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")

Finder = Callable[[str], Clone]
"""Repository -> its clone. Raises `WorkspaceUnavailable`."""


@dataclass(frozen=True, slots=True)
class BenchmarkFigure:
    """Mean and maximum of one property over the instances for which it is known."""

    group: str
    name: str
    mean: float
    max: float
    instances: int


def benchmark_figures(
    rows: Iterable[Mapping[str, Any]], finder: Finder | None = None
) -> tuple[BenchmarkFigure, ...]:
    """Table 1's figures, those of which nothing is known left out.

    `rows`: SWE-bench's fields; the counts of existing and of added tests come from `measured`,
    which `refute data build-swt` writes and a golden run tells. Without it the lists of the row are
    counted: its PASS_TO_PASS are the tests that pass in both states, most of them existing ones.
    `finder`: where to count the files and lines of the
    repositories; None: they are not counted. Words are counted with punctuation, as the paper's
    tokenizer does, within about a per cent.
    """
    found: dict[tuple[str, str], list[float]] = {}

    def note(group: str, name: str, value: float) -> None:
        found.setdefault((group, name), []).append(value)

    sizes: dict[tuple[str, str], tuple[int, int] | None] = {}
    for row in rows:
        note("issue", "words", len(_WORD.findall(row["problem_statement"])))
        if finder is not None:
            place = (row["repo"], row["base_commit"])
            if place not in sizes:
                sizes[place] = _size(finder, *place)
            size = sizes[place]
            if size is not None:
                note("codebase", "files", size[0])
                note("codebase", "lines", size[1])
        _note_tests(row, note)
        for group, name in (("golden patch", "patch"), ("golden tests", "test_patch")):
            parts = file_patches(row[name])
            note(group, "files edited", len(parts))
            note(group, "lines edited", sum(map(_lines, parts)))
    return tuple(
        BenchmarkFigure(group, name, sum(values) / len(values), max(values), len(values))
        for (group, name), values in sorted(found.items(), key=lambda item: _order(*item[0]))
    )


_ORDER = ("issue", "codebase", "listed tests", "existing tests", "golden tests", "golden patch")
_NAMES = {"f2p": "F→P", "f2f": "F→F", "p2p": "P→P", "p2f": "P→F"}
_INNER = (
    *_NAMES.values(),
    *("total", "added", "removed", "coverage %", "coverage % besides"),
    *("files", "lines", "files edited"),
)


def _order(group: str, name: str) -> tuple[int, int]:
    return _ORDER.index(group), _INNER.index(name) if name in _INNER else len(_INNER)


def _note_tests(row: Mapping[str, Any], note: Callable[[str, str, float], None]) -> None:
    measured = row.get("measured")
    if not isinstance(measured, Mapping) or "existing" not in measured:
        for field, name in (("FAIL_TO_PASS", "F→P"), ("PASS_TO_PASS", "P→P")):
            if row.get(field) is not None:
                note("listed tests", name, len(row[field]))
        return
    for group, field in (("existing tests", "existing"), ("golden tests", "golden")):
        for kind, name in _NAMES.items():
            note(group, name, measured[field].get(kind, 0))
    note("existing tests", "total", sum(measured["existing"].values()))
    note("golden tests", "added", measured["added"])
    note("golden tests", "removed", measured["removed"])
    if measured.get("coverage") is not None:  # of X*, so that the two are 100
        note("existing tests", "coverage %", 100 * measured["coverage"])
        note("golden tests", "coverage % besides", 100 - 100 * measured["coverage"])


def _lines(part: FilePatch) -> int:
    return len(part.added) + len(part.removed)


def _size(finder: Finder, repo: str, commit: str) -> tuple[int, int] | None:
    try:
        return codebase(finder(repo), commit)
    except (WorkspaceUnavailable, GitFailed):
        return None


def codebase(clone: Clone, commit: str) -> tuple[int, int]:
    """Python files at a commit and the lines in them, tests included. Raises `GitFailed`."""
    listed = clone.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
    blobs = [
        entry.split(b"\t")[0].split()[2]
        for entry in listed
        if entry.endswith(b".py") and entry.split()[1] == b"blob"
    ]
    if not blobs:
        return 0, 0
    data = clone.git("cat-file", "--batch", given=b"\n".join(blobs) + b"\n")
    lines = at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        lines += data.count(b"\n", end + 1, end + 1 + size)
        at = end + 1 + size + 1
    return len(blobs), lines


# -- benchmarks ------------------------------------------------------------------------------------


def _shares(name: str, title: str, counts: Mapping[str, int]) -> Grid:
    """Make a table of how many instances are of each kind."""
    total = sum(counts.values())
    rows = [
        row_of(kind, count_cell(count), count_cell(100 * count / total, ".1f"))
        for kind, count in counts.items()
    ]
    return Grid(name, title, ("", "instances", "%"), tuple(rows))


@dataclass(frozen=True, slots=True)
class BuildResult(Shown):
    """A benchmark that was made of pull requests."""

    output: Path
    """Its rows, JSON lines."""
    pulls: int
    """Pull requests that were looked at."""
    built: BuiltBenchmark

    @property
    def complete(self) -> bool:
        """Return whether all tests could be run; the same call tries the others again."""
        return not self.built.unavailable

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "output": str(self.output),
            "pulls": self.pulls,
            "rows": len(self.built.rows),
            "dropped": dict(self.built.dropped),
            "unavailable": dict(self.built.unavailable),
        }

    def print(self, console: Any) -> None:
        """Print how many pull requests each stage dropped, and how many are kept."""
        table, built = Table("stage", "", "pull requests", title=str(self.output)), self.built
        for reason, stage in REASONS.items():
            if built.dropped.get(reason):
                table.add_row(str(stage), reason, str(built.dropped[reason]))
        if built.unavailable:
            again = "tests cannot be run (fix it, call again)"
            table.add_row("3", again, str(len(built.unavailable)))
        table.add_row("", "kept", str(len(built.rows)))
        console.print(table)


@dataclass(frozen=True, slots=True)
class StatisticsResult(Tabled):
    """Table 1 of the SWT-Bench paper, of a benchmark."""

    name: str
    instances: int
    figures: tuple[BenchmarkFigure, ...]
    repositories: Mapping[str, int] = field(default_factory=dict)
    """Repository -> its instances (Figure 2), the largest first."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """Kind of change to tests by golden tests (section 4.1) -> instances."""

    def tables(self) -> list[Grid]:
        """Table 1, Figure 2, and what golden tests do to tests."""

        title = f"{self.name}: {self.instances} instances"
        rows = [
            row_of(one.group, one.name, count_cell(one.mean, ",.1f"), count_cell(one.max, ",.1f"),
                   count_cell(one.instances))
            for one in self.figures
        ]  # fmt: skip
        return [
            Grid("swt-1", title, ("", "figure", "mean", "max", "instances"), tuple(rows)),
            _shares("repositories", "instances by repository", self.repositories),
            _shares("changes", "golden tests that", self.changes),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The options of `data build-swt`."""

    clone: Path = parameter(MISSING, "Clone of the repository.", metavar="DIR")
    output: Path = parameter(Path("rows.jsonl"), "Rows, JSON lines.", flag="-o", writes=True)
    pulls: Path | None = parameter(
        None,
        "Its pull requests: gh api --paginate --jq '.[]' 'repos/OWNER/NAME/pulls?state=closed'",
    )
    issues: Path | None = parameter(
        None, "Its issues: gh api --paginate --jq '.[]' 'repos/OWNER/NAME/issues?state=all'"
    )
    commits: Path | None = parameter(
        None,
        "In place of the two: fixes with their tests, JSON lines with `commit` and `issue` (its"
        " text).",
    )
    runs: int = parameter(
        5,
        "Golden tests must turn from failing to passing in each of N runs.",
        at_least=1,
        by_name=True,
    )
    repo: str = parameter(
        "", "OWNER/NAME, where neither the pull requests nor the clone say.", by_name=True
    )
    environment: Path | None = parameter(
        None,
        "A file with a JSON object as in the field `environment` of a row; what it leaves out is"
        " inferred, as with `infer` all of it (your own environment).",
        by_name=True,
    )
    timeout: float = parameter(
        1800.0, "Seconds for one run of the tests.", at_least=1, by_name=True
    )
    run: Path | None = parameter(None, "The journal's folder (OUTPUT.run).", by_name=True)


def build_swt(*, options: BuildOptions | None = None, **given: Any) -> BuildResult:
    """Make a benchmark of issues and their golden tests from merged pull requests (SWT-Bench, 3.2).

    `options`: a `BuildOptions`, or its fields by name; `environment`: of "infer" what the
    repository's files ask for at the date of the change. The same call resumes, also with more
    pull requests or another environment. Raises `InputError`, `Unavailable`.
    """
    chosen = options_with(BuildOptions, options, given)
    clone, output = chosen.clone, chosen.output
    found = find_clone(str(clone))
    environment = _environment(chosen.environment)
    known: Mapping[int, Issue] = {}
    taken: Sequence[Pull | Commit]
    match chosen.pulls, chosen.issues, chosen.commits:
        case Path() as pulls, Path() as issues, None:
            taken, known = read_pulls(pulls, chosen.repo), read_issues(issues)
        case None, None, Path() as commits:
            taken = read_commits(commits, found, repository_name(found, chosen.repo))
        case _:
            raise InputError("give --pulls and --issues, or --commits")
    recipe = infer_recipe(clone) if environment is None else None
    directory = chosen.run or output.with_name(f"{output.name}.run")
    with Run(directory, {"kind": "build-swt"}, RECORDS, again="the same command") as opened:
        built = build(
            taken,
            known,
            found,
            _preparer(clone, environment, recipe),
            opened.journal,
            BuildSettings(chosen.runs, chosen.timeout),
            environment=environment if recipe is None else environment_of(recipe),
            progress=lambda line: remark([line]),
            kept=lambda rows: _write(output, rows),
        )
    _write(output, built.rows)
    return BuildResult(output, len(taken), built)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions(Tables):
    """The options of `data statistics`."""

    rows: str = parameter(MISSING, "A dataset, or a file of SWE-bench rows.", positional=True)
    data: Path | None = parameter(None, "Its file or folder (or REFUTE_DATA).", metavar="PATH")
    clones: Path | None = parameter(
        None, "Clones to count files in (or REFUTE_REPOS).", metavar="DIR", by_name=True
    )
    graded: Path | None = parameter(
        None,
        "Run of `refute grade ROWS gold`, for existing tests and coverage.",
        metavar="RUN",
    )


def statistics(
    rows: Path | str | None = None, *, options: StatisticsOptions | None = None, **given: Any
) -> StatisticsResult:
    """Figures about a benchmark of issues (SWT-Bench, Table 1, Figure 2, section 4.1).

    `options`: a `StatisticsOptions`, or its fields by name. Without `clones` and REFUTE_REPOS files
    are not counted. Raises `InputError`.
    """
    told = given if rows is None else {"rows": str(rows), **given}
    chosen = options_with(StatisticsOptions, options, told)
    name, places = chosen.rows, chosen.clones
    items = load_issues(name, data=chosen.data)
    counted = places is not None or bool(os.environ.get(Variable.REPOS))
    finder = (lambda repo: find_clone(repo, places)) if counted else None
    keys = [item.key for item in items]
    measures = _built(name) if chosen.graded is None else measured(chosen.graded, keys)
    figures = benchmark_figures(_with_measures(items, measures), finder)
    repositories = Counter(item.problem.repo for item in items)
    changes = Counter(change_of_tests(key.test_patch) for key in keys)
    return StatisticsResult(
        Path(name).name,
        len(items),
        figures,
        dict(repositories.most_common()),
        {one: changes[one] for one in ("adds", "modifies", "removes")},
    )


def _built(rows: str) -> dict[str, Any]:
    """Return, by instance, the measures that `build-swt` wrote into the rows of a file."""
    if not Path(rows).is_file():
        return {}
    return {row.fields["instance_id"]: row.fields.get("measured") for row in read_rows(Path(rows))}


def _with_measures(items: Sequence[IssueItem], measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows with their lists read, whatever form they are in."""
    return [
        {
            "repo": item.problem.repo,
            "base_commit": item.problem.base_commit,
            "problem_statement": item.problem.text,
            "patch": item.key.patch,
            "test_patch": item.key.test_patch,
            "FAIL_TO_PASS": item.key.fail_to_pass,
            "PASS_TO_PASS": item.key.pass_to_pass,
            "measured": measured.get(item.problem.id),
        }
        for item in items
    ]


def _preparer(clone: Path, given: Mapping[str, Any] | None, own: Recipe | None) -> Preparer:
    """Makes environments of the clone: what was given or inferred, or the user's own.

    Tests run in the very environment that the row will name, so one that was inferred is made
    again from the list of what is in it.
    """
    warned: set[str] = set()

    def prepared(problem: IssueProblem) -> Place:
        asked = dict(given or {})
        if not asked.get("pins"):
            asked.setdefault("before", problem.created_at[:10] or None)
        row = {"instance_id": problem.id, "repo": problem.repo, "environment": asked}
        recipe = own or recipe_of_row(row)
        base = prepare(str(clone), problem.base_commit, recipe)
        if own is None:
            named = environment_of(base.recipe)
            row = {"instance_id": problem.id, "repo": problem.repo, "environment": named}
            base = prepare(str(clone), problem.base_commit, recipe_of_row(row))
        for release in own_releases(base.hidden, base.readable):
            if release not in warned:
                warned.add(release)
                told = f"the environment holds {release}, a release of the project itself"
                remark([f"{told}: it is hidden here, but other harnesses may test it"])
        return Place(
            environment_of(base.recipe if own is None else own), partial(open_workspace, base)
        )

    return prepared


def own_releases(hidden: Sequence[str], environment: Sequence[str]) -> list[str]:
    """Installed distributions, `name==version`, that hold the repository's own packages, whether
    they were asked for or came along with another (pytest needs Pygments).

    `hidden`: the folders of such packages; `environment`: those that belong to the environment.
    """
    found = set()
    for folder in map(Path, hidden):
        if any(folder.is_relative_to(os.path.realpath(root)) for root in environment):
            for one in distributions(path=[str(folder.parent)]):
                if any(file.parts[0] == folder.name for file in one.files or ()):
                    found.add(f"{one.name}=={one.version}")
    return sorted(found)


def repository_name(clone: Clone, given: str) -> str:
    """`owner/name` of a clone: given, else by its remote, else by its folder `owner__name`."""
    try:
        remote = clone.git("config", "--get", "remote.origin.url").decode().strip()
    except GitFailed:
        remote = ""
    folder = (clone.work_tree or clone.git_dir).name.removesuffix(".git").replace("__", "/")
    for text in (given, *re.findall(r"([\w.-]+/[\w.-]+?)(?:\.git)?/?$", remote), folder):
        if re.fullmatch(r"[\w.-]+/[\w.-]+", text):
            return str(text)
    raise InputError(f"{clone.name}: which repository is it? give --set repo=OWNER/NAME")


def _environment(given: Path | None) -> dict[str, Any] | None:
    if given is None:
        return None
    return {} if str(given) == "infer" else _object(given)


def _write(output: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    try:
        write_output(output, "".join(json.dumps(row) + "\n" for row in rows))
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None


def _object(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(read_file(path))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: not a JSON file: {e}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return value

"""`build_swt` and `statistics`: benchmarks of issues, made and looked at.

>>> from refute_lab.api.benchmarks import statistics
>>> statistics("rows.jsonl").figures
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.problems import IssueProblem
from refute.core.remarks import remark
from refute.core.starting import Variable
from refute.core.storage import parse_json, read_file, write_output
from refute.errors import InputError, WorkspaceUnavailable
from refute.verbs.output import Shown, path_of
from refute.workspace.contract import Recipe
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.infer import infer_recipe
from refute.workspace.repositories import Clone, GitFailed, find_clone
from refute_lab.api.reporting import Tabled
from refute_lab.datasets.rows import read_rows
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.runs.run import Run
from refute_lab.swt.analysis.figures import change_of_tests, measured
from refute_lab.swt.building import statistics as table1
from refute_lab.swt.building.build import (
    BuildSettings,
    BuiltBenchmark,
    Place,
    Preparer,
    build,
)
from refute_lab.swt.building.pull_requests import (
    RECORDS,
    Commit,
    Issue,
    Pull,
    read_commits,
    read_issues,
    read_pulls,
)
from refute_lab.swt.workspaces import environment_of, recipe_of_row

if TYPE_CHECKING:
    from refute_lab.report.grids import Grid


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
        """Whether all tests could be run; the same call tries the others again."""
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
        """What the command prints on stdout."""
        from refute_lab.report.benchmarks import print_built

        print_built(str(self.output), self.built, console)


@dataclass(frozen=True, slots=True)
class StatisticsResult(Tabled):
    """Table 1 of the SWT-Bench paper, of a benchmark."""

    name: str
    instances: int
    figures: tuple[table1.BenchmarkFigure, ...]
    repositories: Mapping[str, int] = field(default_factory=dict)
    """Repository -> its instances (Figure 2), the largest first."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """What golden tests do to tests (section 4.1) -> instances."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "instances": self.instances,
            "figures": [asdict(one) for one in self.figures],
            "repositories": dict(self.repositories),
            "golden_tests": dict(self.changes),
        }

    def tables(self) -> list[Grid]:
        """Table 1, Figure 2, and what golden tests do to tests."""
        from refute_lab.report.benchmarks import statistics_grids

        title = f"{self.name}: {self.instances} instances"
        return statistics_grids(title, self.figures, self.repositories, self.changes)


def build_swt(
    clone: Path | str,
    pulls: Path | str | None = None,
    issues: Path | str | None = None,
    output: Path | str = "rows.jsonl",
    *,
    commit: str | None = None,
    issue: Path | str | None = None,
    commits: Path | str | None = None,
    runs: int = 5,
    repo: str = "",
    environment: Path | str | None = None,
    timeout: float = 1800.0,
    run: Path | str | None = None,
) -> BuildResult:
    """Make a benchmark of issues and their golden tests from merged pull requests (SWT-Bench, 3.2).

    `clone`: of the repository. `pulls`, `issues`: files of what GitHub's API gives. In place of the
    two: `commit`, a fix with its tests, and `issue`, a file of the issue's text; or `commits`, a
    file of JSON objects with `commit` and `issue`. `runs`: golden tests must turn from failing to
    passing in each of so many. `repo`: OWNER/NAME, where neither the pull requests nor the clone
    say. `environment`: a file with a JSON object as in the field `environment` of a row, or "infer"
    for what the repository's files ask for at the date of the change (None: the user's own).
    `timeout`: seconds for one run of the tests. `run`: the journal's folder (OUTPUT.run); the same
    call resumes, also with more pull requests or another environment.

    Raises `InputError`, `Unavailable`.
    """
    output = Path(output)
    found = find_clone(str(clone))
    given = _environment(environment)
    known: Mapping[int, Issue] = {}
    taken: Sequence[Pull | Commit]
    match (pulls, issues), (commit, issue), commits:
        case (str() | Path(), str() | Path()), (None, None), None:
            taken, known = read_pulls(Path(str(pulls)), repo), read_issues(Path(str(issues)))
        case (None, None), (str(), str() | Path()), None:
            text = _text(Path(str(issue)))
            taken = [Commit(_resolved(found, str(commit)), repository_name(found, repo), text)]
        case (None, None), (None, None), str() | Path():
            taken = read_commits(Path(str(commits)), found, repository_name(found, repo))
        case _:
            raise InputError(
                "give --pulls and --issues, or --commit and --issue, or --commits: one of the three"
            )
    recipe = infer_recipe(Path(clone)) if given is None else None
    directory = path_of(run) or output.with_name(f"{output.name}.run")
    with Run(directory, {"kind": "build-swt"}, RECORDS, again="the same command") as opened:
        built = build(
            taken,
            known,
            found,
            _preparer(Path(clone), given, recipe),
            opened.journal,
            BuildSettings(runs, timeout),
            environment=given if recipe is None else environment_of(recipe),
            progress=lambda line: remark([line]),
            kept=lambda rows: _write(output, rows),
        )
    _write(output, built.rows)
    return BuildResult(output, len(taken), built)


def _resolved(clone: Clone, commit: str) -> str:
    try:
        return clone.resolve(commit)
    except WorkspaceUnavailable as error:  # a name that somebody typed
        raise InputError(f"--commit {commit}: {error}") from None


def statistics(
    rows: Path | str,
    *,
    clones: Path | str | None = None,
    data: Path | str | None = None,
    graded: Path | str | None = None,
) -> StatisticsResult:
    """Figures about a benchmark of issues (SWT-Bench, Table 1, Figure 2, section 4.1).

    `rows`: a dataset's name or a file of SWE-bench rows; `data` as in `refute_lab.bench`. `clones`:
    where the repositories are, to count their files and lines (REFUTE_REPOS; neither: they are not
    counted). `graded`: the folder of a run that graded the golden tests, for existing tests and
    coverage. Raises `InputError`.
    """
    places = path_of(clones)
    items = load_issues(str(rows), data=path_of(data))
    counted = places is not None or bool(os.environ.get(Variable.REPOS))
    finder = (lambda repo: find_clone(repo, places)) if counted else None
    keys = [item.key for item in items]
    told = _built(rows) if graded is None else measured(Path(graded), keys)
    figures = table1.statistics(_with_measures(items, told), finder)
    repositories = Counter(item.problem.repo for item in items)
    changes = Counter(change_of_tests(key.test_patch) for key in keys)
    return StatisticsResult(
        Path(rows).name,
        len(items),
        figures,
        dict(repositories.most_common()),
        {one: changes[one] for one in ("adds", "modifies", "removes")},
    )


def _built(rows: Path | str) -> dict[str, Any]:
    """What `build-swt` measured and wrote into the rows of a file, by instance."""
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
    raise InputError(f"{clone.name}: which repository is it? give --repo OWNER/NAME")


def _environment(given: Path | str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    return {} if str(given) == "infer" else _object(Path(given))


def _write(output: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    try:
        write_output(output, "".join(json.dumps(row) + "\n" for row in rows))
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None


def _text(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8", "replace").replace("\r\n", "\n").strip()
    except OSError as e:
        raise InputError(f"{path}: {e.strerror}") from None


def _object(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(read_file(path))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: not a JSON file: {e}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return value

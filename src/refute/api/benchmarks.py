"""`build_swt` and `statistics`: benchmarks of issues, made and looked at.

>>> from refute.api.benchmarks import statistics
>>> statistics("rows.jsonl").figures
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from refute.api.calling import Shown, path_of
from refute.datasets.rows import read_rows
from refute.datasets.swe import IssueItem, load_issues
from refute.errors import InputError
from refute.files import read_file
from refute.issue.analysis import golden_run
from refute.issue.benchmark import statistics as table1
from refute.issue.benchmark.build import RECORDS, BuildSettings, BuiltBenchmark, Opener, build
from refute.issue.benchmark.pull_requests import read_issues, read_pulls
from refute.jsontext import parse_json
from refute.remarks import remark
from refute.runs.run import Run
from refute.storage import write_atomically
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.infer import infer_recipe
from refute.workspace.recipes import recipe_of_row
from refute.workspace.repositories import find_clone

__all__ = ["BuildResult", "StatisticsResult", "build_swt", "statistics"]


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
        from refute.report.benchmarks import print_built

        print_built(str(self.output), self.built, console)


@dataclass(frozen=True, slots=True)
class StatisticsResult(Shown):
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

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.benchmarks import print_shares, print_statistics

        print_statistics(f"{self.name}: {self.instances} instances", self.figures, console)
        print_shares("instances by repository", self.repositories, console)
        print_shares("golden tests that", self.changes, console)


def build_swt(
    clone: Path | str,
    pulls: Path | str,
    issues: Path | str,
    output: Path | str,
    *,
    runs: int = 5,
    repo: str = "",
    environment: Path | str | None = None,
    timeout: float = 1800.0,
    run: Path | str | None = None,
) -> BuildResult:
    """Make a benchmark of issues and their golden tests from merged pull requests (SWT-Bench, 3.2).

    `clone`: of the repository. `pulls`, `issues`: files of what GitHub's API gives. `runs`: golden
    tests must turn from failing to passing in each of so many. `repo`: OWNER/NAME, where the pull
    requests do not say. `environment`: a file with a JSON object as in the field `environment` of a
    row (None: the user's own). `timeout`: seconds for one run of the tests. `run`: the journal's
    folder (OUTPUT.run); the same call resumes.

    Raises `InputError`, `Unavailable`.
    """
    output = Path(output)
    found = find_clone(str(clone))
    fields = {} if environment is None else {"environment": _object(Path(environment))}
    taken, known = read_pulls(Path(pulls), repo), read_issues(Path(issues))
    settings = {
        "kind": "build-swt",
        "pulls": _digest(Path(pulls)),
        "issues": _digest(Path(issues)),
        "environment": fields.get("environment"),
        "repo": repo,
        "runs": runs,
        "timeout": timeout,
    }
    directory = path_of(run) or output.with_name(f"{output.name}.run")
    opener = _opener(Path(clone), fields, taken[0].repo if taken else repo)
    with Run(directory, settings, RECORDS, again="the same command") as opened:
        built = build(
            taken,
            known,
            found,
            opener,
            opened.journal,
            BuildSettings(runs, timeout),
            fields=fields,
            progress=lambda line: remark([line]),
        )
    try:
        write_atomically(output, "".join(json.dumps(row) + "\n" for row in built.rows))
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    return BuildResult(output, len(taken), built)


def statistics(
    rows: Path | str,
    *,
    clones: Path | str | None = None,
    data: Path | str | None = None,
    graded: Path | str | None = None,
) -> StatisticsResult:
    """Figures about a benchmark of issues (SWT-Bench, Table 1, Figure 2, section 4.1).

    `rows`: a dataset's name or a file of SWE-bench rows; `data` as in `refute.bench`. `clones`:
    where the repositories are, to count their files and lines (REFUTE_REPOS; neither: they are not
    counted). `graded`: the folder of a run that graded the golden tests, for existing tests and
    coverage. Raises `InputError`.
    """
    places = path_of(clones)
    items = load_issues(str(rows), data=path_of(data))
    counted = places is not None or bool(os.environ.get("REFUTE_REPOS"))
    finder = (lambda repo: find_clone(repo, places)) if counted else None
    keys = [item.key for item in items]
    told = _built(rows) if graded is None else golden_run.measured(Path(graded), keys)
    figures = table1.statistics(_with_measures(items, told), finder)
    repositories = Counter(item.problem.repo for item in items)
    changes = Counter(golden_run.change_of_tests(key.test_patch) for key in keys)
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


def _opener(clone: Path, fields: Mapping[str, Any], repo: str) -> Opener:
    """Opens workspaces of the clone, in the environment that was given or in the user's own."""
    if fields:
        recipe = recipe_of_row({"instance_id": "environment", "repo": repo, **fields})
    else:
        recipe = infer_recipe(clone)
    return lambda problem: open_workspace(prepare(str(clone), problem.base_commit, recipe))


def _object(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(read_file(path))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: not a JSON file: {e}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return value


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(read_file(path)).hexdigest()
    except OSError as e:
        raise InputError(f"{path}: {e.strerror}") from None

"""`refute data`: build benchmarks of issues, and look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import FILE, json_option
from refute.cli.output import consoles, print_json, remark
from refute.errors import UNAVAILABLE

if TYPE_CHECKING:
    from refute.issue.benchmark.build import Built, Opener
    from refute.workspace.recipe import Recipe

__all__ = ["command"]


@click.group("data")
def command() -> None:
    """Build benchmarks of issues, and look at them."""


@command.command("build-swt")
@click.option("--clone", type=FILE, required=True, metavar="DIR", help="Clone of the repository.")
@click.option(
    "--pulls", type=FILE, required=True, metavar="FILE", help="Its pull requests (GitHub's API)."
)
@click.option(
    "--issues", type=FILE, required=True, metavar="FILE", help="Its issues (GitHub's API)."
)
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Rows, JSON lines.")
@click.option(
    "--runs", type=click.IntRange(1), default=5, show_default=True, metavar="N",
    help="Golden tests must turn from failing to passing in each of N runs.",
)  # fmt: skip
@click.option(
    "--repo", default="", metavar="OWNER/NAME", help="Where the pull requests do not say."
)
@click.option(
    "--environment", type=FILE, metavar="FILE",
    help="JSON object as in the field `environment` of a row (default: your own environment).",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(1), default=1800.0, show_default=True, metavar="SECONDS",
    help="Time for one run of the tests.",
)  # fmt: skip
@click.option("--run", type=FILE, metavar="DIR", help="Its journal (default: OUTPUT.run).")
@json_option
def build_swt(
    clone: Path,
    pulls: Path,
    issues: Path,
    output: Path,
    runs: int,
    repo: str,
    environment: Path | None,
    timeout: float,
    run: Path | None,
    as_json: bool,
) -> int:
    """Make a benchmark of issues and their golden tests from merged pull requests.

    Kept are pull requests that resolve an issue and touch tests of which at least one fails before
    and passes after, in every run. Goes on where a run was stopped. Exit status 3: some tests
    could not be run; call it again to try those.
    """
    from refute.issue.benchmark.build import RECORDS, Settings, build
    from refute.issue.benchmark.pull_requests import read_issues, read_pulls
    from refute.runs.run import Run
    from refute.workspace.repositories import find_clone

    found = find_clone(str(clone))
    fields = {} if environment is None else {"environment": _object(environment)}
    taken, known = read_pulls(pulls, repo), read_issues(issues)
    settings = {
        "kind": "build-swt",
        "pulls": _digest(pulls),
        "issues": _digest(issues),
        "environment": fields.get("environment"),
        "repo": repo,
        "runs": runs,
        "timeout": timeout,
    }
    log = consoles()[1]
    directory = run or output.with_name(f"{output.name}.run")
    with Run(directory, settings, RECORDS, again="the same command") as opened:
        built = build(
            taken,
            known,
            found,
            _opener(clone, fields, taken[0].repo if taken else repo),
            opened.journal,
            Settings(runs, timeout),
            fields=fields,
            progress=lambda line: remark(log, [line]),
        )
    _write(output, built)
    _report(built, output, len(taken), as_json)
    return UNAVAILABLE if built.unavailable else 0


@command.command("statistics")
@click.argument("rows", type=FILE)
@click.option(
    "--clones", type=FILE, metavar="DIR", help="Clones to count files in (or REFUTE_REPOS)."
)
@json_option
def statistics_of(rows: Path, clones: Path | None, as_json: bool) -> int:
    """Figures about a benchmark of issues (Table 1 of the SWT-Bench paper)."""
    import os
    from dataclasses import asdict

    from rich.table import Table

    from refute.datasets.swe import load_issues
    from refute.issue.benchmark.statistics import statistics
    from refute.workspace.repositories import find_clone

    items = load_issues(rows)
    counted = clones is not None or bool(os.environ.get("REFUTE_REPOS"))
    figures = statistics(
        _with_measures(rows, items), (lambda repo: find_clone(repo, clones)) if counted else None
    )
    if as_json:
        print_json({"instances": len(items), "figures": [asdict(f) for f in figures]})
        return 0
    table = Table("", "", "mean", "max", "instances", title=f"{rows.name}: {len(items)} instances")
    group = ""
    for figure in figures:
        name = figure.group if figure.group != group else ""
        group = figure.group
        table.add_row(
            name, figure.name, f"{figure.mean:,.1f}", f"{figure.max:,.0f}", str(figure.instances)
        )
    consoles()[0].print(table)
    return 0


def _with_measures(path: Path, items: Any) -> list[dict[str, Any]]:
    """The rows with their lists read, whatever form they are in."""
    from refute.datasets.rows import read_rows

    measured = {row.fields["instance_id"]: row.fields.get("measured") for row in read_rows(path)}
    return [
        {
            "repo": item.problem.repo,
            "base_commit": item.problem.base_commit,
            "problem_statement": item.problem.text,
            "patch": item.key.patch,
            "test_patch": item.key.test_patch,
            "FAIL_TO_PASS": item.key.fail_to_pass,
            "PASS_TO_PASS": item.key.pass_to_pass,
            "measured": measured[item.problem.id],
        }
        for item in items
    ]


def _opener(clone: Path, fields: dict[str, Any], repo: str) -> Opener:
    """Opens workspaces of the clone, in the environment that was given or in the user's own."""
    from refute.workspace.factory import open_workspace, prepare
    from refute.workspace.infer import infer_recipe
    from refute.workspace.recipes import recipe_of_row

    recipe: Recipe
    if fields:
        recipe = recipe_of_row({"instance_id": "environment", "repo": repo, **fields})
    else:
        recipe = infer_recipe(clone)
    return lambda problem: open_workspace(prepare(str(clone), problem.base_commit, recipe))


def _object(path: Path) -> dict[str, Any]:
    from refute.errors import InputError
    from refute.files import read_file
    from refute.jsontext import parse_json

    try:
        value = parse_json(read_file(path))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: not a JSON file: {e}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return value


def _digest(path: Path) -> str:
    import hashlib

    from refute.errors import InputError
    from refute.files import read_file

    try:
        return hashlib.sha256(read_file(path)).hexdigest()
    except OSError as e:
        raise InputError(f"{path}: {e.strerror}") from None


def _write(output: Path, built: Built) -> None:
    import json

    from refute.errors import InputError
    from refute.storage import write_atomically

    try:
        write_atomically(output, "".join(json.dumps(row) + "\n" for row in built.rows))
    except OSError as e:
        raise InputError(f"{output}: cannot be written: {e.strerror}") from None


def _report(built: Built, output: Path, pulls: int, as_json: bool) -> None:
    from rich.table import Table

    from refute.issue.benchmark.build import REASONS

    if as_json:
        print_json(
            {
                "output": str(output),
                "pulls": pulls,
                "rows": len(built.rows),
                "dropped": dict(built.dropped),
                "unavailable": dict(built.unavailable),
            }
        )
        return
    table = Table("stage", "", "pull requests", title=f"{output}")
    for reason, stage in REASONS.items():
        if built.dropped.get(reason):
            table.add_row(str(stage), reason, str(built.dropped[reason]))
    if built.unavailable:
        table.add_row("3", "tests cannot be run (call again)", str(len(built.unavailable)))
    table.add_row("", "kept", str(len(built.rows)))
    consoles()[0].print(table)

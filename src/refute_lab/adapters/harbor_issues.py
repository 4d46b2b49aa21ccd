"""Harbor: issues of SWT-Bench as task directories (tried with harbor 0.26.0).

The agent's image holds the repository at the commit before the fix, without any other history, and
the packages that are installed here for the row. What the agent has changed in the end is its
answer. Golden patch and tests are in the verifier's image alone, which grades as `refute grade`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from threading import Lock
from typing import Any

from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.contract import Base
from refute.workspace.repositories import archived, find_clone
from refute_lab.adapters import harbor as texts
from refute_lab.adapters.harbor import (
    MOST,
    check_files,
    refute_source,
    task_name,
    write_reward,
    write_task,
)  # fmt: skip
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.swt.grade import Terms
from refute_lab.swt.tasks import GradingSettings, GradingTask, Prediction, grade_task
from refute_lab.swt.workspaces import environment_of, prepared, spawner

__all__ = ["main", "write_issue_tasks"]

_TREE = "/testbed"
_PLACE = "/app/tests.patch"
_TERMS = Terms(timeout=600.0, tests_only=True)
_RUNS = (1, 5)
"""A success must hold in five more runs: a test that passes by chance does not count."""


def write_issue_tasks(items: Iterable[IssueItem], output: Path | str) -> int:
    """Write a task directory for each issue below `output`; returns how many.

    What a row leaves open about its environment is inferred here, which builds it. Raises
    `InputError`, `WorkspaceUnavailable` and `EnvironmentBroken`.
    """
    written: dict[str, str] = {}
    for item in items:
        name = task_name(item.problem.id, written)
        write_task(Path(output, name), _files(item, name))
    return len(written)


def _files(item: IssueItem, name: str) -> dict[str, str | bytes]:
    problem, key = item.problem, item.key
    base = prepared(problem, "local")
    if not base.sites:
        hint = "give `python` and `pins`, or neither"
        raise InputError(f"{problem.id}: its environment is an interpreter of this machine; {hint}")
    command = environment_of(base.recipe)["test_command"]
    given = {"tree": _TREE, "place": _PLACE, "python": base.recipe.python, "image": texts.IMAGE}
    repository = archived(find_clone(problem.repo), base.commit)
    collect = texts.COLLECT.format(**given, commit=base.commit)
    config = texts.ISSUE_CONFIG.format(
        **given, name=name, id=json.dumps(problem.id), kind="issue", collect=collect
    )
    return {
        "instruction.md": texts.INSTRUCTION.format(
            **given, command=command, issue=problem.text.strip()
        ),
        "task.toml": config,
        "environment/Dockerfile": _agent(base, given),
        "environment/requirements.txt": "".join(f"{pin}\n" for pin in _installed(base)),
        "environment/repository.tar": repository,
        "tests/Dockerfile": texts.ISSUE_VERIFIER.format(
            **given,
            refute=refute_source(),
            uv=texts.UV,
            repo=problem.repo.replace("/", "__"),
        ),
        "tests/repository.tar": repository,
        "tests/row.jsonl": json.dumps(_row(item, base)) + "\n",
        "tests/test.sh": texts.ISSUE_TEST.format(**given),
        "solution/solve.sh": texts.SOLVE.format(**given),
        "solution/tests.patch": key.test_patch,
    }


def _row(item: IssueItem, base: Base) -> dict[str, Any]:
    """The row that the verifier reads, with the environment as it was carried out here."""
    problem, key = item.problem, item.key
    return {
        "instance_id": problem.id,
        "repo": problem.repo,
        "base_commit": base.commit,
        "problem_statement": problem.text,
        "patch": key.patch,
        "test_patch": key.test_patch,
        "FAIL_TO_PASS": list(key.fail_to_pass),
        "PASS_TO_PASS": list(key.pass_to_pass),
        "environment": environment_of(base.recipe),
    }


def _agent(base: Base, given: Mapping[str, Any]) -> str:
    settings = "".join(
        f"ENV {name}={_quoted(value)}\n" for name, value in base.variables(_TREE).items()
    )
    return texts.AGENT.format(**given) + settings + texts.EDITABLE * base.recipe.editable


def _quoted(value: str) -> str:
    return '"' + "".join("\\" + c if c in '"\\$' else c for c in value) + '"'


def _installed(base: Base) -> list[str]:
    """The packages of the environment, as requirements; nothing of it is run."""
    found = {one.metadata["Name"]: one.version for one in distributions(path=list(base.sites))}
    return sorted(f"{name}=={version}" for name, version in found.items())


def main(row: str, patch: str, reward: str) -> None:
    """Grade the file `patch` by the one issue of the file `row`, and write the file `reward`.

    No patch is paid nothing. Raises `InputError`, and `WorkspaceUnavailable` where the golden tests
    do not work here; nothing is written then: Harbor calls that an error of the verifier.
    """
    [item] = load_issues(row)
    try:
        text = Path(patch).read_bytes()[:MOST].decode("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        text = ""
    with spawner(item.problem, "local")() as workspace:
        check_files(workspace.protections())
    task = GradingTask(item, Prediction(item.problem.id, text))
    for runs in _RUNS:
        settings = GradingSettings(row, patch, "", replace(_TERMS, repeat=runs))
        grade, golden = grade_task(settings, Lock(), task)
        if golden is not None and not golden.works:
            raise WorkspaceUnavailable(f"{item.problem.id}: the golden tests do not work here")
        if not grade.verdict.success:
            break
    print(" ".join((grade.verdict.status, *grade.verdict.fail_to_pass)))
    write_reward(reward, float(grade.verdict.success))


if __name__ == "__main__":
    main(*sys.argv[1:])

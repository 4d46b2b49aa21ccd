"""Harbor: problems as task directories with a verifier of their own (tried with harbor 0.26.0).

The agent's container has no tests: the answer key is in the verifier's image alone, which gets the
one file that the agent was asked for. There `python -m refute_lab.adapters.harbor` grades it.

Of an issue of SWT-Bench the agent's image holds the repository at the commit before the fix,
without any other history, and the packages that are installed here for the row. What the agent has
changed in the end is its answer, which the verifier grades as `refute grade` does.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from refute.core.extras import requirement
from refute.core.storage import write_output
from refute.errors import InputError, SandboxUnavailable, WorkspaceUnavailable
from refute.sandbox.local import LocalSandbox
from refute.workspace.contract import Base
from refute.workspace.repositories import archived, find_clone
from refute_lab.adapters import Row, Score, TestTask, read_task, score
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.swt.grade import Terms
from refute_lab.swt.tasks import GradingSettings, GradingTask, Prediction, grade_task
from refute_lab.swt.workspaces import environment_of, prepared, spawner

_TEXTS: dict[str, str] = tomllib.loads(
    files("refute_lab.adapters").joinpath("harbor.toml").read_text()
)
"""By their names."""
IMAGE = "python:3.12-slim"
"""Image in which refute is installed."""
UV = "uv==0.13.9"
"""Requirement that builds the environments of issues."""
MOST = 1 << 20
"""Bytes of an answer that are read."""
_PLACE = "/app/solution.py"


def write_tasks(rows: Iterable[Row], output: Path | str) -> int:
    """Write a task directory for each row below `output`; returns how many.

    Raises `InputError` where two of them have the same name, or a file cannot be written.
    """
    written: dict[str, str] = {}
    for row in rows:
        name = task_name(row.id, written)
        write_task(Path(output, name), _files(row, name))
    return len(written)


def task_name(id: str, written: dict[str, str]) -> str:
    """The name of the task of a problem, which is added to `written`: name -> id.

    Raises `InputError` where it is the name of another one.
    """
    name = re.sub(r"[^a-z0-9]+", "-", id.lower()).strip("-") or "task"
    if name in written:
        raise InputError(f"{id} and {written[name]} would both be the task {name}")
    written[name] = id
    return name


def write_task(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files of a task directory. Raises `InputError`."""
    for path, content in files.items():
        target = folder / path
        try:
            write_output(target, content, folders=True)
            if path.endswith(".sh"):
                target.chmod(0o755)
        except OSError as error:
            raise InputError(f"{target}: cannot be written: {error.strerror}") from None


def check_files(held: Mapping[str, bool]) -> None:
    """Raise `SandboxUnavailable` where what is graded could read the answer key beside it.

    `held`: the protections of the sandbox.
    """
    if not held["namespaces"] and not held["landlock"]:
        needed = "user namespaces or Landlock are needed (refute doctor)"
        raise SandboxUnavailable(f"the answer could read its answer key here: {needed}")


def write_reward(file: str, reward: float) -> None:
    """Write the reward where Harbor reads it."""
    Path(file).write_text(json.dumps({"reward": reward}), "utf-8")


def refute_source() -> str:
    """Return the requirement that a verifier's image installs refute from, quoted for a shell."""
    return shlex.quote(requirement())


def _config(text: str, /, **given: Any) -> str:
    """The task's settings, with the head that all have."""
    return (_TEXTS["head"] + _TEXTS[text]).format(**given)


def _files(row: Row, name: str) -> dict[str, str | bytes]:
    task = read_task(row.task)
    kind = "test" if isinstance(task, TestTask) else "program"
    config = _config("config", place=_PLACE, name=name, id=json.dumps(row.id), kind=kind)
    said = f"{row.question}\n\nWrite what the code block would hold into `{_PLACE}`.\n"
    return {
        "instruction.md": said,
        "task.toml": config,
        "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\n",
        "tests/Dockerfile": _TEXTS["verifier"].format(image=IMAGE, refute=refute_source()),
        "tests/task.json": row.task,
        "tests/test.sh": _TEXTS["test"].format(place=_PLACE),
    }


def main(task: str, answer: str, reward: str) -> None:
    """Grade the file `answer` by the file `task`, and write the file `reward` as Harbor reads it.

    `task`: a task, or the row of an issue (.jsonl). An answer that is not there is paid nothing.
    Raises `InputError` and `SandboxUnavailable`, and writes nothing then: Harbor calls that an
    error of the verifier.
    """
    if task.endswith(".jsonl"):
        _grade_patch(task, answer, reward)
        return
    with LocalSandbox() as box:
        check_files(box.protections())
    try:
        text = Path(answer).read_bytes()[:MOST].decode("utf-8", "replace")
        one = score(text, Path(task).read_text("utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        one = Score(0.0, False, "no answer")
    print(one.reason)
    write_reward(reward, one.reward)


# -- issues ---------------------------------------------------------------------------------------


_TREE = "/testbed"
_PATCH = "/app/tests.patch"
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
        write_task(Path(output, name), _issue_files(item, name))
    return len(written)


def _issue_files(item: IssueItem, name: str) -> dict[str, str | bytes]:
    problem, key = item.problem, item.key
    base = prepared(problem, "local")
    if not base.sites:
        hint = "give `python` and `pins`, or neither"
        raise InputError(f"{problem.id}: its environment is an interpreter of this machine; {hint}")
    command = environment_of(base.recipe)["test_command"]
    given = {"tree": _TREE, "place": _PATCH, "python": base.recipe.python, "image": IMAGE}
    repository = archived(find_clone(problem.repo), base.commit)
    collect = _TEXTS["collect"].format(**given, commit=base.commit)
    config = _config(
        "issue_config", **given, name=name, id=json.dumps(problem.id), kind="issue", collect=collect
    )
    return {
        "instruction.md": _TEXTS["instruction"].format(
            **given, command=command, issue=problem.text.strip()
        ),
        "task.toml": config,
        "environment/Dockerfile": _agent(base, given),
        "environment/requirements.txt": "".join(f"{pin}\n" for pin in _installed(base)),
        "environment/repository.tar": repository,
        "tests/Dockerfile": _TEXTS["issue_verifier"].format(
            **given,
            refute=refute_source(),
            uv=UV,
            repo=problem.repo.replace("/", "__"),
        ),
        "tests/repository.tar": repository,
        "tests/row.jsonl": json.dumps(issue_row(item, base)) + "\n",
        "tests/test.sh": _TEXTS["issue_test"].format(**given),
        "solution/solve.sh": _TEXTS["solve"].format(**given),
        "solution/tests.patch": key.test_patch,
    }


def issue_row(item: IssueItem, base: Base) -> dict[str, Any]:
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
    return _TEXTS["agent"].format(**given) + settings + _TEXTS["editable"] * base.recipe.editable


def _quoted(value: str) -> str:
    return '"' + "".join("\\" + c if c in '"\\$' else c for c in value) + '"'


def _installed(base: Base) -> list[str]:
    """The packages of the environment, as requirements; nothing of it is run."""
    found = {one.metadata["Name"]: one.version for one in distributions(path=list(base.sites))}
    return sorted(f"{name}=={version}" for name, version in found.items())


def _grade_patch(row: str, patch: str, reward: str) -> None:
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

"""Workspaces for a dataset's issue, on this machine or in containers.

Recipes out of rows of SWE-bench and of our development data. They name no test.

A row's test command lists the files of the golden tests, and an evaluation script even holds their
patch. So nothing is copied from them but options that are known to name no test.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from refute.core.methods import Spawn
from refute.core.problems import IssueProblem
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.contract import WORK_TREE, Base, Recipe, Runner, Workspace
from refute.workspace.factory import Backend, open_workspace, prepare

# -- recipes ---------------------------------------------------------------------------------------


_ALONE = re.compile(
    r"--settings=[\w.]+|--import-mode=\w+|-C|--strict-(markers|config)|--assert=(plain|rewrite)"
)
"""Options that are kept as they are. The probe sets those of the number of processes itself, and
what only changes the print is left out."""
_WITH_VALUE = {
    "-p": re.compile(r"(no:)?[\w.]+"),
    "-o": re.compile(r"\w+=[\w.:, -]*"),
    "-W": re.compile(r"[\w.:]+"),
    "--settings": re.compile(r"[\w.]+"),
}
"""Options that are kept with the word after them, where that has the form of one."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_RUNNERS: dict[str, Runner] = {"django/django": "django", "sympy/sympy": "sympy"}


def recipe_of_row(row: Mapping[str, Any]) -> Recipe:
    """The recipe of an instance: from `environment` where the row has it, from SWE-rebench's
    `install_config`, else from SWE-bench's fields (`repo`, `version`, `created_at`, `eval_script`,
    `image`). Raises `InputError`."""
    where = str(row.get("instance_id", "row"))
    listed = row.get("install_config")
    stated = _object(row.get("environment"), where) if not listed else None
    environment = _of_install_config(row, where) if listed else stated
    if environment is not None:
        return _of_environment(environment, str(row.get("repo", "")), where, image_of(row))
    repo = str(row.get("repo", ""))
    if not repo:
        raise InputError(f"{where}: neither `environment` nor `repo`: no recipe can be had")
    runner = _RUNNERS.get(repo, "pytest")
    script = row.get("eval_script")
    command = _test_command(script) if isinstance(script, str) else ""
    before = str(row.get("created_at") or "")[:10]
    return Recipe(
        runner=runner_of(command) if command else runner,
        options=options_of(command) or _default_options(runner),
        editable=runner == "pytest",
        before=before if _DATE.fullmatch(before) else None,
        env=_default_env(runner),
        image=image_of(row),
    )


_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==[\w.!]+")


def _of_install_config(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """SWE-rebench's `install_config`, with the versions that its `requirements` (what pip listed)
    pin, as an `environment`. Commands of the shell (`install`, `pre_install`) are not run."""
    given = _object(row["install_config"], where) or {}
    command, base = given.get("test_cmd") or "", str(given.get("base_image_name") or "")
    lines = str(row.get("requirements") or "").splitlines()
    own = _plain(str(row.get("repo", "")).rpartition("/")[2])
    found = [pin for line in lines if (pin := _PIN.fullmatch(line.strip()))]
    pins = [pin[0] for pin in found if _plain(pin[1]) != own] or given.get("pip_packages") or []
    return {
        "python": str(given.get("python") or base.partition("python_")[2]),
        "pins": [list(pins)],
        "before": str(row.get("created_at") or "")[:10] or None,
        "env": given.get("env_vars") or {},
        "test_command": command if isinstance(command, str) else " ".join(command),
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def environment_of(recipe: Recipe) -> dict[str, Any]:
    """A recipe as the field `environment` of a row: `recipe_of_row` makes the same of it."""
    commands = {
        "pytest": ("python", "-m", "pytest"),
        "unittest": ("python", "-m", "unittest"),
        "django": ("python", "tests/runtests.py"),
        "sympy": ("python", "bin/test"),
    }
    given: dict[str, Any] = {
        "python": recipe.python,
        "interpreter": recipe.interpreter,
        "pins": [list(group) for group in recipe.pins],
        "before": recipe.before,
    }
    return {
        **{name: value for name, value in given.items() if value},
        "editable": recipe.editable,
        "env": dict(recipe.env),
        "test_command": shlex.join((*commands[recipe.runner], *recipe.options)),
    }


def image_of(row: Mapping[str, Any]) -> str | None:
    """The container image of an instance: named by the row, else SWE-bench's published one."""
    for name in ("image", "image_name", "docker_image"):
        if isinstance(row.get(name), str) and row[name]:
            return str(row[name])
    if row.get("dockerhub_tag"):  # SWE-bench Pro
        return f"jefzda/sweap-images:{row['dockerhub_tag']}"
    instance = row.get("instance_id")
    if not isinstance(instance, str) or not re.fullmatch(r"[\w.-]+__[\w.-]+", instance):
        return None
    return "swebench/sweb.eval.x86_64." + instance.lower().replace("__", "_1776_") + ":latest"


def runner_of(command: str) -> Runner:
    """Return the test runner that a shell command starts."""
    if "runtests.py" in command:
        return "django"
    if re.search(r"\bbin/test\b", command):
        return "sympy"
    if re.search(r"-m\s+unittest\b", command):
        return "unittest"
    return "pytest"


def options_of(command: str) -> tuple[str, ...]:
    """The options of a test command that are known to name no test; all else is left out."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    kept: list[str] = []
    at = 0
    started = False  # `python -W x -m pytest -W y`: the interpreter's own options are none of ours
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if not started:
            started = bool(re.search(r"(pytest|py\.test|runtests\.py|bin/test|unittest)$", word))
        elif word in _WITH_VALUE:
            if _WITH_VALUE[word].fullmatch(following):
                kept += [word, following]
            at += 1
        elif _ALONE.fullmatch(word):
            kept.append(word)
        at += 1
    return tuple(kept)


def _of_environment(
    given: Mapping[str, Any], repo: str, where: str, image: str | None
) -> Recipe:  # fmt: skip
    command = given.get("test_command")
    runner = runner_of(command) if isinstance(command, str) else _RUNNERS.get(repo, "pytest")
    groups = given.get("pins") or ()
    env = given.get("env") or {}
    fits = isinstance(groups, list | tuple) and all(
        isinstance(group, list | tuple) and all(isinstance(pin, str) for pin in group)
        for group in groups
    )
    before = given.get("before")
    texts = [given.get(name) for name in ("python", "interpreter")]
    dated = before is None or (isinstance(before, str) and _DATE.match(before))
    if not (fits and dated and isinstance(env, Mapping)) or not all(
        text is None or isinstance(text, str) for text in texts
    ):
        raise InputError(
            f"{where}: `environment` is an object, of which every field may be missing: `python` "
            "(a version), `interpreter` (a path), `pins` (lists of requirements), `before` (a "
            "date), `editable` (true or false), `env` (an object) and `test_command`; what is "
            "missing is inferred from the repository"
        )
    variables = {str(name): str(value) for name, value in env.items()}
    return Recipe(
        runner=runner,
        options=options_of(command) if isinstance(command, str) else _default_options(runner),
        python=cast(str, given.get("python") or ""),
        interpreter=cast("str | None", given.get("interpreter")),
        pins=tuple(tuple(group) for group in groups),
        editable=bool(given.get("editable", runner == "pytest" or "test_command" in given)),
        before=before[:10] if before else None,
        # a value with a blank to be filled in (a port of a local server) is of no use
        env={
            **({} if "env" in given else _default_env(runner)),
            **{name: value for name, value in variables.items() if "<port>" not in value},
        },
        image=image,
    )


def _object(value: Any, where: str) -> Mapping[str, Any] | None:
    """`environment` as an object: datasets store it as one, as JSON or as a Python literal."""
    if value is None or isinstance(value, Mapping):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(str(value))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, Mapping):
            return found
    raise InputError(f"{where}: `environment` is not an object: {str(value)[:60]!r}")


def _test_command(script: str) -> str:
    """The line of an evaluation script that starts the tests; the patch in it is skipped."""
    text = re.sub(r"<<\s*'?(\w+)'?.*?^\1$", "", script, flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "git "))]
    for line in reversed(lines):
        if re.search(r"(^|[\s/])(pytest|py\.test|runtests\.py|bin/test)(\s|$)", line):
            return line
        if re.search(r"-m\s+unittest(\s|$)", line):
            return line
    return ""


def _default_options(runner: Runner) -> tuple[str, ...]:
    if runner == "django":
        return ("--settings=test_sqlite",)
    return ("-C",) if runner == "sympy" else ()


def _default_env(runner: Runner) -> Mapping[str, str]:
    return {"PYTHONPATH": WORK_TREE} if runner in ("django", "sympy") else {}


def check_engine(backend: Backend) -> None:
    """Raise `WorkspaceUnavailable` where the backend's program is not installed: no issue could be
    worked on then."""
    if backend != "local" and shutil.which(backend) is None:
        raise WorkspaceUnavailable(f"{backend} is not installed here; workspace=local needs none")


def as_placed(problem: IssueProblem, backend: Backend) -> IssueProblem:
    """The problem with what its recipe means there: an image brings its own interpreter and
    packages, so that nothing kept of a run here (by its recipe) is taken for one in the image."""
    if backend == "local" or problem.recipe is None:
        return problem
    recipe = replace(problem.recipe, python="", interpreter=None, pins=(), before=None)
    return replace(problem, recipe=recipe)


def prepared(problem: IssueProblem, backend: Backend) -> Base:
    """Tree and environment of the problem, made now unless they were made before.

    Raises `WorkspaceUnavailable`, `EnvironmentBroken`, `InputError`.
    """
    if problem.recipe is None:
        raise WorkspaceUnavailable(f"{problem.id}: the dataset says no environment")
    place = (problem.repo, problem.base_commit, problem.recipe, problem.id)
    return prepare(*place, backend=backend)


def spawner(problem: IssueProblem, backend: Backend) -> Spawn:
    """Opens workspaces of the problem, which is prepared when the first is asked for. For one
    thread."""
    base: Base | None = None

    def spawn() -> Workspace:
        nonlocal base
        if base is None:
            base = prepared(problem, backend)
        return open_workspace(base, backend=backend)

    return spawn

"""Open workspaces: of a problem's repository with its recipe, and of a user's own checkout.

Workspaces do not show copies of a repository's own packages elsewhere on this machine.

Blindness: a later release of the project holds the fix, and often its tests. Distributions and
development kits bundle such copies, and so does every environment: pip alone brings `requests`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from refute.core.methods import Spawn
from refute.core.problems import IssueProblem
from refute.core.storage import ScratchFolder, cache_folder, ensure, key_of, write_atomically
from refute.errors import EnvironmentBroken, InputError
from refute.workspace.containers import ContainerBackend
from refute.workspace.contract import WORK_TREE, Base, Recipe, Runner, Workspace, WorkspaceLimits
from refute.workspace.environment import (
    Environment,
    build_environment,
    existing_environment,
    last_line,
    make_overlay,
    overlay_python,
    settled_environment,
)
from refute.workspace.infer import (
    MOST_READ,
    Reader,
    asked_by_build,
    infer_recipe,
    infer_requirements,
    infer_runner,
    name_of,
    own_interpreter,
)
from refute.workspace.interpreters import candidates, is_here
from refute.workspace.local import LocalBackend
from refute.workspace.repositories import (
    Clone,
    GitFailed,
    check_out,
    find_clone,
    git,
    hide_untracked,
    version_variables,
)
from refute.workspace.snapshot import IDENTITY, checkout_root, clone_at, snapshot, with_built
from refute.workspace.working_copy import WorkingCopy

_CONFIGURED = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini")
_NEAR = 3
"""Folders above the files in which a configuration is looked for."""
_MOST_FILES, _MOST_BYTES = 5_000, 200 << 20
"""Of a folder without git, which is copied."""
Backend = Literal["local", "docker", "podman"]

_BUILD_SECONDS = 1800.0


def prepare(
    repo: str,
    commit: str,
    recipe: Recipe,
    instance_id: str | None = None,
    *,
    backend: Backend = "local",
    clones: Path | None = None,
    checkout: Path | None = None,
) -> Base:
    """Tree and environment of a repository at a commit, made now unless they were made before.

    `repo`: `owner/name` (a clone in `clones`, else in REFUTE_REPOS) or the path of a user's own.
    What the recipe leaves open is inferred from the repository's files, and stands in the recipe of
    the base: interpreter, packages, version. For a container
    `backend` nothing is made: its image holds all of it.
    `checkout`: the user's own, where `repo` is a snapshot of it; programs inside do not see it.
    Safe to call from several processes at once. Raises `WorkspaceUnavailable`,
    `EnvironmentBroken`, `InputError`.
    """
    if backend != "local":
        key = key_of("image", 1, recipe.image, commit, sorted(recipe.env.items()))
        return Base(repo, commit, recipe, Path(), Path("python"), (), key, instance_id)
    clone = find_clone(repo, clones)
    full = clone.resolve(commit)
    own = checkout or clone.work_tree
    environment, recipe = _environment(recipe, clone, full, own)
    environment, recipe = _apart(environment, recipe, own)
    editable = recipe.editable and bool(environment.key)
    key = key_of(
        "tree", 1, full, environment.key or str(environment.python), editable,
        sorted(recipe.env.items()),
    )  # fmt: skip
    name = re.sub(r"[^\w.-]", "_", Path(clone.name).name) or "tree"
    folder = cache_folder() / "trees" / f"{name}-{full[:10]}-{key}"

    def make(target: Path) -> dict[str, Any]:
        _build(clone, full, recipe, environment, target / name, target / "layer", editable)
        return {"tree": name}

    ensure(folder, make)
    tree = folder / name
    python = overlay_python(folder / "layer") if editable else environment.python
    readable = (*environment.readable, *((str(folder / "layer"),) if editable else ()))
    # a user's own environment is theirs to fill; one that we built shall hold nothing later
    hidden = installed_copies(tree, (*readable, *MACHINE)) if environment.key else ()
    sites = environment.sites if environment.key else ()
    return Base(repo, full, recipe, tree, python, readable, key, instance_id, hidden, sites)


def _apart(
    environment: Environment, recipe: Recipe, checkout: Path | None
) -> tuple[Environment, Recipe]:
    """Environment and recipe without the checkout's own folders, where packages of it are installed
    in editable mode: they hold later commits, and other code than the tree. The same folders of
    the tree take their place on the path."""
    if checkout is None:
        return environment, recipe
    root = os.path.realpath(checkout)
    prefix = os.path.realpath(environment.python.parent.parent)  # may lie in the checkout
    kept: list[str] = []
    moved: list[str] = []
    for path in environment.readable:
        real = os.path.realpath(path)
        if f"{real}/".startswith(f"{root}/") and not f"{real}/".startswith(f"{prefix}/"):
            if os.path.isfile(os.path.join(real, "__init__.py")):  # of the package
                real = os.path.dirname(real)
            moved.append(os.path.normpath(os.path.join(WORK_TREE, os.path.relpath(real, root))))
        else:
            kept.append(path)
    if not moved:
        return environment, recipe
    given = recipe.env.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(dict.fromkeys(part for part in (*given, *moved) if part))
    return (
        replace(environment, readable=tuple(kept)),
        replace(recipe, env={**recipe.env, "PYTHONPATH": path}),
    )


def _environment(
    recipe: Recipe, clone: Clone, commit: str, checkout: Path | None
) -> tuple[Environment, Recipe]:
    """The environment that a recipe means at a commit, and the recipe as it was carried out:
    what it left open (interpreter, packages, version, runner) is in it."""

    def read(path: str) -> str | None:
        blob = f"{commit}:{path}"
        try:
            if int(clone.git("cat-file", "-s", blob)) > MOST_READ:
                return None
            return clone.git("show", blob).decode()
        except (GitFailed, UnicodeDecodeError, ValueError):
            return None

    recipe = replace(recipe, **_runner(recipe, read))
    if recipe.interpreter:
        return existing_environment(Path(recipe.interpreter), checkout), recipe
    pythons = (recipe.python,) if recipe.python else candidates(read, recipe.before)
    variables = version_variables(read, clone, commit) if recipe.editable else {}
    recipe = replace(recipe, env={**variables, **recipe.env})
    if not recipe.pins:
        made, settled = settled_environment(infer_requirements(read), pythons, before=recipe.before)
        return made, replace(recipe, python=settled.python, pins=(settled.pins,))
    python = next(filter(is_here, pythons), pythons[0])
    groups = [*recipe.pins]
    if recipe.editable:
        given = {name_of(pin) for group in groups for pin in group}
        groups.append(tuple(r for r in asked_by_build(read)[1] if name_of(r) not in given))
    made = build_environment(python, [g for g in groups if g], before=recipe.before)
    return made, replace(recipe, python=python)


def _runner(recipe: Recipe, read: Reader) -> dict[str, Any]:
    """sympy's own runner is a matter of the commit: where `bin/test` starts pytest, so do we."""
    if recipe.runner != "sympy" or infer_runner(read) == "sympy":
        return {}
    return {"runner": "pytest", "options": ()}


def _build(
    clone: Clone, commit: str, recipe: Recipe, environment: Environment,
    tree: Path, layer: Path, editable: bool,
) -> None:  # fmt: skip
    """Check out, install the repository itself where asked for, compile, all without network."""
    tree.mkdir(parents=True)
    check_out(clone, commit, tree)
    python, readable = environment.python, environment.readable
    if editable:
        make_overlay(environment, layer)
        python, readable = overlay_python(layer), (*readable, str(layer))
    base = Base(clone.name, commit, recipe, tree, python, readable, "")
    local = LocalBackend(base, writable=(tree, layer) if editable else (tree,))
    try:
        if editable:
            options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir"]
            command = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
            done = local.execute(
                [*command, *options, "-e", "."], timeout=_BUILD_SECONDS, merge=True
            )
            log = tree.parent.with_name(tree.parent.name + ".log")
            log.write_bytes(done.out)
            if done.status:
                text = done.out.decode("utf-8", "replace")
                told = f"the editable install of the repository failed: {last_line(text)}"
                missing = re.search(r"No module named '([\w.]+)'", text)
                remedy = f"add {missing[1].partition('.')[0]} to `pins`; " if missing else ""
                raise EnvironmentBroken(f"{told} ({remedy}all of it: {log})")
        local.execute([str(python), "-m", "compileall", "-q", *_to_compile(tree)],
                     timeout=_BUILD_SECONDS)  # fmt: skip
    finally:
        local.close()
    hide_untracked(tree)


def _to_compile(tree: Path) -> Sequence[str]:
    """The packages that tests import: what is not below a folder of tests is compiled once."""
    kept = [str(path) for path in own_packages(tree)]
    return ["-x", r"[/\\](tests?|__pycache__)[/\\]", *kept] if kept else ["-l", str(tree)]


def open_local(base: Base, *, limits: WorkspaceLimits | None = None) -> Workspace:
    """A private workspace on this machine. Raises `WorkspaceUnavailable`."""
    return WorkingCopy(LocalBackend(base, limits=limits), base.recipe)


def open_workspace(
    base: Base, *, backend: Backend = "local", limits: WorkspaceLimits | None = None
) -> Workspace:
    """A private workspace of a backend. Raises `WorkspaceUnavailable`."""
    if backend == "local":
        return open_local(base, limits=limits)
    if backend not in ("docker", "podman"):
        raise InputError(f"unknown backend: {backend}; local, docker or podman")
    return WorkingCopy(ContainerBackend(base, backend, limits=limits), base.recipe)


MACHINE = ("/usr/lib", "/usr/local", "/usr/share")
"""Folders in which a machine keeps packages that do not belong to an environment."""

_LISTED_FOR = 24 * 3600.0
"""Seconds for which a listing of packages is believed."""
_BUNDLES = ("_vendor", "vendor", "vendored", "third_party", "extern", "externals", "packages")
"""Folders in which a package keeps copies of others."""
_NO_CODE = ("tests", "test", "testing", "doc", "docs")


def own_packages(tree: Path) -> list[Path]:
    """The top-level packages of a repository that its tests import; its tests are none."""
    roots = [tree, tree / "src", tree / "lib"]
    found = {path.parent for root in roots if root.is_dir() for path in root.glob("*/__init__.py")}
    return sorted(path for path in found if path.name not in _NO_CODE)


def installed_copies(tree: Path, roots: Iterable[str]) -> tuple[str, ...]:
    """Folders below `roots` that hold a package with the name of one of the tree's own.

    The standard library counts for none, nor does a package inside of another one, unless that
    keeps bundled copies there. Archives (wheels, zip files) are not looked into.
    """
    names = {path.name for path in own_packages(tree)}
    inside = f"{tree}/"
    found = {
        path
        for root in roots
        if names and os.path.isdir(root)
        for name, path in _listed(os.path.realpath(root), str(cache_folder()))
        if name in names and not f"{path}/".startswith(inside)
    }
    return tuple(sorted(found))


@lru_cache(maxsize=64)
def _listed(root: str, cache: str) -> tuple[tuple[str, str], ...]:
    """Name and folder of every package below `root`, listed at most once a day."""
    kept = Path(cache) / "packages" / f"{key_of(1, root)}.json"
    try:
        if time.time() - kept.stat().st_mtime < _LISTED_FOR:
            return tuple((name, path) for name, path in json.loads(kept.read_text()))
    except (OSError, ValueError):
        pass
    found = tuple(sorted(set(_packages(root))))
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, json.dumps(found), durable=False)
    return found


def _packages(root: str) -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(root):
        inside = "__init__.py" in files and os.path.basename(folder) not in _BUNDLES
        if not inside and "os.py" not in files:  # else: the standard library
            for name in folders:
                if os.path.isfile(os.path.join(folder, name, "__init__.py")):
                    yield name, _whole(folder, name)


def _whole(folder: str, name: str) -> str:
    """The package's folder, or that of the source release which it lies in, with its tests."""
    around = os.path.dirname(folder) if os.path.basename(folder) == "src" else folder
    return around if os.path.basename(around) == name else os.path.join(folder, name)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository, and how its tests are run."""

    repo: Path = Path()
    python: Path | None = None
    """The interpreter of its tests; None: the active one."""
    runner: str | None = None
    """`pytest`, `unittest`, `django` or `sympy`; None: read from it."""
    commit: str | None = None
    """Commit that is worked on; None: the checkout as it is."""


def root_and_recipe(checkout: Checkout) -> tuple[Path, Recipe]:
    """The root of the checkout, and how its tests are run. Raises `InputError`."""
    python = checkout.python
    if python is not None and not python.is_file():
        raise InputError(f"--python {python}: no such file")
    root = checkout_root(checkout.repo)
    interpreter = None if python is None else python.absolute()
    runner = cast("Runner | None", checkout.runner)
    return root, infer_recipe(root, interpreter=interpreter, runner=runner)


def in_checkout(checkout: Checkout, text: str) -> tuple[IssueProblem, Spawn]:
    """The problem that an issue poses in a checkout, dirty or clean, or in a commit of it, and its
    workspaces.

    Nothing in the checkout is changed. Raises `InputError`, `WorkspaceUnavailable`.
    """
    root, recipe = root_and_recipe(checkout)
    folder, commit = snapshot(root)
    if checkout.commit is not None:
        commit = clone_at(root).commit(checkout.commit)
    commit = with_built(folder, commit, root)
    base = prepare(str(folder), commit, recipe, checkout=root)
    problem = IssueProblem(root.name, str(folder), commit, text, recipe)
    return problem, lambda: open_local(base)


@contextmanager
def committed(files: Iterable[Path], python: Path | None) -> Iterator[tuple[Path, Checkout]]:
    """The folder that holds all the files, and a checkout of it: the git repository around them,
    else a copy of the folder in a repository of its own. Raises `InputError`."""
    paths = [file.expanduser().resolve() for file in files]
    try:
        roots = {checkout_root(path) for path in paths}
    except InputError:
        roots = set()
    if len(roots) == 1:
        [root] = roots
        yield root, Checkout(root, python, "pytest")
        return
    root = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
    near = [root, *root.parents][:_NEAR]
    root = next((one for one in near if any((one / x).is_file() for x in _CONFIGURED)), root)
    part = root
    while (root / "__init__.py").exists() and root.parent != root:
        part, root = root, root.parent  # of the folder around a package the package alone
    with ScratchFolder() as scratch:
        copy = Path(scratch, root.name or "root")
        _copy(part, copy / part.relative_to(root))
        git("init", "--quiet", folder=copy)
        git("add", "--all", "--force", folder=copy)
        git("commit", "--quiet", "--no-verify", "-m", "as it is", folder=copy, env=IDENTITY)
        yield root, Checkout(copy, python or own_interpreter(root), "pytest")


def _copy(root: Path, copy: Path) -> None:
    """Copy a folder's files, but no hidden ones, links and environments. Raises `InputError`."""
    count = size = 0
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = [
            name for name in names
            if not name.startswith(".") and name not in ("__pycache__", "node_modules")
            and not (here / name / "pyvenv.cfg").exists() and not (here / name).is_symlink()
        ]  # fmt: skip
        place = copy / here.relative_to(root)
        place.mkdir(parents=True, exist_ok=True)
        for file in map(here.joinpath, files):
            if file.name.startswith(".") or file.is_symlink() or not file.is_file():
                continue
            count, size = count + 1, size + file.stat().st_size
            if count > _MOST_FILES or size > _MOST_BYTES:
                raise InputError(
                    f"{root}: too large to copy, and in no git repository; run `git init` in the"
                    " folder that holds the code and its tests"
                )
            shutil.copy2(file, place / file.name)

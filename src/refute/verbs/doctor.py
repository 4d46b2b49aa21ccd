"""`refute doctor`: what works on this machine, and how to get what is missing."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.core.extras import EXTRAS, install, missing
from refute.core.starting import Variable
from refute.core.storage import ScratchFolder
from refute.verbs.options import json_option
from refute.verbs.output import consoles, print_json


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that works here or does not."""

    group: str
    name: str
    works: bool
    detail: str
    """Things that it gives, or the one that was found."""
    remedy: str = ""
    """One line on how to get it, where it is missing."""


_MEASURES = {
    "namespaces": (
        "own users, processes, mounts and network: no other files, no network",
        "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
        "kernel.apparmor_restrict_unprivileged_userns=0), or run the container with "
        "--security-opt seccomp=unconfined",
    ),
    "unprivileged user": (
        "programs run as a user without rights",
        "start refute as root, or allow user namespaces (see above)",
    ),
    "landlock": (
        "the kernel confines which files can be opened",
        "Linux 5.13 or newer with landlock in /sys/kernel/security/lsm",
    ),
    "seccomp": (
        "the kernel refuses system calls that a function does not need",
        "Linux on x86-64 or aarch64",
    ),
    "resource limits": (
        "CPU time, memory, file size, open files and processes are limited",
        "a POSIX system",
    ),
}
_WORKSPACE = {
    "network": "a repository's tests reach no network but their own loopback",
    "files": "they write only to their copy, and see no other files of yours",
    "processes": "they are ended with everything that they started",
    "syscalls": "they reach none of your keys, and no kernel interface that tests have no use for",
    "overlay": "a copy takes milliseconds; else files are copied one by one",
}
_ENGINES = {
    "docker": "install Docker Engine and start it: https://docs.docker.com/engine/install/",
    "podman": "install podman: https://podman.io/docs/installation",
}
_PACKAGES = {
    "numpy": ("programs under test may use numpy", "pip install numpy"),
    "pytest": ("runs the test files that hunt -o writes", "pip install pytest"),
}


def examine() -> list[Check]:
    """Look at sandbox, workspaces, interpreters, container engines and optional packages."""
    return [*_sandbox(), *_workspace(), *_clones(), *_interpreters(), *_engines(), *_packages()]


def _sandbox() -> Iterator[Check]:
    from refute.errors import SandboxUnavailable
    from refute.sandbox.local import LocalSandbox

    try:
        with LocalSandbox() as box:
            held = {**box.protections()}
    except (SandboxUnavailable, OSError) as error:
        reason = " ".join(str(error).split())
        remedy = "Linux is needed for the sandbox; on other systems use a Linux container"
        yield Check("sandbox", "sandbox", False, reason, remedy)
        return
    yield Check("sandbox", "sandbox", True, "programs run isolated, as far as listed here")
    held.setdefault("resource limits", importlib.util.find_spec("resource") is not None)
    for name in dict.fromkeys((*_MEASURES, *held)):
        detail, remedy = _MEASURES.get(name, ("", ""))
        works = held.get(name, False)
        yield Check("sandbox", name, works, detail if works else f"not here: {detail}", remedy)


def _workspace() -> Iterator[Check]:
    """Yield the protections of a workspace, tried in one of an empty repository."""
    from refute.errors import WorkspaceUnavailable
    from refute.workspace.contract import Base, Recipe
    from refute.workspace.factory import open_local

    with ScratchFolder() as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        python = Path(sys.executable)
        base = Base("doctor", "", Recipe(interpreter=str(python)), tree, python, (), "")
        try:
            with open_local(base) as workspace:
                held = workspace.protections()
        except (WorkspaceUnavailable, OSError) as error:
            reason = " ".join(str(error).split())
            remedy = "Linux with git is needed; on other systems use a Linux container"
            yield Check("workspace", "workspace", False, reason, remedy)
            return
    for name, detail in _WORKSPACE.items():
        works = held.get(name, False)
        remedy = "" if works else _MEASURES["namespaces"][1]
        yield Check("workspace", name, works, detail if works else f"not here: {detail}", remedy)


def _clones() -> Iterator[Check]:
    folder = os.environ.get(Variable.REPOS)
    if not folder:
        detail = "REFUTE_REPOS is not set: no clones for swt-lite and the like"
        remedy = "set REFUTE_REPOS to a folder with a clone for each repository, as owner__name"
        yield Check("workspace", "clones", False, detail, remedy)
        return
    names = (
        sorted(p.name for p in Path(folder).iterdir() if p.is_dir())
        if Path(folder).is_dir()
        else []
    )
    yield Check("workspace", "clones", bool(names), f"{folder}: {', '.join(names) or 'nothing'}")


def _interpreters() -> Iterator[Check]:
    """Yield those that workspaces are built on, the newest first."""
    from refute.errors import WorkspaceUnavailable
    from refute.workspace.interpreters import RELEASED, find_interpreter

    yield Check("python", platform.python_version(), True, f"{sys.executable} (runs refute)")
    for version in reversed(RELEASED):
        name = "{}.{}".format(*version)
        try:
            path = find_interpreter(name)
        except WorkspaceUnavailable:
            continue
        if os.path.realpath(path) != os.path.realpath(sys.executable):
            yield Check("python", name, True, str(path))


def _first_line(command: list[str], pattern: str) -> str | None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(pattern, done.stdout)
    return match.group(1) if match and done.returncode == 0 else None


def _engines() -> Iterator[Check]:
    for name, remedy in _ENGINES.items():
        path = shutil.which(name)
        if path is None:
            yield Check("containers", name, False, "not installed", remedy)
            continue
        server = _first_line([path, "info", "--format", "{{json .}}"], r"(\{)")
        version = _first_line([path, "--version"], r"(\d+[\w.]*)") or "?"
        if server is None:
            detail = f"{path} {version}, but its service does not answer"
            start = f"start the service, or let this user reach it: {path} info says why"
            yield Check("containers", name, False, detail, start)
        else:
            yield Check("containers", name, True, f"{path} {version}")


def _packages() -> Iterator[Check]:
    for name, (detail, remedy) in _PACKAGES.items():
        works = importlib.util.find_spec(name) is not None
        yield Check("packages", name, works, detail if works else f"missing: {detail}", remedy)
    for name, extra in EXTRAS.items():
        lacking = missing(name)
        detail = f"{', '.join(lacking)} missing: {extra.gives}" if lacking else extra.gives
        yield Check("extras", name, not lacking, detail, install(name))


def print_checks(checks: Sequence[Check], console: Console) -> None:
    """One row a check; below the table one line on how to get each thing that is missing."""
    table = Table()
    for name in ("", "what", "works", "detail"):
        table.add_column(name, overflow="fold")
    group = ""
    for check in checks:
        works = Text("yes", style="green") if check.works else Text("no", style="yellow")
        shown = check.group if check.group != group else ""
        table.add_row(shown, Text(check.name), works, Text(check.detail))
        group = check.group
    console.print(table)
    for check in checks:
        if not check.works and check.remedy:
            console.print(Text(f"{check.name}: {check.remedy}"), soft_wrap=True)


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Show what works on this machine, and how to get what is missing."""
    checks = examine()
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks, consoles()[0])
    return 0

"""Environments: an interpreter with the recipe's packages, built once, shared by every instance
that asks for the same.

The repository itself is not in it: its editable install is a layer of the tree (`layer.py`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.storage import cache_folder
from refute.workspace.cache import ensure, key_of
from refute.workspace.interpreter_facts import InterpreterFacts, interpreter_facts
from refute.workspace.interpreters import find_interpreter, uv_command

__all__ = [
    "Environment",
    "build_environment",
    "existing_environment",
    "make_overlay",
    "overlay_python",
]

_PASSED_ON = ("PIP_", "UV_", "SSL_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY",
              "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
              "HOME", "XDG_CACHE_HOME", "TMPDIR")  # fmt: skip
"""What installers see of the caller's environment variables: no keys of models."""

_BROKEN_FOR = 3600.0
"""Seconds for which a failed build is believed before it is tried again."""

_BUILD_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with packages."""

    key: str
    """What it is made of, as a hash; "" for a user's own."""
    python: Path
    readable: tuple[str, ...]
    """Folders that a program in it must be able to read."""
    sites: tuple[str, ...] = ()
    """Its folders of packages, the one that pip installs to first."""
    version: tuple[int, int] = (0, 0)


def build_environment(
    version: str, groups: Sequence[Sequence[str]], *, before: str | None = None
) -> Environment:
    """The environment of an interpreter version and groups of requirements, installed in order.

    `before`: an ISO date; nothing released later is installed. Raises `EnvironmentBroken` with the
    installer's last line, and again without another try for an hour.
    """
    interpreter = find_interpreter(version)
    key = key_of("environment", 1, _release(interpreter), [list(g) for g in groups], before)
    folder = cache_folder() / "environments" / key
    broken, log = folder.with_name(key + ".broken"), folder.with_name(key + ".log")

    def make(target: Path) -> dict[str, Any]:
        _raise_if_broken(broken)
        try:
            _install(interpreter, groups, before, target, log)
        except EnvironmentBroken as error:
            broken.write_text(str(error))
            raise
        facts = interpreter_facts(target / "bin" / "python")
        return {"readable": facts.readable, "version": facts.version, "site": facts.sites[0]}

    made = ensure(folder, make)
    major, minor = made["version"]
    facts = InterpreterFacts((major, minor), (made["site"],), tuple(made["readable"]))
    return _environment(key, folder / "bin" / "python", facts)


def existing_environment(python: Path, checkout: Path | None = None) -> Environment:
    """A user's own interpreter as it is; nothing is installed, and nothing of it is run but in a
    jail. `checkout`: what may belong to the repository. Raises `WorkspaceUnavailable`."""
    if not os.access(python, os.X_OK):
        raise WorkspaceUnavailable(f"no interpreter at {python}")
    return _environment("", python.absolute(), interpreter_facts(python.absolute(), checkout))


def _environment(key: str, python: Path, facts: InterpreterFacts) -> Environment:
    return Environment(key, python, facts.readable, facts.sites, facts.version)


def _release(interpreter: Path) -> str:
    """Path and full version, so that a new patch release makes a new environment."""
    return f"{interpreter} {_ask(interpreter, 'import sys; print(repr(sys.version))')}"


def _ask(python: Path, code: str) -> str:
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", code],
            capture_output=True, text=True, timeout=60, check=True,
            env={"PATH": os.defpath},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkspaceUnavailable(f"{python} does not run: {error}") from None
    return done.stdout.strip()


def _raise_if_broken(broken: Path) -> None:
    try:
        age = time.time() - broken.stat().st_mtime
        message = broken.read_text()
    except OSError:
        return
    if age < _BROKEN_FOR:
        raise EnvironmentBroken(f"{message} (seen {age / 60:.0f} min ago; to retry: rm {broken})")
    broken.unlink(missing_ok=True)


def _install(
    interpreter: Path, groups: Sequence[Sequence[str]], before: str | None, target: Path, log: Path
) -> None:
    log.unlink(missing_ok=True)
    uv = uv_command()
    brings_pip = uv and any(re.match(r"pip\b", pin) for group in groups for pin in group)
    bare = ("--without-pip",) if brings_pip else ()
    _installer([str(interpreter), "-I", "-m", "venv", *bare, str(target)], log)
    python = str(target / "bin" / "python")
    for group in groups:
        if not group:
            continue
        if uv:
            command = [*uv, "pip", "install", "--python", python, "--link-mode=copy"]
            command += ["--exclude-newer", before] if before else []
        elif before:
            raise EnvironmentBroken("packages of a date can only be installed with uv; install uv")
        else:
            command = [python, "-I", "-m", "pip", "install"]
        _installer([*command, *group], log)
    site = _ask(Path(python), "import sysconfig; print(sysconfig.get_paths()['purelib'])")
    with log.open("ab") as out:  # byte code, which nothing can add later; some files never compile
        subprocess.run(
            [python, "-I", "-m", "compileall", "-q", site], cwd=log.parent,
            stdout=out, stderr=out, timeout=_BUILD_SECONDS, check=False, env=installer_variables(),
        )  # fmt: skip


def installer_variables() -> dict[str, str]:
    """The environment variables of an installer: where packages are found, nothing else."""
    kept = {n: v for n, v in os.environ.items() if n.startswith(_PASSED_ON)}
    path = os.environ.get("PATH", os.defpath)
    return {**kept, "PATH": path, "LANG": "C.UTF-8", "PIP_NO_INPUT": "1", "NO_COLOR": "1"}


def _installer(command: list[str], log: Path) -> None:
    """Run it in a folder of our own: neither Python nor an installer looks for anything there."""
    with log.open("ab") as out:
        out.write(("$ " + " ".join(command) + "\n").encode())
        out.flush()
        try:
            done = subprocess.run(
                command, cwd=log.parent, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                timeout=_BUILD_SECONDS, check=False, env=installer_variables(),
            )  # fmt: skip
            status = done.returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            out.write(f"{error}\n".encode())
            status = 1
    if status:
        raise EnvironmentBroken(f"{log}: {last_line(log.read_text(errors='replace'))}")


def last_line(text: str) -> str:
    """The last line of an installer's output that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    empty = ("hint:", "note:", "[notice]", "[end of output]", "╰─> see above", "× encountered",
             "error: metadata-generation-failed", "error: subprocess-exited")  # fmt: skip
    told = [line for line in lines if not line.lower().startswith(empty)]
    return (told or lines or ["no output"])[-1][:300]


# -- layers ---------------------------------------------------------------------------------------


def overlay_python(folder: Path) -> Path:
    """The interpreter of the layer at `folder`."""
    return folder / "bin" / "python"


def make_overlay(environment: Environment, folder: Path) -> Path:
    """Make an environment at `folder` that sees all of `environment`; returns its site folder.

    `pip install -e` writes into an environment (a path file, metadata, scripts). Done in a layer
    that sees the shared environment's packages, two trees can share the latter.

    The shared environment's scripts are there too, started with the layer's interpreter.
    """
    shared = environment.python.parent.parent
    interpreter = os.path.realpath(environment.python)
    (folder / "bin").mkdir(parents=True)
    for name in ("python", "python3", "python{}.{}".format(*environment.version)):
        os.symlink(interpreter, folder / "bin" / name)
    config = (shared / "pyvenv.cfg").read_text()
    (folder / "pyvenv.cfg").write_text(config)
    site = folder / os.path.relpath(environment.sites[0], shared)
    site.mkdir(parents=True)
    (site / "_shared_environment.pth").write_text(
        f"import site; site.addsitedir({environment.sites[0]!r})\n"
    )
    head = f"#!{shared}/bin/python".encode()
    for script in sorted((shared / "bin").iterdir()):
        if script.is_symlink() or not script.is_file() or (folder / "bin" / script.name).exists():
            continue
        data = script.read_bytes()
        if data.startswith(head):
            rest = data.split(b"\n", 1)[1]
            new = folder / "bin" / script.name
            new.write_bytes(f"#!{folder}/bin/python\n".encode() + rest)
            shutil.copymode(script, new)
    return site

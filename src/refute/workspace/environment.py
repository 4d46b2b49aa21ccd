"""Environments: an interpreter with the recipe's packages, built once, shared by every instance
that asks for the same.

The repository itself is not in it: its editable install is a layer of the tree (`layer.py`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from refute.core.starting import Variable
from refute.core.storage import cache_folder, ensure, key_of
from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.workspace.infer import Requirements
from refute.workspace.interpreters import (
    Asked,
    Settled,
    find_interpreter,
    settle,
    trouble,
    undated,
    uv_command,
)
from refute.workspace.local import InterpreterFacts, interpreter_facts

_PASSED_ON = ("PIP_", "UV_", "SSL_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY",
              "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
              "HOME", "XDG_CACHE_HOME", "TMPDIR")  # fmt: skip
"""The caller's environment variables that installers see: no keys of models."""

_BROKEN_FOR = 3600.0
"""Seconds for which a failed build is believed before it is tried again."""

_BUILD_SECONDS = 1200.0
_ANY_TIME = "2999-01-01"
_OWN_TESTS = r"[/\\]tests?[/\\]"


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with packages."""

    key: str
    """Hash of its contents; "" for a user's own."""
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

    `before`: an ISO date; nothing released later is installed, but packages of which nothing is
    left then. Raises `EnvironmentBroken` with what the installer says is wrong.
    """
    interpreter = find_interpreter(version)
    key = key_of("environment", 2, _release(interpreter), [list(g) for g in groups], before)

    def make(target: Path, log: Path) -> dict[str, Any]:
        _make_venv(interpreter, [pin for group in groups for pin in group], target, log)
        lifted: tuple[str, ...] = ()
        for group in filter(None, groups):
            while said := _installed(target, Asked(target, tuple(group), before, lifted), log):
                more = [name for name in undated(said) if name not in lifted]
                if not more:
                    named = f"the packages cannot be installed in Python {version}"
                    raise EnvironmentBroken(f"{named}: {trouble(said)} (all of it: {log})")
                lifted = (*lifted, *more)
        return {}

    return _kept(key, make)[0]


def settled_environment(
    asked: Requirements, pythons: Sequence[str], *, before: str | None = None
) -> tuple[Environment, Settled]:
    """An environment of what a repository asks for, as far as it can be had (`settle`), and what
    is in it. `pythons`: versions, the best first. Raises as `settle` does."""
    here = [_release(python) for version in pythons if (python := _interpreter(version))]
    key = key_of("settled", 1, here, list(pythons), asdict(asked), before)

    def make(target: Path, log: Path) -> dict[str, Any]:
        current: Path | None = None

        def attempt(one: Asked) -> str:
            nonlocal current
            if one.python != current:
                shutil.rmtree(target, ignore_errors=True)
                _make_venv(one.python, one.requirements, target, log)
                current = one.python
            return _installed(target, one, log)

        try:
            found = settle(asked, pythons, before, attempt)
        except EnvironmentBroken as error:
            remedy = f"give one in the field `environment` (all of it: {log})"
            told = f"no environment could be inferred: {error}; {remedy}"
            raise EnvironmentBroken(told) from None
        with log.open("a") as out:
            out.writelines(f"# {line}\n" for line in found.remarks)
        return {"settled": {**asdict(found), "pins": _packages(target / "bin" / "python")}}

    environment, facts = _kept(key, make)
    told = facts["settled"]
    return environment, Settled(told["python"], tuple(told["remarks"]), tuple(told["pins"]))


def _kept(
    key: str, make: Callable[[Path, Path], dict[str, Any]]
) -> tuple[Environment, dict[str, Any]]:
    """The environment of that key, made now unless it was made before, and what is known of it."""
    folder = cache_folder() / "environments" / key
    broken, log = folder.with_name(key + ".broken"), folder.with_name(key + ".log")

    def whole(target: Path) -> dict[str, Any]:
        _raise_if_broken(broken)
        log.unlink(missing_ok=True)
        try:
            more = make(target, log)
        except EnvironmentBroken as error:
            broken.write_text(str(error))
            raise
        _compile(target / "bin" / "python", log)
        facts = interpreter_facts(target / "bin" / "python")
        known = {"readable": facts.readable, "version": facts.version, "site": facts.sites[0]}
        return {**known, **more}

    made = ensure(folder, whole)
    major, minor = made["version"]
    facts = InterpreterFacts((major, minor), (made["site"],), tuple(made["readable"]))
    return _environment(key, folder / "bin" / "python", facts), made


def existing_environment(python: Path, checkout: Path | None = None) -> Environment:
    """A user's own interpreter as it is; nothing is installed, and nothing of it is run but in a
    jail. `checkout`: what may belong to the repository. Raises `WorkspaceUnavailable`."""
    if not os.access(python, os.X_OK):
        raise WorkspaceUnavailable(f"no interpreter at {python}")
    return _environment("", python.absolute(), interpreter_facts(python.absolute(), checkout))


def _environment(key: str, python: Path, facts: InterpreterFacts) -> Environment:
    return Environment(key, python, facts.readable, facts.sites, facts.version)


@cache
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


@cache
def _interpreter(version: str) -> Path | None:
    try:
        return find_interpreter(version)
    except WorkspaceUnavailable:
        return None


def _packages(python: Path) -> list[str]:
    """Every package of an environment with its version."""
    code = (
        "import json, sys\n"
        "try: from importlib.metadata import distributions\n"
        "except ImportError: distributions = None\n"
        "if distributions is None:\n"
        "    import pkg_resources\n"
        "    found = {d.project_name: d.version for d in pkg_resources.working_set}\n"
        "else:\n"
        "    found = {d.metadata['Name']: d.version for d in distributions()}\n"
        "print(json.dumps(sorted(f'{n}=={v}' for n, v in found.items())))"
    )
    return [str(one) for one in json.loads(_ask(python, code))]


def _raise_if_broken(broken: Path) -> None:
    """A failed build is believed by the command that saw it fail, and by its worker processes; the
    next one tries again."""
    since = float(os.environ.setdefault(Variable.SINCE, str(time.time())))
    try:
        seen = broken.stat().st_mtime
        message = broken.read_text()
    except OSError:
        return
    if seen >= since and time.time() - seen < _BROKEN_FOR:
        raise EnvironmentBroken(f"{message} (the next run tries again)")
    broken.unlink(missing_ok=True)


def _make_venv(interpreter: Path, requirements: Sequence[str], target: Path, log: Path) -> None:
    brings_pip = uv_command() and any(re.match(r"pip\b", one) for one in requirements)
    bare = ("--without-pip",) if brings_pip else ()
    said = _run([str(interpreter), "-I", "-m", "venv", *bare, str(target)], log)
    if said:
        raise EnvironmentBroken(f"{interpreter} cannot make an environment: {trouble(said)}")


def _installed(target: Path, asked: Asked, log: Path) -> str:
    """Install into the environment at `target`; "", or what the installer said where it failed."""
    python = str(target / "bin" / "python")
    uv = uv_command()
    if uv:
        command = [*uv, "pip", "install", "--python", python, "--link-mode=copy"]
        command += ["--exclude-newer", asked.before] if asked.before else []
        for name in asked.lifted if asked.before else ():
            command += ["--exclude-newer-package", f"{name}={_ANY_TIME}"]
    elif asked.before:
        raise EnvironmentBroken("packages of a date can only be installed with uv; install uv")
    else:
        command = [python, "-I", "-m", "pip", "install"]
    for name in asked.wheels:
        command += ["--only-binary", name]
    return _run([*command, *asked.requirements], log)


def _compile(python: Path, log: Path) -> None:
    """Byte code, which nothing can add later, but of packages' own tests; some never compile."""
    site = _ask(python, "import sysconfig; print(sysconfig.get_paths()['purelib'])")
    with log.open("ab") as out:
        subprocess.run(
            [str(python), "-I", "-m", "compileall", "-q", "-x", _OWN_TESTS, site], cwd=log.parent,
            stdout=out, stderr=out, timeout=_BUILD_SECONDS, check=False, env=installer_variables(),
        )  # fmt: skip


def installer_variables() -> dict[str, str]:
    """The environment variables of an installer: where packages are found, nothing else."""
    kept = {n: v for n, v in os.environ.items() if n.startswith(_PASSED_ON)}
    path = os.environ.get("PATH", os.defpath)
    return {**kept, "PATH": path, "LANG": "C.UTF-8", "PIP_NO_INPUT": "1", "NO_COLOR": "1"}


def _run(command: list[str], log: Path) -> str:
    """Run an installer in a folder of our own: neither Python nor it looks for anything there.

    What it said is added to the log; returned is "" where it succeeded.
    """
    with log.open("ab") as out:
        out.write(("$ " + shlex.join(command) + "\n").encode())
        out.flush()
        start = out.tell()
        try:
            done = subprocess.run(
                command, cwd=log.parent, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                timeout=_BUILD_SECONDS, check=False, env=installer_variables(),
            )  # fmt: skip
            status = done.returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            told = (
                f"timed out after {_BUILD_SECONDS:.0f} s"
                if isinstance(error, subprocess.TimeoutExpired)
                else str(error)
            )
            out.write(f"error: {told}\n".encode())
            status = 1
    if not status:
        return ""
    with log.open("rb") as written:
        written.seek(start)
        return written.read().decode(errors="replace") or f"exit status {status}"


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

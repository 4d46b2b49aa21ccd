"""Finds an interpreter of a version on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from refute.errors import WorkspaceUnavailable


def find_interpreter(version: str) -> Path:
    """An interpreter of a version such as "3.9": pyenv's, one on PATH, uv's, or this one.

    Raises `WorkspaceUnavailable`.
    """
    if not re.fullmatch(r"\d+(\.\d+){1,2}", version):
        raise WorkspaceUnavailable(f"not a version of Python: {version!r}")
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    if root.is_dir():
        fits = [p for p in root.iterdir() if p.name == version or p.name.startswith(version + ".")]
        for folder in sorted(fits, key=_numbers, reverse=True):
            if os.access(folder / "bin" / "python", os.X_OK):
                return folder / "bin" / "python"
    short = ".".join(version.split(".")[:2])
    found = shutil.which(f"python{short}")
    if found and _is_version(found, version):
        return Path(os.path.realpath(found))
    if version == short == "{}.{}".format(*sys.version_info[:2]):
        return Path(os.path.realpath(sys.executable))
    uv = uv_command()
    if uv:
        try:
            done = subprocess.run(
                [*uv, "python", "find", "--offline", "--no-project", "--system", version],
                capture_output=True, text=True, timeout=60, check=False, cwd="/",
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is not None and done.returncode == 0 and os.access(done.stdout.strip(), os.X_OK):
            return Path(os.path.realpath(done.stdout.strip()))
    raise WorkspaceUnavailable(
        f"no Python {version} here; install one: uv python install {version}"
    )


def is_here(version: str) -> bool:
    """Whether this machine has an interpreter of that version."""
    try:
        find_interpreter(version)
    except WorkspaceUnavailable:
        return False
    return True


def _numbers(path: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", path.name))


def _is_version(program: str, version: str) -> bool:
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    try:
        done = subprocess.run(
            [program, "-I", "-c", code], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    answer = done.stdout.strip()
    return answer == version or answer.startswith(version + ".")


def uv_command() -> list[str]:
    """How uv is started here: the program, or the module of this interpreter; empty: it is not."""
    beside = Path(sys.executable).with_name("uv")
    if os.access(beside, os.X_OK):
        return [str(beside)]
    found = shutil.which("uv")
    return [found] if found else []

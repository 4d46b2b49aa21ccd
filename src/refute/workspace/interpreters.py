"""The interpreter of a repository at a commit: which version it is for, and where one is here.

Old code on a new interpreter means packages of that time without wheels for it, built from source
with compilers and build tools of today, and a standard library that has moved on. So a commit gets
an interpreter that was current when it was made, among those that its metadata allows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

from refute.errors import WorkspaceUnavailable
from refute.workspace.infer import Reader, setup_argument, setup_cfg_option, toml_of

RELEASED = {
    (3, 6): date(2016, 12, 23), (3, 7): date(2018, 6, 27), (3, 8): date(2019, 10, 14),
    (3, 9): date(2020, 10, 5), (3, 10): date(2021, 10, 4), (3, 11): date(2022, 10, 24),
    (3, 12): date(2023, 10, 2), (3, 13): date(2024, 10, 7), (3, 14): date(2025, 10, 7),
}  # fmt: skip
"""When each version came out (python.org); the probe runs on 3.6 and newer."""
_SETTLED = timedelta(days=180)
"""How long packages take to publish wheels for a new version: by half a year numpy and pandas had
theirs for each of 3.7 to 3.12."""


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


def candidates(read: Reader, before: str | None = None) -> tuple[str, ...]:
    """Versions of Python for a repository, the best first: the newest one that had been out for
    half a year at the date (None: today), then older ones, then newer ones.

    Left out is what `requires-python` excludes; where nothing is left, it says nothing we know,
    and all are given.
    """
    day = date.fromisoformat(before[:10]) if before else date.today()
    wanted = requires_python(read)
    allowed = [v for v in RELEASED if allows(wanted, v)] or list(RELEASED)
    settled = [v for v in allowed if RELEASED[v] + _SETTLED <= day]
    newer = [v for v in allowed if v not in settled]
    return tuple("{}.{}".format(*version) for version in (*reversed(settled), *newer))


def requires_python(read: Reader) -> str:
    """What the repository's metadata says of Python, as a version specifier; "" for nothing."""
    project = toml_of(read("pyproject.toml"))
    table = project.get("project")
    tool = project.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    flit = tool.get("flit") if isinstance(tool, dict) else None
    said = [
        table.get("requires-python") if isinstance(table, dict) else None,
        _of_table(poetry, "dependencies", "python"),
        _of_table(flit, "metadata", "requires-python"),
        setup_cfg_option(read("setup.cfg"), "python_requires"),
        setup_argument(read("setup.py"), "python_requires"),
    ]
    return next((text for text in said if isinstance(text, str) and text.strip()), "")


def _of_table(table: object, *names: str) -> object:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table


_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def allows(specifier: str, version: tuple[int, int]) -> bool:
    """Whether some release of a minor version fits a specifier (also Poetry's `^3.8`, `~3.8`). What
    cannot be read allows everything."""
    for clause in specifier.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            continue
        sign, numbers = match[1] or "==", [int(part) for part in match[2].split(".")]
        named = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
        third = numbers[2] if len(numbers) > 2 else 0
        alone = len(numbers) == 1  # a major version, or all of it
        fits = {
            ">=": version >= named,
            ">": version > named or (version == named and len(numbers) > 2),
            "<=": version <= named,
            "<": version < named or (version == named and third > 0),
            "^": named <= version < (named[0] + 1, 0),
            "~=": version >= named and version[0] == named[0]
            and (len(numbers) < 3 or version == named),
            "~": version == named or (alone and version[0] == named[0]),
            "==": version == named or (alone and version[0] == named[0]),
            "===": version == named,
            "!=": version != named or not match[3],
        }[sign]  # fmt: skip
        if not fits:
            return False
    return True

"""Which version of Python a repository at a commit is for: by its metadata, and by its date.

Old code on a new interpreter means packages of that time without wheels for it, built from source
with compilers and build tools of today, and a standard library that has moved on. So a commit gets
an interpreter that was current when it was made, among those that its metadata allows.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

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

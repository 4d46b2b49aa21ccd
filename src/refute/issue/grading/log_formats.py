"""The statuses of tests in the printed output of the benchmark's repositories, format by format.

Only for logs that others wrote; our own runs are never read from what they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from refute.errors import InputError

__all__ = ["SCRIPT", "Statuses", "read_statuses"]

Statuses = dict[str, str]
SCRIPT = "reproduction_script"
"""Stands for the script as the name of a test."""

_WORDS = ("FAILED", "PASSED", "SKIPPED", "ERROR")


def read_statuses(text: str, repo: str, script: bool = False) -> Statuses:
    """Test -> PASSED, FAILED, ERROR or SKIPPED, by the format of the repository's runner.

    `script`: the run of a reproduction script, by its exit status. Raises `InputError` for a
    repository whose format is not known.
    """
    if script:
        ended = re.findall(r"^\+ echo (\d+)$", text, re.MULTILINE)
        return {SCRIPT: "PASSED" if ended[0] == "0" else "FAILED"} if ended else {}
    reader = _READERS.get(repo)
    if reader is None:
        raise InputError(f"{repo}: the format of its logs is not known")
    return reader(text)


def _summary_line(line: str) -> tuple[str, str] | None:
    """`PASSED tests/x.py::test` of pytest's short summary as (test, status)."""
    if not line.startswith(_WORDS):
        return None
    if line.startswith("FAILED"):
        line = line.replace(" - ", " ")
    words = line.split()
    return (words[1], words[0]) if len(words) > 1 and words[0] in _WORDS else None


def _pytest(text: str) -> Statuses:
    return dict(filter(None, map(_summary_line, text.split("\n"))))


def _matplotlib(text: str) -> Statuses:
    return _pytest(text.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def _pytest_short_options(text: str) -> Statuses:
    """Paths in parameters are cut to their last part: they differ from machine to machine."""

    def short(test: str) -> str:
        match = re.search(r"(.*?)\[(.*)\]", test)
        if match is None:
            return test
        option = match[2]
        if option.startswith("/") and not option.startswith("//") and "*" not in option:
            option = "/" + option.rsplit("/", 1)[-1]
        return f"{match[1]}[{option}]"

    return {short(test): status for test, status in _pytest(text).items()}


def _pytest_coloured(text: str) -> Statuses:
    """Without colour codes; the status may also stand last, as `-v` prints it."""
    found = {}
    for raw in text.split("\n"):
        line = re.sub(r"[\x01-\x1f]", "", re.sub(r"\[\d+m", "", raw))
        if line.startswith(_WORDS):
            pair = _summary_line(line)
            if pair is not None:
                found[pair[0]] = pair[1]
        elif line.endswith(_WORDS):
            words = line.split()
            if len(words) > 1 and words[1] in _WORDS:
                found[words[0]] = words[1]
    return found


def _seaborn(text: str) -> Statuses:
    found = {}
    for line in text.split("\n"):
        words = line.split()
        if line.startswith(("FAILED", "PASSED")) and len(words) > 1:
            found[words[1]] = line[:6]
        elif len(words) > 2 and words[1] == "PASSED":
            found[words[0]] = "PASSED"
    return found


_DJANGO = re.compile(
    r"(?P<name>\b(?:test|app_unmigrated)\S*\s+\([^)]*\))"
    r"|(?P<dots>\.\.\.)"
    r"|\b(?P<status>OK|ok|FAILED|ERROR|skipped)\b"
)
_DJANGO_FAILED = re.compile(r"^(FAIL|ERROR):.*?(\b(?:test_|app_unmigrated)\S*\s+\([^)]*\))")
_DJANGO_STATUS = {"ok": "PASSED", "OK": "PASSED", "skipped": "SKIPPED"}


def _django(text: str) -> Statuses:
    """`test_x (module.Class) ... ok`, with output of the test anywhere in between."""
    found: Statuses = {}
    name, dotted = None, False
    for token in _DJANGO.finditer(text):
        if token["name"]:
            name, dotted = token["name"], False
        elif token["dots"]:
            dotted = name is not None
        elif name is not None and dotted:
            found[name] = _DJANGO_STATUS.get(token["status"], token["status"])
            name = None
    for line in text.split("\n"):
        match = _DJANGO_FAILED.match(line)
        if match:
            found[match[2]] = "FAILED" if match[1] == "FAIL" else "ERROR"
    return found


def _sympy(text: str) -> Statuses:
    found = {m[1]: "FAILED" for m in re.finditer(r"_\n_* .*\.py::?(.*) _*", text)}
    marks = {"ok": "PASSED", "F": "FAILED", "E": "ERROR"}
    for match in re.finditer(r"(test_\S*)\s+(E|F|ok)\s", text):
        found[match[1]] = marks[match[2]]
    return found


_READERS: dict[str, Callable[[str], Statuses]] = {
    "astropy/astropy": _pytest_coloured,
    "django/django": _django,
    "marshmallow-code/marshmallow": _pytest,
    "matplotlib/matplotlib": _matplotlib,
    "mwaskom/seaborn": _seaborn,
    "pallets/flask": _pytest,
    "psf/requests": _pytest_short_options,
    "pvlib/pvlib-python": _pytest,
    "pydata/xarray": _pytest,
    "pydicom/pydicom": _pytest_short_options,
    "pylint-dev/astroid": _pytest,
    "pylint-dev/pylint": _pytest_short_options,
    "pytest-dev/pytest": _pytest,
    "pyvista/pyvista": _pytest,
    "scikit-learn/scikit-learn": _pytest_coloured,
    "sqlfluff/sqlfluff": _pytest,
    "sphinx-doc/sphinx": _pytest_coloured,
    "sympy/sympy": _sympy,
}

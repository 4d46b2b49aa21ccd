"""The statuses of tests in the printed output of the benchmark's repositories, format by format.

Only for logs that others wrote; our own runs are never read from what they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from refute.errors import InputError

Statuses = dict[str, str]
SCRIPT = "reproduction_script"
"""Stands for the script as the name of a test."""

_WORDS = ("FAILED", "PASSED", "SKIPPED", "ERROR")


def read_statuses(text: str, repo: str, script: bool = False) -> Statuses:
    """Test -> PASSED, FAILED, ERROR or SKIPPED, by the format of the repository's runner, as the
    reference reads it, mistakes included: a line `ERROR: not found` is a test `not` of status
    `ERROR:`, which is none of the four.

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
    return (words[1], words[0]) if len(words) > 1 else None


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

    pairs = filter(None, map(_summary_line, text.split("\n")))
    return {short(test): status for test, status in pairs}


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
            if len(words) > 1:
                found[words[0]] = words[1]
    return found


def _seaborn(text: str) -> Statuses:
    found = {}
    for line in text.split("\n"):
        words = line.split()
        if line.startswith("FAILED"):
            found.update({words[1]: "FAILED"} if len(words) > 1 else {})
        elif " PASSED " in line:
            found.update({words[0]: "PASSED"} if words[1:2] == ["PASSED"] else {})
        elif line.startswith("PASSED") and len(words) > 1:
            found[words[1]] = "PASSED"
    return found


_DJANGO = re.compile(r"\b(?:test|app_unmigrated)\S*\s+\([^)]*\)")
_DJANGO_FAILED = re.compile(r"\b(?:test_|app_unmigrated)\S*\s+\([^)]*\)")
_DOTS = re.compile(r"\.\.\.")
_END = re.compile(r"\b(?:test_|app_unmigrated|OK|ok|FAILED|ERROR|skipped)\b")
_DJANGO_STATUS = {
    "ok": "PASSED", "OK": "PASSED", "skipped": "SKIPPED", "FAILED": "FAILED", "ERROR": "ERROR"
}  # fmt: skip


def _next(pattern: re.Pattern[str], text: str, at: int) -> Iterator[re.Match[str]]:
    """Where the reference may go on from `at`: what stands first behind it after white space, else
    what stands there."""
    later = pattern.search(text, at + 1)
    if later and text[later.start() - 1].isspace():
        yield later
    if here := pattern.match(text, at):
        yield here


def _django(text: str) -> Statuses:
    """`test_x (module.Class) ... ok`, with output of the test anywhere in between: that of other
    tests too, which are lost then."""
    found: Statuses = {}
    at = 0
    while name := _DJANGO.search(text, at):
        at = name.start() + 1
        for end in (e for d in _next(_DOTS, text, name.end()) for e in _next(_END, text, d.end())):
            if end[0] in _DJANGO_STATUS:
                found[name[0]] = _DJANGO_STATUS[end[0]]
                at = end.end()
                break
    for line in text.split("\n"):
        word = line.partition(":")[0]
        if word in ("FAIL", "ERROR") and len(line) > len(word):
            names = _DJANGO_FAILED.findall(line.split(word)[1])
            if len(names) == 1:
                found[names[0]] = "FAILED" if word == "FAIL" else "ERROR"
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
    "nielstron/humaneval_fix": _pytest,
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

"""Logs that the reference harness wrote, as test reports, so that they can be graded again.

A log says what runners print, so a report read from it is only as good as that: a test that prints
`PASSED` is believed here, as it is there. Names, statuses and line counts are read by the
reference's rules; what follows from them is judged by ours (`refute_lab.swt.grading.verdict`).

The statuses of tests in the printed output of the benchmark's repositories, format by format.

Only for logs that others wrote; our own runs are never read from what they print.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute.workspace.contract import TestReport, TestResult
from refute.workspace.patches import is_test_file, touched_files
from refute_lab.swt.grading.grade import Evidence, IssueGrade, Mode, grade_evidence
from refute_lab.swt.grading.verdict import Verdict

# -- log formats -----------------------------------------------------------------------------------


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


_OUTCOMES: Mapping[str, Any] = {"PASSED": "passed", "FAILED": "failed", "ERROR": "error"}
"""Any other status (SKIPPED, and what the reference takes for one) is no result, there and here."""
_TRACED = re.compile(r"\n\+ python3 [^\n]*trace\.py --count -C coverage\.cover [^\n]*\n")
_SPOILT = (
    ">>>>> Patch Apply Failed",
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    ">>>>> Tests Timed Out",
    "Failed to reset task environment",
)
_DATA = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
"""Ends of names of touched files that the reference does not run."""
_TOUCHED = re.compile(r"diff --git a/.* b/(.*)")


def grade_logs(folder: Path, key: IssueKey, repo: str, *, mode: Mode = "tests") -> IssueGrade:
    """Grade the logs of one instance.

    `folder` is `run_instance_swt_logs/RUN/MODEL` of the reference. Raises `InputError` when the
    logs of the base or golden states are not there.
    """
    model, run = folder.name, folder.parent
    places = [run / f"pred_{when}__{model}" / key.id for when in ("pre", "post")]
    logs = [place / "test_output.txt" for place in places]
    patch = _text(places[0] / "model_patch.diff")
    if patch is None or not all(log.is_file() for log in logs):
        return IssueGrade(key.id, Verdict("empty", remarks=("the reference has no log of it",)))
    texts = [log.read_text(errors="replace") for log in logs]
    if "applied patch" not in texts[0].lower():
        return IssueGrade(key.id, Verdict("not_applicable"))
    predicted = [read_log(text, repo, mode) for text in texts]
    if mode == "reproduction":
        evidence = Evidence(((predicted[0],), (predicted[1],)))
        return grade_evidence(evidence, key, counted=False)
    shared: dict[str, tuple[TestReport, TestReport]] = {}
    for name, tests in (("gold", key.test_patch), ("base", patch)):
        hashed = hashlib.sha256("__".join(directives(tests, repo)).encode()).hexdigest()
        reports = []
        for when in ("pre", "post"):
            log = run.parent / f"{name}_{when}" / key.id / hashed / "test_output.txt"
            text = _text(log)
            if text is None:
                raise InputError(f"{log}: is missing; it comes with the reference's logs")
            reports.append(read_log(text, repo, mode))
        shared[name] = (reports[0], reports[1])
    evidence = Evidence(((predicted[0],), (predicted[1],)), shared["base"], shared["gold"])
    return grade_evidence(evidence, key, others=_others(patch))


def directives(patch: str, repo: str) -> list[str]:
    """What the reference asks the runner to run for a patch: every touched file but data."""
    names = [name for name in _TOUCHED.findall(patch) if not name.endswith(_DATA)]
    if repo != "django/django":
        return names
    labels = (name.removesuffix(".py").removeprefix("tests/") for name in names)
    return [label.replace("/", ".") for label in labels]


def read_log(text: str, repo: str, mode: Mode = "tests") -> TestReport:
    """A `test_output.txt` as a report; one that the reference discards has no results."""
    spoilt = any(mark in text for mark in _SPOILT)
    statuses = {} if spoilt else read_statuses(_run_part(text), repo, script=mode == "reproduction")
    results = tuple(_result(test, status) for test, status in statuses.items())
    return TestReport(results, "finished", lines=read_counts(text))


def _run_part(text: str) -> str:
    """What was printed between the start of the tests and the dump of the counts."""
    parts = _TRACED.split(text, maxsplit=1)
    return parts[-1].split("\n+ cat coverage.cover")[0]


def _result(test: str, status: str) -> TestResult:
    file = test.split("::")[0] if "::" in test or test.endswith(".py") else ""
    collecting = status == "ERROR" and test == file
    return TestResult(
        test, file, _OUTCOMES.get(status, "skipped"), "collect" if collecting else "call"
    )


def read_counts(text: str) -> dict[str, dict[int, int]]:
    """File -> line -> executions, summed over the objects that processes dumped."""
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.strip() == "+ cat coverage.cover"]
    counts: dict[str, dict[int, int]] = {}
    for line in lines[marks[0] + 1 :] if marks else ():
        if line.startswith("+ git checkout"):
            break
        if not line.startswith('{"/testbed/'):
            continue
        try:
            dump = json.loads(line)
            for file, numbers in dump.items():
                table = counts.setdefault(file.replace("/testbed/", ""), {})
                for number, count in numbers.items():
                    table[int(number)] = table.get(int(number), 0) + int(count)
        except (ValueError, AttributeError, TypeError):
            continue  # a process that was killed leaves half a line
    return counts


def _others(patch: str) -> Sequence[str]:
    return [path for path in touched_files(patch) if not is_test_file(path)]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None

"""The reference harness's report, with its field names and its rules, from our evidence.

So that figures can be compared with published ones. The rules differ from ours on purpose (a table
in `docs/swtbench.md`): only PASSED and FAILED are results, so FAIL→ERROR goes unseen and a test
that was skipped, missing or in error before and passes after is FAIL_TO_PASS; a test's name ends
at its first blank; base counts of removed lines are taken from the fixed code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute.workspace.contract import Runner, TestReport, TestResult
from refute.workspace.patches import added_lines, is_test_file, removed_lines, touched_files
from refute_lab.swt.grade import Evidence, IssueGrade, Mode, grade_evidence
from refute_lab.swt.verdict import Counts, Line, Verdict

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
    """Find where the reference resumes after `at`: the next text behind white space, else the text
    there."""
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
    """Return the files that the reference makes the runner run for a patch: all touched ones but
    data."""
    names = [name for name in _TOUCHED.findall(patch) if not name.endswith(_DATA)]
    if repo != "django/django":
        return names
    labels = (name.removesuffix(".py").removeprefix("tests/") for name in names)
    return [label.replace("/", ".") for label in labels]


def read_log(text: str, repo: str, mode: Mode = "tests") -> TestReport:
    """A `test_output.txt` as a report; one that the reference discards has no results."""
    spoilt = any(mark in text for mark in _SPOILT)
    statuses = {} if spoilt else read_statuses(_run_part(text), repo, script=mode == "reproduction")
    results = tuple(_reference_logs_result(test, status) for test, status in statuses.items())
    return TestReport(results, "finished", lines=read_counts(text))


def _run_part(text: str) -> str:
    """Return the output between the start of the tests and the dump of the counts."""
    parts = _TRACED.split(text, maxsplit=1)
    return parts[-1].split("\n+ cat coverage.cover")[0]


def _reference_logs_result(test: str, status: str) -> TestResult:
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


_STATUS = {"passed": "PASSED", "failed": "FAILED", "error": "ERROR", "skipped": "SKIPPED"}
"""As printed; expected failures and unexpected passes are printed as neither."""

Transitions = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Compat:
    """The reference's report on one prediction."""

    id: str
    report: Mapping[str, Any] | None
    """The object in `report.json` under the instance's id; None: it writes none (an error)."""


def reference_report(grade: IssueGrade, key: IssueKey, runner: Runner) -> Compat:
    """The reference's report on a graded prediction.

    Where it would run the whole suite (a patch that touches no test, a patch that conflicts with
    the golden one) the test lists are left out.
    """
    status = grade.verdict.status
    report: dict[str, Any] = {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": grade.applicable,
        "resolved": False,
        "coverage_pred": None,
        "coverage_gold": None,
        "coverage_base": None,
        "coverage_delta_pred": None,
        "coverage_delta_gold": None,
    }
    if status == "timeout":
        return Compat(grade.id, None)
    evidence = grade.evidence
    if evidence is None:
        return Compat(grade.id, report)
    report.update(_coverage(evidence, key))
    before, after = (reports[0] for reports in evidence.predicted)
    pairs = {"pred": (before, after), "base": evidence.base, "gold": evidence.golden}
    lists = {
        name: _transitions(status_map(first, runner), status_map(last, runner))
        for name, (first, last) in pairs.items()
    }
    report.update(_resolution(lists["pred"], lists["base"]))
    report.update({f"tests_{name}": lists[name] for name in ("base", "pred", "gold")})
    return Compat(grade.id, report)


def status_map(report: TestReport, runner: Runner) -> dict[str, str]:
    """Printed name of each test -> PASSED, FAILED, ERROR or SKIPPED; the last line counts."""
    found = {}
    for result in report.results:
        if result.outcome in _STATUS:
            found[_printed(result, runner)] = _STATUS[result.outcome]
    return found


def _printed(result: TestResult, runner: Runner) -> str:
    """Return a test's name as the reference's log parsers read it."""
    if runner == "pytest":
        return (result.id.split() or [result.id])[0]
    if runner == "sympy":
        return re.split(r"::?", result.id)[-1]
    return result.names[0] if result.names else result.id


def _transitions(before: Mapping[str, str], after: Mapping[str, str]) -> Transitions:
    lists: Transitions = {
        name: []
        for name in ("FAIL_TO_PASS", "PASS_TO_PASS", "FAIL_TO_FAIL", "PASS_TO_FAIL", "UNMATCHED")
    }
    for test in sorted({*before, *after}):
        first, last = (_result(states.get(test)) for states in (before, after))
        if first == "PASSED":
            kind = "PASS_TO_PASS" if last == "PASSED" else "PASS_TO_FAIL"
        elif last is None:
            kind = "UNMATCHED"
        else:
            kind = "FAIL_TO_PASS" if last == "PASSED" else "FAIL_TO_FAIL"
        lists[kind].append(test)
    return lists


def _result(status: str | None) -> str | None:
    return status if status in ("PASSED", "FAILED") else None


def _resolution(predicted: Transitions, base: Transitions) -> dict[str, Any]:
    def added(kind: str) -> set[str]:
        return set(predicted[kind]) - set(base[kind])

    kept = set(base["FAIL_TO_PASS"]) <= set(predicted["FAIL_TO_PASS"])
    clean = not added("PASS_TO_FAIL") and not added("FAIL_TO_FAIL")
    new = added("FAIL_TO_PASS")
    return {"resolved": kept and bool(new) and clean, "added_f2p": len(new)}


def _coverage(evidence: Evidence, key: IssueKey) -> dict[str, float]:
    """The five shares; none where no changed line is executable."""
    before, after = (reports[0].lines for reports in evidence.predicted)
    base = [report.lines for report in evidence.base]
    golden = [report.lines for report in evidence.golden]
    removed = _executable(removed_lines(key.patch), golden[0], base[0])
    added = _executable(added_lines(key.patch), golden[1], base[1])
    total = len(removed) + len(added)
    if not total:
        return {}

    def covered(first: Counts, last: Counts, less: Counts) -> float:
        hits = sum(_count(first, line) > _count(less, line) for line in removed)
        hits += sum(_count(last, line) > _count(less, line) for line in added)
        return hits / total

    return {
        "coverage_pred": covered(before, after, {}),
        "coverage_gold": covered(golden[0], golden[1], {}),
        "coverage_base": covered(base[1], base[1], {}),
        "coverage_delta_pred": covered(before, after, base[1]),
        "coverage_delta_gold": covered(golden[0], golden[1], base[1]),
    }


def _executable(lines: Mapping[str, Sequence[int]], *counts: Counts) -> list[Line]:
    every = [(file, number) for file, numbers in lines.items() for number in numbers]
    return [line for line in every if any(_count(one, line) for one in counts)]


def _count(counts: Counts, line: Line) -> int:
    return counts.get(line[0], {}).get(line[1], 0)


def summary(reports: Iterable[Compat]) -> dict[str, Any]:
    """The reference's summary of a run, without anything about its containers."""
    every = list(reports)
    known = {one.id: one.report for one in every if one.report is not None}
    resolved = sorted(id for id, report in known.items() if report["resolved"])
    covered = [report for report in known.values() if report["coverage_pred"] is not None]
    errors = sorted(one.id for one in every if one.report is None)

    def mean(name: str) -> float:
        return sum(report[name] for report in covered) / len(covered) if covered else 0

    return {
        "total_instances": len(every),
        "completed_instances": len(known),
        "resolved_instances": len(resolved),
        "unresolved_instances": len(known) - len(resolved),
        "error_instances": len(errors),
        "Mean coverage": mean("coverage_pred"),
        "Mean coverage delta": mean("coverage_delta_pred"),
        "unstopped_instances": 0,
        "completed_ids": sorted(known),
        "resolved_ids": resolved,
        "unresolved_ids": sorted(set(known) - set(resolved)),
        "error_ids": errors,
        "unstopped_containers": [],
        "unremoved_images": [],
    }


def write_reports(reports: Iterable[Compat], folder: Path, *, run: str, model: str) -> Path:
    """Write `report.json` for each instance, and the summary, where the reference puts them.

    Returns the summary's path below `folder`.
    """
    every = list(reports)
    model = model.replace("/", "__") or "None"
    for one in every:
        if one.report is None:
            continue
        place = folder / "run_instance_swt_logs" / run / model / one.id
        place.mkdir(parents=True, exist_ok=True)
        (place / "report.json").write_text(json.dumps({one.id: one.report}, indent=4))
    path = folder / "evaluation_results" / f"{model}.{run}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary(every), indent=4) + "\n")
    return path

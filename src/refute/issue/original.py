"""The original code in a workspace, on which drafts of tests are tried one after another.

Everything here blocks; methods call it through `asyncio.to_thread`. Texts of failures are made
steady for prompts, and a diff is split into the tests or the fix that are submitted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from refute.core.methods import Bounds
from refute.core.problems import IssuePrediction
from refute.core.remarks import few
from refute.errors import PatchRejected
from refute.source.syntax import first_line, functions_in, readable_module
from refute.workspace.contract import Failure, TestReport, TestResult, TestSelection, Workspace
from refute.workspace.patches import (
    FilePatch,
    added_lines,
    file_patches,
    is_runner_file,
    is_test_file,
    split_fix,
    split_tests,
    test_files,
)
from refute.workspace.running import FAILING, applied, files_with_tests, run_on
from refute.workspace.testruns import together

WHOLE = 60.0
"""Seconds of a test file that is run whole for each of many drafts."""
_LEAST_TRACE = 120
"""Characters of a traceback, however many there are."""
_FRAME = re.compile(r'^(?=  File ")', re.MULTILINE)
_AFTER_FRAME = re.compile(r"^\S", re.MULTILINE)
_CHAINED = re.compile(
    r"\n\n(?:The above exception was the direct cause|During handling of the above)[^\n]*\n\n"
)
_NO_MODULE = re.compile(r"No module named '([^.']+)[^']*'")
_SHORT_MESSAGE = 160
LARGEST_FILE = 1 << 20
"""Bytes of a file that `sources` reads; larger ones are data."""


@dataclass(frozen=True, slots=True)
class TrialRun:
    """Result of a test patch on the original code."""

    patch: str
    report: TestReport | None = None
    """None: it was not run, for the reason in `rejected`."""
    failing: tuple[TestResult, ...] = ()
    """Tests that fail with the patch and did not fail without it."""
    rejected: str = ""
    wanting: frozenset[str] = frozenset()
    """Failing tests that end where the test itself imports a package that is not there: of the
    repository's code they say nothing."""

    @property
    def applied(self) -> bool:
        """True if it applied and touched a test file."""
        return self.report is not None

    @property
    def asserted(self) -> tuple[TestResult, ...]:
        """The failing tests that ran into their failure themselves: no import or set-up error."""
        called = (result for result in self.failing if result.phase == "call")
        return tuple(result for result in called if result.id not in self.wanting)


class Original:
    """A workspace at the base commit. Between two calls it is as the commit left it.

    `whole`: seconds that the tests of a file may take on the original code; of a longer file only
    the tests that a patch touches are run. None: every file is run whole.
    """

    def __init__(self, workspace: Workspace, bounds: Bounds, *, whole: float | None = None) -> None:
        self.workspace = workspace
        self._seconds = bounds.test_seconds
        self._whole = whole
        self._base: dict[tuple[str, ...], TestReport] = {}
        self._paths: tuple[str, ...] | None = None

    def paths(self) -> tuple[str, ...]:
        """All files of the repository, sorted."""
        if self._paths is None:
            self._paths = tuple(self.workspace.files())
        return self._paths

    def source(self, path: str) -> str | None:
        """The text of a file; None where it does not exist or is not text."""
        try:
            return self.workspace.read(path).decode("utf-8")
        except (OSError, UnicodeDecodeError, ValueError):
            return None

    def sources(self, suffixes: Sequence[str] = (".py",)) -> dict[str, str]:
        """Path -> text of all files with one of the suffixes."""
        wanted = [path for path in self.paths() if path.endswith(tuple(suffixes))]
        texts = ((path, self.source(path)) for path in wanted)
        return {path: text for path, text in texts if text is not None and len(text) < LARGEST_FILE}

    def base(self, files: Sequence[str]) -> TestReport:
        """The tests of existing files on the original code; run once. Of long files, a part."""
        key = tuple(sorted(files))
        if self._whole is not None and len(key) > 1:
            return together([self.base((path,)) for path in key])
        if key not in self._base:
            seconds = self._seconds if self._whole is None else min(self._seconds, self._whole)
            self._base[key] = run_on(self.workspace, (), TestSelection(key), timeout=seconds)
        return self._base[key]

    def is_long(self, path: str) -> bool:
        """Return whether the tests of an existing file take longer than `whole`."""
        return self._whole is not None and self.base((path,)).status == "timeout"

    def attempt(self, patch: str, *, fix: str = "") -> TrialRun:
        """Apply a test patch (after the candidate fix, where one is given), run its test files."""
        files = test_files(patch)
        if not patch.strip():
            return TrialRun(patch, rejected="the patch is empty")
        if not files:
            return TrialRun(patch, rejected="the patch touches no test file")
        existing = [path for path in files if path in self.paths()]
        before = _failing(self.base(existing)) if existing else {}
        try:
            with applied(self.workspace, fix, patch):
                runs = self._selections(patch, files_with_tests(self.workspace, files))
            if not runs:
                return TrialRun(patch, rejected="the patch leaves no test in its test files")
            report = together(
                [run_on(self.workspace, (fix, patch), one, timeout=self._seconds) for one in runs]
            )
        except PatchRejected as error:
            return TrialRun(patch, rejected=str(error))
        failing = tuple(r for id, r in _failing(report).items() if id not in before)
        wanting = frozenset(r.id for r in failing if self._wants_package(r))
        return TrialRun(patch, report, failing, wanting=wanting)

    def _wants_package(self, result: TestResult) -> bool:
        """Return whether a test's own import fails on a package that the repository does not
        have."""
        failure = result.failure
        if failure is None or failure.type != "ModuleNotFoundError" or not failure.frames:
            return False
        named = _NO_MODULE.fullmatch(failure.message)
        if named is None or failure.frames[-1].file != result.file:
            return False
        names = {named[1], f"{named[1]}.py"}
        return all(names.isdisjoint(path.split("/")) for path in self.paths())

    def fault(self, trial: TrialRun) -> str:
        """Explain why no test can be run here, with the trial's patch or without it: another runner
        than the tests are for, say. "" where some test was run, or no existing test file can
        tell."""
        if trial.report is None or not _ran_nothing(trial.report):
            return ""
        known = [path for path in test_files(trial.patch) if path in self.paths()]
        known = known or [path for path in self.paths() if is_test_file(path)]
        known = list(files_with_tests(self.workspace, known))[:1]
        before = self.base(known) if known else None
        if before is None or not _ran_nothing(before):
            return ""
        return before.remark or f"{known[0]} holds tests, of which none was run"

    def _selections(self, patch: str, files: Sequence[str]) -> list[TestSelection]:
        """Choose what to run of the test files of a patch that is applied."""
        single: dict[str, tuple[str, ...]] = {}
        long = [path for path in files if path in self.paths() and self.is_long(path)]
        lines = added_lines(patch) if long else {}
        for path in long:
            known = next((r.id for r in self.base((path,)).results if r.phase != "collect"), "")
            text = self.source(path) or ""
            tests = touched_tests(path, text, lines.get(path, ()), known) if known else ()
            if tests:
                single[path] = tests
        whole = tuple(path for path in files if path not in single)
        runs = [TestSelection((path,), tests) for path, tests in single.items()]
        return [TestSelection(whole), *runs] if whole else runs


def described(trial: TrialRun, limit: int = 6000) -> str:
    """A trial as text for a prompt or a person: which tests failed, and how."""
    if trial.report is None:
        return f"The tests were not run: {trial.rejected}."
    parts = [failures_told(trial.failing, limit)] if trial.failing else []
    passed = sum(result.outcome == "passed" for result in trial.report.results)
    parts.append(f"{len(trial.failing)} tests newly fail, {passed} pass.")
    if trial.report.status != "finished":
        parts.append(f"The run did not finish ({trial.report.status}): {trial.report.remark}")
        parts.append(shortened(trial.report.output, limit // 2))
    return shortened("\n".join(parts), 2 * limit)


def failures_told(failing: Sequence[TestResult], limit: int = 6000) -> str:
    """Describe failing tests in about `limit` characters; tests that fail alike are described
    once."""
    alike: dict[tuple[str, ...], list[TestResult]] = {}
    for result in failing:
        alike.setdefault(_manner(result), []).append(result)
    heads = [f"{first.id}: {first.outcome} in {first.phase}" for first, *_ in alike.values()]
    share = (limit - sum(map(len, heads))) // max(1, len(heads))
    parts = []
    for head, (result, *more) in zip(heads, alike.values(), strict=True):
        parts.append(head)
        if result.failure is not None:
            trace = _of_the_repository(result.failure)
            parts.append(condensed(trace, max(_LEAST_TRACE, share)))
        own = runnable_id(result.id)
        same = sum(runnable_id(one.id) == own for one in more)
        if same:
            parts.append(f"(and {same} more of it with other parameters fail alike)")
        others = {runnable_id(one.id): one for one in more if runnable_id(one.id) != own}
        if others:
            parts.append("These fail at the same place of the code:")
            parts += [f"  {id}: {_said(one)}" for id, one in others.items()]
    return "\n".join(parts)


def groups_told(groups: Iterable[Sequence[TestResult]]) -> str:
    """The same of several groups of tests: before each id stands the number of its group."""
    return failures_told(
        [
            replace(one, id=f"{number}:{one.id}")
            for number, group in enumerate(groups, 1)
            for one in group
        ]
    )


def _manner(result: TestResult) -> tuple[str, ...]:
    """Return what tests that fail alike share: the exception, and the place in the code that raised
    it; of an assertion of the test itself, the test."""
    if result.failure is None:
        return (runnable_id(result.id), "")
    frames = _frames(result.failure.traceback)
    inner = [frame for frame in frames if result.file not in frame.partition("\n")[0]]
    if not inner or result.failure.type == "AssertionError" or frames[-1:] != inner[-1:]:
        return (runnable_id(result.id), result.failure.type)
    return (result.failure.type, inner[-1])


def _said(result: TestResult) -> str:
    """Return a failure's message in a few words."""
    if result.failure is None:
        return result.outcome
    first = result.failure.message.strip().partition("\n")[0]
    return f"{result.failure.type}: {first[:_SHORT_MESSAGE]}"


def _frames(traceback: str) -> list[str]:
    """The frames of a traceback, each with its source line and without what follows them."""
    parts = _FRAME.split(traceback)[1:]
    ends = (_AFTER_FRAME.search(part) for part in parts)
    return [part[: end.start()] if end else part for part, end in zip(parts, ends, strict=True)]


def condensed(traceback: str, limit: int) -> str:
    """A traceback in about `limit` characters: the first frame, which is mostly the test's, the
    last ones, and the beginning of what the exception says are never cut away.

    Of chained exceptions the last one is kept whole first.
    """
    if len(traceback) <= limit:
        return traceback
    last = _CHAINED.split(traceback)[-1]
    frames = _frames(last)
    if not frames:
        return shortened(traceback, limit)
    tail = _FRAME.split(last)[-1][len(frames[-1]) :].strip("\n")
    if len(tail) > limit // 2:
        kept = max(_LEAST_TRACE, limit // 2)
        tail = f"{tail[:kept]}[...]" if len(tail) > kept else tail
    left = limit - len(tail) - len(frames[0])
    ends: list[str] = []
    for frame in reversed(frames[1:]):
        left -= len(frame)
        if left < 0 and ends:
            break
        ends.insert(0, frame)
    gap = ["  [...]\n"] if 1 + len(ends) < len(frames) else []
    return "".join([frames[0], *gap, *ends, tail])


def shortened(text: str, limit: int) -> str:
    """The text with lines of its middle cut out where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    third = limit // 3
    head, tail = text[:third], text[len(text) - (limit - third) :]
    if "\n" in head:
        head = head[: head.rindex("\n")]
    if "\n" in tail[:-1]:
        tail = tail[tail.index("\n") + 1 :]
    return f"{head}\n[...]\n{tail}"


def runnable_id(id: str) -> str:
    """A test's id as a runner takes it: without pytest's parameters and unittest's subtest, which
    hold any character."""
    return id.partition("[")[0] if "::" in id else id.partition(" ")[0]


def _of_the_repository(failure: Failure) -> str:
    """The traceback; of a failed assertion, without the frames of the library that compares."""
    head, *frames = _FRAME.split(failure.traceback)
    own = [not frame.startswith('  File "/') for frame in frames]
    if failure.type != "AssertionError" or not any(own):
        return failure.traceback
    ends = (_AFTER_FRAME.search(frame) for frame in frames)
    tails = (frame[end.start() :] if end else "" for frame, end in zip(frames, ends, strict=True))
    kept = zip(frames, own, tails, strict=True)
    return "".join([head, *(frame if ours else tail for frame, ours, tail in kept)])


def _ran_nothing(report: TestReport) -> bool:
    """The runner did not start; or it is not the one that these tests were written for."""
    return report.status in ("crashed", "finished") and not report.results


def _failing(report: TestReport) -> Mapping[str, TestResult]:
    return {r.id: r for r in report.results if r.outcome in FAILING}


def touched_tests(path: str, text: str, lines: Collection[int], known: str) -> tuple[str, ...]:
    """Ids of the tests in a file that have one of these lines (1-based), decorators included.

    `text`: the file with the patch. `known`: the id of any test of the file, which shows how its
    runner names them. Empty where none is touched or the text does not parse.
    """
    found = []
    for name, node in functions_in(readable_module(text)).items():
        span = range(first_line(node), (node.end_lineno or node.lineno) + 1)
        if node.name.startswith("test") and any(line in span for line in lines):
            found.append(name.split("."))
    if "::" in known:
        return tuple("::".join((path, *names)) for names in found)
    module = ".".join(known.partition(" ")[0].split(".")[:-2])
    return tuple(".".join((module, *names)) for names in found)


_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,16}\b"), "0x..."
_OF_FAILURES = (
    _ADDRESS,
    (re.compile(r"/tmp/[\w./+-]+|/private/var/[\w./+-]+"), "/tmp/..."),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds?)\b"), "some time"),
    (re.compile(r"\b(?:pid|process) \d+\b"), "pid"),
)
_OF_COMMANDS = (
    (re.compile(r"\bin \d+(?:\.\d+)? ?(s\b|seconds?\b)(?: \(\d+:\d\d:\d\d\))?"), r"in 0.00 \1"),
    _ADDRESS,
    # a bar is as long as the line leaves room for, and the time in it has more digits or fewer
    (re.compile(r"^=+ (.*\bin 0\.00 s.*?) =+$", re.M), r"=== \1 ==="),
    (re.compile(r"(random seed: +)\d+"), r"\g<1>0"),
    (re.compile(r"/tmp/tmp[a-z0-9_]{8}\b"), "/tmp/tmp........"),
    (re.compile(r"/pytest-of-\w+/pytest-\d+\b"), "/pytest-of-root/pytest-0"),
)


def scrubbed(text: str, root: str) -> str:
    """Return a failure text without addresses, folders, times and colours; `root`: of the tree."""
    text = _COLOURS.sub("", text).replace(f"{root}/", "")
    for pattern, plain in _OF_FAILURES:
        text = pattern.sub(plain, text)
    return text


def steady(text: str, root: str) -> str:
    """Return a command's output, which may be any file, without colours and control characters."""
    text = _COLOURS.sub("", text).replace(f"{root}/", "")
    text = re.sub(rf"{re.escape(root)}(?![\w.-])", ".", text)
    for pattern, replacement in _OF_COMMANDS:
        text = pattern.sub(replacement, text)
    return "".join(c for c in text if c in "\n\t" or ord(c) >= 32)


_TESTS = re.compile(r"test_.|tests\.|.*_tests?\.", re.IGNORECASE)
"""Names of files that hold tests, as runners look for them; a `test.py` may be anything."""
_MODE = re.compile(
    r"^(?:(?:old|new) mode|(?:new|deleted) file mode (?!100644)|index \S+ (?!100644))", re.MULTILINE
)
"""A header of a diff about anything but a plain file that stays one."""


def submission(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that touches test files, with a note of what is left out.

    An agent may leave scripts behind, or a fix of the code: with a fix applied before, a test that
    reproduces the issue would pass on the "original" code. Binary files are not tests.
    """
    tests, others = split_tests(diff)
    return _prediction(id, tests, others, remarks, "no tests", "no test file was changed")


def fix_submission(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that changes code, with a note of what is left out.

    A fix that changes a test, a `conftest.py` or how tests are run has fixed nothing by that, and
    its tests are not asked for. Binary files are not code. What a fix makes at the top of the
    repository beside what is there is kept: nothing tells a script from a module.
    """
    tests, code = split_fix(diff)
    return _prediction(id, code, tests, remarks, "no code", "no code was changed")


def _prediction(
    id: str, diff: str, others: str, remarks: Sequence[str], what: str, nothing: str
) -> IssuePrediction:
    """The text files of `diff`; of the rest it is said that it is left out, being `what`."""
    parts = file_patches(diff)
    patch = "".join(part.text for part in parts if not part.binary)
    dropped = [part.path for part in (*file_patches(others), *(p for p in parts if p.binary))]
    notes = [remark for remark in remarks if remark]
    if dropped:
        notes.append(_left_out(dropped, what))
    if not patch:
        notes.append(nothing)
    return IssuePrediction(id, patch, notes=tuple(notes))


def _left_out(paths: Sequence[str], what: str) -> str:
    return f"left out, {what}: {few(paths)}"


def only_tests(prediction: IssuePrediction) -> IssuePrediction:
    """A prediction as it may be written to a user's checkout: new test files, and tests added to or
    changed in those that are there.

    "test" in a path says little: `.github/workflows/test.yml`, a `conftest.py`, a package's own
    `testing/`. Nothing is deleted, renamed, linked or made executable.
    """
    parts = file_patches(prediction.patch)
    kept = [part for part in parts if _may_be_written(part)]
    if len(kept) == len(parts) and parts:
        return prediction
    dropped = [part.path for part in parts if part not in kept] or ["text that is not a diff"]
    note = _left_out(dropped, "no tests")
    notes = prediction.notes if not prediction.patch.strip() else (*prediction.notes, note)
    return replace(prediction, patch="".join(part.text for part in kept), notes=notes)


def _may_be_written(part: FilePatch) -> bool:
    path = PurePosixPath(part.path)
    hidden = any(name.startswith(".") for name in path.parts)
    if part.new is None or part.old not in (None, part.new) or part.binary or hidden:
        return False
    path_is_tests = _TESTS.match(path.name) is not None or "tests" in path.parts[:-1]
    if path.suffix != ".py" or not is_test_file(part.path) or is_runner_file(part.path):
        return False
    return _MODE.search(part.text.partition("\n@@ ")[0]) is None and (path_is_tests or not part.old)

"""The original code in a workspace, on which drafts of tests are tried one after another.

Everything here blocks; methods call it through `asyncio.to_thread`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from refute.core.methods import Bounds
from refute.errors import PatchRejected
from refute.source.syntax import first_line, functions_in, readable_module
from refute.workspace.contract import Failure, TestReport, TestResult, TestSelection, Workspace
from refute.workspace.patches import added_lines, is_test_file, test_files
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
    """What became of a test patch on the original code."""

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
        """Whether it applied and touched a test file."""
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
        """The text of a file; None where it does not exist or is no text."""
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
        """Whether the tests of an existing file take longer than `whole`."""
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
        """Whether a test's own import finds nothing, and nothing of the repository is meant."""
        failure = result.failure
        if failure is None or failure.type != "ModuleNotFoundError" or not failure.frames:
            return False
        named = _NO_MODULE.fullmatch(failure.message)
        if named is None or failure.frames[-1].file != result.file:
            return False
        names = {named[1], f"{named[1]}.py"}
        return all(names.isdisjoint(path.split("/")) for path in self.paths())

    def fault(self, trial: TrialRun) -> str:
        """Why no test can be run here, with the trial's patch or without it: another runner than
        the tests are for, say. "" where some test was run, or no existing test file can tell."""
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
        """What to run of the test files of a patch that is applied."""
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
    """How tests fail, in about `limit` characters: those that fail alike are told once."""
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
    """What is equal of tests that fail alike: the exception, and the place in the code that raised
    it; of an assertion of the test itself, the test."""
    if result.failure is None:
        return (runnable_id(result.id), "")
    frames = _frames(result.failure.traceback)
    inner = [frame for frame in frames if result.file not in frame.partition("\n")[0]]
    if not inner or result.failure.type == "AssertionError" or frames[-1:] != inner[-1:]:
        return (runnable_id(result.id), result.failure.type)
    return (result.failure.type, inner[-1])


def _said(result: TestResult) -> str:
    """What a failure says, in a few words."""
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

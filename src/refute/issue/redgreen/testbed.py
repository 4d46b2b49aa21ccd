"""Run test drafts on the original code, fixes beside existing tests, and tests on fixes.

Everything here blocks. It raises `WorkspaceUnavailable`, and `OutOfBounds` where the issue's
seconds are used up.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from refute.core.methods import Bounds
from refute.core.problems import IssueProblem
from refute.core.storage import cache_folder, key_of
from refute.errors import PatchRejected
from refute.hardening.mutants import edits_of
from refute.issue.context import IMPORTS, neighbouring_tests
from refute.issue.contract import OutOfBounds
from refute.issue.original import (
    WHOLE,
    Original,
    TrialRun,
    described,
    groups_told,
    runnable_id,
    scrubbed,
    shortened,
)
from refute.source.syntax import Function, readable_module
from refute.workspace.contract import (
    CommandResult,
    TestReport,
    TestResult,
    TestSelection,
    Workspace,
)
from refute.workspace.patches import added_lines, test_files, touched_files
from refute.workspace.running import (
    FAILING,
    ReportCache,
    TestStatus,
    applied,
    newly_failing,
    rejection,
    run_on,
    statuses,
)

_FORMAT = 3
_LEAST_SECONDS = 1.0


def memory_of(problem: IssueProblem) -> Path | None:
    """Return the folder for the runs of an issue; None where the environment may change between
    runs.

    An interpreter of the user's own has whatever was installed last, so nothing of it is kept.
    """
    if problem.recipe is None or problem.recipe.interpreter is not None:
        return None
    where = [problem.repo, problem.base_commit, asdict(problem.recipe)]
    return cache_folder() / "redgreen" / key_of(_FORMAT, *where)


class Remembering:
    """Passes everything on to a workspace, but for runs of tests that are known already.

    A run is known by the patches applied since the last reset, what was written, the selection and
    the lines counted. Only runs that finished and were not meddled with are kept, and that the
    original code's own tests take longer than they may.
    """

    def __init__(
        self, workspace: Workspace, memory: Path | None, seconds_left: Callable[[], float]
    ) -> None:
        self._inner = workspace
        self._memory = memory
        self._cache = ReportCache(memory)
        self._seconds_left = seconds_left
        self._state: list[str] = []

    def unhurried(self) -> Remembering:
        """The same workspace and memory, for runs that are not kept to the issue's seconds."""
        return Remembering(self._inner, self._memory, lambda: math.inf)

    @property
    def root(self) -> Path:
        """As the workspace's."""
        return self._inner.root

    def apply(self, patch: str) -> None:
        """As `Workspace.apply`."""
        self._inner.apply(patch)
        self._state.append(patch)

    def read(self, path: str) -> bytes:
        """As `Workspace.read`."""
        return self._inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        """As `Workspace.write`."""
        self._inner.write(path, data)
        self._state.append(f"{path}\0{hashlib.sha256(data).hexdigest()}")

    def files(self) -> Sequence[str]:
        """As `Workspace.files`."""
        return self._inner.files()

    def run_tests(
        self,
        selection: TestSelection,
        *,
        count_lines: Mapping[str, Sequence[int]] | None = None,
        timeout: float = 600.0,
    ) -> TestReport:
        """As `Workspace.run_tests`. Raises `OutOfBounds` where no time is left for a new run."""
        lines = {file: list(numbers) for file, numbers in (count_lines or {}).items()}
        allowed = None if self._state else timeout  # those of the original code are kept, too long
        what = [self._state, *astuple(selection), lines, allowed]
        known = self._cache.get(*what)
        if known is not None:
            return known
        left = self._seconds_left()
        if left < _LEAST_SECONDS:
            raise OutOfBounds("no time is left to run tests")
        report = self._inner.run_tests(
            selection, count_lines=count_lines, timeout=min(timeout, left)
        )
        too_long = report.status == "timeout" and not self._state and timeout <= left
        if report.status == "finished" or too_long:
            self._cache.put(report, *what)
        return report

    def run(
        self, command: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """As `Workspace.run`."""
        self._state.append(f"ran\0{command}")
        return self._inner.run(command, timeout=timeout, env=env)

    def diff(self) -> str:
        """As `Workspace.diff`."""
        return self._inner.diff()

    def reset(self) -> None:
        """As `Workspace.reset`."""
        self._inner.reset()
        self._state = []

    def protections(self) -> Mapping[str, bool]:
        """As `Workspace.protections`."""
        return self._inner.protections()

    def close(self) -> None:
        """As `Workspace.close`."""
        self._inner.close()

    def __enter__(self) -> Remembering:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._inner.__exit__(*exc)


Row = Mapping[str, TestStatus]
"""Status of each test of a draft with a fix applied."""

MOST_MUTANTS = 8
"""Of a fix, on which tests that are as much believed are compared."""
_NEAR = 2
"""Existing test files that a fix is run beside; tests of much-imported modules take minutes."""
_OUTPUT = 2000
"""Characters of a run's output in a prompt."""
_SAID = 300
"""Characters of a failure in one line."""


@dataclass(frozen=True, slots=True)
class CandidateFix:
    """A candidate fix, run beside the existing tests near it."""

    number: int
    patch: str
    """Unified diff of code files."""
    rejected: str = ""
    """Reason why it cannot be used: it does not apply, or no test can be run with it."""
    broken: tuple[TestResult, ...] = ()
    """Existing tests that pass on the original code and fail with it."""
    near: tuple[str, ...] = ()
    """Test files that were run."""
    answers: frozenset[int] = frozenset({0})
    """The numbers of the answers that held this fix, in one spelling or another."""

    @property
    def drawn(self) -> int:
        """Number of answers that held it."""
        return len(self.answers)

    @property
    def weight(self) -> float:
        """Weight before any new test is run: 1 for each answer that held it.

        A right fix may break a test that demands what the issue calls wrong, so broken tests count
        against it and do not rule it out.
        """
        return 0.0 if self.rejected else self.drawn / (1 + len(self.broken))


class TestBed:
    """A workspace in which drafts and fixes are tried one after another."""

    __test__ = False  # not a test class of pytest

    def __init__(self, workspace: Workspace, bounds: Bounds) -> None:
        self.workspace = workspace
        self.original = Original(workspace, bounds, whole=WHOLE)
        self.sources = self.original.sources()
        self._seconds = bounds.test_seconds

    def try_tests(self, patch: str) -> TrialRun:
        """A test patch on the original code."""
        return self.original.attempt(patch)

    def try_fix(
        self, number: int, patch: str, first: Sequence[str] = (), answer: int = 0
    ) -> CandidateFix:
        """A fix beside the existing tests of what it changes: those of `first`, then those that
        are named after it or import it. `answer`: which answer it is of."""
        held = frozenset({answer})
        nothing = "" if patch.strip() else "it changes no code"
        if rejected := nothing or rejection(self.workspace, patch):
            return CandidateFix(number, patch, rejected, answers=held)
        near = neighbouring_tests(touched_files(patch), self.sources, hint=patch, least=IMPORTS)
        near = tuple(dict.fromkeys((*(path for path in first if path in self.sources), *near)))
        near = near[:_NEAR]
        near = tuple(path for path in near if not self.original.is_long(path))
        if not near:
            return CandidateFix(number, patch, answers=held)
        before = self.original.base(near)
        after = self._run((patch,), near)
        if before.results and not after.results:
            said = (after.output.strip().splitlines() or [after.remark])[-1]
            why = f"no existing test can be run with it: {said[:_SAID]}"
            return CandidateFix(number, patch, why, answers=held)
        return CandidateFix(number, patch, "", newly_failing(before, after), near, held)

    def meaning(self, patch: str) -> object:
        """Return the code files with a fix, without spelling: equal for two patches whose files
        have equal syntax trees, comments and docstrings left out."""
        paths = [path for path in touched_files(patch) if path.endswith(".py")]
        try:
            with applied(self.workspace, patch):
                return tuple((path, _meaning(self.original.source(path) or "")) for path in paths)
        except PatchRejected:
            return patch

    def cross(self, trial: TrialRun, fix: CandidateFix) -> Row:
        """The tests that a draft adds or changes, with the fix applied."""
        wanted = {result.id: result.file for result in self.added(trial)}
        if fix.rejected or not wanted:
            return {}
        try:
            report = self._with(trial, fix.patch)
        except PatchRejected:
            return {}
        stand = statuses(report)
        return {id: stand.of(id, file) for id, file in wanted.items()}

    def mutants(self, fix: CandidateFix) -> list[CandidateFix]:
        """The fix with one small change in a line that it adds, `MOST_MUTANTS` of them, spread."""
        found = list[str]()
        with applied(self.workspace, fix.patch):
            for path, lines in added_lines(fix.patch).items():
                text = self.original.source(path) if path.endswith(".py") else None
                data, tree = (text or "").encode(), readable_module(text or "")
                for node in (one for one in ast.walk(tree) if isinstance(one, Function)):
                    for edit in edits_of(data, node):
                        if edit.line in lines:
                            self.workspace.write(path, edit.into(data))
                            found.append(self.workspace.diff())
                if found:
                    self.workspace.write(path, data)
        chosen = dict.fromkeys(found[:: -(-len(found) // MOST_MUTANTS) or 1])
        return [CandidateFix(-1, patch) for patch in chosen]

    def fixed_run(self, trial: TrialRun, fix: CandidateFix) -> str:
        """The same run as text for a prompt: what still fails, and how."""
        try:
            report = self._with(trial, fix.patch)
        except PatchRejected as error:
            return f"The tests could not be run with the change: {error}"
        wanted = {result.id for result in self.added(trial)}
        failing = tuple(
            r
            for r in report.results
            if r.outcome in FAILING and (r.id in wanted or r.phase == "collect")
        )
        return self.told(TrialRun(trial.patch, report, failing))

    def added(self, trial: TrialRun) -> tuple[TestResult, ...]:
        """Results on the original code of the tests that a draft adds or makes fail."""
        if trial.report is None:
            return ()
        files = [path for path in test_files(trial.patch) if path in self.original.paths()]
        known = {r.id for r in self.original.base(files).results} if files else set()
        failing = {result.id for result in trial.failing}
        return tuple(
            result
            for result in trial.report.results
            if result.phase != "collect" and (result.id in failing or result.id not in known)
        )

    def executed(self, trial: TrialRun, fix: CandidateFix) -> frozenset[tuple[str, int]]:
        """Return the lines added by the fix that the draft's tests execute, as (file, line)."""
        counted = {f: n for f, n in added_lines(fix.patch).items() if f.endswith(".py")}
        if not counted or not self.added(trial):
            return frozenset()
        try:
            report = self._with(trial, fix.patch, counted)
        except PatchRejected:
            return frozenset()
        return frozenset(
            (file, line) for file, lines in report.lines.items() for line, n in lines.items() if n
        )

    def told_together(self, trials: Sequence[TrialRun]) -> str:
        """Describe the failing tests of several trials; what fails alike is described once.

        Before the id of a test stands the number of its trial.
        """
        told = groups_told(trial.failing for trial in trials)
        return scrubbed(told, str(self.workspace.root))

    def told(self, trial: TrialRun) -> str:
        """A trial as a prompt quotes it, the same in each run of the same tests."""
        text = described(trial)
        if trial.report is not None and not trial.asserted:  # set-up: the runner says more
            text += f"\n\nThe end of what it printed:\n{trial.report.output[-_OUTPUT:]}"
        return scrubbed(text, str(self.workspace.root))

    def told_fix(self, fix: CandidateFix) -> str:
        """Describe the result of a fix, as a prompt quotes it."""
        if fix.rejected:
            return scrubbed(f"The change cannot be used: {fix.rejected}", str(self.workspace.root))
        parts = [f"{len(fix.broken)} existing tests passed before the change and fail with it:"]
        for result in fix.broken[:5]:
            trace = "" if result.failure is None else shortened(result.failure.traceback, 1500)
            parts.append(f"{result.id}\n{trace}")
        return scrubbed("\n".join(parts), str(self.workspace.root))

    # -- running -----------------------------------------------------------------------------------

    def _with(
        self, trial: TrialRun, fix: str, counted: Mapping[str, Sequence[int]] | None = None
    ) -> TestReport:
        """The draft's own tests with a fix; its whole files where they cannot be named singly."""
        results = self.added(trial)
        files = tuple(dict.fromkeys(result.file for result in results if result.file))
        names = tuple(dict.fromkeys(runnable_id(result.id) for result in results))
        report = self._run((fix, trial.patch), files, names, counted)
        if report.results:
            return report
        return self._run((fix, trial.patch), test_files(trial.patch), (), counted)

    def _run(
        self,
        patches: Sequence[str],
        files: Sequence[str],
        tests: Sequence[str] = (),
        counted: Mapping[str, Sequence[int]] | None = None,
    ) -> TestReport:
        selection = TestSelection(tuple(files), tuple(tests))
        return run_on(
            self.workspace, patches, selection, timeout=self._seconds, count_lines=counted
        )


def _meaning(text: str) -> str:
    tree = readable_module(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            first = body[0].value
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return ast.dump(tree) if tree.body else text

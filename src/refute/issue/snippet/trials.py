"""Drafts run on the original code: what their expressions were, how they failed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from refute.core.methods import Bounds
from refute.issue.drafting.original import Original, TrialRun
from refute.issue.snippet.evidence import ScriptError, Seen, Value
from refute.issue.snippet.rendering import Style, TestSketch, patch_of, read_marks, with_tests
from refute.workspace.contract import Failure, TestResult
from refute.workspace.patches import is_test_file
from refute.workspace.running import FAILING

_NO_DATABASE = re.compile(r"quer\w+ .*allowed in SimpleTestCase", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ran:
    """A draft in a file of its own, or with others, and what became of it."""

    draft: TestSketch
    style: Style
    source: str
    """The whole file that it was run in."""
    result: TestResult | None
    """None: it did not run."""

    @property
    def failure(self) -> Failure | None:
        """How its call failed; None where it passed or was never called."""
        result = self.result
        if result is None or result.phase != "call" or result.outcome not in FAILING:
            return None
        return result.failure

    @property
    def wants_database(self) -> bool:
        """Whether it failed for want of a database."""
        failure = self.failure
        return failure is not None and _NO_DATABASE.search(failure.message) is not None

    def seen(self, path: str) -> Seen | None:
        """What a probe in the file `path` saw; None where it tells nothing."""
        failure = self.failure
        if failure is None:
            return None
        if failure.type == "AssertionError" and failure.message.startswith("NOTED "):
            return _noted(failure.message.removeprefix("NOTED "))
        statement, line = None, ""
        for frame in failure.frames:
            if frame.file == path:
                statement = read_marks(self.source, frame.line)
                line = self.source.split("\n")[frame.line - 1]
                break
        if statement is None:
            return None
        inside = any(_of_repository(frame.file) for frame in failure.frames)
        form = self._shown_by(path)
        return Seen(
            raised=ScriptError(statement, failure.type, failure.message, inside, line, form)
        )

    def _shown_by(self, path: str) -> str:
        """The function by which the probe in the file `path` showed the value as it failed."""
        lines = self.source.split("\n")
        for frame in self.failure.frames if self.failure is not None else ():
            if frame.file == path and frame.function == "note":
                match = re.search(r"= (repr|str)\(value\)", lines[frame.line - 1])
                return match[1] if match else ""
        return ""


class Bench:
    """Runs drafts in new files beside a test file, within the bounds."""

    def __init__(self, original: Original, bounds: Bounds) -> None:
        self.original = original
        self._end = time.monotonic() + bounds.seconds
        self.runs = 0

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() > self._end

    def attempt(self, patch: str) -> TrialRun:
        """As `Original.attempt`; nothing is run any more when the time is up."""
        if self.out_of_time:
            return TrialRun(patch, rejected="the time is up")
        self.runs += 1
        return self.original.attempt(patch)

    def run(
        self,
        path: str,
        drafts: Sequence[TestSketch],
        styles: Sequence[Style],
        title: str,
    ) -> list[Ran]:
        """Run drafts together in the new file `path`, with the first of the styles that serves.

        A draft that spoils the file for the others (it cannot be compiled) is run alone.
        """
        found = self._together(path, drafts, styles[0], title)
        if len(drafts) > 1 and all(ran.result is None for ran in found):
            found = []
            for draft in drafts[:4]:
                found += self._together(path, [draft], styles[0], title)
        hungry = [ran.draft for ran in found if ran.wants_database]
        if hungry and len(styles) > 1:
            again = self.run(path, hungry, styles[1:], title)
            fed = {ran.draft.name: ran for ran in again}
            found = [fed.get(ran.draft.name, ran) for ran in found]
        return found

    def _together(
        self, path: str, drafts: Sequence[TestSketch], style: Style, title: str
    ) -> list[Ran]:
        source = with_tests("", drafts, style, title=title)
        trial = self.attempt(patch_of(path, source, self.original.source))
        results = trial.report.results if trial.report is not None else ()
        return [Ran(draft, style, source, result_of(draft, results)) for draft in drafts]


def result_of(draft: TestSketch, results: Sequence[TestResult]) -> TestResult | None:
    """The draft's own result of a run."""
    pattern = re.compile(rf"\btest_{draft.name}\b")
    return next((result for result in results if pattern.search(result.id)), None)


def free_path(home: str, name: str, taken: Sequence[str]) -> str:
    """A path for a new test file beside `home`."""
    folder = PurePosixPath(home).parent
    path = str(folder / f"test_{name}.py")
    number = 2
    while path in taken:
        path = str(folder / f"test_{name}_{number}.py")
        number += 1
    return path


def _noted(text: str) -> Seen | None:
    """The notes of a probe; it ran somebody's code, so they are checked like any input."""
    try:
        rows = json.loads(text)
        values = {int(n): Value(str(shown), str(plain)) for n, shown, plain in rows}
    except (ValueError, TypeError):
        return None
    return Seen(values)


def _of_repository(file: str) -> bool:
    return not file.startswith(("/", "<")) and not is_test_file(file)

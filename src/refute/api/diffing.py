"""What `diff` found out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from refute.api.calling import Reported
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.diffing.differences import Difference
from refute.diffing.pinning import Pin, PinnedTest, Side, pinned_tests, put_into_project, together
from refute.diffing.service import Compared, Diffed
from refute.errors import InputError

if TYPE_CHECKING:
    from refute.results.changes import Diff
    from refute.results.formats import Report


@dataclass(frozen=True, slots=True)
class DiffResult(Reported):
    """What a change does, as far as it was found out."""

    diffed: Diffed
    known: int = 0
    """Functions of which only what the baseline knows differs; they are not here."""

    @property
    def functions(self) -> tuple[Compared, ...]:
        """What came of each changed function."""
        return tuple(self.diffed.functions)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Inputs on which the revisions differ, of all functions."""
        return tuple(d for one in self.functions for d in one.comparison.differences)

    @property
    def unexplained(self) -> bool:
        """Whether a function behaves otherwise and no changed test, docstring, change log or
        message names it."""
        return self.diffed.unexplained

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; what was done by then is here."""
        return self.diffed.interrupted

    def tests(
        self, pin: Pin | Side, *, hypothesis: bool = False, placed: bool = True
    ) -> list[PinnedTest]:
        """A test for each difference, that pins one side, or for each the side that `pin` says.

        `hypothesis`: as properties to fill in. `placed`: in the style of the project's tests.
        """
        chosen: Pin = (lambda one, difference: pin) if isinstance(pin, str) else pin
        root = self.diffed.repo
        return list(pinned_tests(self.diffed, chosen, root, hypothesis=hypothesis, placed=placed))

    def document(self) -> Diff:
        """The result as `diff/1`."""
        from refute.results.changes import Diff, comparison

        return Diff(**asdict(comparison(self.diffed)), known=self.known)

    def report(self) -> Report:
        """What there is to report."""
        from refute.function.contract import Skipped
        from refute.results.formats import Report
        from refute.results.formats.changes import case_of_change
        from refute.results.text.changes import summary_line

        left = tuple(
            Skipped(
                f"{one.path}:{one.line}" if one.line else one.path, "cannot be read", one.reason
            )
            for one in self.diffed.changes.unreadable
        )
        cases = tuple(map(case_of_change, self.functions))
        line = summary_line(self.diffed)
        return Report("diff", cases, left, line, self.known, self.interrupted)

    def write_baseline(self, file: Path | str) -> int:
        """Write the differences as known; what the file knows of other functions stays. Returns how
        many problems it knows then. Raises `InputError`."""
        from refute.results.baselines import OF_CHANGES, write_baseline

        return write_baseline(Path(file), self.report(), OF_CHANGES)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.results.text.changes import print_diffed

        print_diffed(self.diffed, console)


def check_output(output: Path | None, pin: str | None, *, force: bool) -> None:
    """Raise `InputError` where the tests could not be written, before any work."""
    if output is None:
        return
    if pin is None:
        raise InputError(f"{output}: say with --pin which side the tests are to call right")
    if output.is_dir() or output.suffix != ".py":
        raise InputError(f"{output}: name a file, test_x.py")
    if not output.parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.parent}")
    if output.exists() and not force:
        raise InputError(f"{output}: exists; add --force to replace it")


def write_pinned(
    result: DiffResult, pin: Any, output: Path | None, *, hypothesis: bool = False
) -> list[Path]:
    """Write a test for each difference into `output`, or among the project's own tests.

    `pin`: see `DiffResult.tests`. Returns the files written.
    """
    tests = result.tests(pin, hypothesis=hypothesis, placed=output is None)
    left = len(result.differences) - len(tests)
    if left:
        remark([f"{left} of {len(result.differences)} differences are not written as tests"])
    if not tests:
        return []
    files = put_into_project(tests) if output is None else {output: together(tests)}
    for path, text in files.items():
        write_output(path, text, folders=True)
    remark(f"tests written to {path}" for path in files)
    return list(files)

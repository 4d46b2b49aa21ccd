"""`red_green`: given tests on two states of a repository.

>>> found = refute.red_green(repo=".", base="main")
>>> [test.id for test in found.tests if test.turn == "red to green"]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute.gating.change import Change, open_change
from refute.gating.running import Runs, Standing, changed_test_files, selection_of, standings
from refute.verbs.output import Shown, apart, path_of
from refute.workspace.contract import TestReport
from refute.workspace.factory import Checkout

if TYPE_CHECKING:
    from refute.results.gate import RedGreen


@dataclass(frozen=True, slots=True)
class RedGreenResult(Shown):
    """Tests before and after a change."""

    base: str
    """What people call the state before, such as "HEAD"."""
    head: str
    """The same of the state after, such as "working tree"."""
    tests: tuple[Standing, ...]
    before: TestReport
    """The run on the old code, with the tests of the change applied."""
    after: TestReport

    @property
    def turned(self) -> tuple[Standing, ...]:
        """The tests that failed on the old code and pass on the new."""
        return tuple(one for one in self.tests if one.turn == "red to green")

    @property
    def sound(self) -> bool:
        """Whether both runs came to their end, and nothing meddled with their results."""
        return all(one.status == "finished" and one.trusted for one in (self.before, self.after))

    def document(self) -> RedGreen:
        """The result as `red-green/1`."""
        from refute.results.gate import red_green_document

        return red_green_document(self)

    def print(self, console: Any) -> None:
        """What a notebook shows."""
        from refute.results.text.changes import print_standings

        print_standings(self.tests, console)


def red_green(
    tests: Sequence[str] = (),
    *,
    repo: Path | str = ".",
    base: str | None = None,
    head: str | None = None,
    python: Path | str | None = None,
    runner: str | None = None,
    timeout: float = 300.0,
) -> RedGreenResult:
    """Run tests on the old code, with only the tests of the change applied, and on the new code.

    `tests`: test files or ids (`tests/test_x.py::test_a`), relative to the root of the repository;
    none: the test files that the change adds or changes. `base`: the commit before; None: HEAD
    where the working tree has changes that are not committed, else where the branch left the main
    one. `head`: the commit after; None: the working tree, new files included. `python`, `runner`:
    how the tests run, as in `refute.reproduce`. `timeout`: seconds for each of the two runs.

    Everything runs in a workspace; nothing in the checkout is changed. Raises `InputError`,
    `Unavailable`.
    """

    def work() -> RedGreenResult:
        change = open_change(Checkout(Path(repo), path_of(python), runner), base, head)
        selection = selection_of(tests or changed_test_files(change))
        _check(change, tests)
        with change.workspace() as workspace:
            runs = Runs(change, workspace, timeout)
            old, new = runs.run("red", selection), runs.run("new", selection)
        return RedGreenResult(change.base_label, change.head_label, standings(old, new), old, new)

    return apart(work)


def _check(change: Change, tests: Sequence[str]) -> None:
    for one in tests:
        path = one.partition("::")[0]
        if path.startswith("/") or not change.holds(path):
            raise InputError(
                f"{path}: no such test file in the {change.head_label} of {change.root}"
            )

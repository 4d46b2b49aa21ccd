"""`debug --failing`: fixes of what the tests that `pytest --refute-debug` saw failing suspect.

>>> result = refute.debug_failing(".refute/failing.json")
>>> result.mended[0].state, result.mended[0].diff
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown, apart, path_of
from refute.core.files import read_file
from refute.errors import InputError
from refute.function.contract import State
from refute.function.source import read_source, unified_diff
from refute.function.verbs import Fix
from refute.recording.spectra import Failing, Suspect, read_failing
from refute.source.syntax import first_line, functions_in, readable_module
from refute.verbs.debug import debug
from refute.workspace.checkout import Checkout, in_checkout
from refute.workspace.contract import TestSelection, Workspace
from refute.workspace.snapshot import checkout_root

if TYPE_CHECKING:
    from refute.results.functions import DebugFailing

MOST_SUSPECTS = 3
"""Functions that are searched for the tests of one file."""
_LARGEST = 16 << 20
_SECONDS = 120.0
"""For one run of the tests."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A fix that turns failing tests green in the project's own runner and breaks none near."""

    file: str
    """Path below the root."""
    function: str
    state: State
    """Fixed or proposed, as `debug` says."""
    diff: str
    green: tuple[str, ...]
    """Ids of the tests that failed and pass with it."""
    stay: int
    """Tests that execute the function and pass with it as without."""


@dataclass(frozen=True, slots=True)
class FailingResult(Shown):
    """What was found for each failing test."""

    failing: tuple[Failing, ...]
    suspects: tuple[tuple[str, ...], ...]
    """Of each failing test the functions it suspects, most first: `shop/prices.py::shipping`."""
    mended: tuple[Mended, ...]
    unsearched: tuple[tuple[str, str], ...] = ()
    """Suspects that could not be searched, each with the reason: no test calls it by itself."""

    @property
    def state(self) -> State:
        """Fixed where each failing test has such a fix, proposed where each has any, else wrong."""
        green = {test: one.state for one in self.mended for test in one.green}
        states = {green.get(one.test, State.WRONG) for one in self.failing}
        for state in (State.WRONG, State.PROPOSED):
            if state in states:
                return state
        return State.FIXED

    def document(self) -> DebugFailing:
        """The result as `failing/1`."""
        from refute.results.functions import failing_document

        return failing_document(self)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.failing import print_failing

        print_failing(self, console)


def debug_failing(
    path: Path | str,
    *,
    repo: Path | str = ".",
    python: Path | str | None = None,
    budget: float = 10.0,
    seed: int = 0,
) -> FailingResult:
    """Search the functions that failing tests suspect for small fixes; nothing is written.

    `path`: what `pytest --refute-debug` wrote. `python`: the interpreter of the tests. `budget`:
    seconds a function. A fix is shown if `debug` finds it with the tests of the failing test's
    file, and it turns a failing test green in a workspace and no passing one red. Raises
    `InputError`, `Unavailable`.
    """
    try:
        text = read_file(Path(path), limit=_LARGEST).decode()
        failing = tuple(read_failing(text))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; run pytest --refute-debug first") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None

    def work() -> FailingResult:
        root = checkout_root(Path(repo))
        for one in failing:
            if not (root / one.file).is_file():
                raise InputError(f"{one.file}: not below {root}; run pytest in that folder")
        named = tuple(tuple(_named(one.suspects, root)) for one in failing)
        mended: list[Mended] = []
        unsearched: dict[str, str] = {}
        if any(named):
            spawn = in_checkout(Checkout(root, path_of(python)), "")[1]
            with spawn() as workspace:
                for file in dict.fromkeys(one.file for one in failing):
                    how: dict[str, Any] = {"budget": budget, "seed": seed, "python": python}
                    own = [
                        (one, names)
                        for one, names in zip(failing, named, strict=True)
                        if one.file == file
                    ]
                    mended += _mended(own, root / file, root, workspace, how, unsearched)
        return FailingResult(failing, named, tuple(mended), tuple(unsearched.items()))

    return apart(work)


def _named(suspects: Sequence[Suspect], root: Path) -> list[str]:
    """The functions and methods that hold the suspects: a lambda stands for what it is in."""
    found = []
    for one in suspects:
        try:
            tree = readable_module(read_source(root / one.place.file).text)
        except InputError:
            continue
        for name, node in functions_in(tree).items():
            if first_line(node) <= one.line <= (node.end_lineno or 0):
                found.append(f"{one.place.file}::{name}")
    return list(dict.fromkeys(found))


def _mended(
    tests: Sequence[tuple[Failing, tuple[str, ...]]], file: Path, root: Path,
    workspace: Workspace, how: dict[str, Any], unsearched: dict[str, str],
) -> list[Mended]:  # fmt: skip
    """Fixes for the failing tests of one file, until each is green or nothing is left to search.
    Suspects that cannot be searched are put into `unsearched`."""
    left = {one.test for one, _ in tests}
    ranked = [name for row in zip_longest(*(names for _, names in tests)) for name in row if name]
    found, searched = [], 0
    for target in dict.fromkeys(ranked):
        if not left or searched == MOST_SUSPECTS:
            break
        blaming = [one for one, names in tests if target in names]
        red = [one.test for one in blaming if one.test in left]
        if not red:
            continue
        near = dict.fromkeys(test for one in blaming for test in one.passing)
        place, _, name = target.partition("::")
        try:
            result = debug(f"{root / place}::{name}", tests=file, jobs=1, **how)
        except InputError as error:  # it does not load
            unsearched.setdefault(target, str(error))
            continue
        if result.state is State.CANNOT_TELL:
            unsearched.setdefault(target, "the tests call it through others alone")
            continue
        searched += 1
        for fix in result.fixes:
            one = _tried(fix, place, name, red, tuple(near), root, workspace)
            if one is not None:
                found.append(one)
                left -= set(one.green)
    return found


def _tried(
    fix: Fix, place: str, name: str, red: Sequence[str], near: Sequence[str], root: Path,
    workspace: Workspace,
) -> Mended | None:  # fmt: skip
    """A fix as the project's tests see it; None where it turns none green, or one red."""
    from refute.hardening.subject import freshen

    if fix.state not in (State.FIXED, State.PROPOSED) or fix.code == fix.before:
        return None
    freshen(workspace, root)
    workspace.write(place, fix.code.encode())
    report = workspace.run_tests(TestSelection(tests=(*red, *near)), timeout=_SECONDS)
    passed = {one.id for one in report.results if one.outcome == "passed"}
    green = tuple(test for test in red if test in passed)
    if not green or not report.trusted or not passed.issuperset(near):
        return None
    diff = unified_diff(fix.before, fix.code, place)
    return Mended(place, name, fix.state, diff, green, len(near))

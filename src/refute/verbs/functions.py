"""What `hunt` and `debug` share: their subject, progress, and how they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from refute.cli.exit_statuses import status_of_states
from refute.cli.output import consoles
from refute.core.remarks import remark
from refute.errors import InputError
from refute.function.service import Collected, FunctionOptions, Opened, open_subject, summary
from refute.function.target import Module, Targets
from refute.sandbox.deadline import end_after

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.results.text.consoles import Working

MOST_NAMED = 10
FEW = 20
"""For so many functions no lines of progress are written."""


Show = Callable[["Module", "Found", str], None]
"""Is told of each function's result, of its module, and how far the work is, in a line."""
Chosen = TypeVar("Chosen", bound=FunctionOptions)


def subject_of(options: Chosen, *, listed: bool) -> Chosen:
    """The options with the targets that changed since the commit that they name, if any, and with
    when the time is up. `listed`: see `hunt`. Raises `InputError`."""
    end, targets = end_after(options.total_budget), options.targets
    if options.since is not None and (targets or not listed):
        from refute.api.since import changed_since

        targets = changed_since(targets, options.since)
    elif not targets and not listed:
        raise InputError("name a target: FILE.py::FUNCTION, FILE.py, a folder or a module")
    return replace(options, targets=tuple(targets), end=end)


def opened_subject(subject: FunctionOptions) -> Opened:
    """The targets; none where nothing changed since the commit that was named."""
    if not subject.targets:
        return Opened(Targets(()), (), None)
    return open_subject(subject)


@contextmanager
def watching(
    print_one: Callable[[Module, Found, bool], None],
) -> Iterator[tuple[Callable[[Opened], None], Show, Working]]:
    """A spinner, and what is to be told of the targets and of each result, which `print_one`
    prints; its last argument: whether it is one of many files'."""
    from refute.results.text.consoles import working

    broad, total, done, told = False, 0, 0, 0
    with working("opening", consoles()[1]) as spinner:

        def opened(found: Opened) -> None:
            nonlocal broad, total
            broad, total = found.targets.broad, found.functions
            spinner.say(f"looking at {total} function{'s' * (total > 1)}")

        def show(module: Module, one: Found, how_far: str) -> None:
            nonlocal done, told
            with spinner.paused():
                print_one(module, one, broad)
            spinner.say(how_far)
            done += 1
            if not spinner.shown and total > FEW and 10 * done // total > told:
                told = 10 * done // total
                remark([how_far])

        yield opened, show, spinner


def conclude(got: Collected, *, fixing: bool = False, fail_on: str | None = None) -> int:
    """Say how it all came out, and return the exit status."""
    if len(got.results) + len(got.skipped) > 1 or (got.interrupted and got.results):
        remark([summary(Counter(got.states), Counter(one.kind for one in got.skipped))])
        if got.troubles:
            remark([f"of these {got.troubles} given up, for trouble of refute's own"])
    late = [one.where for one in got.skipped if one.kind == "no time left"]
    if late:
        shown = ", ".join(late[:MOST_NAMED]) + ", ..." * (len(late) > MOST_NAMED)
        remark([f"no time was left for {shown}"])
    if got.known:
        remark([f"{got.known} function{'s' * (got.known != 1)} with known problems alone"])
    if got.interrupted:
        raise KeyboardInterrupt
    if not got.results and (got.known or not got.skipped):
        return 0  # nothing changed since the commit that was named, or nothing is new
    return status_of_states(got.states, fixing=fixing, fail_on=fail_on)

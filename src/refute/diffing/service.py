"""Compare everything that a change touches, function by function."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from refute.diffing.callers import callers
from refute.diffing.changes import ChangedFunction, Changes, changed
from refute.diffing.engine import Comparison, Entry, Settings, compare_function
from refute.diffing.modules import Module, Modules
from refute.diffing.references import References
from refute.diffing.revisions import Revisions
from refute.diffing.sides import Sides
from refute.diffing.stated import Stated, stated
from refute.diffing.usage import Usage
from refute.function.interpreters import interpreter_of
from refute.recording.reading import read_recorded

__all__ = ["Compared", "Diffed", "compare"]

MOST_CALLERS = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """A changed function: what came of it, and what the change says of it."""

    comparison: Comparison
    stated: Stated | None
    intent: Literal["stated", "contradicted", "not mentioned"] | None = None
    """What a model says of it, where one was asked: then that counts."""

    @property
    def function(self) -> ChangedFunction:
        """What changed."""
        return self.comparison.function

    @property
    def unexplained(self) -> bool:
        """Whether it behaves otherwise, and nothing in the change says that it should."""
        meant = self.stated is not None if self.intent is None else self.intent == "stated"
        return self.comparison.verdict == "differs" and not meant


@dataclass(slots=True)
class Diffed:
    """All changed functions, as far as it went."""

    before: str
    after: str
    """Labels of the revisions."""
    changes: Changes
    repo: Path
    """Root of the checkout."""
    functions: list[Compared] = field(default_factory=list)
    interrupted: bool = False

    @property
    def unexplained(self) -> bool:
        """Whether any function behaves otherwise without a word of it."""
        return any(one.unexplained for one in self.functions)

    @property
    def counts(self) -> Counter[str]:
        """How many functions there are of each verdict."""
        return Counter(one.comparison.verdict for one in self.functions)


def compare(
    revisions: Revisions,
    settings: Settings,
    *,
    python: Path | None = None,
    recorded: Path | None = None,
    about: str = "",
    show: Callable[[Compared, int, int], None] = lambda one, done, total: None,
) -> Diffed:
    """Compare each changed function of the revisions; `show` is told of each, and how far it is.

    `recorded`: a file that `pytest --refute-record` wrote. `about`: what else is said of the
    change, as a commit message would. Ctrl-C ends it with what is done. Raises `InputError`,
    `SandboxUnavailable`.
    """
    if about.strip():
        revisions = replace(revisions, messages=(about.strip(), *revisions.messages))
    changes = changed(revisions)
    diffed = Diffed(revisions.before.label, revisions.after.label, changes, revisions.repo)
    interpreter = interpreter_of(revisions.repo, python)
    old, new = Modules(revisions.before), Modules(revisions.after)
    references = References(new)
    usage = Usage(revisions.after, read_recorded(recorded) if recorded is not None else ())
    start = time.monotonic()
    themselves = {one.after.target for one in changes.functions if not one.is_private}
    try:
        with Sides(revisions.before, revisions.after, interpreter) as sides:
            for number, function in enumerate(changes.functions, 1):
                if settings.total is not None and time.monotonic() - start > settings.total:
                    late = Comparison(function, reason="no time was left for it")
                    diffed.functions.append(Compared(late, stated(changes, function)))
                    continue
                also: list[str] = []
                entries = _entries(function, old, new, references, themselves, also)
                comparison = compare_function(function, entries, sides, settings, usage)
                if not comparison.differences and not comparison.ran and also:
                    comparison = replace(comparison, within=tuple(also), reason="")
                one = Compared(comparison, stated(changes, function))
                diffed.functions.append(one)
                show(one, number, len(changes.functions))
    except KeyboardInterrupt:
        diffed.interrupted = True
    return diffed


def _entries(
    function: ChangedFunction,
    old: Modules,
    new: Modules,
    references: References,
    changed_too: Set[str],
    also: list[str],
) -> Iterator[Entry]:
    """What to call; `also` gets the callers that changed too: they may show their own doing.

    A public function itself, then its callers, which are looked for only once they are wanted; of a
    private one the callers, and itself only where there are none. Where no line is another (hints
    alone differ), callers show nothing of it.
    """
    before, after = old.read(function.before.file), new.read(function.after.file)
    assert isinstance(before, Module)
    assert isinstance(after, Module)
    own = Entry(before, after, function.before.qualname, function.after.qualname)
    if not function.is_private:
        yield own
    count = 0
    lines = function.lines_before or function.lines_after
    for caller in callers(references, function) if lines else ():
        place = caller.place
        if place.target in changed_too:
            also.append(place.target)
            continue
        one, other = old.named(place.module), new.read(place.file)
        if one is None or not isinstance(other, Module):
            continue
        if place.qualname in one.found.functions and count < MOST_CALLERS:
            count += 1
            yield Entry(one, other, place.qualname, place.qualname, caller=True)
    if function.is_private and not count and not also:
        yield own

"""Compare everything that a change touches, function by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from refute.diffing.changes import ChangedFunction, Changes, changed
from refute.diffing.comparison import Comparison, Settings
from refute.diffing.differences import Intent
from refute.diffing.revisions import Revisions
from refute.diffing.stated import Stated, stated
from refute.diffing.working import Comparer, Work
from refute.errors import RefuteError
from refute.function.interpreters import interpreter_of

__all__ = ["Compared", "Diffed", "compare", "work_of"]

FEW = 3
"""So many functions are done in this process: workers take a while to start."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A changed function: what came of it, and what the change says of it."""

    comparison: Comparison
    stated: Stated | None
    intent: Intent | None = None
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
    about: str = "",
    jobs: int | None = None,
    chosen: Callable[[ChangedFunction], bool] = lambda function: True,
    show: Callable[[Compared, int, int], None] = lambda one, done, total: None,
) -> Diffed:
    """Compare each changed function of the revisions; `show` is told of each, and how far it is.

    `about`: what else is said of the
    change, as a commit message would. `jobs`: worker processes, each with a sandbox on both sides;
    None: half as many as there are cores. `chosen`: which functions are looked at. Ctrl-C ends it
    with what is done. Raises `InputError`, `SandboxUnavailable`.
    """
    if about.strip():
        revisions = replace(revisions, messages=(about.strip(), *revisions.messages))
    changes = changed(revisions, settings.end)
    changes = replace(changes, functions=tuple(filter(chosen, changes.functions)))
    work = work_of(revisions, changes, settings, python=python)
    done: dict[int, Compared] = {}
    diffed = Diffed(revisions.before.label, revisions.after.label, changes, revisions.repo)
    places = {id(function): place for place, function in enumerate(changes.functions)}
    try:
        with closing(_compared(changes.functions, work, jobs)) as results:
            for function, comparison in results:
                one = Compared(comparison, stated(changes, function))
                done[places[id(function)]] = one
                show(one, len(done), len(changes.functions))
    except KeyboardInterrupt:
        diffed.interrupted = True
    diffed.functions = [done[place] for place in sorted(done)]
    return diffed


def work_of(
    revisions: Revisions,
    changes: Changes,
    settings: Settings,
    *,
    python: Path | None = None,
) -> Work:
    """What a `Comparer` is told of a change. Raises `InputError`."""
    return Work(
        revisions,
        settings,
        interpreter_of(revisions.repo, python),
        frozenset(one.after.target for one in changes.functions if not one.is_private),
    )


def _compared(
    functions: Sequence[ChangedFunction], work: Work, jobs: int | None
) -> Generator[tuple[ChangedFunction, Comparison]]:
    """Each function with what came of it, in the order in which they are done."""
    from refute.core.processes import Failed, cores, run_tasks  # seldom needed for a small change

    if jobs is None:  # each runs a process on each side
        jobs = max(1, cores() // 2) if len(functions) > FEW else 1
    start = partial(Comparer, work)
    with ExitStack() as stack:
        results: Iterable[tuple[ChangedFunction, Comparison | RefuteError | Failed]]
        if jobs == 1 or len(functions) == 1:
            comparer = stack.enter_context(start())
            results = ((function, comparer(function)) for function in functions)
        else:
            results = stack.enter_context(closing(run_tasks(functions, start=start, jobs=jobs)))
        for function, done in results:
            if isinstance(done, RefuteError):
                raise done
            if isinstance(done, Failed):
                done = Comparison(function, reason=done.reason)
            yield function, replace(done, function=function)

"""Compare everything that a change touches, function by function, and say by name, without a model,
whether the change itself says of a function that it changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from refute.diffing.changes import ChangedFunction, Changes, changed
from refute.diffing.comparison import Comparison, Settings
from refute.diffing.differences import Intent
from refute.diffing.passages import Passage
from refute.diffing.revisions import Revisions
from refute.diffing.working import Comparer, Work
from refute.errors import RefuteError
from refute.function.interpreters import interpreter_of

_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Stated:
    """What speaks of the function."""

    kind: Literal["test", "docstring", "changelog", "message"]
    where: str
    """`tests/test_x.py:31`; of a message, its first line."""


def stated(changes: Changes, function: ChangedFunction) -> Stated | None:
    """The best evidence that a change of the function is meant: a changed test that names it, its
    own changed docstring, a new line of a change log, a commit message; None where none does.

    In prose a name of lower-case letters alone is taken for a word unless it is written as code.
    """
    found = list(_named(changes, function))
    tests = [one for one in found if one.kind == "test"]
    if tests:
        return tests[0]
    if function.docstring_line is not None:
        line = function.docstring_line or function.after.line
        return Stated("docstring", f"{function.after.file}:{line}")
    return found[0] if found else None


def _named(changes: Changes, function: ChangedFunction) -> Iterator[Stated]:
    *owners, name = function.qualname.split(".")
    owner = owners[-1] if owners else ""
    if name.startswith("__") and name.endswith("__") and owner:
        name, owner = owner, ""  # a special method is called by using the class
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    prose = _in_prose(name, owner)
    for passage in changes.passages:
        line = _line(passage, prose if passage.kind != "test" else word, owner)
        if line is None:
            continue
        if passage.kind == "message":
            yield Stated("message", passage.where[:_MOST_CHARACTERS])
        else:
            yield Stated(passage.kind, f"{passage.where}:{line}")


def _line(passage: Passage, pattern: re.Pattern[str], owner: str) -> int | None:
    if passage.kind == "test" and owner and owner not in passage.words:
        return None  # another class's method of that name
    hits = (number for number, text in passage.lines if pattern.search(text))
    return next(hits, None)


def _in_prose(name: str, owner: str) -> re.Pattern[str]:
    """A name where it is meant as one: with its class before it, as code, called, or of a form
    that no word has."""
    escaped = re.escape(name)
    word = rf"(?<!\w){escaped}(?!\w)"
    as_code = rf"[`'\"](?:[\w.]*\.)?{escaped}(?:\([^`'\"]*\))?[`'\"]|{word}\(|^{word}:"
    if owner:
        as_code = rf"{as_code}|(?<!\w){re.escape(owner)}\.{escaped}(?!\w)"
    if re.search(r"[_\d]|[a-z][A-Z]", name.strip("_")):
        as_code = rf"{as_code}|{word}"
    return re.compile(as_code)


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

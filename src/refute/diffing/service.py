"""Compare everything that a change touches, function by function, and say by name, without a model,
whether the change itself says of a function that it changed."""

from __future__ import annotations

import ast
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from refute.core.remarks import remark
from refute.diffing.changes import ChangedFunction, Changes, Passage, Place, changed, place_of
from refute.diffing.comparison import Comparison, Entry, Intent, Settings
from refute.diffing.engine import Usage, compare_function
from refute.diffing.modules import Module, Modules, References, Use
from refute.diffing.revisions import Revisions
from refute.diffing.sides import Sides
from refute.errors import RefuteError, Unavailable, reason_to_skip
from refute.function.target import interpreter_of
from refute.sandbox.interpreter import Interpreter

_MOST_LISTED = 12
_STEPS = 2
"""From caller to caller."""
_MOST_NAMES = 200
"""Names whose uses are looked for."""


def callers(references: References, function: Place) -> tuple[Place, ...]:
    """Public functions and methods of the project that refer to a function, nearest first, at most
    12; through private ones, constants (a table of functions) and other public ones.

    `references`: of the revision that `function` is looked for in.
    """
    level, seen = [function.target], {function.target}
    found: list[Place] = []
    for _ in range(_STEPS):
        following: list[str] = []
        todo = list(level)
        while todo and len(seen) < _MOST_NAMES:
            for use in _uses(references, todo.pop(0)):
                if use.target in seen:
                    continue
                seen.add(use.target)
                if use.definition is None:
                    todo.append(use.target)  # what reads the table is as near
                    continue
                following.append(use.target)
                if not use.definition.is_private:
                    found.append(place_of(use.module, use.definition))
        level = following
    return tuple(found[:_MOST_LISTED])


def _uses(references: References, target: str) -> list[Use]:
    """Return the uses of a name; of a method also the functions that name its class and call a
    method of that name on something: `printer = Printer(); printer.print(x)`."""
    found = references.of(target)
    owner, _, last = target.rpartition(".")
    if not last.startswith("__"):
        found += [
            use
            for use in references.of(owner)
            if use.definition is not None
            and any(
                isinstance(node, ast.Attribute) and node.attr == last
                for top in use.definition.nodes
                for node in ast.walk(top)
            )
            and use.target != target
            and use.target not in {one.target for one in found}
        ]
    return found


MOST_CALLERS = 3
LEAST = 1.0
"""Seconds for one function, at least: with less a look is of no use."""


@dataclass(frozen=True)
class Work:
    """Data that all functions of a change share, handed to each worker process."""

    revisions: Revisions
    settings: Settings
    interpreter: Interpreter | None
    themselves: frozenset[str]
    """The public functions that changed: they show their own doing."""


class Comparer:
    """Compares functions of one change. A context manager: ends its sandboxes."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.old, self.new = Modules(work.revisions.before), Modules(work.revisions.after)
        self.usage = Usage(work.revisions.after)

    @cached_property
    def sides(self) -> Sides:
        """Both revisions, opened on first use."""
        revisions = self.work.revisions
        return Sides(revisions.before, revisions.after, self.work.interpreter)

    @cached_property
    def _references(self) -> References:
        return References(self.new)

    def __enter__(self) -> Comparer:
        return self

    def __exit__(self, *failed: object) -> None:
        if "sides" in self.__dict__:
            self.sides.__exit__(*failed)

    def compare(self, function: ChangedFunction) -> Comparison:
        """Compare one function. Raises `SandboxUnavailable`."""
        settings = self.work.settings
        left = settings.end - time.monotonic()
        if left <= 0:
            return Comparison(function, reason="no time was left for it")
        settings = replace(settings, seconds=min(settings.seconds, max(LEAST, left)))
        also: list[str] = []
        entries = self._entries(function, also)
        found = compare_function(function, entries, self.sides, settings, self.usage)
        if also and not found.differences and (not found.ran or found.unseen):
            return replace(found, within=tuple(also), reason="")
        return found

    def demands(self, found: Comparison, passage: Passage) -> bool:
        """Return whether a test may demand the new behaviour. One that passes on the code before
        and fails on the code after pins the old behaviour."""
        test, beside = self.new.read(passage.where), self.new.read(found.function.after.file)
        if found.verdict != "differs" or not passage.test:
            return True
        if not isinstance(test, Module) or not isinstance(beside, Module):
            return True
        old, new = self.sides.both(
            lambda: self.sides.before.run_test(test, passage.test, beside),
            lambda: self.sides.after.run_test(test, passage.test, beside),
        )
        return (old.kind, new.error) != ("returned", "AssertionError")

    def __call__(self, function: ChangedFunction) -> Comparison | RefuteError:
        """`compare`, as the task of a worker process: what is missing is handed back, since it is
        missing for all."""
        try:
            return self.compare(function)
        except RefuteError as error:
            return error
        except Exception as error:
            return Comparison(function, reason=reason_to_skip(error))

    def _entries(self, function: ChangedFunction, also: list[str]) -> Iterator[Entry]:
        """Yield the calls to try; `also` receives the callers that changed themselves.

        A public function itself, then its callers, which are looked for only once they are wanted;
        of a private one the callers, and itself only where there are none. Where no line is another
        (hints alone differ), callers show nothing of it.
        """
        before, after = self.old.read(function.before.file), self.new.read(function.after.file)
        assert isinstance(before, Module)
        assert isinstance(after, Module)
        own = Entry(before, after, function.before.qualname, function.after.qualname)
        if not function.is_private:
            yield own
        count = 0
        lines = function.lines_before or function.lines_after
        for place in callers(self._references, function.after) if lines else ():
            if place.target in self.work.themselves:
                also.append(place.target)
                continue
            one, other = self.old.named(place.module), self.new.read(place.file)
            if one is None or not isinstance(other, Module):
                continue
            if place.qualname in one.found.functions and count < MOST_CALLERS:
                count += 1
                yield Entry(one, other, place.qualname, place.qualname, caller=True)
        if function.is_private and not count and not also:
            yield own


_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Stated:
    """Mention of a changed function by the change itself."""

    kind: Literal["test", "docstring", "changelog", "message"]
    where: str
    """`tests/test_x.py:31`; of a message, its first line."""


def stated(
    changes: Changes,
    function: ChangedFunction,
    demands: Callable[[Passage], bool] = lambda test: True,
) -> Stated | None:
    """The best evidence that a change of the function is meant: a changed test that names it, its
    own changed docstring, a new line of a change log, a commit message; None where none does.

    `demands`: whether a test demands what the function does now, or may.
    In prose a name of lower-case letters alone is taken for a word unless it is written as code.
    """
    found = list(_named(changes, function, demands))
    tests = [one for one in found if one.kind == "test"]
    if tests:
        return tests[0]
    if function.docstring_line is not None:
        line = function.docstring_line or function.after.line
        return Stated("docstring", f"{function.after.file}:{line}")
    return found[0] if found else None


def _named(
    changes: Changes, function: ChangedFunction, demands: Callable[[Passage], bool]
) -> Iterator[Stated]:
    *owners, name = function.qualname.split(".")
    owner = owners[-1] if owners else ""
    if name.startswith("__") and name.endswith("__") and owner:
        name, owner = owner, ""  # a special method is called by using the class
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    prose = _in_prose(name, owner)
    for passage in changes.passages:
        line = _line(passage, prose if passage.kind != "test" else word, owner)
        if line is None or (passage.kind == "test" and not demands(passage)):
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
    """A model's word on it, where one was asked; it counts."""

    @property
    def function(self) -> ChangedFunction:
        """Return the changed function."""
        return self.comparison.function

    @property
    def is_dark(self) -> bool:
        """Return whether nothing can be told of it, nor of a function that reaches it."""
        return self.comparison.verdict == "cannot tell" and not self.comparison.within

    @property
    def unexplained(self) -> bool:
        """Return whether it behaves otherwise, and nothing in the change says that it should."""
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
        """Return whether any function behaves otherwise without a mention."""
        return any(one.unexplained for one in self.functions)

    @property
    def counts(self) -> Counter[str]:
        """Count the functions of each verdict."""
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
    in_tests: bool = False,
) -> Diffed:
    """Compare each changed function; `show` receives each, how many are done, and the total.

    `about`: further text about the change, read like a commit message. `jobs`: worker processes,
    each with a sandbox on both sides; None: half as many as there are cores. `chosen`: the
    functions to compare. `in_tests`: run the project's tests on both sides for functions of which
    nothing can be told otherwise. Ctrl-C ends it with what is done. Raises `InputError`,
    `SandboxUnavailable`.
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
        with (
            Comparer(work) as comparer,
            closing(_compared(changes.functions, work, jobs, comparer)) as results,
        ):
            for function, comparison in results:
                demands = partial(comparer.demands, comparison)
                one = Compared(comparison, stated(changes, function, demands))
                done[places[id(function)]] = one
                if not (in_tests and one.is_dark):
                    show(one, len(done), len(changes.functions))
        dark = {place: one for place, one in done.items() if in_tests and one.is_dark}
        for place, one in _seen_in_tests(dark, revisions, python).items():
            done[place] = one
            show(one, len(done), len(changes.functions))
    except KeyboardInterrupt:
        diffed.interrupted = True
    diffed.functions = [done[place] for place in sorted(done)]
    return diffed


def work_of(
    revisions: Revisions, changes: Changes, settings: Settings, *, python: Path | None = None
) -> Work:
    """Return the data that a `Comparer` needs. Raises `InputError`."""
    return Work(
        revisions,
        settings,
        interpreter_of(revisions.repo, python),
        frozenset(one.after.target for one in changes.functions if not one.is_private),
    )


def _seen_in_tests(
    dark: Mapping[int, Compared], revisions: Revisions, python: Path | None
) -> dict[int, Compared]:
    """Run the project's tests near functions of which nothing can be told, on both sides."""
    if not dark:
        return {}
    from refute.core.methods import Bounds
    from refute.gating.change import open_change
    from refute.issue.observed_calls import observed_differences
    from refute.workspace.factory import Checkout

    head = revisions.after.commit if revisions.after.root != revisions.repo else None
    try:
        change = open_change(Checkout(revisions.repo, python), revisions.before.commit, head)
        functions = [one.function for one in dark.values()]
        with change.workspace() as workspace:
            fixes, bounds = ("", change.code), Bounds()
            seen, _ = observed_differences(fixes, functions, change.tests, workspace, bounds)
    except Unavailable as error:
        remark([f"the project's tests are not run: {error}"])
        return dict(dark)
    found = {}
    for place, one in dark.items():
        calls = tuple(call for call in seen if call.function == one.function.qualname)
        found[place] = replace(one, comparison=replace(one.comparison, in_tests=calls))
    return found


def _compared(
    functions: Sequence[ChangedFunction], work: Work, jobs: int | None, comparer: Comparer
) -> Generator[tuple[ChangedFunction, Comparison]]:
    """Each function with what came of it, in the order in which they are done."""
    from refute.core.processes import Failed, cores, run_tasks  # seldom needed for a small change

    if jobs is None:  # each runs a process on each side
        jobs = max(1, cores() // 2) if len(functions) > FEW else 1
    with ExitStack() as stack:
        results: Iterable[tuple[ChangedFunction, Comparison | RefuteError | Failed]]
        if jobs == 1 or len(functions) == 1:
            results = ((function, comparer(function)) for function in functions)
        else:
            results = stack.enter_context(
                closing(run_tasks(functions, start=partial(Comparer, work), jobs=jobs))
            )
        for function, done in results:
            if isinstance(done, RefuteError):
                raise done
            if isinstance(done, Failed):
                done = Comparison(function, reason=done.reason)
            yield function, replace(done, function=function)

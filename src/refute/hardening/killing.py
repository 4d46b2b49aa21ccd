"""Inputs on which a mutant that the tests let live behaves otherwise, made small.

Both sides run in the sandbox on the checkout's own tree; the mutant's side is given the mutant's
text for the module, and everything that imports the module sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from refute.core.remarks import remark
from refute.diffing.changes import ChangedFunction, changed, place_of
from refute.diffing.comparison import Difference, Entry, Settings, is_stable, kind_of_difference
from refute.diffing.definitions import Definition
from refute.diffing.engine import Usage, compare_function
from refute.diffing.modules import Module, Modules, References
from refute.diffing.revisions import NoDifference, Tree, open_revisions
from refute.diffing.service import callers
from refute.diffing.sides import Sides
from refute.diffing.trees import is_source, list_tree
from refute.errors import InputError
from refute.function.scenarios.described import Described, misfits
from refute.function.scenarios.observation import LIMITS
from refute.function.target import open_targets
from refute.hardening.mutants import Mutant
from refute.sandbox import Limits
from refute.sandbox.interpreter import Interpreter
from refute.workspace.snapshot import checkout_root, snapshot


@dataclass(frozen=True, slots=True)
class Part:
    """A function that is hardened."""

    module: Module
    definition: Definition
    lines: frozenset[int] | None = None
    """First lines of the statements that changed; None: all of it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Functions to harden, in a checkout as it is now."""

    tree: Tree
    modules: Modules
    parts: tuple[Part, ...]

    def tests(self, most: int) -> tuple[str, ...]:
        """The test files that are near, the nearest first; by reading."""
        from refute.issue.context import neighbouring_tests

        texts = {path: self.text(path) for path in self.tree.files if path.endswith(".py")}
        changed = list(dict.fromkeys(part.module.path for part in self.parts))
        hint = "\n".join(f"def {part.definition.name}" for part in self.parts)
        return neighbouring_tests(changed, texts, hint=hint, most=most)

    def text(self, path: str) -> str:
        """The text of a file; "" where there is none that can be read."""
        try:
            return self.tree.read(path, 1 << 20).decode()
        except (OSError, ValueError):
            return ""


@contextmanager
def open_subject(
    targets: Sequence[str], since: str | None, repo: Path, end: float
) -> Iterator[Subject]:
    """The functions that changed since a commit (with `targets`, files and folders, only those in
    them), or the targets' own where there is no `since`; without either, what differs from HEAD:
    something must. `end`: when the time is up (`time.monotonic`); files that are left are not read.

    Raises `InputError`, `WorkspaceUnavailable`.
    """
    root = checkout_root(repo)
    if targets and since is None:
        tree = _working_tree(root)
        modules = Modules(tree)
        yield Subject(tree, modules, tuple(_named(targets, root, modules, end)))
        return
    within = [Path(target).resolve() for target in targets]
    for target, place in zip(targets, within, strict=True):
        if not place.exists():
            raise InputError(f"{target}: --since takes files and folders, which exist")
    try:
        with open_revisions(root, since) as revisions:
            modules = Modules(revisions.after)
            changes = changed(revisions, end)
            remark(f"{one.path}: not looked at: {one.reason}" for one in changes.unreadable)
            lines: dict[tuple[str, str], frozenset[int] | None] = {
                (one.after.file, one.qualname): frozenset(one.lines_after)
                for one in changes.functions
            }
            lines |= {(one.file, one.qualname): None for one in changes.added}
            parts = []
            for (file, qualname), own in lines.items():
                module = modules.read(file)
                inside = any((root / file).is_relative_to(place) for place in within)
                if isinstance(module, Module) and (inside or not within):
                    parts.append(Part(module, module.found.functions[qualname], own))
            yield Subject(revisions.after, modules, tuple(parts))
    except NoDifference:
        if since is None:  # nothing was asked for, and nothing is compared
            raise
        tree = _working_tree(root)
        yield Subject(tree, Modules(tree), ())


def _working_tree(root: Path) -> Tree:
    folder, commit = snapshot(root)
    files = tuple(entry.path for entry in list_tree(folder, commit) if not entry.is_link)
    return Tree(root, "working tree", commit, files)


def _named(targets: Sequence[str], root: Path, modules: Modules, end: float) -> Iterator[Part]:
    """The functions of targets; of a whole file the private ones too, which others call."""
    for target in targets:
        whole = "::" not in target and (":" not in target or Path(target).exists())
        opened = open_targets([target], end=end)
        late = (one for one in opened.skipped if one.kind == "no time left")
        remark(f"{one.where}: not looked at: {one.reason}" for one in late)
        for one in opened.modules:
            path = one.source.path.resolve()
            if not path.is_relative_to(root):
                raise InputError(f"{target}: lies outside of the repository {root}; see -C")
            module = modules.read(path.relative_to(root).as_posix())
            if not isinstance(module, Module):
                raise InputError(f"{target}: {module.reason}")
            if not is_source(module.path):
                raise InputError(f"{target}: holds tests or builds the project; name its code")
            for name, definition in module.found.functions.items():
                if name in one.functions or (whole and definition.is_private):
                    yield Part(module, definition)


MOST_CALLERS = 2
SEEDS, TIMES = 4, 5
"""An input is run this often on both sides before it is offered: with so many seeds of hashes and
of `random`, and so many times in one process each."""
_TELLING = frozenset({"value", "exception", "effect", "output"})


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A call that does something else on a mutant."""

    mutant: Mutant
    """The one that it was found for."""
    entry: Entry
    difference: Difference
    """`before` is what the code does today."""


class Killer:
    """Finds inputs that tell mutants from the code. A context manager: ends its sandboxes."""

    def __init__(self, subject: Subject, interpreter: Interpreter | None, seed: int) -> None:
        self.subject = subject
        self.seed = seed
        self._sides = Sides(subject.tree, subject.tree, interpreter)
        self._usage = Usage(subject.tree)
        self._references = References(subject.modules)

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, *failed: object) -> None:
        self._sides.__exit__(*failed)

    def find(self, mutant: Mutant, seconds: float) -> list[Input]:
        """Inputs on which a mutant behaves otherwise and that are worth a test, plainest first.
        Raises `SandboxUnavailable`."""
        function = _as_change(mutant)
        settings = Settings(seconds=seconds, seed=self.seed)
        entries = self._entries(function, mutant)
        found = compare_function(function, entries, self._sides, settings, self._usage)
        if found.entry is None:
            return []
        ones = [Input(mutant, found.entry, one) for one in found.differences]
        return [one for one in ones if self._is_worth_a_test(one)]

    def kills(self, one: Input, mutant: Mutant) -> bool:
        """Return whether an input found for one mutant tells another one of the same function."""
        if (one.mutant.file, one.mutant.qualname) != (mutant.file, mutant.qualname):
            return False
        module = replace(one.entry.after, text=mutant.text)
        place, scenario = one.entry.name_after, one.difference.scenario
        [seen] = self._sides.after.observe(module, place, [scenario], (), mutant.file, LIMITS)
        return kind_of_difference(one.difference.before, seen) in _TELLING

    def steady(self, inputs: Sequence[Input]) -> list[Input]:
        """Those on which both sides do the same each of `SEEDS` * `TIMES` times."""
        left = list(inputs)
        for seed in range(SEEDS):  # of which each is a server of its own
            limits = replace(LIMITS, seed=seed)
            left = [one for one in left if self._is_same(one, limits)]
        return left

    def _is_same(self, one: Input, limits: Limits) -> bool:
        entry, difference, sides = one.entry, one.difference, self._sides
        scenarios, file = [difference.scenario] * TIMES, one.mutant.file
        old, new = (entry.before, entry.name_before), (entry.after, entry.name_after)
        before, after = sides.both(
            lambda: sides.before.observe(*old, scenarios, (), file, limits),
            lambda: sides.after.observe(*new, scenarios, (), file, limits),
        )
        pairs = [(difference.before, again) for again in before]
        pairs += [(difference.after, again) for again in after]
        return all(is_stable(one, again) for one, again in pairs)

    def _entries(self, function: ChangedFunction, mutant: Mutant) -> Iterator[Entry]:
        """Yield the calls to try: a public function itself, then callers in its file; for a private
        one the callers alone. Callers elsewhere would be given the module as the file has it."""
        old = mutant.module
        new = replace(old, text=mutant.text)
        own = Entry(old, new, mutant.qualname, mutant.qualname)
        if not function.is_private:
            yield own
        count = 0
        for caller in callers(self._references, function.after):
            name = caller.qualname
            if caller.file == old.path and name in old.found.functions:
                count += 1
                yield Entry(old, new, name, name, caller=True)
                if count == MOST_CALLERS:
                    return

    def _is_worth_a_test(self, one: Input) -> bool:
        """Not what merely words an exception or hangs, nor how a wrong argument is refused."""
        difference, entry = one.difference, one.entry
        if difference.kind not in _TELLING or difference.before.misused:
            return False
        name = entry.called_before
        described = self._sides.before.describe(entry.before, [name])
        known = described.names.get(name) if isinstance(described, Described) else None
        return known is None or not misfits(difference.scenario, known)


def _as_change(mutant: Mutant) -> ChangedFunction:
    """The mutant as a change of its function in one statement."""
    definition = mutant.module.found.functions[mutant.qualname]
    place = place_of(mutant.module, definition)
    lines = (mutant.edit.reached_by[0],)
    return ChangedFunction(
        place, place, definition.kind, definition.is_private, ("body",), lines, lines
    )

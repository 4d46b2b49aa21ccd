"""Differences between two revisions, read from the source: functions, methods and what they use."""

from __future__ import annotations

import ast
import difflib
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from refute.core.remarks import remark
from refute.diffing.definitions import Definition, Kind, compared, key_of
from refute.diffing.modules import Module, Modules, References, Unreadable, Use
from refute.diffing.revisions import FileChange, Revisions
from refute.diffing.trees import is_changelog, is_source
from refute.errors import reason_to_skip
from refute.function.source import LARGEST_SOURCE
from refute.source.syntax import first_line

_MOST_LINES = 20_000
"""Of a file whose lines are compared one by one."""


@dataclass(frozen=True)
class Passage:
    """Lines of a test function, of a change log or of a message that the change made."""

    kind: Literal["test", "changelog", "message"]
    where: str
    """A path, or the message's first line."""
    lines: tuple[tuple[int, str], ...]
    """(line, text): 1-based in the file after the change, or in the message."""
    around: str = ""
    """Of a test: the whole file, which says what its names are."""
    test: str = ""
    """Its qualified name; "" of lines outside of functions."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers in what is around."""
        return frozenset(re.findall(r"\w+", self.around))


def passages(revisions: Revisions, old: Modules, new: Modules) -> tuple[Passage, ...]:
    """All passages: tests first, then change logs, then messages."""
    found: list[Passage] = []
    for change in revisions.tests:
        try:
            found += _tests(change, old, new)
        except Exception as error:
            remark([f"{change.after}: not read for what it says: {reason_to_skip(error)}"])
    for change in revisions.files:
        if change.after is not None and is_changelog(change.after):
            before = "" if change.before is None else _text(old, change.before)
            after = _text(new, change.after).splitlines()
            numbers = _new_lines(before.splitlines(), after)
            lines = tuple((number, after[number - 1]) for number in numbers)
            found.append(Passage("changelog", change.after, lines))
    for message in revisions.messages:
        lines = tuple(enumerate(message.splitlines(), 1))
        found.append(Passage("message", lines[0][1], lines))
    return tuple(found)


def _tests(change: FileChange, old: Modules, new: Modules) -> list[Passage]:
    """Functions of a test file that are new or changed, docstrings aside, and changed lines outside
    of functions."""
    after = None if change.after is None else new.read(change.after)
    if not isinstance(after, Module):
        return []
    before = None if change.before is None else old.read(change.before)
    known = before.found.functions if isinstance(before, Module) else {}
    text = after.text.split("\n")
    before_text = before.text.split("\n") if isinstance(before, Module) else []
    fresh = set(_new_lines(before_text, text))
    found, inside = [], set()
    for name, definition in after.found.functions.items():
        span = _span(definition)
        inside.update(span)
        earlier = known.get(name)
        if earlier is None or _differs(earlier, definition):
            # what the change touched comes first: it is the line to be shown
            numbers = sorted(span, key=lambda number: (number not in fresh, number))
            lines = tuple((number, text[number - 1]) for number in numbers)
            found.append(Passage("test", after.path, lines, after.text, name))
    rest = tuple((number, text[number - 1]) for number in sorted(fresh - inside))
    return [*found, Passage("test", after.path, rest, after.text)] if rest else found


def _differs(before: Definition, after: Definition) -> bool:
    """Return whether a test may demand something else now: type hints demand nothing."""
    found = compared(before, after)
    return found is not None and found[0] != ("annotations",)


def _span(definition: Definition) -> list[int]:
    """Line numbers of all of a definition."""
    ends = ((first_line(node), node.end_lineno or node.lineno) for node in definition.nodes)
    return sorted({number for start, end in ends for number in range(start, end + 1)})


def _new_lines(before: list[str], after: list[str]) -> list[int]:
    """Lines that only the text after the change has (1-based)."""
    if max(len(before), len(after)) > _MOST_LINES:
        return []
    start, most = 0, min(len(before), len(after))
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [start + n + 1 for tag, _, _, a, b in codes if tag != "equal" for n in range(a, b)]


def _text(modules: Modules, path: str) -> str:
    try:
        return modules.tree.read(path, LARGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return ""


_MOST_STEPS = 3
"""Constants made of changed constants are followed so far."""
_NOTHING = (False, False, ())


@dataclass(frozen=True, slots=True)
class Place:
    """A function or method of one revision."""

    file: str
    """Path in the tree."""
    module: str
    """Dotted name."""
    qualname: str
    line: int
    """Of its `def` (1-based)."""

    @property
    def target(self) -> str:
        """Its absolute name."""
        return f"{self.module}.{self.qualname}"


@dataclass(frozen=True, slots=True)
class ChangedFunction:
    """A function or method that both revisions have and that differs, or reads what differs."""

    before: Place
    after: Place
    kind: Kind
    """As it is after the change, and so the next."""
    is_private: bool
    aspects: tuple[str, ...]
    """Differences: of "body", "signature", "defaults", "decorators", "annotations" (alone, they may
    matter at run time all the same), then "uses X" for each changed name that it reads."""
    lines_before: tuple[int, ...]
    """Executable lines that only the revision before has, that read a parameter of another
    default, or that read a changed name: first lines of statements, sorted (1-based)."""
    lines_after: tuple[int, ...]
    """The same of the revision after."""
    docstring_line: int | None = None
    """Line of the docstring after the change, if it is another; 0: it is gone."""

    @property
    def qualname(self) -> str:
        """Its name after the change, with its classes."""
        return self.after.qualname


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that differs, in the order of files and of the code after the change."""

    functions: tuple[ChangedFunction, ...] = ()
    added: tuple[Place, ...] = ()
    removed: tuple[Place, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    passages: tuple[Passage, ...] = ()
    """Places where the change speaks of itself: tests, change logs, messages."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A file that both revisions have and that is Python in both."""

    before: Module
    after: Module


def changed(revisions: Revisions, end: float = math.inf) -> Changes:
    """Compare both revisions, Python sources only: no tests, no `setup.py`, no documents.

    Functions are matched by file (renames followed) and qualified name; moved ones are an added
    and a removed one. Comments, formatting and docstrings alone are no change. `end`: when the time
    is up (`time.monotonic`); the files that are left then are among the unreadable ones.
    """
    old, new = Modules(revisions.before), Modules(revisions.after)
    functions: list[ChangedFunction] = []
    added: list[Place] = []
    removed: list[Place] = []
    label, why = revisions.after.label, "a submodule: its changes are not looked at"
    unreadable = [Unreadable(path, label, why) for path in revisions.submodules]
    pairs: dict[str, _Pair] = {}
    names: dict[str, str] = {}
    for change in revisions.files:
        if not is_source(change.after or change.before or ""):
            continue
        if time.monotonic() > end:
            path = change.after or change.before or ""
            unreadable.append(Unreadable(path, label, "no time was left for it"))
            continue
        sides = _read(change, old, new)
        unreadable += [side for side in sides if isinstance(side, Unreadable)]
        before, after = sides
        if isinstance(before, Unreadable) or isinstance(after, Unreadable):
            continue
        added += _only_in(after, before)
        removed += _only_in(before, after)
        if before is None or after is None:
            continue
        try:
            functions += _functions(before, after)
            names |= _changed_names(before, after)
        except Exception as error:
            unreadable.append(Unreadable(after.path, "both", reason_to_skip(error)))
            continue
        pairs[after.path] = _Pair(before, after)
    functions = _with_users(functions, names, pairs, References(old), References(new))
    order = {path: number for number, path in enumerate(revisions.after.files)}
    functions.sort(key=lambda one: (order.get(one.after.file, 0), one.after.line))
    return Changes(
        tuple(functions),
        tuple(added),
        tuple(removed),
        tuple(unreadable),
        passages(revisions, old, new),
    )


def _read(
    change: FileChange, old: Modules, new: Modules
) -> tuple[Module | Unreadable | None, Module | Unreadable | None]:
    before = None if change.before is None else old.read(change.before)
    after = None if change.after is None else new.read(change.after)
    return before, after


def place_of(module: Module, definition: Definition) -> Place:
    """Return the place of a definition."""
    return Place(module.path, module.name, definition.qualname, definition.line)


def _only_in(module: Module | None, other: Module | None) -> list[Place]:
    if module is None:
        return []
    known = {} if other is None else other.found.functions
    return [place_of(module, d) for name, d in module.found.functions.items() if name not in known]


def _functions(before: Module, after: Module) -> list[ChangedFunction]:
    found = []
    for name, new in after.found.functions.items():
        old = before.found.functions.get(name)
        difference = None if old is None else compared(old, new)
        if old is not None and difference is not None:
            found.append(_extended(_entry(before, after, old, new), *difference))
    return found


def _entry(before: Module, after: Module, old: Definition, new: Definition) -> ChangedFunction:
    """A function of which nothing is said to differ yet."""
    places = place_of(before, old), place_of(after, new)
    docstring = _docstring_line(old, new)
    return ChangedFunction(*places, new.kind, new.is_private, (), (), (), docstring)


def _extended(
    one: ChangedFunction, aspects: Iterable[str], before: Iterable[int], after: Iterable[int]
) -> ChangedFunction:
    return replace(
        one,
        aspects=tuple(dict.fromkeys((*one.aspects, *aspects))),
        lines_before=tuple(sorted({*one.lines_before, *before})),
        lines_after=tuple(sorted({*one.lines_after, *after})),
    )


def _docstring_line(before: Definition, after: Definition) -> int | None:
    old, new = ([ast.get_docstring(n) for n in one.nodes] for one in (before, after))
    if old == new:
        return None
    told = [node.body[0].lineno for node in after.nodes if ast.get_docstring(node) is not None]
    return told[-1] if told else 0


# -- names that functions read ---------------------------------------------------------------------


def _changed_names(before: Module, after: Module) -> dict[str, str]:
    """Absolute name -> the name for people, of constants, class attributes and imports whose value
    is another, of functions that are bound anew (`f = cached(f)`), and of what is defined on one
    side only: somebody may read it still, or already."""
    found = {}
    for name in dict.fromkeys((*after.found.bindings, *before.found.bindings, *_defined(before))):
        known = name.rpartition(".")[2] == "__all__"
        if not known and _meaning(before, name) != _meaning(after, name):
            found[f"{after.name}.{name}"] = name
    return found


def _defined(module: Module) -> tuple[str, ...]:
    return (*module.found.functions, *module.found.classes)


def _appeared(pair: _Pair, name: str) -> bool:
    """Return whether only one side has a name."""
    before, after = (_meaning(side, name) == _NOTHING for side in (pair.before, pair.after))
    return before != after


def _meaning(module: Module, name: str) -> tuple[object, ...]:
    """Return the value of a name; bodies of functions and classes are compared elsewhere."""
    found = module.found
    return name in found.functions, name in found.classes, key_of(found.bindings.get(name, ()))


def _with_users(
    functions: list[ChangedFunction],
    names: Mapping[str, str],
    pairs: Mapping[str, _Pair],
    old: References,
    new: References,
) -> list[ChangedFunction]:
    """The functions, and those besides that read a changed name."""
    found = {(one.after.file, one.qualname): one for one in functions}
    todo, seen = dict(names), set(names)
    for _ in range(_MOST_STEPS):
        further: dict[str, str] = {}
        for target, name in todo.items():
            for use in new.of(target):
                if use.definition is None:
                    if use.target not in seen:
                        further[use.target] = use.binding
                        seen.add(use.target)
                    continue
                _add_user(found, use, target, name, pairs, old)
        for target, name in todo.items():
            _add_rebound(found, target, name, pairs)
        todo = further
    return list(found.values())


def _add_user(
    found: dict[tuple[str, str], ChangedFunction],
    use: Use,
    target: str,
    name: str,
    pairs: Mapping[str, _Pair],
    references: References,
) -> None:
    """Note that a definition reads a changed name, if the revision before has it."""
    module, definition = use.module, use.definition
    assert definition is not None
    pair = pairs.get(module.path)
    before = module if pair is None else pair.before
    old = before.found.functions.get(definition.qualname)
    if old is None:
        return
    lines = use.lines
    if pair is not None:
        lines = _lines_before(references, pair, definition.qualname, target)
    key = (module.path, definition.qualname)
    one = found.get(key) or _entry(before, module, old, definition)
    appeared = pair is not None and _appeared(pair, name)
    if not (appeared and "body" in one.aspects):  # else its own changed lines say it
        found[key] = _extended(one, (f"uses {name}",), lines, use.lines)


def _lines_before(
    references: References, pair: _Pair, qualname: str, target: str
) -> tuple[int, ...]:
    """Return the lines where the function read the name before. Names of a renamed module count."""
    own = f"{pair.after.name}."
    wanted = {target}
    if target.startswith(own):
        wanted.add(f"{pair.before.name}.{target.removeprefix(own)}")
    uses = references.in_module(pair.before)
    return tuple(
        line
        for name in wanted
        for use in uses.get(name, ())
        if use.definition is not None and use.definition.qualname == qualname
        for line in use.lines
    )


def _add_rebound(
    found: dict[tuple[str, str], ChangedFunction],
    target: str,
    name: str,
    pairs: Mapping[str, _Pair],
) -> None:
    for path, pair in pairs.items():
        new = pair.after.found.functions.get(name)
        old = pair.before.found.functions.get(name)
        if new is not None and old is not None and target == f"{pair.after.name}.{name}":
            one = found.get((path, name)) or _entry(pair.before, pair.after, old, new)
            found[path, name] = _extended(one, ("decorators",), (), ())

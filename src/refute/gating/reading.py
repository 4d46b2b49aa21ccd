"""What reading shows against a change: the rules that running tests cannot decide."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from refute.diffing.changes import Changes
from refute.errors import reason_to_skip
from refute.gating.change import Change
from refute.gating.checks import checks_of, functions_of, is_tautology
from refute.gating.findings import Finding, Rule
from refute.gating.knockout import Branch, literals_of, named_branches
from refute.gating.tricks import knows_that_it_is_tested, loaded_plugins, patched, runner_changes
from refute.gating.weakened import added_skips, weakenings
from refute.gating.words import Words, called_names, told_words
from refute.syntax import Function, readable_module
from refute.workspace.patches import added_lines, is_runner_file, is_test_file, touched_files

__all__ = ["Reading"]

_GATE = "refute gate"
"""Where a hidden file of configuration runs it, a change that takes it out is not to decide."""


@dataclass(frozen=True)
class Reading:
    """Both sides of the files that a change touches, as text, and what they say."""

    change: Change
    changes: Changes
    """Functions that differ."""
    about: str = ""
    """What the change is for: an issue's text, or the caller's words."""

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """All paths."""
        return touched_files(self.change.patch)

    @cached_property
    def test_files(self) -> tuple[str, ...]:
        """Python files of tests, helpers of tests included, that the change touches."""
        return tuple(p for p in touched_files(self.change.tests) if p.endswith(".py"))

    @cached_property
    def names(self) -> frozenset[str]:
        """Functions, methods and classes that the change touches, without their owners."""
        places = [one.after for one in self.changes.functions]
        places += [*self.changes.added, *(one.after for one in self.changes.classes)]
        return frozenset(place.qualname.rpartition(".")[2] for place in places)

    @cached_property
    def words(self) -> Words:
        """What is said of the change."""
        return told_words(
            self.change.patch,
            self.change.before,
            self.change.after,
            self.change.messages,
            self.about,
        )

    def tests_in(self, path: str, *, after: bool = True) -> dict[str, Function]:
        """Qualified name -> function of a test file."""
        text = (self.change.after if after else self.change.before).get(path, "")
        return functions_of(readable_module(text))

    def function_of(self, id: str, file: str, *, after: bool = True) -> Function | None:
        """The function that a test's id names."""
        found = self.tests_in(file, after=after) if file else {}
        plain = id.partition("[")[0]
        name = ".".join(plain.split("::")[1:]) if "::" in plain else plain.partition(" ")[0]
        if name in found:
            return found[name]
        return next((f for n, f in found.items() if name.endswith(f".{n}")), None)

    def is_new(self, id: str, file: str) -> bool:
        """Whether the change adds or changes the test."""
        new, old = self.function_of(id, file), self.function_of(id, file, after=False)
        if new is None:
            return old is None and file in self.touched
        return old is None or ast.dump(old) != ast.dump(new)

    def said(self, function: str, source: str, values: Sequence[str] = ()) -> str:
        """Where something says that a test demands something else; "" where nothing does."""
        called = self.names & called_names(source)
        return self.words.of(function.rpartition(".")[2], sorted(called), values)

    # -- rules -------------------------------------------------------------------------------------

    def findings(self) -> Iterator[Finding]:
        """Everything that reading alone shows."""
        before, after = self.change.before, self.change.after
        for path, why in self.change.unreadable.items():
            rule: Rule = "not-weakened" if is_test_file(path) else "no-special-case"
            rule = "no-runner-change" if is_runner_file(path) else rule
            if path.endswith(".py") or rule == "no-runner-change":
                yield Finding(rule, path, f"cannot be read, so nothing can be told of it: {why}")
        yield from _each("not-weakened", self.test_files, self._in_tests)
        yield from _each("no-runner-change", touched_files(self.change.runner), self._in_runner)
        for path in self.touched:
            gone = _GATE in before.get(path, "") and _GATE not in after.get(path, "")
            if gone and path.startswith("."):
                yield Finding("no-runner-change", path, f"`{_GATE}` is not run there any more")
        for trick in knows_that_it_is_tested(self.change.code, after):
            yield Finding("no-special-case", trick.where, trick.what)

    def _in_tests(self, path: str) -> Iterator[Finding]:
        old, new = self.change.before.get(path), self.change.after.get(path)
        if new is None:
            return
        if old is not None:
            yield from self._weakened(path, old, new)
        for skip in added_skips(old or "", new):
            what = f"{skip.what} is added to {skip.function}"
            yield Finding("no-skip", f"{path}:{skip.line}", what)
        modules = [place.module for place in self.changes.added]
        modules += [one.after.module for one in self.changes.functions]
        for trick in patched(path, old, new, self.names, modules):
            yield Finding("no-patching", trick.where, trick.what)
        for plugin in loaded_plugins(old, new):
            yield Finding("no-runner-change", path, f"a plugin is loaded: {plugin}")

    def _in_runner(self, path: str) -> Iterator[Finding]:
        sides = self.change.before.get(path), self.change.after.get(path)
        for trick in runner_changes(path, *sides):
            yield Finding("no-runner-change", trick.where, trick.what)

    def _weakened(self, path: str, old: str, new: str) -> Iterator[Finding]:
        tests = functions_of(readable_module(new))
        for one in weakenings(old, new):
            source = ast.unparse(tests[one.function]) if one.function in tests else ""
            if not self.said(one.function, source):
                where = f"{path}:{one.line}"
                yield Finding("not-weakened", where, f"{one.function}: {one.what}")

    def checks_nothing(self, id: str, file: str) -> bool:
        """Whether a test has no assertion that could fail; a helper may have one."""
        function = self.function_of(id, file)
        if function is None:
            return False
        checks = checks_of(function)
        return all(map(is_tautology, checks))

    def branches(self, new_tests: Sequence[Function]) -> tuple[list[Branch], list[Finding]]:
        """Branches of the new code that are for nothing but the values of the new tests, and the
        files of which that cannot be told."""
        given, expected = literals_of(new_tests, self.names)
        found: list[Branch] = []
        added = {p: n for p, n in added_lines(self.change.code).items() if p.endswith(".py")}

        def look(path: str) -> Iterator[Finding]:
            text = self.change.after[path]
            found.extend(named_branches(path, text, added[path], given, expected))
            yield from ()

        unknown = _each("no-special-case", filter(self.change.after.__contains__, added), look)
        return found, list(unknown)


def _each(
    rule: Rule, paths: Iterable[str], look: Callable[[str], Iterator[Finding]]
) -> Iterator[Finding]:
    """What is found in each file; that nothing can be told of one is a finding, too."""
    for path in paths:
        try:
            yield from list(look(path))
        except Exception as error:
            why = reason_to_skip(error)
            yield Finding(rule, path, f"cannot be analysed, so nothing can be told of it: {why}")

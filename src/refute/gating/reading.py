"""What reading shows against a change: the rules that running tests cannot decide."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from refute.diffing.changes import Changes
from refute.gating.change import Change
from refute.gating.checks import checks_of, functions_of, is_tautology
from refute.gating.findings import Finding, Rule
from refute.gating.knockout import Branch, literals_of, named_branches
from refute.gating.tricks import knows_that_it_is_tested, loaded_plugins, patched, runner_changes
from refute.gating.weakened import added_skips, weakenings
from refute.gating.words import Words, called_names, told_words
from refute.issue.patches import added_lines, is_runner_file, is_test_file, touched_files
from refute.syntax import Function, readable_module

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
        for path in self.test_files:
            old, new = before.get(path), after.get(path)
            if new is None:
                continue
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
        for path in touched_files(self.change.runner):
            for trick in runner_changes(path, before.get(path), after.get(path)):
                yield Finding("no-runner-change", trick.where, trick.what)
        for path in self.touched:
            gone = _GATE in before.get(path, "") and _GATE not in after.get(path, "")
            if gone and path.startswith("."):
                yield Finding("no-runner-change", path, f"`{_GATE}` is not run there any more")
        for trick in knows_that_it_is_tested(self.change.code, after):
            yield Finding("no-special-case", trick.where, trick.what)

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

    def branches(self, new_tests: Sequence[Function]) -> list[Branch]:
        """Branches of the new code that are for nothing but the values of the new tests."""
        given, expected = literals_of(new_tests, self.names)
        found: list[Branch] = []
        for path, lines in added_lines(self.change.code).items():
            if path.endswith(".py") and path in self.change.after:
                found += named_branches(path, self.change.after[path], lines, given, expected)
        return found

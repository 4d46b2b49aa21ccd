"""Text of a change: the tests that it touches, and words that announce another demand of a test:
an issue, a commit message, a change log, a docstring."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from refute.diffing.changes import Changes
from refute.diffing.trees import is_changelog
from refute.gating.change import Change
from refute.gating.experiments import functions_of
from refute.gating.running import Finding, Rule
from refute.source.syntax import Function, readable_module, try_parse_statements
from refute.workspace.patches import added_lines, is_runner_file, is_test_file, touched_files

_CHANGE = re.compile(
    r"(?i)\b(now|instead|no longer|not any ?more|chang\w*|should|expect\w*|must|rather than"
    r"|used to|drop\w*|remov\w*|delet\w*|deprecat\w*|allow\w*|accept\w*|wrong\w*|correct\w*)\b"
)
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
    def names(self) -> frozenset[str]:
        """Functions, methods and classes that the change touches, without their owners."""
        places = [one.after for one in self.changes.functions]
        places += [*self.changes.added, *(one.after for one in self.changes.classes)]
        return frozenset(place.qualname.rpartition(".")[2] for place in places)

    @cached_property
    def words(self) -> Words:
        """Return the words about the change."""
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
        return functions_of(text)

    def function_of(self, id: str, file: str, *, after: bool = True) -> Function | None:
        """The function that a test's id names."""
        found = self.tests_in(file, after=after) if file else {}
        plain = id.partition("[")[0]
        name = ".".join(plain.split("::")[1:]) if "::" in plain else plain.partition(" ")[0]
        if name in found:
            return found[name]
        return next((f for n, f in found.items() if name.endswith(f".{n}")), None)

    def is_new(self, id: str, file: str) -> bool:
        """Return whether the change adds or changes the test."""
        new, old = self.function_of(id, file), self.function_of(id, file, after=False)
        if new is None:
            return old is None and file in self.touched
        return old is None or ast.dump(old) != ast.dump(new)

    def said(self, function: str, source: str, values: Sequence[str] = ()) -> str:
        """Return where something says that a test demands something else; "" where nothing does."""
        called = self.names & called_names(source)
        return self.words.of(function.rpartition(".")[2], sorted(called), values)

    def findings(self) -> Iterator[Finding]:
        """Yield findings that no run of tests can show."""
        before, after = self.change.before, self.change.after
        for path, why in self.change.unreadable.items():
            rule: Rule = "not-weakened" if is_test_file(path) else "no-special-case"
            rule = "no-runner-change" if is_runner_file(path) else rule
            if path.endswith(".py") or rule == "no-runner-change":
                yield Finding(rule, path, f"cannot be read, so nothing can be told of it: {why}")
        for path in self.touched:
            gone = _GATE in before.get(path, "") and _GATE not in after.get(path, "")
            if gone and path.startswith("."):
                yield Finding("no-runner-change", path, f"`{_GATE}` is not run there any more")


@dataclass(frozen=True, slots=True)
class Words:
    """Words about a change."""

    texts: tuple[tuple[str, str], ...]
    """(where, text): of the issue, messages and change logs."""
    documented: Mapping[str, str]
    """Name of a function whose docstring is another -> the new docstring's place and text."""

    def of(self, test: str, called: Collection[str], values: Collection[str] = ()) -> str:
        """Return where something says that this test demands something else, or "".

        `test`: its name. `called`: names of changed functions that it calls. `values`: what it
        newly expects, as source. Said is what names the test; what names a function that it calls
        and either the new value or that something changes; a new docstring of such a function that
        does the same.
        """
        for where, text in self.texts:
            if _names(text, test):
                return where
            for passage in _sentences(text):
                if any(_names(passage, name) for name in called) and _speaks(passage, values):
                    return where
        if test in self.documented:
            return f"the docstring of {test}"
        for name in called:
            if name in self.documented and _speaks(self.documented[name], values):
                return f"the docstring of {name}"
        return ""


def names_to_weigh(change: Change) -> frozenset[str] | None:
    """Names of the tests whose old version may have demanded something else: those whose text
    differs; None: all, since something differs that tests share."""
    names, everything = set[str](), False
    for path in touched_files(change.tests):
        old, new = change.before.get(path), change.after.get(path)
        if old is None:
            continue
        if new is None or not path.endswith(".py"):
            everything = True
            continue
        was, now = _pieces(old), _pieces(new)
        other = {name for name in was if was[name] != now.get(name)}
        names |= other
        everything |= any(not name.lower().startswith("test") for name in other)
    return None if everything else frozenset(names)


def _pieces(text: str) -> Mapping[str, list[str]]:
    """Name of a function or of data -> what binds it; "" -> what else is done at the top."""
    tree, found = readable_module(text), defaultdict[str, list[str]](list)
    found[""] = [] if tree.body else [text]
    for node in ast.walk(tree):
        if isinstance(node, Function):
            found[node.name].append(ast.dump(node))
    for top in tree.body:
        if isinstance(top, Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        targets = top.targets if isinstance(top, ast.Assign) else [ast.Tuple([], ast.Load())]
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else ""
            found[name].append(ast.dump(top))
    return found


def told_words(
    patch: str, before: Mapping[str, str], after: Mapping[str, str], messages: Sequence[str],
    about: str,
) -> Words:  # fmt: skip
    """Return what a change says of itself. `before`, `after`: path -> text of its files. `about`:
    an issue's text, or what the caller says."""
    texts = [("the issue", about)] if about.strip() else []
    texts += [(f"the message {message.splitlines()[0][:60]!r}", message) for message in messages]
    lines = added_lines(patch)
    for path in touched_files(patch):
        if is_changelog(path) and path in after:
            all_lines = after[path].splitlines()
            told = [all_lines[n - 1] for n in lines.get(path, ()) if n <= len(all_lines)]
            texts.append((path, "\n".join(told)))
    documented: dict[str, str] = {}
    for path, text in after.items():
        if path.endswith(".py"):
            documented |= _new_docstrings(before.get(path, ""), text)
    return Words(tuple(texts), documented)


def _new_docstrings(before: str, after: str) -> dict[str, str]:
    old, new = map(functions_of, (before, after))
    found = {}
    for name, function in new.items():
        now = ast.get_docstring(function) or ""
        was = (ast.get_docstring(old[name]) or "") if name in old else now
        if now and now != was:
            found[name.rpartition(".")[2]] = now
    return found


def _sentences(text: str) -> list[str]:
    """Paragraphs: an issue names the function in its code and says what it expects below."""
    return [text] if len(text) < 4000 else re.split(r"\n\s*\n", text)


def _names(text: str, name: str) -> bool:
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _speaks(text: str, values: Collection[str]) -> bool:
    if _CHANGE.search(text):
        return True
    for value in values:
        # a digit alone is said of anything; "is 7", "returns 7" is said of a result
        before = r"(?<![\w.])" if len(value) > 1 else r"(?:\b(?:is|be|are|returns?|gives?)|[=:]) ?"
        if re.search(rf"{before}{re.escape(value)}(?!\w)", text):
            return True
    return False


def called_names(source: str) -> set[str]:
    """Names that a piece of code calls or reads."""
    found: set[str] = set()
    for statement in try_parse_statements(source) or ():
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found

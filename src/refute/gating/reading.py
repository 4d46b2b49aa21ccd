"""Text of a change: the tests that it touches, and words that announce another demand of a test:
an issue, a commit message, a change log, a docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from refute.diffing.changes import Changes, Passage
from refute.diffing.definitions import definitions
from refute.gating.change import Change
from refute.gating.experiments import functions_of, only_runs
from refute.gating.running import Finding, Rule
from refute.source.syntax import Function, readable_module, try_parse_statements
from refute.workspace.patches import is_runner_file, is_test_file, touched_files

_CHANGE = re.compile(
    r"(?i)\b(now|instead|no longer|not any ?more|chang\w*|should|expect\w*|must|rather than"
    r"|used to|drop\w*|remov\w*|delet\w*|deprecat\w*|allow\w*|accept\w*|wrong\w*|correct\w*)\b"
)
_GATE = "refute gate"
"""A change may not take it out of a hidden file of configuration that runs it."""


@dataclass(frozen=True)
class Reading:
    """Both sides of the files that a change touches, as text, and what they say."""

    change: Change
    changes: Changes
    """Functions that differ."""
    about: str = ""
    """Purpose of the change: an issue's text, or the caller's words."""

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """All paths."""
        return touched_files(self.change.patch)

    @cached_property
    def names(self) -> frozenset[str]:
        """Functions, methods and their classes that the change touches."""
        places = [*(one.after for one in self.changes.functions), *self.changes.added]
        return frozenset(name for place in places for name in place.qualname.split("."))

    @cached_property
    def words(self) -> Words:
        """Return the words about the change."""
        passages, change = self.changes.passages, self.change
        return told_words(passages, change.before, change.after, self.about)

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


_COUNTS = re.compile(r"(?i)(async)?_?(set_?up|tear_?down)|pytest_|pytestmark|load_tests|__")
"""Names of what counts unmentioned."""


def names_to_weigh(change: Change, beside: Iterable[str] = ()) -> frozenset[str] | None:
    """Names of the tests whose old version may have demanded something else: those whose text
    differs; None: all, for something else differs that they may use. `beside`: texts of other test
    files that run."""
    weighed, near = set[str](), "\n".join(beside)
    for path in touched_files(change.tests):
        before, after = change.before.get(path), change.after.get(path)
        if before is not None and (after is None or not path.endswith(".py")):
            return None
        was, now = _pieces(before or ""), _pieces(after or "")
        old = f"{before or ''}\n{near}"
        for name in was.keys() | now.keys():
            if was.get(name) == now.get(name):
                continue
            plain = name.rpartition(".")[2]
            mentions = len(re.findall(rf"\b{plain}\b", old)) if plain else 2
            if mentions > (name in was) or "autouse" in "".join(now.get(name, ())):
                return None
            if _COUNTS.match(plain) or not (plain.startswith("test") or name not in was):
                return None
            weighed |= {plain} if name in was else set()
    return frozenset(weighed)


def _pieces(text: str) -> dict[str, list[str]]:
    """Definitions of a text by qualified name, and what it runs (""), as code."""
    tree = readable_module(text)
    found = definitions(tree, "")
    nodes: dict[str, Sequence[ast.AST]] = {"": only_runs(tree), **found.bindings}
    nodes |= {name: one.nodes for name, one in found.functions.items()}
    for name, classes in found.classes.items():
        nodes[name] = [part for one in classes for part in (*one.bases, *one.decorator_list)]
    known = {name: [*map(ast.dump, those)] for name, those in nodes.items()}
    if text.strip() and not tree.body:
        known[""] = [text]
    return known


def told_words(
    passages: Sequence[Passage], before: Mapping[str, str], after: Mapping[str, str], about: str
) -> Words:
    """Return what a change says of itself. `before`, `after`: path -> text of its files. `about`:
    an issue's text, or what the caller says."""
    texts = [("the issue", about)] if about.strip() else []
    for one in passages:
        if one.kind != "test":  # what a test says is what is asked
            where = one.where if one.kind == "changelog" else f"the message {one.where[:60]!r}"
            texts.append((where, "\n".join(text for _, text in one.lines)))
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

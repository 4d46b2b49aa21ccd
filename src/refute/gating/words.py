"""Whether somebody says that a test demands something else now: an issue, a message of a commit, a
change log, the docstring of the function or of the test."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from refute.diffing.sources import is_changelog
from refute.gating.checks import functions_of
from refute.syntax import readable_module, try_parse_statements
from refute.workspace.patches import added_lines, touched_files

__all__ = ["Words", "called_names", "told_words"]

_CHANGE = re.compile(
    r"(?i)\b(now|instead|no longer|not any ?more|chang\w*|should|expect\w*|must|rather than"
    r"|used to|drop\w*|remov\w*|delet\w*|deprecat\w*|allow\w*|accept\w*|wrong\w*|correct\w*)\b"
)


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of a change."""

    texts: tuple[tuple[str, str], ...]
    """(where, text): of the issue, messages and change logs."""
    documented: Mapping[str, str]
    """Name of a function whose docstring is another -> the new docstring's place and text."""

    def of(self, test: str, called: Collection[str], values: Collection[str] = ()) -> str:
        """Where something says that this test demands something else; "" where nothing does.

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


def told_words(
    patch: str, before: Mapping[str, str], after: Mapping[str, str], messages: Sequence[str],
    about: str,
) -> Words:  # fmt: skip
    """What a change says of itself. `before`, `after`: path -> text of its files. `about`: an
    issue's text, or what the caller says."""
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
    old, new = (functions_of(readable_module(text)) for text in (before, after))
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

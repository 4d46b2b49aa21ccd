"""The exceptions that an issue shows or names, and whether a failure of ours is one of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = (
    r"(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Warning|DoesNotExist|Exit|NotFound|Http404)"
    r"|ImproperlyConfigured|PermissionDenied|SuspiciousOperation|MultipleObjectsReturned)"
)
_LINE = re.compile(rf"^\s*(?:E\s+)?({_NAME})(?::[ \n](.*))?$")
_DOTTED = re.compile(r"^((?:[a-z_]\w*\.)+\w*[Ee]rror)(?:: (.*))?$")
"""Exceptions of lower case, such as `re.error` and `socket.error`."""
_PAGE = re.compile(r"Exception Type:\s*(\w+)(?: at \S+)?\s*\n\s*Exception Value:\s*(.*)")
"""Django's page for an exception."""
_ANYWHERE = re.compile(rf"\b({_NAME}): ([^\n]+)")
_MADE = re.compile(rf"\b({_NAME})\((?:\"([^\"\n]+)\"|'([^'\n]+)')\)")
"""As Python shows an exception, and as it is raised."""
_WORD = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
_EXPECTED = re.compile(
    r"^[\s#*_>-]*expected(?:[ ]\w+){0,3}[*_]*:?[*_]*\s+(?!Error\b)(?:an?\s+)?[`*]*"
    r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*)[`*]*(?:\(\))?"
    r"\s*(?:$|[.,(]|exception|error|(?:is |to be |be )?raised)",
    re.MULTILINE | re.I,
)
"""Under a heading or behind a colon, one name of a class and nothing else."""
_DEMAND = re.compile(
    r"(?:(?<!not )(?<!n't )\bexpect(?:ed|s|ing)?\b[^.\n]*?(?:\n\s*[^.\n]*?)?"
    r"|\b(?:should|must|ought to)\b(?:\s+\w+){0,2}?\s+)"
    r"\b(?:rais(?:es?|ing)|throws?|reject(?:s|ed)?|be (?:raised|thrown|rejected))\b",
    re.I,
)
"""A demand that something raises."""
_REFUSED = re.compile(
    r"\b(?:no|not|never|without|instead|but|unexpected\w*|nothing|actual\w*|got|currently)\b|n't\b",
    re.I,
)
_NO_ERROR = frozenset({"None", "True", "False", "Output", "Result", "Behavior", "Behaviour"})
_OF_DATABASES = frozenset(
    {"DatabaseError", "OperationalError", "ProgrammingError", "InternalError", "NotSupportedError"}
)
"""A statement that no database understands is another of these, in other words, on each."""
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+|[\"'`]|<[^>]*>")
"""Parts of a message that differ from run to run, or from one version to the next."""


@dataclass(frozen=True, slots=True)
class ShownError:
    """An exception with its message, as the issue shows it."""

    type: str
    """Without its module."""
    message: str = ""
    """Its first line; "" where none is shown."""


def shown_errors(text: str) -> tuple[ShownError, ...]:
    """The exceptions that a text shows with their messages, in order, each once."""
    found: list[ShownError] = []
    for line in text.split("\n"):
        match = _LINE.match(line) or _DOTTED.match(line.strip())
        if match is not None:
            found.append(ShownError(_bare(match[1]), (match[2] or "").strip()))
            continue
        found += [ShownError(_bare(m[1]), m[2].strip()) for m in _ANYWHERE.finditer(line)]
        found += [ShownError(_bare(m[1]), m[2] or m[3]) for m in _MADE.finditer(line)]
    found += [ShownError(match[1], match[2].strip()) for match in _PAGE.finditer(text)]
    return tuple(dict.fromkeys(found))


def named_errors(text: str) -> frozenset[str]:
    """Exceptions that are named anywhere, in prose as well."""
    return frozenset(_WORD.findall(text))


def wanted_errors(prose: str) -> set[str]:
    """Names that stand alone as what is expected ("Expected: `InvalidMetadata`"): exceptions."""
    found = {_bare(match[1]) for match in _EXPECTED.finditer(prose)}
    return {name for name in found - _NO_ERROR if name[0].isupper() and not name.isupper()}


def demands_error(prose: str) -> bool:
    """Return whether an issue says that something should raise, and not that it should not."""
    return any(_REFUSED.search(match[0]) is None for match in _DEMAND.finditer(prose))


def likeness(type_: str, message: str, shown: Iterable[ShownError]) -> float:
    """Rate how much a failure is one of the shown exceptions: 1 the same, 0 none of them.

    0.5: the type is the same, and one of the two has no message or an unlike one; or both are what
    databases say of a statement.
    """
    best = 0.0
    for one in shown:
        if one.type != _bare(type_):
            if {one.type, _bare(type_)} <= _OF_DATABASES:
                best = max(best, 0.5)
            continue
        best = max(best, 0.5)
        ours, theirs = _plain(message), _plain(one.message)
        if not theirs or not ours:
            continue
        if theirs in ours or ours in theirs:
            return 1.0
        ratio = difflib.SequenceMatcher(None, ours[:400], theirs[:400]).ratio()
        if ratio >= 0.75:
            best = max(best, ratio)
    return best


def _plain(message: str) -> str:
    first = message.strip().split("\n", 1)[0]
    return " ".join(_VARIABLE.sub(" ", first).split()).casefold().rstrip(".… ")


def _bare(name: str) -> str:
    return name.rpartition(".")[2]

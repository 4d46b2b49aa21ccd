"""Texts that regular expressions match: what code that reads texts wants to be given.

Patterns are parsed and walked here, never run.
"""

from __future__ import annotations

import importlib
from random import Random
from typing import Any

_LONGEST = 4000
_LETTERS = "abcXYZ019 -_.,:/@=[]()é\n"
_CLASSES = {"DIGIT": "0123456789", "SPACE": " \t\n", "WORD": "abcdeXYZ012_"}
_SIGNS = ("\\d", "\\w", "\\s", "\\b", "\\S", "(?", "[^", "]+", "]*", ".*", ".+", ")?", "]{")


def is_pattern(text: str) -> bool:
    """Whether a text of the code looks like a regular expression."""
    return len(text) <= _LONGEST and any(sign in text for sign in _SIGNS)


def matching(pattern: str, rng: Random, count: int = 4, *, verbose: bool = False) -> list[str]:
    """Up to `count` texts that the pattern matches, so far as no assertion forbids them."""
    parser = importlib.import_module("re._parser")
    try:
        tree = parser.parse(pattern, 64 if verbose else 0)
        made = (_Walk(rng).text(tree) for _ in range(3 * count))
        return list(dict.fromkeys(text for text in made if 0 < len(text) <= 100))[:count]
    except Exception:  # a pattern of another module, or of no module: the parser raises anything
        return []


class _Walk:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.groups: dict[int, str] = {}

    def text(self, tree: Any) -> str:
        return "".join(self._one(str(op), value) for op, value in tree)

    def _one(self, op: str, value: Any) -> str:
        match op:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return self._of(one for one in _LETTERS if ord(one) != value)
            case "ANY":
                return self.rng.choice("aB1 ")
            case "IN":
                return self._in(value)
            case "BRANCH":
                return self.text(self.rng.choice(value[1]))
            case "SUBPATTERN":
                made = self.text(value[-1])
                if value[0] is not None:
                    self.groups[value[0]] = made
                return made
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = value
                times = self.rng.randint(low, min(high, max(low + 2, 2)))
                return "".join(self.text(inner) for _ in range(min(times, 20)))
            case "ATOMIC_GROUP":
                return self.text(value)
            case "GROUPREF":
                return self.groups.get(value, "")
            case "GROUPREF_EXISTS":
                group, yes, no = value
                chosen = yes if self.groups.get(group) else no
                return self.text(chosen) if chosen is not None else ""
        return ""  # an anchor or an assertion takes no characters

    def _in(self, items: Any) -> str:
        negated = bool(items) and str(items[0][0]) == "NEGATE"
        drawn: list[str] = []
        for op, value in items[negated:]:
            name = str(op)
            if name == "LITERAL":
                drawn.append(chr(value))
            elif name == "RANGE":
                low, high = value
                drawn += [chr(low), chr(high), chr(self.rng.randint(low, high))]
                drawn += [c for c in _LETTERS if negated and low <= ord(c) <= high]
            elif name == "CATEGORY":
                kind = str(value).removeprefix("CATEGORY_")
                known = _CLASSES.get(kind.removeprefix("NOT_"), "")
                without = kind.startswith("NOT_")
                drawn += [c for c in _LETTERS if c not in known] if without else list(known)
        if negated:
            return self._of(one for one in _LETTERS if one not in drawn)
        return self._of(drawn)

    def _of(self, letters: Any) -> str:
        pool = list(letters)
        return self.rng.choice(pool) if pool else ""

"""Collect what code mentions and its inputs may have to be: constants, its own and those that it
reads by name, and texts that its regular expressions match."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from refute.function.scenarios.arguments import MOST_MENTIONED, constants_of
from refute.source.syntax import Function

_MOST_READ = 40
_LARGEST = 60
"""Constants in a table that is read by name; larger ones are data."""


def mentioned(
    tree: ast.Module,
    nodes: Sequence[Function],
    owner: str,
    rng: Random,
    tables: Mapping[str, Sequence[str | float]] = MappingProxyType({}),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sources of the numbers and of the texts that the functions mention, their own first.

    `owner`: the qualified name of the class that they are of, whose attributes they may read.
    `tables`: what containers of the module hold at run time, by name.
    """
    read = list(_read(tree, nodes, owner))
    numbers, texts = constants_of(*nodes)
    more_numbers, more_texts = constants_of(*read)
    matches: dict[str, None] = {}
    for node in (*nodes, *read):
        matches |= dict.fromkeys(_matches(node, rng))
    held = [one for name in _names(nodes) for one in tables.get(name, ())]
    more_texts += tuple(repr(one) for one in held if isinstance(one, str))
    more_numbers += tuple(repr(one) for one in held if not isinstance(one, str))
    found = (*texts[: MOST_MENTIONED // 2], *list(matches)[:MOST_MENTIONED], *texts, *more_texts)
    return (
        tuple(dict.fromkeys((*numbers, *more_numbers)))[:MOST_MENTIONED],
        tuple(dict.fromkeys(found))[: 2 * MOST_MENTIONED],
    )


def _matches(node: ast.AST, rng: Random) -> Iterator[str]:
    verbose = any(
        isinstance(one, ast.Attribute) and one.attr in ("VERBOSE", "X") for one in ast.walk(node)
    )
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and type(one.value) is str and is_pattern(one.value):
            docstring = one.value.count("\n") > 3 and not verbose
            for text in () if docstring else matching(one.value, rng, verbose=verbose):
                yield repr(text)


def _read(tree: ast.Module, nodes: Sequence[Function], owner: str) -> Iterator[ast.expr]:
    """The values of the module's and the class's variables that the functions read."""
    names = _names(nodes)
    values: dict[str, ast.expr] = {}
    for statement in (*tree.body, *_body_of(tree, owner)):
        match statement:
            case ast.Assign(targets=targets, value=value):
                values |= {t.id: value for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = value
    for value in [values[name] for name in names if name in values][:_MOST_READ]:
        if sum(isinstance(one, ast.Constant) for one in ast.walk(value)) <= _LARGEST:
            yield value


def _names(nodes: Sequence[Function]) -> dict[str, None]:
    """The names that functions read, of variables and of attributes of variables, in order."""
    names: dict[str, None] = {}
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                names[one.id] = None
            elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                names[one.attr] = None
    return names


def _body_of(tree: ast.Module, owner: str) -> list[ast.stmt]:
    body: list[ast.stmt] = tree.body
    for part in owner.split(".") if owner else ():
        body = [s for n in body if isinstance(n, ast.ClassDef) and n.name == part for s in n.body]
    return body if owner else []


# -- texts that regular expressions match ----------------------------------------------------------

_LONGEST = 4000
_LETTERS = "abcXYZ019 -_.,:/@=[]()é\n"
_CLASSES = {"DIGIT": "0123456789", "SPACE": " \t\n", "WORD": "abcdeXYZ012_"}
_SIGNS = ("\\d", "\\w", "\\s", "\\b", "\\S", "(?", "[^", "]+", "]*", ".*", ".+", ")?", "]{")


def is_pattern(text: str) -> bool:
    """Return whether a text of the code looks like a regular expression."""
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

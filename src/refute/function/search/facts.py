"""Facts that the operators use about a program: names, constants, words, rough types."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from refute.function.rough_types import annotated_type, rough_type, suits
from refute.function.search.sites import Site
from refute.function.search.vocabulary import Vocabulary
from refute.source.syntax import Function

__all__ = ["CodeFacts", "fits", "gather", "may_be", "type_of"]

_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "half": 2, "twice": 2, "first": 1, "second": 2, "third": 3,
    "square": 2, "squared": 2, "cube": 3, "cubed": 3,
}  # fmt: skip


@dataclass(slots=True)
class CodeFacts:
    """Read from the code under test and the description, once per problem."""

    tree: ast.Module
    integers: tuple[int, ...]
    """Integer constants of the program."""
    told_integers: tuple[int, ...]
    """Integers that the description's prose mentions, worked examples left out."""
    strings: tuple[str, ...]
    told_strings: tuple[str, ...]
    """Short strings in quotes in the description."""
    functions: tuple[str, ...]
    """Functions that the module defines."""
    types: dict[str, str]
    """Variable -> rough type."""
    used: dict[str, int]
    """Variable -> number of loads."""
    indices: frozenset[str]
    """Variables in the role of an index: loops over `range` and `enumerate`, subscripts."""
    atoms: tuple[ast.expr, ...]
    """Conditions of the program without `and`, `or`, `not`."""
    around: Vocabulary
    """What the whole module offers."""
    unread: dict[int, tuple[str, ...]]
    """Id of a function -> its parameters that it never reads."""
    unspread: dict[int, tuple[str | None, str | None]]
    """Id of a function -> its `*args` and its `**options`, where it never reads them."""

    def idle(self, name: str) -> bool:
        """Return whether a variable is never read although its name does not begin with `_`."""
        return not self.used.get(name) and not name.startswith("_")


def gather(
    tree: ast.Module,
    description: str,
    near: Sequence[str] = (),
    around: Vocabulary | None = None,
) -> CodeFacts:
    """Collect the facts about a program and its description.

    `near`: functions that it may call although `tree`, a part of a module, does not hold them;
    `around`: what the whole module offers.
    """
    integers: dict[int, None] = {}
    strings: dict[str, None] = {}
    used: dict[str, int] = {}
    types: dict[str, str] = {}
    atoms: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if type(node.value) is int:
                integers[node.value] = None
            elif isinstance(node.value, str) and len(node.value) <= 40:
                strings[node.value] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = used.get(node.id, 0) + 1
        elif isinstance(node, ast.arg) and node.annotation is not None:
            types[node.arg] = annotated_type(node.annotation)
        elif isinstance(node, ast.Compare):
            atoms[ast.dump(node)] = node
    own = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    facts = CodeFacts(
        tree,
        tuple(integers),
        _told_integers(description),
        tuple(strings),
        tuple(
            dict.fromkeys(
                a or b for a, b in re.findall(r"'([^'\n]{1,12})'|\"([^\"\n]{1,12})\"", description)
            )
        )[:12],
        tuple(dict.fromkeys((*own, *near))),
        types,
        used,
        _indices(tree),
        tuple(atoms.values())[:12],
        around if around is not None else Vocabulary(),
        {id(node): _unread(node) for node in ast.walk(tree) if isinstance(node, Function)},
        {id(node): _unspread(node) for node in ast.walk(tree) if isinstance(node, Function)},
    )
    for _ in range(2):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        _learn(facts, target.id, type_of(node.value, facts))
            elif isinstance(node, ast.For | ast.comprehension):
                if not isinstance(node.target, ast.Name):
                    continue
                iterable = node.iter
                if isinstance(iterable, ast.Call) and _callee(iterable) == "range":
                    _learn(facts, node.target.id, "int")
                elif type_of(iterable, facts) == "str":
                    _learn(facts, node.target.id, "str")
    return facts


def _unread(function: Function) -> tuple[str, ...]:
    spec = function.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    read = _read(function)
    names = [arg.arg for arg in every if arg.arg not in read]
    return tuple(n for n in names if not n.startswith("_") and n not in ("self", "cls"))


def _unspread(function: Function) -> tuple[str | None, str | None]:
    spec = function.args
    if spec.vararg is None and spec.kwarg is None:
        return None, None
    read = _read(function)
    rest, options = (
        None if one is None or one.arg in read or one.arg.startswith("_") else one.arg
        for one in (spec.vararg, spec.kwarg)
    )
    return rest, options


def _read(function: Function) -> set[str]:
    return {n.id for stmt in function.body for n in ast.walk(stmt) if isinstance(n, ast.Name)}


def _indices(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            inside = (node.slice,)
            found.update(n.id for s in inside for n in ast.walk(s) if isinstance(n, ast.Name))
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            target = node.target
            if _callee(node.iter) == "enumerate" and isinstance(target, ast.Tuple):
                target = target.elts[0]
            if _callee(node.iter) in ("range", "enumerate") and isinstance(target, ast.Name):
                found.add(target.id)
    return frozenset(found)


def _learn(facts: CodeFacts, name: str, kind: str) -> None:
    if kind != "?":
        known = facts.types.get(name)
        facts.types[name] = kind if known in (None, kind) else known


def _told_integers(description: str) -> tuple[int, ...]:
    prose = "\n".join(
        line
        for line in description.splitlines()
        if not re.search(r">>>|==|=>|->|→|➞|\bassert\b|^\s*[\[({'\"\d-]", line)
    )
    found = [int(text) for text in re.findall(r"(?<![\w.])\d{1,4}(?![\w.]*\d)", prose)]
    found += [_NUMBER_WORDS[w] for w in re.findall(r"[a-z]+", prose.lower()) if w in _NUMBER_WORDS]
    return tuple(dict.fromkeys(found))[:12]


def _callee(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def type_of(node: ast.AST, facts: CodeFacts) -> str:
    """The rough type of an expression of the program."""
    return rough_type(node, facts.types)


def may_be(node: ast.AST, facts: CodeFacts, *kinds: str) -> bool:
    """Return whether the expression's rough type is unknown or one of `kinds`."""
    return suits(type_of(node, facts), kinds)


def fits(site: Site, name: str, facts: CodeFacts) -> bool:
    """Return whether a variable could stand at a site, as far as rough types tell."""
    here, there = type_of(site.node, facts), facts.types.get(name, "?")
    numbers = {"int", "float", "num", "bool"}
    return "?" in (here, there) or here == there or {here, there} <= numbers

"""What the operators know about a program: its names, constants, words, and rough types."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from refute.function.search.sites import Site
from refute.function.search.vocabulary import Vocabulary

__all__ = ["Facts", "fits", "gather", "may_be", "suits", "type_of"]

_CALLS = {
    "len": "int", "int": "int", "ord": "int", "sum": "num", "round": "num", "abs": "num",
    "pow": "num", "float": "float", "str": "str", "chr": "str", "bin": "str", "hex": "str",
    "input": "str", "repr": "str", "list": "list", "sorted": "list", "set": "set",
    "frozenset": "set", "dict": "dict", "tuple": "tuple", "bool": "bool", "any": "bool",
    "all": "bool", "isinstance": "bool", "range": "iter", "zip": "iter", "map": "iter",
    "filter": "iter", "enumerate": "iter", "reversed": "iter", "Counter": "dict",
    "defaultdict": "dict", "deque": "list", "iter": "iter",
}  # fmt: skip
_METHODS = {
    "lower": "str", "upper": "str", "strip": "str", "lstrip": "str", "rstrip": "str",
    "join": "str", "replace": "str", "title": "str", "capitalize": "str", "swapcase": "str",
    "zfill": "str", "hexdigest": "str", "format": "str", "split": "list", "splitlines": "list",
    "keys": "iter", "values": "iter", "items": "iter", "count": "int", "index": "int",
    "find": "int", "rfind": "int", "bit_length": "int", "isdigit": "bool", "isalpha": "bool",
    "isupper": "bool", "islower": "bool", "isalnum": "bool", "isspace": "bool",
    "startswith": "bool", "endswith": "bool", "copy": "?",
}  # fmt: skip
_ANNOTATIONS = {
    "int": "int", "float": "float", "str": "str", "bool": "bool", "list": "list", "List": "list",
    "dict": "dict", "Dict": "dict", "set": "set", "Set": "set", "tuple": "tuple",
    "Tuple": "tuple", "Iterable": "iter", "Sequence": "list",
}  # fmt: skip
_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "half": 2, "twice": 2, "first": 1, "second": 2, "third": 3,
    "square": 2, "squared": 2, "cube": 3, "cubed": 3,
}  # fmt: skip


@dataclass(slots=True)
class Facts:
    """Read from the code under test and the description, once per problem."""

    tree: ast.Module
    integers: tuple[int, ...]
    """Integer constants of the program."""
    told_integers: tuple[int, ...]
    """Integers that the description's prose mentions, worked examples left out."""
    strings: tuple[str, ...]
    told_strings: tuple[str, ...]
    """Short strings in quotes in the description."""
    words: frozenset[str]
    """Words of the description, lower case."""
    capitals: tuple[str, ...]
    """Capitalised words of the description."""
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

    def idle(self, name: str) -> bool:
        """Whether a variable is never read although its name does not say that it is not to be."""
        return not self.used.get(name) and not name.startswith("_")


def gather(
    tree: ast.Module,
    description: str,
    near: Sequence[str] = (),
    around: Vocabulary | None = None,
) -> Facts:
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
            types[node.arg] = _annotated(node.annotation)
        elif isinstance(node, ast.Compare):
            atoms[ast.dump(node)] = node
    own = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    facts = Facts(
        tree,
        tuple(integers),
        _told_integers(description),
        tuple(strings),
        tuple(
            dict.fromkeys(
                a or b for a, b in re.findall(r"'([^'\n]{1,12})'|\"([^\"\n]{1,12})\"", description)
            )
        )[:12],
        frozenset(re.findall(r"[a-z]+", description.lower())),
        tuple(dict.fromkeys(re.findall(r"\b[A-Z][a-z]{2,}\b", description)))[:40],
        tuple(dict.fromkeys((*own, *near))),
        types,
        used,
        _indices(tree),
        tuple(atoms.values())[:12],
        around if around is not None else Vocabulary(),
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


def _learn(facts: Facts, name: str, kind: str) -> None:
    if kind != "?":
        known = facts.types.get(name)
        facts.types[name] = kind if known in (None, kind) else known


def _annotated(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return _ANNOTATIONS.get(name, "?")


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


def type_of(node: ast.AST, facts: Facts, depth: int = 12) -> str:
    """A rough type: int float num str list set dict tuple bool iter, or `?`.

    What is nested deeper than `depth` says nothing: each part of a long sum is asked for its type.
    """
    if not depth:
        return "?"
    deeper = depth - 1
    match node:
        case ast.Constant(value=value):
            name = type(value).__name__
            return name if name in ("int", "float", "str", "bool") else "?"
        case ast.Name(id=name):
            return facts.types.get(name, "?")
        case ast.Call(func=ast.Attribute(attr=attr)):
            return _METHODS.get(attr, "?")
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS.get(name, "?")
        case ast.Compare():
            return "bool"
        case ast.UnaryOp(op=ast.Not()):
            return "bool"
        case ast.UnaryOp(operand=operand):
            return type_of(operand, facts, deeper)
        case ast.BoolOp(values=values):
            return type_of(values[-1], facts, deeper)
        case ast.IfExp(body=body):
            return type_of(body, facts, deeper)
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Tuple():
            return "tuple"
        case ast.GeneratorExp():
            return "iter"
        case ast.JoinedStr():
            return "str"
        case ast.Subscript(value=value, slice=index):
            whole = type_of(value, facts, deeper)
            return whole if isinstance(index, ast.Slice) or whole == "str" else "?"
        case ast.BinOp(left=left, op=op, right=right):
            a, b = type_of(left, facts, deeper), type_of(right, facts, deeper)
            if isinstance(op, ast.Div):
                return "float"
            if "str" in (a, b):
                return "str"
            if "list" in (a, b):
                return "list"
            if isinstance(op, ast.Add | ast.Mult):
                return a if a == b else "num" if {a, b} <= {"int", "float", "num"} else "?"
            return a if a == b else "num"
    return "?"


def may_be(node: ast.AST, facts: Facts, *kinds: str) -> bool:
    """Whether the expression's rough type is unknown or one of `kinds`."""
    return suits(type_of(node, facts), kinds)


def suits(kind: str, kinds: Collection[str]) -> bool:
    """Whether a rough type is unknown or one of `kinds`."""
    if kind == "num":
        return "int" in kinds or "float" in kinds or "num" in kinds
    return kind == "?" or kind in kinds


def fits(site: Site, name: str, facts: Facts) -> bool:
    """Whether a variable could stand at a site as far as rough types tell."""
    here, there = type_of(site.node, facts), facts.types.get(name, "?")
    numbers = {"int", "float", "num", "bool"}
    return "?" in (here, there) or here == there or {here, there} <= numbers

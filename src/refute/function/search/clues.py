"""Clues about arguments in code, signature and description, without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refute.function.search.annotations import (
    GRID_NAMES,
    TEXTS_NAMES,
    Named,
    annotated,
    element_of,
    named_types,
    text_of,
)
from refute.function.search.documented import Refusal, choices, documented_types, refusals
from refute.function.search.domain import (
    Constants,
    Domain,
    Mappings,
    Numbers,
    Part,
    Sequences,
    is_tame,
    learn,
)
from refute.function.search.texts import Texts
from refute.source.syntax import Function, find_function, takes_self, try_parse

__all__ = ["Clues", "ParameterClues", "gather"]

_TEXT_METHODS = frozenset(
    {
        "split",
        "strip",
        "lower",
        "upper",
        "swapcase",
        "isalpha",
        "isdigit",
        "isupper",
        "islower",
        "startswith",
        "endswith",
        "replace",
        "join",
        "title",
        "capitalize",
        "splitlines",
        "lstrip",
        "rstrip",
        "find",
        "encode",
        "isalnum",
        "isspace",
        "zfill",
    }
)
_LIST_METHODS = frozenset({"append", "sort", "reverse", "insert", "extend", "pop", "remove"})
_DICT_METHODS = frozenset({"keys", "values", "items", "get", "setdefault"})

_TEXT_NAMES = re.compile(
    r"(^|_)(s|s\d|str\w*|text\d*|txt|string\d*|word|sentence|message|char|ch|name|date|brackets"
    r"|paragraph|line|pattern|sub|substring|prefix|suffix|email|url|path|token|letter)$",
    re.I,
)
_TUPLE_NAMES = re.compile(r"(tup|interval|point|pair$)", re.I)
_DICT_NAMES = re.compile(r"^(d|dic|dict\w*|mapping|counts)$", re.I)
_LIST_NAMES = re.compile(
    r"(^|_)(l|l\d|lst\w*|li|lis|arr\w*|array\w*|list\w*|nums\w*|numbers|nlist|xs|ys|values|items"
    r"|elements|data|seq\w*|operations|heights|prices|scores|grades|weights)$",
    re.I,
)


_SMALL = {"one": 1, "1": 1, "two": 2, "2": 2, "three": 3, "3": 3}


@dataclass(frozen=True, slots=True)
class ParameterClues:
    """One parameter of the entry point."""

    name: str
    domain: Domain
    """What annotation or docstring, use and name suggest."""
    default: bool = False
    keyword_only: bool = False
    positional_only: bool = False
    choices: tuple[Any, ...] = ()
    """The only values that annotation or code name for it; (): any."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Everything that was read about the arguments of the entry point."""

    parameters: tuple[ParameterClues, ...] = ()
    variadic: bool = False
    marks: tuple[float, ...] = ()
    """Numeric constants of the code, each with its two neighbours."""
    words: tuple[str, ...] = ()
    """String constants of the code, short ones."""
    shortest: int = 0
    """How long the description says sequences are at least: 1 for "non-empty"."""
    positive: bool = False
    """The description speaks of positive numbers only; `natural`: of non-negative ones."""
    natural: bool = False
    returns: ast.expr | None = None
    constants: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Numbers that each parameter (or its length) is compared with, with their neighbours."""

    refusals: tuple[Refusal, ...] = ()
    """What the code itself refuses."""

    @property
    def required(self) -> int:
        """Return how many parameters, from the first, include all that a call must give."""
        return max((n for n, p in enumerate(self.parameters, 1) if not p.default), default=0)


def gather(code: str, entry_point: str, *, description: str = "", signature: str = "") -> Clues:
    """Read the clues; code that does not parse, or lacks the function, gives the signature's."""
    function, tree = _parse(code, entry_point), try_parse(code)
    if function is None:
        function = _parse(f"def {signature}: ...", entry_point)
        if function is None:
            return Clues()
    numbers, words = _constants(tree if tree is not None else function, function)
    low = description.lower()
    positive = bool(re.search(r"\bpositive (integer|int|number|whole|natural|n\b)", low))
    natural = bool(re.search(r"\bnon[- ]?negative|\bnatural number", low))
    least = re.search(r"\b(?:of|length|has|have|contains?|with) (?:length )?at least (\w+)\b", low)
    shortest = _SMALL.get(least[1], 0) if least else 0
    if re.search(r"\bnon[- ]?empty|not (?:be )?empty\b", low):
        shortest = max(shortest, 1)
    compared = {arg.arg: _compared(function, arg.arg) for arg in _arguments(function)}
    marks = tuple(dict.fromkeys(n + step for n in numbers if is_tame(n) for step in (0, 1, -1)))
    floor = 1 if positive else 0
    ceiling = max(10, min(100, max((int(abs(n)) for n in numbers if abs(n) <= 1000), default=10)))
    scale = Numbers(int, floor, ceiling, marks)
    arguments = _arguments(function)
    positional = len(function.args.posonlyargs) + len(function.args.args)
    positional_only = len(function.args.posonlyargs)
    if arguments and takes_self(function, entry_point):
        arguments, positional = arguments[1:], positional - 1
        positional_only = max(0, positional_only - 1)
    optional = positional - len(function.args.defaults)
    told = documented_types(ast.get_docstring(function) or description)
    said = {one.arg: one.annotation or told.get(one.arg) for one in arguments}
    named = {} if tree is None else named_types(tree)
    return Clues(
        parameters=tuple(
            ParameterClues(
                arg.arg,
                _domain(arg, said[arg.arg], named, function, scale, words),
                default=index >= optional
                if index < positional
                else function.args.kw_defaults[index - positional] is not None,
                keyword_only=index >= positional,
                positional_only=index < positional_only,
                choices=choices(function, arg.arg, said[arg.arg]),
            )
            for index, arg in enumerate(arguments)
        ),
        variadic=function.args.vararg is not None,
        marks=marks,
        words=words,
        shortest=shortest,
        positive=positive,
        natural=natural,
        returns=function.returns,
        constants=compared,
        refusals=refusals(function),
    )


def _parse(code: str, entry_point: str) -> Function | None:
    tree = try_parse(code)
    return None if tree is None else find_function(tree, entry_point)


def _arguments(function: Function) -> list[ast.arg]:
    spec = function.args
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def _constants(tree: ast.AST, function: ast.AST) -> tuple[list[float], tuple[str, ...]]:
    numbers = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docs
        and len(node.value) <= 30
    ]
    real = [float(n) if isinstance(n, float) else n for n in numbers if isinstance(n, (int, float))]
    return list(dict.fromkeys(n for n in real if abs(n) <= 10**9)), tuple(dict.fromkeys(texts))


def _compared(function: ast.AST, name: str) -> tuple[float, ...]:
    """c-1, c and c+1 of each number that `name`, or `len(name)`, is compared with."""
    found: list[float] = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(n, ast.Name) and n.id == name for side in sides for n in ast.walk(side)):
            for side in sides:
                if isinstance(side, ast.Constant) and type(side.value) in (int, float):
                    number = side.value
                    assert isinstance(number, (int, float))
                    found += [number, number - 1, number + 1]
    return tuple(dict.fromkeys(found))


def _domain(
    arg: ast.arg,
    annotation: ast.expr | None,
    named: Named,
    function: Function,
    scale: Numbers,
    words: tuple[str, ...],
) -> Domain:
    if annotation is not None:
        domain = annotated(annotation, arg.arg, scale, words, named)
        if domain.parts:
            return domain
    chosen = choices(function, arg.arg, annotation)
    default = _default(arg, function)
    if chosen or default is not None:
        seen = chosen if default is None else tuple(dict.fromkeys((*chosen, *default)))
        if chosen or isinstance(seen[0], str):
            return Domain((Constants(seen),))
        return learn(seen, marks=scale.marks)
    for part in (_used(function, arg.arg, scale, words), _named(arg.arg, scale, words)):
        if part is not None:
            return Domain((part,))
    return Domain((scale,))


def _default(arg: ast.arg, function: Function) -> tuple[Any] | None:
    """A parameter's default where it is a literal that says of which type the parameter is."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [
        *zip(positional[::-1], spec.defaults[::-1], strict=False),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    for one, node in pairs:
        if one is arg and node is not None:
            try:
                value = ast.literal_eval(node)
                hash(value)
            except (ValueError, TypeError):
                return None
            return None if value is None or value == () else (value,)
    return None


def _used(
    function: Function,
    name: str,
    scale: Numbers,
    words: tuple[str, ...],
) -> Part | None:
    """Return what operations say about the parameter: `s.split`, `for a, b in pairs`, `n % 2`."""
    sequence = number = False
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and _is(node.value, name):
            if node.attr in _TEXT_METHODS:
                return text_of(words)
            if node.attr in _DICT_METHODS:
                return Mappings(Domain((text_of(words),)), Domain((scale,)), 1, 4)
            sequence |= node.attr in _LIST_METHODS
        elif isinstance(node, (ast.For, ast.comprehension)) and _is(node.iter, name):
            sequence = True
            if isinstance(node.target, ast.Tuple):
                places = tuple(Domain((scale,)) for _ in node.target.elts)
                pair = Sequences(tuple, Domain((scale,)), len(places), len(places), places=places)
                return Sequences(list, Domain((pair,)), 1, 4)
        elif isinstance(node, ast.Subscript) and _is(node.value, name):
            sequence = True
        elif isinstance(node, ast.Call) and any(_is(one, name) for one in node.args):
            label = ast.unparse(node.func)
            sequence |= label in ("len", "sorted", "enumerate", "sum", "zip", "Counter", "set")
            number |= label in ("range", "abs", "bin", "chr", "math.sqrt", "sqrt", "hex", "pow")
        elif isinstance(node, ast.BinOp):
            arithmetic = isinstance(
                node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.BitXor, ast.BitAnd)
            )
            number |= arithmetic and (_is(node.left, name) or _is(node.right, name))
            number |= isinstance(node.op, ast.Mod) and _is(node.left, name)
        elif isinstance(node, ast.Compare):
            ordered = any(isinstance(op, (ast.Lt, ast.Gt, ast.LtE, ast.GtE)) for op in node.ops)
            number |= ordered and any(_is(one, name) for one in (node.left, *node.comparators))
    if sequence and not number:
        guess = _named(name, scale, words)
        if isinstance(guess, (Sequences, Texts, Mappings)):
            return guess
        return Sequences(list, Domain((scale,)), 1, 5)
    return scale if number and not sequence else None


def _named(name: str, scale: Numbers, words: tuple[str, ...]) -> Part | None:
    if TEXTS_NAMES.search(name) or GRID_NAMES.search(name):
        return Sequences(list, element_of(name, scale, words), 1, 4)
    if _TUPLE_NAMES.search(name):
        return Sequences(tuple, Domain((scale,)), 2, 4)
    if _DICT_NAMES.search(name):
        return Mappings(Domain((text_of(words),)), Domain((scale,)), 1, 4)
    if _LIST_NAMES.search(name):
        return Sequences(list, Domain((scale,)), 1, 5)
    return text_of(words) if _TEXT_NAMES.search(name) else None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name

"""What code, signature and description say about arguments, without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refute.function.definitions import Function, find_function, parse_module
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
from refute.function.search.limits import Refusal, choices, refusals
from refute.function.search.texts import Texts
from refute.syntax import parse_expression

__all__ = ["Clues", "Parameter", "gather"]

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
_TEXTS_NAMES = re.compile(r"(^|_)(words|strings|names|strs|texts|lines|tokens)$", re.I)
_GRID_NAMES = re.compile(r"(matrix|grid|board|image|table)", re.I)
_TUPLE_NAMES = re.compile(r"(tup|interval|point|pair$)", re.I)
_DICT_NAMES = re.compile(r"^(d|dic|dict\w*|mapping|counts)$", re.I)
_LIST_NAMES = re.compile(
    r"(^|_)(l|l\d|lst\w*|li|lis|arr\w*|array\w*|list\w*|nums\w*|numbers|nlist|xs|ys|values|items"
    r"|elements|data|seq\w*|operations|heights|prices|scores|grades|weights)$",
    re.I,
)


_SMALL = {"one": 1, "1": 1, "two": 2, "2": 2, "three": 3, "3": 3}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the entry point."""

    name: str
    domain: Domain
    """What annotation, use and name suggest; a guess where nothing was annotated."""
    annotated: bool = False
    default: bool = False
    keyword_only: bool = False
    positional_only: bool = False
    choices: tuple[Any, ...] = ()
    """The only values that annotation or code name for it; (): any."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Everything that was read about the arguments of the entry point."""

    parameters: tuple[Parameter, ...] = ()
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
        """How many of the parameters, from the first, hold all that a call must give."""
        return max((n for n, p in enumerate(self.parameters, 1) if not p.default), default=0)


def gather(code: str, entry_point: str, *, description: str = "", signature: str = "") -> Clues:
    """Read the clues; code that does not parse, or lacks the function, gives the signature's."""
    function, tree = _parse(code, entry_point), parse_module(code)
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
    if "." in entry_point and arguments and arguments[0].arg in ("self", "cls"):
        arguments, positional = arguments[1:], positional - 1
        positional_only = max(0, positional_only - 1)
    optional = positional - len(function.args.defaults)
    return Clues(
        parameters=tuple(
            Parameter(
                arg.arg,
                _domain(arg, function, scale, words),
                annotated=arg.annotation is not None,
                default=index >= optional
                if index < positional
                else function.args.kw_defaults[index - positional] is not None,
                keyword_only=index >= positional,
                positional_only=index < positional_only,
                choices=choices(function, arg),
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
    tree = parse_module(code)
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
    function: Function,
    scale: Numbers,
    words: tuple[str, ...],
) -> Domain:
    if arg.annotation is not None:
        domain = _annotated(arg.annotation, arg.arg, scale, words)
        if domain.parts:
            return domain
    named = choices(function, arg)
    default = _default(arg, function)
    if named or default is not None:
        seen = named if default is None else tuple(dict.fromkeys((*named, *default)))
        if named or isinstance(seen[0], str):
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
            except (ValueError, TypeError, SyntaxError, RecursionError):
                return None
            return None if value is None or value == () else (value,)
    return None


def _annotated(node: ast.expr, name: str, scale: Numbers, words: tuple[str, ...]) -> Domain:
    """The domain an annotation spells; empty when it says nothing that is understood."""

    def inner(one: ast.expr) -> Domain:
        domain = _annotated(one, "", scale, words)
        return domain if domain.parts else Domain((scale,))

    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotated(parse_expression(node.value), name, scale, words)
        except SyntaxError:
            return Domain()
    if isinstance(node, ast.Constant) and node.value is None:
        return Domain((Constants((None,)),))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [_annotated(side, name, scale, words).parts for side in (node.left, node.right)]
        return Domain((*sides[0], *sides[1]))
    label = ast.unparse(node.value if isinstance(node, ast.Subscript) else node)
    label = label.rsplit(".", 1)[-1].lower()
    inside: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    element = inner(inside[0]) if inside else _element(name, scale, words)
    part: Part | None = None
    if label in ("union", "optional"):
        parts = [p for one in inside for p in _annotated(one, name, scale, words).parts]
        return Domain((*parts, Constants((None,))) if label == "optional" else tuple(parts))
    if label == "literal":
        values = [ast.literal_eval(one) for one in inside if isinstance(one, ast.Constant)]
        part = Constants(tuple(values)) if values else None
    elif label == "int":
        part = scale
    elif label == "float":
        part = Numbers(float, float(scale.low), float(scale.high), scale.marks)
    elif label == "bool":
        part = Constants((True, False))
    elif label == "str":
        part = _text(words)
    elif label in ("list", "sequence", "iterable", "collection", "mutablesequence"):
        part = Sequences(list, element, 1, 4)
    elif label == "tuple":
        exact = inside and not (len(inside) == 2 and isinstance(inside[1], ast.Constant))
        places = tuple(inner(one) for one in inside) if exact else ()
        part = Sequences(tuple, element, 1, 4, places=places)
    elif label in ("set", "frozenset"):
        part = Sequences(set if label == "set" else frozenset, element, 1, 4)
    elif label in ("dict", "mapping", "defaultdict"):
        key = inner(inside[0]) if inside else Domain((_text(words),))
        value = inner(inside[1]) if len(inside) > 1 else Domain((scale,))
        part = Mappings(key, value, 1, 4)
    return Domain((part,) if part is not None else ())


def _used(
    function: Function,
    name: str,
    scale: Numbers,
    words: tuple[str, ...],
) -> Part | None:
    """What the operations on the parameter say: `s.split`, `for a, b in pairs`, `n % 2`."""
    sequence = number = False
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and _is(node.value, name):
            if node.attr in _TEXT_METHODS:
                return _text(words)
            if node.attr in _DICT_METHODS:
                return Mappings(Domain((_text(words),)), Domain((scale,)), 1, 4)
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
    if _TEXTS_NAMES.search(name) or _GRID_NAMES.search(name):
        return Sequences(list, _element(name, scale, words), 1, 4)
    if _TUPLE_NAMES.search(name):
        return Sequences(tuple, Domain((scale,)), 2, 4)
    if _DICT_NAMES.search(name):
        return Mappings(Domain((_text(words),)), Domain((scale,)), 1, 4)
    if _LIST_NAMES.search(name):
        return Sequences(list, Domain((scale,)), 1, 5)
    return _text(words) if _TEXT_NAMES.search(name) else None


def _element(name: str, scale: Numbers, words: tuple[str, ...]) -> Domain:
    if _TEXTS_NAMES.search(name):
        return Domain((_text(words),))
    if _GRID_NAMES.search(name):
        return Domain((Sequences(list, Domain((scale,)), 3, 3),))
    return Domain((scale,))


def _text(words: tuple[str, ...]) -> Texts:
    typical = ["abc", "aBc", "hello", "Hello World", "a1b2"]
    own = "".join(sorted({c for word in words for c in word if len(word) <= 3}))
    return Texts.learn([*typical, own] if own.strip() else typical)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name

"""How well a call's arguments fit what the callable says that it takes.

A difference is shown on an input that somebody would give; one that annotations or defaults speak
against is looked at last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.core.problems import Scenario
from refute.function.scenarios.described import KEYWORDS, VARIADIC, Parameter, Signature, TypeHint
from refute.source.literals import NotLiteral, read_literal
from refute.source.syntax import parse_expression

_LISTS = frozenset({"Sequence", "Iterable", "Collection", "Container", "Sized", "Reversible"})
_KINDS: dict[type, frozenset[str]] = {
    bool: frozenset({"bool", "int", "float", "complex", "Number", "Real"}),
    int: frozenset({"int", "float", "complex", "SupportsInt", "SupportsFloat", "SupportsIndex",
                    "Number", "Real", "Decimal", "Fraction"}),
    float: frozenset({"float", "complex", "SupportsInt", "SupportsFloat", "Number", "Real"}),
    str: frozenset({"str", "Text", "LiteralString", "PathLike"}) | _LISTS,
    bytes: frozenset({"bytes", "ByteString", "Buffer"}) | _LISTS,
    list: frozenset({"list", "List", "MutableSequence"}) | _LISTS,
    tuple: frozenset({"tuple", "Tuple"}) | _LISTS,
    dict: frozenset({"dict", "Dict", "Mapping", "MutableMapping"}) | (_LISTS - {"Sequence"}),
    set: frozenset({"set", "Set", "MutableSet"}) | (_LISTS - {"Sequence"}),
    frozenset: frozenset({"frozenset", "FrozenSet", "Set"}) | (_LISTS - {"Sequence"}),
}  # fmt: skip


def misfits(scenario: Scenario, signature: Signature) -> int:
    """How many literal arguments of the observed call are not of the type that its parameter has
    by annotation or, without one, by its default. What is no literal counts as fitting."""
    try:
        call = parse_expression(scenario.expression)
    except SyntaxError:
        return 0
    if not isinstance(call, ast.Call) or signature.parameters is None:
        return 0
    named = {one.name: one for one in signature.parameters}
    positional = [one for one in signature.parameters if one.kind <= VARIADIC]
    pairs: list[tuple[Parameter, ast.expr]] = []
    for index, argument in enumerate(_unpacked(call.args)):
        if isinstance(argument, ast.Starred) or not positional:
            break
        pairs.append((positional[min(index, len(positional) - 1)], argument))
    pairs += [(named[k.arg], k.value) for k in call.keywords if k.arg in named]
    return sum(not _fits(one, node) for one, node in pairs if one.kind != KEYWORDS)


def _unpacked(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    """The arguments, with those of a display after a star one by one."""
    for one in arguments:
        match one:
            case ast.Starred(value=ast.List(elts=items) | ast.Tuple(elts=items)):
                yield from items
            case _:
                yield one


def _fits(parameter: Parameter, node: ast.expr) -> bool:
    try:
        value = read_literal(node)
    except NotLiteral:
        return True
    if parameter.type != ("any",):
        return _is_of(value, parameter.type)
    if not parameter.optional or parameter.default is None:
        return True
    return _is_of(value, ("class", f"builtins:{type(parameter.default).__name__}", []))


def _is_of(value: object, hint: TypeHint, depth: int = 6) -> bool:
    match hint:
        case ("none",):
            return value is None
        case ("literal", values):
            return value in tuple(values)
        case ("union", kinds):
            return any(_is_of(value, tuple(one), depth) for one in kinds)
        case ("callable",) | ("type", _):
            return False
        case ("class", place, arguments):
            name = str(place).rpartition(":")[2]
            if name == "object" or depth <= 0:
                return True
            if name not in _KINDS.get(type(value), frozenset()):
                return False
            inner = [tuple(one) for one in arguments if tuple(one) != ("many",)]
            if isinstance(value, dict) and len(inner) == 2:
                keys = all(_is_of(key, inner[0], depth - 1) for key in value)
                return keys and all(_is_of(one, inner[1], depth - 1) for one in value.values())
            if isinstance(value, (list, set, frozenset)) and len(inner) == 1:
                return all(_is_of(one, inner[0], depth - 1) for one in value)
            return True
    return True  # what is not known fits

"""Arguments for a callable, by the types of its parameters and by what its code does with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from random import Random

from refute.core.combinators import in_turn
from refute.function.scenarios.building import Builder
from refute.function.scenarios.described import (
    ANY,
    KEYWORDS,
    VARIADIC,
    Parameter,
    Signature,
    TypeHint,
)
from refute.function.scenarios.pieces import Piece, joined, library_places
from refute.function.scenarios.varying import neighbours
from refute.sandbox.values import crosses
from refute.source.literals import NotLiteral, source_of
from refute.source.syntax import Function

Row = dict[str, Piece]
"""A piece for each parameter that is given."""

_LITERAL = frozenset(
    {"int", "float", "str", "bool", "bytes", "NoneType", "list", "tuple", "dict", "set",
     "frozenset", "Sequence", "Iterable", "Collection", "Mapping", "MutableSequence",
     "MutableMapping", "Set",
     "Container", "Sized", "Reversible", "List", "Dict", "Tuple", "FrozenSet"}
)  # fmt: skip
_HOMES = frozenset({"builtins", "collections.abc", "typing"})
_BUILTIN_ATTRIBUTES = tuple(
    frozenset(dir(kind)) for kind in (str, list, dict, int, float, bytes, set, tuple)
)
STRAYING = 0.1
"""Share of rows with an argument of any type: what code does with it may be what changed."""
MOST_MENTIONED = 40
FIRST = 3
"""Rows of required arguments before the first one with an option."""


def constants_of(*nodes: ast.AST) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sources of the numbers (with their neighbours) and short texts that code mentions."""
    numbers: dict[str, None] = {}
    texts: dict[str, None] = {}
    for node in chain.from_iterable(map(ast.walk, nodes)):
        if isinstance(node, ast.Constant):
            value = node.value
            if type(value) is int and abs(value) < 10**12:
                numbers |= dict.fromkeys((str(value), str(value + 1), str(value - 1)))
            elif type(value) is float:
                numbers[repr(value)] = None
            elif type(value) is str and 0 < len(value) <= 30:
                texts[repr(value)] = None
    return tuple(islice(numbers, MOST_MENTIONED)), tuple(islice(texts, MOST_MENTIONED))


def rows_for(
    signature: Signature, node: Function | None, builder: Builder, rng: Random
) -> Iterator[Row]:
    """Rows of arguments, best first, without end where there is anything to vary: the required
    ones, then with one option at a time, then with options drawn at random.

    `node`: the definition, where its source is known.
    """
    parameters = [one for one in signature.parameters or () if one.kind != KEYWORDS]
    columns = {
        one.name: _objects(one, node, builder) or builder.of_type(hint_of(one))
        for one in parameters
    }
    required = [one for one in parameters if not one.optional and one.kind != VARIADIC]
    if not all(columns[one.name] for one in required):
        return
    options = [one for one in parameters if one not in required and columns[one.name]]
    most = max((len(columns[one.name]) for one in required), default=1)
    plain = (
        {one.name: columns[one.name][index % len(columns[one.name])] for one in required}
        for index in range(most)
    )
    yield from islice(plain, FIRST)
    yield from in_turn([_rows_with_option(required, options, columns, builder, rng), plain])
    while True:
        row = {one.name: rng.choice(columns[one.name]) for one in required}
        for one in options:
            if one.kind == VARIADIC and rng.random() < 0.6:
                row[one.name] = _several(columns[one.name], rng)
            elif one.kind != VARIADIC and rng.random() < 0.4:
                row[one.name] = _other(one, columns[one.name], builder, rng)
        if required and rng.random() < STRAYING:
            row[rng.choice(required).name] = rng.choice(builder.of_type(ANY))
        yield row


def _rows_with_option(
    required: Sequence[Parameter], options: Sequence[Parameter],
    columns: Mapping[str, Sequence[Piece]], builder: Builder, rng: Random,
) -> Iterator[Row]:  # fmt: skip
    mentioned = tuple(Piece(text) for text in builder.constants[1])
    for turn in range(min(8 * len(options), 96)):
        option = options[turn % len(options)]
        row = {one.name: rng.choice(columns[one.name]) for one in required}
        at = turn // len(options)
        if type(option.default) is str and at % 2 == 0 and at // 2 < len(mentioned):
            row[option.name] = mentioned[at // 2]  # one of a few words, as often as not
        else:
            row[option.name] = _other(option, columns[option.name], builder, rng)
        yield row


def _several(pieces: Sequence[Piece], rng: Random) -> Piece:
    """One to three arguments, of one kind where that is known."""
    first = rng.choice(pieces)
    alike = [one for one in pieces if one.source[:1] == first.source[:1]]
    chosen = [first, *rng.choices(alike, k=rng.choice((0, 1, 1, 2)))]
    imports, setup = joined(chosen)
    return Piece(", ".join(one.source for one in chosen), imports, setup)


def _other(option: Parameter, pieces: Sequence[Piece], builder: Builder, rng: Random) -> Piece:
    """A value that is not the option's default: one like it, or any of its type."""
    if option.default not in (None, True, False) and rng.random() < 0.35:
        near = [one for one in neighbours(option.default, builder, rng) if crosses(one)]
        try:
            if near:
                return Piece(source_of(rng.choice(near)))
        except NotLiteral:
            pass
    values = [piece for piece in pieces if piece.source != repr(option.default)]
    return rng.choice(values or pieces)


def hint_of(one: Parameter) -> TypeHint:
    """The type of a parameter; where nothing says, that of its default."""
    if one.type != ("any",) or not one.optional or one.default is None:
        return one.type
    return "class", f"builtins:{type(one.default).__name__}", []


# -- which parameters need objects -----------------------------------------------------------------


def _objects(one: Parameter, node: Function | None, builder: Builder) -> tuple[Piece, ...]:
    """Expressions for a parameter that literals do not serve; () where they do."""
    if one.kind == KEYWORDS:
        return ()
    if one.type != ("any",):
        if _is_literal(one.type, builder):
            return ()
        typed = {p.source: p for p in builder.of_type(one.type)}
        for place in _checked_types(node, one.name, builder) if node is not None else ():
            typed |= {p.source: p for p in builder.of_type(("class", place, []))[:4]}
        return tuple(typed.values())
    if node is None:
        return ()
    found: dict[str, Piece] = {}
    for place in _checked_types(node, one.name, builder):
        found |= {p.source: p for p in builder.of_type(("class", place, []))[:8]}
    used = _attributes_used(node, one.name)
    foreign = used and not any(used <= known for known in _BUILTIN_ATTRIBUTES)
    if foreign:
        for info in builder.having(used)[:4]:
            found |= {p.source: p for p in tuple(builder.instances(info))[:6]}
    if not found and (foreign or not used):
        for place in _named_alike(one.name, builder):
            found |= {p.source: p for p in builder.of_type(("class", place, []))[:6]}
    if not found and _is_called(node, one.name):
        return builder.of_type(("callable",))
    return tuple(islice(found.values(), 12))


def _is_literal(hint: TypeHint, builder: Builder) -> bool:
    match hint:
        case ("unknown", text):
            return not builder.named(str(text))
        case ("any",) | ("none",) | ("literal", _) | ("many",):
            return True
        case ("union", kinds):
            return all(_is_literal(tuple(kind), builder) for kind in kinds)
        case ("class", place, arguments):
            home, _, name = str(place).partition(":")
            plain = home in _HOMES and name in _LITERAL
            return plain and all(_is_literal(tuple(one), builder) for one in arguments)
    return False


def _attributes_used(node: Function, name: str) -> set[str]:
    return {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and one.value.id == name and isinstance(one.ctx, ast.Load)
    }  # fmt: skip


def _is_called(node: Function, name: str) -> bool:
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == name
        for one in ast.walk(node)
    )


def _checked_types(node: Function, name: str, builder: Builder) -> Iterator[str]:
    """Ids of the package's classes that the parameter is checked to be an instance of."""
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Name("isinstance"), args=[ast.Name(checked), kinds]) if (
                checked == name
            ):
                for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
                    last = ast.unparse(kind).rpartition(".")[2]
                    yield from builder.described.places.get(last, ())
                    yield from library_places(last)


def _named_alike(name: str, builder: Builder) -> Iterator[str]:
    """Ids of the classes that the parameter's name spells: `base_cart` for `Cart`, `BaseCart`."""
    words = re.sub(r"\d+$", "", name).lower().split("_")
    joined = "".join(words)
    places = builder.described.places
    for label in places:
        if label.lower() == joined:
            yield from places[label]
    if len(words[-1]) > 3:
        for label in places:
            if label.lower() == words[-1] and label.lower() != joined:
                yield from places[label]

"""Arguments for a callable, by the types of its parameters and by what its code does with them."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from random import Random
from types import MappingProxyType
from typing import Any

from refute.core.combinators import in_turn
from refute.function.scenarios.building import Builder, Piece, joined, library_places
from refute.function.scenarios.described import (
    ANY,
    KEYWORDS,
    VARIADIC,
    Parameter,
    Signature,
    TypeHint,
)
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


# -- constants and texts that code mentions --------------------------------------------------------


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

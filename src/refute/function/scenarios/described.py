"""Describe what a module's callables take and its classes are made of, as the sandbox reports it.

The data comes from a program that ran beside the code under test (`describe_program`), so it is
read strictly and believed for nothing but for what to try.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from refute.core.problems import Expression, Scenario
from refute.function.scenarios.observation import LIMITS
from refute.sandbox import Outcome, Program, Raised, Returned, Sandbox
from refute.source.literals import NotLiteral, read_literal
from refute.source.syntax import parse_expression, try_parse, unbuilt

TypeHint = tuple[Any, ...]
"""A type as `describe_program` writes it: ("class", "pkg.cart:Cart", [])…"""
ANY: TypeHint = ("any",)
POSITIONAL_ONLY, POSITIONAL, VARIADIC, KEYWORD_ONLY, KEYWORDS = range(5)
_PROGRAM = Path(__file__).with_name("describe_program.py")
_LIMITS = replace(LIMITS, cpu=10.0)
"""The rest as for scenarios, so that a process that is kept for them serves."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `kind` is that of `inspect.Parameter`, 0 to 4."""

    name: str
    kind: int
    optional: bool
    default: Any
    """The default where it is a literal, else None."""
    type: TypeHint = ANY


@dataclass(frozen=True, slots=True)
class Signature:
    """A callable: "function", "method", "class" (a classmethod), "static", "property" or "type"."""

    kind: str
    parameters: tuple[Parameter, ...] | None
    """Without `self`; None: unknown."""
    returns: TypeHint = ANY
    file: str | None = None
    qualname: str | None = None
    """Module and name of its definition, where it is written in Python."""

    @property
    def required(self) -> tuple[Parameter, ...]:
        """The parameters that each call gives."""
        return tuple(
            p
            for p in self.parameters or ()
            if not p.optional and p.kind not in (VARIADIC, KEYWORDS)
        )


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """A class, as its instances may be made and used."""

    id: str
    """``module:qualname``."""
    abstract: bool
    protocol: bool
    exception: bool
    members: tuple[str, ...]
    """Names of an enum's members."""
    subclasses: tuple[str, ...]
    methods: dict[str, Signature]
    attributes: frozenset[str]
    make: Signature | None
    """Signature of its call; None for an enum."""


@dataclass(frozen=True, slots=True)
class Described:
    """Facts about a module and its package."""

    names: dict[str, Signature] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    """Name that was asked for -> reason that it could not be described."""
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """A class's bare name -> the ids of the classes of that name."""
    tables: dict[str, tuple[str | float, ...]] = field(default_factory=dict)
    """Name of a container of the module -> some texts and numbers that it holds at run time."""


def describe_module(
    box: Sandbox, module: str, names: Sequence[str], program: Program | None = None
) -> Described | str:
    """Import the module in the sandbox and describe `names` of it; a line of why not else.

    `program`: what is run of the module later; its process then serves for this too, which spares
    an import.
    """
    program = program or Program("describe = None", "describe", filename="<refute describes>")
    read = _asked(box, program, repr(module), names)
    return read + unbuilt(read, module) if isinstance(read, str) else read[1]


def describe_names(
    box: Sandbox, program: Program, names: Sequence[str]
) -> tuple[str, Described] | str:
    """The name of the module that the program is, and `names` of it as the text that is run has
    them, whatever its file holds; a line of why not else."""
    return _asked(box, program, "__name__", names)


def _asked(
    box: Sandbox, program: Program, module: str, names: Sequence[str]
) -> tuple[str, Described] | str:
    """Have the program run `describe_program` beside its own names, in a space of its own.
    `module`: source of the module's name."""
    given = f"{module}, {[*names]!r}, {module}.partition('.')[0]"
    described = f"({module}, own['describe']({given}))"
    run = f"(exec({_PROGRAM.read_text('utf-8')!r}, own), {described})[1]"
    call = Expression(f"(lambda own: {run})({{'__name__': 'refute_describes'}})")
    [outcome] = box.run(program, [call], _LIMITS)
    return _read(outcome)


_ODD = (ValueError, TypeError, KeyError, AttributeError, IndexError)


def _read(outcome: Outcome) -> tuple[str, Described] | str:
    match outcome:
        case Returned():
            try:
                name, data = outcome.value
                return str(name), _described(data)
            except _ODD:
                return "what it says of itself cannot be read"
        case Raised():
            return f"cannot be imported: {outcome.type}: {outcome.message}".rstrip(": ")[:300]
        case _:
            return "cannot be imported in time"


def _described(data: dict[str, Any]) -> Described:
    names, problems = {}, {}
    for name, said in data["names"].items():
        if "problem" in said:
            problems[str(name)] = str(said["problem"])
        else:
            names[str(name)] = _signature(said)
    return Described(
        names=names,
        problems=problems,
        classes={str(key): _class(str(key), said) for key, said in data["classes"].items()},
        places={str(name): _texts(ids) for name, ids in data["places"].items()},
        tables={
            str(name): tuple(one for one in items if type(one) in (str, int, float))
            for name, items in data["tables"].items()
        },
    )


def _place(text: Any) -> str:
    """An id whose parts are names, so that it can be written into source."""
    module, mark, qualname = str(text).partition(":")
    if not mark or not all(p.isidentifier() for p in (*module.split("."), *qualname.split("."))):
        raise ValueError("no id")
    return str(text)


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in items)


def _identifiers(items: Any) -> tuple[str, ...]:
    return tuple(one for one in _texts(items) if one.isidentifier())


def _signature(said: dict[str, Any], kind: str = "") -> Signature:
    given = said["params"]
    parameters = None if given is None else tuple(_parameter(*one) for one in given)
    return Signature(
        kind=str(said.get("kind") or kind),
        parameters=parameters,
        returns=tuple(said["returns"]),
        file=None if said.get("file") is None else str(said["file"]),
        qualname=None if said.get("qualname") is None else str(said["qualname"]),
    )


def _parameter(name: Any, kind: Any, default: Any, hint: Any) -> Parameter:
    if not str(name).isidentifier():
        raise ValueError("no name")
    value = default[1] if default and default[0] == "value" else None
    return Parameter(str(name), int(kind), default is not None, value, tuple(hint))


def _class(key: str, said: dict[str, Any]) -> ClassInfo:
    make = said["make"]
    return ClassInfo(
        id=_place(key),
        abstract=bool(said["abstract"]),
        protocol=bool(said["protocol"]),
        exception=bool(said["exception"]),
        members=_identifiers(said["members"]),
        subclasses=_texts(said["subclasses"]),
        methods={
            str(name): _signature(one)
            for name, one in said["methods"].items()
            if str(name).isidentifier()
        },
        attributes=frozenset(_texts(said["attributes"])),
        make=None if make is None else _signature(make, "type"),
    )


# -- whether arguments fit -------------------------------------------------------------------------

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
    """Count the literal arguments of the observed call that are not of the type of their
    parameter's annotation, or else of its default. Other arguments count as fitting."""
    try:
        call = parse_expression(scenario.expression)
    except SyntaxError:
        return 0
    pairs = _arguments(call, signature) if isinstance(call, ast.Call) else []
    return sum(not _fits(one, node) for one, node in pairs if one.kind != KEYWORDS)


def _arguments(call: ast.Call, signature: Signature) -> list[tuple[Parameter, ast.expr]]:
    """The arguments of a call, each with its parameter, as far as both are known."""
    named = {one.name: one for one in signature.parameters or ()}
    positional = [one for one in signature.parameters or () if one.kind <= VARIADIC]
    pairs: list[tuple[Parameter, ast.expr]] = []
    for index, argument in enumerate(_unpacked(call.args)):
        if isinstance(argument, ast.Starred) or not positional:
            break
        pairs.append((positional[min(index, len(positional) - 1)], argument))
    return pairs + [(named[k.arg], k.value) for k in call.keywords if k.arg in named]


def with_seen_types(signature: Signature, name: str, known: Iterable[Scenario]) -> Signature:
    """The signature, where nobody says a parameter's type with those of the values that calls of
    `name` give it in `known`."""
    seen: dict[str, dict[str, TypeHint]] = {}
    for scenario in known:
        tree = try_parse(scenario.source)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
                for one, given in _arguments(node, signature):
                    try:
                        hint = _type_of(read_literal(given))
                    except NotLiteral:
                        continue
                    seen.setdefault(one.name, {})[repr(hint)] = hint
    parameters = tuple(
        replace(one, type=_either(seen[one.name])) if one.type == ANY and one.name in seen else one
        for one in signature.parameters or ()
    )
    return signature if signature.parameters is None else replace(signature, parameters=parameters)


def _either(hints: dict[str, TypeHint]) -> TypeHint:
    return next(iter(hints.values())) if len(hints) == 1 else ("union", [*hints.values()])


def _type_of(value: object) -> TypeHint:
    """The type of a literal value, and of what it holds."""
    if value is None:
        return ("none",)
    inner: list[TypeHint] = []
    if isinstance(value, dict):
        inner = [_items(value.keys()), _items(value.values())] if value else []
    elif isinstance(value, tuple):
        inner = [*map(_type_of, value)] if len(value) <= 4 else [_items(value), ("many",)]
    elif isinstance(value, (list, set, frozenset)):
        inner = [_items(value)] if value else []
    return "class", f"builtins:{type(value).__name__}", inner


def _items(values: Iterable[object]) -> TypeHint:
    return _either({repr(hint): hint for hint in map(_type_of, values)})


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

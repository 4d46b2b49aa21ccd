"""Instances of classes as tests make them: for receivers and arguments of other calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from refute.core.problems import Scenario
from refute.function.scenarios.carving.steps import substituted
from refute.function.scenarios.carving.trees import walk
from refute.function.scenarios.described import Described, Signature, TypeHint
from refute.function.scenarios.pieces import Piece
from refute.source.syntax import parse_expression, parse_module

MOST_CLASSES = 12
MOST = 6
"""Instances of one class."""
MOST_CALLS = 12
"""Of a method, on instances that tests make for something else."""
_ANY_VALUES = ("'a'", "0", "None")
"""What stands for arguments at first: the search varies them."""
_KEYWORD_ONLY = 3


def classes_around(module: str, name: str, described: Described) -> list[str]:
    """Places of the classes whose instances a callable takes, its own to begin with."""
    found: dict[str, None] = {}
    owner = described.classes.get(f"{module}:{name.rpartition('.')[0]}")
    signatures: list[Signature] = [described.names[name]] if name in described.names else []
    if owner is not None:
        found |= dict.fromkeys((owner.id, *owner.subclasses[:4]))
        signatures += [owner.make] if owner.make is not None else []
    for signature in signatures:
        for one in signature.parameters or ():
            found |= dict.fromkeys(_classes_in(one.type))
            label = "".join(one.name.lower().split("_"))
            for bare, places in described.places.items():
                if bare.lower() == label or (len(label) > 2 and bare.lower().startswith(label)):
                    found |= dict.fromkeys(places)
    return [place for place in found if place in described.classes][:MOST_CLASSES]


def _classes_in(hint: TypeHint) -> Iterator[str]:
    for one in hint:
        if isinstance(one, (list, tuple)):
            yield from _classes_in(tuple(one))
        elif isinstance(one, str) and ":" in one:
            yield one


def instances_of(
    places: Iterable[str], scenarios: Mapping[str, Sequence[Scenario]]
) -> dict[str, tuple[Piece, ...]]:
    """Expressions that make instances, from the carved scenarios of classes: those that can do
    without statements before them."""
    found: dict[str, tuple[Piece, ...]] = {}
    for place in places:
        pieces: dict[str, Piece] = {}
        for scenario in scenarios.get(place, ()):
            source = _inlined(scenario)
            if source is not None and len(pieces) < MOST:
                pieces.setdefault(source, Piece(source, scenario.imports))
        if pieces:
            found[place] = tuple(pieces.values())
    return found


def called_on_instances(
    place: str, described: Described, scenarios: Mapping[str, Sequence[Scenario]]
) -> list[Scenario]:
    """Calls of a method (or property) at ``pkg.mod:Class.name`` on instances of its class, or of
    subclasses, with all statements that tests make them with: for those that no test calls it on,
    or calls it by a way that is not seen."""
    module, _, qualname = place.partition(":")
    owner, _, last = qualname.rpartition(".")
    signature, cls = described.names.get(qualname), described.classes.get(f"{module}:{owner}")
    if signature is None or cls is None or signature.kind not in ("method", "property"):
        return []
    found: dict[str, Scenario] = {}
    for one in (cls.id, *cls.subclasses):
        for made in scenarios.get(one, ())[:MOST]:
            name = next(n for n in ("made", "made_", "made__") if n not in made.source)
            value = _ANY_VALUES[len(found) % len(_ANY_VALUES)]
            given = [
                f"{p.name}={value}" if p.kind == _KEYWORD_ONLY else value
                for p in signature.required
            ]
            call = f"{name}.{last}"
            if signature.kind == "method":
                call = f"{name if last == '__call__' else call}({', '.join(given)})"
            setup = (*made.setup, f"{name} = {made.expression}")
            scenario = Scenario(call, setup, made.imports)
            if len(found) < MOST_CALLS:
                found.setdefault(scenario.source, scenario)
    return list(found.values())


def _inlined(scenario: Scenario) -> str | None:
    """The expression with the values of variables in their places; None where that says something
    else: a statement has an effect, or two things are one object."""
    node: ast.AST = parse_expression(scenario.expression)
    for statement in reversed(scenario.setup):
        match parse_module(statement).body:
            case [ast.Assign(targets=[ast.Name(name)], value=value)]:
                uses = sum(isinstance(n, ast.Name) and n.id == name for n in walk(node))
                if uses > 1 and not isinstance(value, ast.Constant):
                    return None
                node = substituted(node, {name: value})
            case _:
                return None
    text = ast.unparse(node)
    return text if len(text) <= 300 else None

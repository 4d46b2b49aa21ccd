"""Instances of classes as tests make them: for receivers and arguments of other calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from refute.function.scenarios.carving.steps import substituted
from refute.function.scenarios.carving.trees import walk
from refute.function.scenarios.described import Described, Signature, TypeHint
from refute.function.scenarios.pieces import Piece
from refute.problems import Scenario
from refute.syntax import parse_expression, parse_module

__all__ = ["classes_around", "instances_of"]

MOST_CLASSES = 12
MOST = 6
"""Instances of one class."""


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

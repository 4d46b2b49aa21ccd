"""Examples with other values in them: inputs that only such an example can make.

Graphs, functions and files have no literal. The examples that hold them make them first, and the
literals in these steps are what can be varied; so are the parameters that the examples leave at
their defaults, each given by its name.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random

from refute.core.problems import DoctestSession
from refute.function.examples.subject import called_as
from refute.function.search.domain import learn
from refute.function.search.edit import Change, Edit, applied
from refute.source.literals import NotLiteral, parse_literal, source_of
from refute.source.syntax import find_function, parse_expression, parse_module, takes_self

__all__ = ["Optional", "optional_parameters", "varied"]

LONGEST = 2_000
"""Characters of an example that is varied, at most."""


NEAR_DEFAULT = 2
"""Values near its default that a parameter is given."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A parameter that a call may leave out."""

    name: str
    default: object
    place: float
    """How many arguments come before it; infinite where it is given by name only."""


def optional_parameters(code: str, entry_point: str) -> list[Optional]:
    """The parameters of the function that have a literal default and may be given by name."""
    found: list[Optional] = []
    node = find_function(parse_module(code), entry_point)
    if node is not None:
        spec = node.args
        given = takes_self(node, entry_point)
        places = [*enumerate([*spec.posonlyargs, *spec.args], -given)][len(spec.posonlyargs) :]
        last = [*zip(places[::-1], spec.defaults[::-1], strict=False)]
        rows = [(argument.arg, default, float(at)) for (at, argument), default in last]
        rows += [
            (argument.arg, default, math.inf)
            for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
            if default is not None
        ]
        for name, default, at in rows:
            try:
                found.append(Optional(name, parse_literal(ast.unparse(default)), at))
            except NotLiteral:
                continue
    return found


def varied(
    sessions: Sequence[DoctestSession],
    rng: Random,
    entry_point: str = "",
    optional: Sequence[Optional] = (),
) -> Iterator[DoctestSession]:
    """Each of `sessions` with one literal replaced by one near it, or with one of the `optional`
    parameters of the function given where it is not, by turns; none twice."""
    seen = {session.steps for session in sessions}
    of_one = partial(_of_one, rng=rng, entry_point=entry_point, optional=optional)
    waiting = [of_one(s) for s in sessions if sum(map(len, s.steps)) <= LONGEST]
    while waiting:
        for source in [*waiting]:
            new = next(source, None)
            if new is None:
                waiting.remove(source)
            elif new.steps not in seen:
                seen.add(new.steps)
                yield new


def _of_one(
    session: DoctestSession, rng: Random, entry_point: str, optional: Sequence[Optional]
) -> Iterator[DoctestSession]:
    try:
        trees = [parse_module(step) for step in session.steps]
    except SyntaxError:
        return
    places: list[tuple[int, Iterator[Change]]] = []
    for number, tree in reversed([*enumerate(trees)]):
        places += (
            (number, _given(call, one, rng))
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and _calls(call, entry_point)
            for one in optional
            if len(call.args) <= one.place
        )
        places += ((number, _near(change, value, rng)) for change, value in _literals(tree))
    while places:
        for place in [*places]:
            number, changes = place
            try:
                new = next(changes)
            except (StopIteration, NotLiteral, ValueError, SyntaxError):
                places.remove(place)
                continue
            with applied([Edit((new,), "", 0.0, ())]):
                text = ast.unparse(ast.fix_missing_locations(trees[number])) + "\n"
            steps = (*session.steps[:number], text, *session.steps[number + 1 :])
            yield DoctestSession(_told(steps, trees[-1]))


def _near(place: Change, value: object, rng: Random) -> Iterator[Change]:
    """The place with values near the one that stands there."""
    for near in learn((value,)).near(value, rng):
        yield Change(place.owner, place.field, place.index, parse_expression(source_of(near)))


def _calls(call: ast.Call, entry_point: str) -> bool:
    """Return whether it calls the function, and names all that it gives."""
    about = called_as(entry_point)
    match call.func:
        case ast.Name(id=name):
            named = name in about.names
        case ast.Attribute(attr=name):
            named = name == about.attribute
        case _:
            return False
    unpacks = any(isinstance(one, ast.Starred) for one in call.args)
    return named and not unpacks and all(k.arg for k in call.keywords)


def _given(call: ast.Call, one: Optional, rng: Random) -> Iterator[Change]:
    """The call with the parameter given: its default, which changes nothing, and values near it."""
    if any(keyword.arg == one.name for keyword in call.keywords):
        return
    near: Iterator[object] = iter(())
    if one.default is not None:
        near = islice(learn((one.default,)).near(one.default, rng), NEAR_DEFAULT)
    for value in (one.default, *near):
        keyword = ast.keyword(one.name, parse_expression(source_of(value)))
        yield Change(call, "keywords", None, [*call.keywords, keyword])


_SHOWN = (
    "({0}, [*{0}][:50] if hasattr({0}, '__len__') and hasattr({0}, '__iter__') else "
    "[*zip(range(50), {0})] if hasattr({0}, '__next__') else None)\n"
)
"""What is seen of a value that an example only keeps: it, and its items."""


def _told(steps: tuple[str, ...], tree: ast.Module) -> tuple[str, ...]:
    """The steps, and one more where the last only gives a value a name."""
    match tree.body[-1:]:
        case [ast.Assign(targets=[ast.Name(id=name)])]:
            return (*steps, _SHOWN.format(name))
    return steps


def _literals(node: ast.AST) -> Iterator[tuple[Change, object]]:
    """The largest literals inside a node: the place of each, and its value."""
    for name, field in ast.iter_fields(node):
        for index, item in enumerate(field if isinstance(field, list) else [field]):
            if not isinstance(item, ast.AST) or isinstance(item, ast.JoinedStr):
                continue
            if isinstance(item, ast.expr) and not isinstance(node, ast.Expr):
                try:
                    value = parse_literal(ast.unparse(item))
                except NotLiteral:
                    pass
                else:
                    if value is not None and value is not Ellipsis:
                        at = index if isinstance(field, list) else None
                        yield Change(node, name, at, item), value
                    continue
            yield from _literals(item)

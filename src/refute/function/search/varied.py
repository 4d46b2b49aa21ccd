"""Examples with other values in them: inputs that only such an example can make.

Graphs, functions and files have no literal. The examples that hold them make them first, and the
literals in these steps are what can be varied.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from random import Random

from refute.function.search.domain import learn
from refute.function.search.edit import Change, Edit, applied
from refute.literals import NotLiteral, parse_literal, source_of
from refute.problems import DoctestSession
from refute.syntax import parse_expression, parse_module

__all__ = ["varied"]

LONGEST = 2_000
"""Characters of an example that is varied, at most."""


def varied(sessions: Sequence[DoctestSession], rng: Random) -> Iterator[DoctestSession]:
    """Each of `sessions` with one literal replaced by one near it, by turns; none twice."""
    seen = {session.steps for session in sessions}
    waiting = [_of_one(s, rng) for s in sessions if sum(map(len, s.steps)) <= LONGEST]
    while waiting:
        for source in [*waiting]:
            new = next(source, None)
            if new is None:
                waiting.remove(source)
            elif new.steps not in seen:
                seen.add(new.steps)
                yield new


def _of_one(session: DoctestSession, rng: Random) -> Iterator[DoctestSession]:
    try:
        trees = [parse_module(step) for step in session.steps]
    except (SyntaxError, ValueError, RecursionError):
        return
    places = [
        (number, change, learn((value,)).near(value, rng))
        for number, tree in reversed([*enumerate(trees)])
        for change, value in _literals(tree)
    ]
    while places:
        for place in [*places]:
            number, change, values = place
            try:
                near = parse_expression(source_of(next(values)))
            except (StopIteration, NotLiteral, ValueError, SyntaxError):
                places.remove(place)
                continue
            new = Change(change.owner, change.field, change.index, near)
            with applied([Edit((new,), "", 0.0, ())]):
                text = ast.unparse(ast.fix_missing_locations(trees[number])) + "\n"
            steps = (*session.steps[:number], text, *session.steps[number + 1 :])
            yield DoctestSession(_told(steps, trees[-1]))


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
                except (NotLiteral, RecursionError):
                    pass
                else:
                    if value is not None and value is not Ellipsis:
                        at = index if isinstance(field, list) else None
                        yield Change(node, name, at, item), value
                    continue
            yield from _literals(item)

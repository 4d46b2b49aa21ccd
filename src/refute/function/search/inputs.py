"""Propose inputs near the known ones: their arguments, one step away and crossed.

A value belongs to the domain where it looks like the known ones of its argument (type, sign, size,
alphabet, layout: `domain`), so that a right output exists; the others lie just past it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from itertools import chain, islice
from random import Random
from typing import Any

from refute.core.combinators import in_turn
from refute.core.problems import Call, Expression, FunctionProblem, Invocation
from refute.function.search.domain import Domain, learn
from refute.sandbox.values import crosses
from refute.source.literals import NotLiteral, read_call
from refute.source.syntax import find_function, parse_expression, try_parse

__all__ = ["Tier", "as_call", "near_inputs"]

LARGEST = 2000
"""Items, characters and digits of an input that is varied, or proposed."""
STARTS = 12
"""Known inputs that are varied."""
MISSES, MOST = 400, 2000
"""Draws in a row without a new input, and inputs, after which no more are proposed."""
Place = int | str
"""Of an argument: its position or its keyword."""


class Tier(IntEnum):
    """Distance of an input from the known ones."""

    IN_DOMAIN = 0
    EDGE = 1


def near_inputs(
    problem: FunctionProblem, known: Sequence[Invocation], *, seed: int
) -> Iterator[tuple[Call, Tier]]:
    """Yield inputs near the known calls with plain values, best first, none twice, none of `known`.

    The same for (problem, known, seed). None without such a call. Executes nothing.
    """
    calls = [made for one in known if (made := as_call(one, problem.entry_point)) is not None]
    calls = [call for call in calls if _size([*_given(call).values()]) <= LARGEST]
    return islice(_near(problem, calls, Random(f"{seed}:{problem.entry_point}")), MOST)


def as_call(invocation: Invocation, entry_point: str) -> Call | None:
    """The call of the function with plain values that an input is, or that an expression holds."""
    if isinstance(invocation, Call):
        return invocation
    if not isinstance(invocation, Expression):
        return None
    try:
        tree = parse_expression(invocation.source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            with suppress(NotLiteral):
                return read_call(node, entry_point)
    return None


def _near(
    problem: FunctionProblem, calls: Sequence[Call], rng: Random
) -> Iterator[tuple[Call, Tier]]:
    columns: dict[Place, list[Any]] = {}
    for call in calls:
        for place, value in _given(call).items():
            columns.setdefault(place, []).append(value)
    marks, words = _constants(problem)
    domains = {place: learn(seen, marks=marks, words=words) for place, seen in columns.items()}
    sources: list[Iterator[Call]] = []
    for place, domain in domains.items():
        for call in calls[:STARTS]:
            if place in _given(call):
                value = _given(call)[place]
                near = chain(domain.near(value, rng), columns[place], domain.edges())
                sources.append(_with(call, place, near))
    seen = set(map(repr, calls))
    misses = 0
    for call in chain(in_turn(sources), _drawn(calls, domains, rng)):
        given = _given(call)
        key, misses = repr(call), misses + 1
        if key not in seen and _size([*given.values()]) <= LARGEST:
            seen.add(key)
            if crosses((call.args, dict(call.kwargs))):
                misses = 0
                inside = all(domains[place].accepts(value) for place, value in given.items())
                yield call, Tier.IN_DOMAIN if inside else Tier.EDGE
        if misses > MISSES:
            return


def _drawn(calls: Sequence[Call], domains: dict[Place, Domain], rng: Random) -> Iterator[Call]:
    """Known calls with some of their arguments drawn from the domain, without end."""
    while domains:
        call = rng.choice(calls)
        for place in _given(call):
            if rng.random() < 0.5:
                call = next(_with(call, place, iter([domains[place].sample(rng)])))
        yield call


def _given(call: Call) -> dict[Place, Any]:
    return dict([*enumerate(call.args), *call.kwargs.items()])


def _with(call: Call, place: Place, values: Iterator[Any]) -> Iterator[Call]:
    for value in values:
        if isinstance(place, int):
            yield replace(call, args=(*call.args[:place], value, *call.args[place + 1 :]))
        else:
            yield replace(call, kwargs={**call.kwargs, place: value})


def _constants(problem: FunctionProblem) -> tuple[list[float], list[str]]:
    """The numbers of the function, each with its neighbours, and its short texts."""
    tree = try_parse(problem.code)
    node = None if tree is None else find_function(tree, problem.entry_point)
    said = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)] if node else []
    numbers = [
        one
        for one in said
        if isinstance(one, (int, float)) and not isinstance(one, bool) and abs(one) <= 10**9
    ]
    texts = [one for one in said if isinstance(one, str) and len(one) <= 30]
    return list(dict.fromkeys(n + step for n in numbers for step in (0, 1, -1))), texts


def _size(value: Any) -> int:
    """Leaves, characters and (about) digits of a value: keeps proposals small, and cheap to print,
    which for integers takes the square of their length."""
    if isinstance(value, dict):
        return sum(_size(key) + _size(item) for key, item in value.items()) + 1
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(map(_size, value)) + 1
    if isinstance(value, int):
        return 1 + value.bit_length() // 4
    return len(value) if isinstance(value, (str, bytes)) else 1

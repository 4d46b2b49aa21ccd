"""Propose inputs for a function: neighbours of known ones first, wilder ones later.

`propose_inputs` yields `ProposedInput`s without repetition, best first, the same for a seed.
Each has a tier:

- `Tier.IN_DOMAIN`: looks like the known inputs (types, shape, sign, alphabet, relations between
  arguments), so it keeps the function's evident precondition and a right output exists;
- `Tier.EDGE`: just past what was seen (empty, zero, singletons, other letters): mostly legal;
- `Tier.WILD`: larger, stranger or of another type: for crashes and for telling candidates apart,
  not for tests whose expected output should mean something.

The first `HEAD` proposals are in-domain and edge ones only (about four to one). Where nothing is
known, annotations, use, names and constants in the code stand in for known inputs, see `clues`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, islice
from random import Random
from typing import Any

from refute.core.problems import Call, Expression, FunctionProblem, Invocation
from refute.function.search.clues import Clues
from refute.function.search.domain import Constants, is_tame
from refute.function.search.precondition import (
    Precondition,
    as_call,
    evident_precondition,
    excluded,
    gather_for,
    known_arguments,
    repaired,
)
from refute.function.search.written import as_invocation
from refute.sandbox.values import crosses

__all__ = ["HEAD", "ProposedInput", "Tier", "propose_inputs"]

HEAD = 400
"""How many proposals come before the first wild one (fewer where the domain is small)."""


class Tier(IntEnum):
    """Distance of an input from the known ones."""

    IN_DOMAIN = 0
    EDGE = 1
    WILD = 2


@dataclass(frozen=True, slots=True)
class ProposedInput:
    """An input, and how far it is from the known ones."""

    call: Call | Expression
    """An expression where an argument is one that only the program under test can make."""
    tier: Tier


LARGEST = 2000
"""Items, characters and digits of a proposed input; larger known ones lead to no proposals."""


MISSES, MOST = 400, 2000
"""Draws in a row without a new input, and inputs, after which no more are proposed. Callers take up
to some hundred; one that drops what it cannot use, and waits for more, has to come to an end."""


def propose_inputs(
    problem: FunctionProblem, known: Sequence[Invocation], *, seed: int, wild: bool = True
) -> Iterator[ProposedInput]:
    """Yield inputs for `problem.entry_point`, best first, none twice and none of `known`.

    Deterministic for (problem, known, seed, wild). `wild`: whether the caller has use for those of
    `Tier.WILD`. Ends after `MOST`, or when a long search finds nothing new that the caller can use
    (a function of one boolean). Executes nothing. Every call gives the required arguments, those
    that are keyword-only by name.
    """
    return islice(_proposals(problem, known, seed, wild), MOST)


def _proposals(
    problem: FunctionProblem, known: Sequence[Invocation], seed: int, wild: bool
) -> Iterator[ProposedInput]:
    clues = gather_for(problem)
    known = [
        c
        for c in known
        if not isinstance(c, Call) or _size((c.args, *c.kwargs.values())) <= LARGEST
    ]
    condition = evident_precondition(problem, known, clues=clues)
    rows = known_arguments(known, problem.entry_point, clues)
    rng = Random(f"{seed}:{problem.entry_point}")
    seen = {_key(row) for row in rows}

    def emit(args: tuple[Any, ...], tier: Tier) -> Iterator[ProposedInput]:
        if _size(args) > LARGEST:
            return
        key = _key(args)
        if tier is not Tier.WILD and _strays(args, condition, clues):
            return
        if key not in seen:
            seen.add(key)
            given = as_call(args, clues)
            call = None if given is None else as_invocation(given, problem.entry_point)
            if isinstance(call, Expression) or (call and crosses((call.args, dict(call.kwargs)))):
                yield ProposedInput(call, tier)

    def classified(stream: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], Tier]]:
        for args in stream:
            inside = condition.holds(args) and not excluded(args, clues)
            yield args, Tier.IN_DOMAIN if inside else Tier.EDGE

    if not condition.domains:
        yield from emit((), Tier.IN_DOMAIN)
        return
    base = rows or [tuple(d.sample(rng) for d in condition.domains) for _ in range(4)]
    head = classified(_head(condition, base, rng))
    yield from _paced(head, emit)
    misses = 0
    while misses < MISSES:
        args = _random(condition, base, rng)
        inside = condition.holds(args) and not excluded(args, clues)
        fresh: list[ProposedInput] = []
        if inside or rng.random() < 0.2:
            fresh += emit(args, Tier.IN_DOMAIN if inside else Tier.EDGE)
        if wild and rng.random() < 0.25:
            fresh += emit(_wild(condition, base, clues, rng), Tier.WILD)
        misses = 0 if fresh else misses + 1
        yield from fresh


def _strays(args: tuple[Any, ...], condition: Precondition, clues: Clues) -> bool:
    """Return whether an argument with a few known values has another value."""
    triples = zip(clues.parameters, condition.domains, args, strict=False)
    return any(
        one.choices and all(isinstance(part, Constants) for part in domain.parts)
        and not domain.accepts(value)
        for one, domain, value in triples
    )  # fmt: skip


def _paced(
    stream: Iterator[tuple[tuple[Any, ...], Tier]],
    emit: Callable[[tuple[Any, ...], Tier], Iterator[ProposedInput]],
) -> Iterator[ProposedInput]:
    """The head of the stream: four in-domain inputs for each one past the edge, while they last."""
    waiting: list[tuple[Any, ...]] = []
    count = 0
    for args, tier in islice(stream, 8 * HEAD):
        if tier is Tier.EDGE:
            waiting.append(args)
            continue
        for proposal in emit(args, tier):
            yield proposal
            count += 1
            if count % 4 == 0 and waiting:
                yield from emit(waiting.pop(0), Tier.EDGE)
        if count >= HEAD:
            break
    for args in waiting[: HEAD // 4]:
        yield from emit(args, Tier.EDGE)


def _head(
    condition: Precondition, base: Sequence[tuple[Any, ...]], rng: Random
) -> Iterator[tuple[Any, ...]]:
    """Neighbours of each known input one argument at a time, in turns; then crossings, samples."""
    sources: list[Iterator[tuple[Any, ...]]] = []
    for row in base[:12]:
        for index, value in enumerate(row):
            if index < len(condition.domains):
                values = condition.domains[index].near(value, rng)
                sources.append(_placed(row, index, values))
    for index, domain in enumerate(condition.domains):
        for row in base[:2]:
            if index < len(row):
                sources.append(_placed(row, index, domain.edges()))
    sources.append(_crossed(base, rng))
    sources.append(_random(condition, base, rng) for _ in range(2 * HEAD))
    yield from chain.from_iterable(_turns(sources))
    for _ in range(4 * HEAD):
        yield _random(condition, base, rng)


def _turns(sources: list[Iterator[Any]]) -> Iterator[list[Any]]:
    while sources:
        alive = []
        for source in sources:
            batch = list(islice(source, 1))
            if batch:
                alive.append(source)
                yield batch
        sources = alive


def _placed(row: tuple[Any, ...], index: int, values: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for value in values:
        yield (*row[:index], value, *row[index + 1 :])


def _crossed(base: Sequence[tuple[Any, ...]], rng: Random) -> Iterator[tuple[Any, ...]]:
    """Arguments of several known inputs combined, and arguments of one swapped or made equal."""
    for row in base[:8]:
        if len(row) == 2 and type(row[0]) is type(row[1]):
            yield (row[1], row[0])
            yield (row[0], row[0])
        for other in base[:8]:
            if len(row) == len(other) > 1:
                for index in range(len(row)):
                    yield (*row[:index], other[index], *row[index + 1 :])


def _random(
    condition: Precondition, base: Sequence[tuple[Any, ...]], rng: Random
) -> tuple[Any, ...]:
    """A fresh sample, or two steps away from a known input."""
    if rng.random() < 0.5:
        size = rng.choice(sorted(condition.arities))
        args = [
            condition.domains[min(i, len(condition.domains) - 1)].sample(rng) for i in range(size)
        ]
    else:
        args = list(rng.choice(base))
        for _ in range(2):
            index = rng.randrange(len(args)) if args else 0
            if index < len(condition.domains) and args:
                near = islice(condition.domains[index].near(args[index], rng), rng.randint(1, 16))
                args[index] = (deque(near, maxlen=1) or [args[index]])[0]
    return repaired(condition, args)


def _wild(
    condition: Precondition, base: Sequence[tuple[Any, ...]], clues: Clues, rng: Random
) -> tuple[Any, ...]:
    args = list(rng.choice(base))
    if not args:
        return ()
    index = rng.randrange(len(args))
    value = args[index]
    if type(value) in (int, float):
        wide = type(value)(rng.randint(-(10**4), 10**4))
        choices: list[Any] = [value * 1000, -value, 2**31, wide, wide, *clues.marks]
        choices += [value + 0.5] if is_tame(value) else []
    elif type(value) is str:
        extra = [value + c for c in ("é", "ß", "Ω", "\n", "\t", "-", "_", "١")]
        choices = [value * 20, "", *extra, *clues.words, value + rng.choice(extra)[::-1]]
    elif type(value) in (list, tuple):
        size = rng.randint(0, 60)
        fresh = condition.domains[min(index, len(condition.domains) - 1)]
        other = fresh.sample(rng) if fresh.parts and not value else value
        pool = list(other if isinstance(other, (list, tuple)) else value)
        many = [rng.choice(pool) for _ in range(size)] if pool else []
        choices = [type(value)(), type(value)(many), type(value)(many), value * 10]
    else:
        choices = [None, value]
    args[index] = rng.choice(choices)
    return tuple(args)


def _key(args: tuple[Any, ...]) -> str:
    return repr(args)


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

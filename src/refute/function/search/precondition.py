"""The evident precondition: what known inputs say about legal arguments, singly and together.

A call's arguments are one row here, a value for each parameter in order (`row_of`, `as_call`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, final

from refute.core.problems import (
    Call,
    DoctestSession,
    Expression,
    FunctionProblem,
    Invocation,
    ProjectTest,
    Scenario,
)
from refute.function.search import clues as clue_reader
from refute.function.search.clues import Clues
from refute.function.search.domain import Constants, Domain, learn
from refute.sandbox.values import crosses
from refute.source.syntax import parse_expression, parse_module

__all__ = [
    "OMITTED",
    "Precondition",
    "as_call",
    "evident_precondition",
    "excluded",
    "gather_for",
    "known_arguments",
    "repaired",
    "row_of",
]

Relation = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Precondition:
    """Conditions on right arguments that known inputs (or, without any, the clues) suggest."""

    domains: tuple[Domain, ...]
    relations: tuple[Relation, ...] = ()
    arities: frozenset[int] = frozenset()
    guessed: bool = False
    """No input was known: the domains are guesses."""

    def holds(self, args: Sequence[Any]) -> bool:
        """Return whether arguments look like the known ones, in number, singly and together."""
        if len(args) not in self.arities:
            return False
        return all(
            domain.accepts(value) for domain, value in zip(self.domains, args, strict=False)
        ) and all(_related(relation, args) for relation in self.relations)


def known_arguments(
    known: Iterable[Invocation], entry_point: str, clues: Clues
) -> list[tuple[Any, ...]]:
    """Rows (see `row_of`) of known invocations, also of calls inside expressions when literal.

    Those with a value that cannot be sent into the sandbox are left out.
    """
    found: list[tuple[Any, ...] | None] = []
    for one in known:
        if isinstance(one, Call):
            found.append(row_of(one.args, one.kwargs, clues))
        else:
            calls = _literal_calls(one, entry_point)
            found += [row_of(args, kwargs, clues) for args, kwargs in calls]
    rows = [row for row in found if row is not None]
    return list({repr(row): row for row in rows if all(map(_crosses, row))}.values())


def _crosses(value: Any) -> bool:
    return value is OMITTED or crosses(value)


def _literal_calls(
    one: Expression | DoctestSession | Scenario | ProjectTest, entry_point: str
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments of calls in an expression; those of the inner call in ``decode(encode("ab"))``."""
    try:
        session = isinstance(one, DoctestSession)
        if isinstance(one, DoctestSession):
            tree: ast.AST = parse_module("".join(one.steps))
        elif isinstance(one, Scenario):
            tree = parse_module(one.source)
        else:
            tree = parse_expression(one.source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name != entry_point and not (session and name.endswith(f".{entry_point}")):
            continue
        if len(node.args) == 1 and isinstance(node.args[0], ast.Call) and node.args[0].args:
            node = node.args[0]
        try:
            args = tuple(ast.literal_eval(arg) for arg in node.args)
            named = {one.arg: ast.literal_eval(one.value) for one in node.keywords if one.arg}
            if len(named) == len(node.keywords):
                yield args, named
        except (ValueError, TypeError):
            continue


def evident_precondition(
    problem: FunctionProblem, known: Sequence[Invocation], *, clues: Clues | None = None
) -> Precondition:
    """Learn the precondition of a problem's entry point from known inputs and clues."""
    clues = clues or gather_for(problem)
    rows = known_arguments(known, problem.entry_point, clues)
    if not rows:
        domains = tuple(
            Domain((*parameter.domain.parts, Constants((OMITTED,))))
            if parameter.default
            else parameter.domain
            for parameter in clues.parameters
        )
        required = clues.required if not clues.variadic else len(domains) + 2
        return Precondition(domains, (), frozenset({required, len(domains)}), guessed=True)
    width = max(map(len, rows))
    columns = [[row[i] for row in rows if len(row) > i] for i in range(width)]
    names = [parameter.name for parameter in clues.parameters]
    domains = tuple(
        learn(
            column,
            marks=_marks(clues, names[i : i + 1], column),
            words=clues.words,
        )
        for i, column in enumerate(columns)
    )
    domains = tuple(map(_chosen, domains, columns, _padded(clues, width)))
    full = [row for row in rows if len(row) == width]
    return Precondition(domains, _relations(full), frozenset(map(len, rows)))


def _padded(clues: Clues, width: int) -> list[tuple[Any, ...]]:
    """The choices of each of the first `width` arguments."""
    named = [parameter.choices for parameter in clues.parameters]
    return [*named, *([()] * width)][:width]


def _chosen(domain: Domain, column: Sequence[Any], choices: tuple[Any, ...]) -> Domain:
    """The domain of an argument that is one of a few values, as all that is known of it is."""
    seen = [value for value in column if value is not OMITTED]
    if not choices or not all(value in choices or value is None for value in seen):
        return domain
    return Domain((Constants(tuple(dict.fromkeys((*choices, *column)))),))


def _relations(rows: Sequence[tuple[Any, ...]]) -> tuple[Relation, ...]:
    """Relations between two arguments that hold in every known input."""
    if not rows:
        return ()
    width = len(rows[0])
    kinds = ("ordered", "within", "same length", "one shorter")
    return tuple(
        (kind, i, j)
        for kind in kinds
        for i in range(width)
        for j in range(width)
        if i != j
        and (len(rows) > 1 or kind != "ordered")
        and (kind != "same length" or all(type(row[i]) is type(row[j]) for row in rows))
        and (i < j or kind != "same length")
        and all(_applies(kind, row[i], row[j]) and _related((kind, i, j), row) for row in rows)
        and (kind in ("ordered", "within") or any(len(row[j]) > 1 for row in rows))
    )


def _applies(kind: str, a: Any, b: Any) -> bool:
    sized = isinstance(b, (list, tuple, str, dict))
    if kind == "ordered":
        return type(a) is int and type(b) is int
    if kind == "within":
        return type(a) is int and sized and len(b) > 0
    return isinstance(a, (list, tuple, str)) and sized


def _related(relation: Relation, args: Sequence[Any]) -> bool:
    kind, i, j = relation
    if max(i, j) >= len(args):
        return True
    a, b = args[i], args[j]
    if not _applies(kind, a, b):
        return kind == "within"
    if kind == "ordered":
        return bool(a <= b)
    if kind == "within":
        return bool(0 <= a <= len(b))
    return bool(len(a) == len(b) - (kind == "one shorter"))


def repaired(condition: Precondition, args: list[Any]) -> tuple[Any, ...]:
    """Bring arguments back into their relations where cutting one does it."""
    for kind, i, j in condition.relations:
        if max(i, j) >= len(args) or not _applies(kind, args[i], args[j]):
            continue  # of another type here, or left out
        if kind == "within":
            args[i] = min(args[i], len(args[j]))
        elif kind in ("same length", "one shorter") and not isinstance(args[j], dict):
            gap = int(kind == "one shorter")
            size = max(0, min(len(args[i]), len(args[j]) - gap))
            args[i], args[j] = args[i][:size], args[j][: size + gap]
    return tuple(args)


def excluded(args: Sequence[Any], clues: Clues) -> bool:
    """Description or code rule it out: empty where it says "non-empty", what a guard refuses."""
    names = [parameter.name for parameter in clues.parameters]
    given = {n: v for n, v in zip(names, args, strict=False) if v is not OMITTED}
    if any(one.parameter in given and one.refuses(given[one.parameter]) for one in clues.refusals):
        return True
    for value in args:
        if isinstance(value, (list, tuple, str, dict)) and len(value) < clues.shortest:
            return True
        if clues.positive and type(value) is int and value < 1:
            return True
        if clues.natural and type(value) is int and value < 0:
            return True
    return False


def _marks(clues: Clues, name: Sequence[str], column: Sequence[Any]) -> tuple[float, ...]:
    """Numbers the code compares this argument with; for strings and lists, all its constants."""
    own = clues.constants.get(name[0], ()) if name else ()
    return own if all(type(value) is int for value in column) else (*own, *clues.marks)


def gather_for(problem: FunctionProblem) -> Clues:
    """The clues of a problem."""
    return _gathered(problem.code, problem.entry_point, problem.description, problem.signature)


@lru_cache(maxsize=4)
def _gathered(code: str, entry_point: str, description: str, signature: str) -> Clues:
    """Kept, since several stages of one search ask for them."""
    return clue_reader.gather(code, entry_point, description=description, signature=signature)


@final
class _Omitted:
    """The place of an optional parameter that is not given."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()


def row_of(args: Sequence[Any], kwargs: Mapping[str, Any], clues: Clues) -> tuple[Any, ...] | None:
    """The values in the order of `clues.parameters`, those of `*args` last; None: does not fit.

    Optional parameters that are not given are `OMITTED`, or missing at the end. Without parameters
    (an unknown signature) the values as they come.
    """
    if not clues.parameters and not clues.variadic:
        return (*args, *kwargs.values())
    positional = [one.name for one in clues.parameters if not one.keyword_only]
    given = {**dict(zip(positional, args, strict=False)), **kwargs}
    extra = args[len(positional) :]
    if len(given) != min(len(args), len(positional)) + len(kwargs) or (
        extra and not clues.variadic
    ):
        return None
    names = [one.name for one in clues.parameters]
    if any(name not in names for name in kwargs):
        return None
    row = [given.get(name, OMITTED) for name in names]
    while row and not extra and row[-1] is OMITTED:
        row.pop()
    return (*row, *extra)


def as_call(row: Sequence[Any], clues: Clues) -> Call | None:
    """The call with these values; None where a required argument would be missing."""
    if not clues.parameters:
        return Call(tuple(one for one in row if one is not OMITTED))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for index, parameter in enumerate(clues.parameters):
        value = row[index] if index < len(row) else OMITTED
        if value is OMITTED:
            if not parameter.default:
                return None
            gap |= not parameter.keyword_only
        elif parameter.keyword_only or (gap and not parameter.positional_only):
            kwargs[parameter.name] = value
        elif gap:
            return None
        else:
            args.append(value)
    extra = row[len(clues.parameters) :]
    if extra and (gap or not clues.variadic or OMITTED in extra):
        return None
    return Call((*args, *extra), kwargs)

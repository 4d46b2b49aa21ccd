"""What code mentions that its inputs may have to be: constants, its own and those that it reads by
name, and texts that its regular expressions match."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType

from refute.function.scenarios.arguments import MOST_MENTIONED, constants_of
from refute.function.scenarios.patterns import is_pattern, matching
from refute.source.syntax import Function

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

"""Variations of a scenario: a literal changed, an option dropped, a statement more or less."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

from refute.core.problems import Scenario
from refute.function.scenarios.building import Builder
from refute.function.search.domain import learn
from refute.sandbox.values import crosses
from refute.source.literals import read_literal, source_of
from refute.source.syntax import parse_expression, parse_module

_MARKS = (*" -_.,:/=[]()<>\n0é", "1.5")


def parsed(scenario: Scenario) -> list[ast.stmt]:
    """The set-up and the expression as syntax trees, the expression last. Raises SyntaxError."""
    return parse_module(scenario.source).body


def unparsed(body: list[ast.stmt], like: Scenario) -> Scenario:
    """The scenario with these statements, without the imports that it no longer uses."""
    *setup, last = (ast.unparse(node) for node in body)
    used = {one.id for node in body for one in ast.walk(node) if isinstance(one, ast.Name)}
    imports = tuple(pair for pair in like.imports if pair[0] in used)
    return replace(like, expression=last, setup=tuple(setup), imports=imports)


def literals_of(body: list[ast.stmt]) -> list[ast.expr]:
    """The largest literal subtrees, and the containers inside of them."""
    found: list[ast.expr] = []
    for statement in body:
        for node in ast.walk(statement):
            kinds = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp)
            if isinstance(node, kinds) and not isinstance(getattr(node, "ctx", None), ast.Store):
                found.append(node)
    return found


def variations(scenario: Scenario, builder: Builder, rng: Random) -> Iterator[Scenario]:
    """Scenarios that differ from this one in one place, drawn at random, without end."""
    for _ in range(20):
        try:
            body = parsed(scenario)
        except SyntaxError:
            return
        changed = rng.choice((_literal, _literal, _literal, _statement, _argument))(
            body, builder, rng
        )
        if changed:
            try:
                yield unparsed(body, scenario)
            except (ValueError, RecursionError):
                return


def _literal(body: list[ast.stmt], builder: Builder, rng: Random) -> bool:
    nodes = literals_of(body)
    if not nodes:
        return False
    node = rng.choice(nodes)
    alike = [one for one in nodes if one is not node and _kind(one) == _kind(node)]
    if alike and rng.random() < 0.25:  # whether things are equal often matters
        return _put(body, node, copy.deepcopy(rng.choice(alike)))
    try:
        value = read_literal(node)
        choices = [one for one in neighbours(value, builder, rng) if crosses(one)]
        new = parse_expression(source_of(rng.choice(choices)))
    except (SyntaxError, ValueError, TypeError, IndexError):
        return False
    return _put(body, node, new)


def _kind(node: ast.expr) -> tuple[type, type]:
    return type(node), type(getattr(node, "value", None))


def neighbours(value: Any, builder: Builder, rng: Random) -> list[Any]:
    """Values that are one step away from a literal."""
    if value is None or isinstance(value, bool):
        return [not value, None, 0, 1, "", [1]]
    domain = learn([value])
    near = list(islice((o for part in domain.parts for o in part.near(value, rng)), 12))
    near += list(islice(domain.edges(), 6))
    numbers, texts = builder.constants
    if isinstance(value, (int, float)):
        near += [float(t) if isinstance(value, float) else int(float(t)) for t in numbers[:20]]
        near += [-value, value * 10, value * 1000, 0]
        if rng.random() < 0.25:  # where units end
            power = (10 if rng.random() < 0.7 else 2) ** rng.randint(1, 36)
            near = [power, power - 1, power + 1, power * 0.99999, power * rng.randint(2, 9)]
            near = [type(value)(one) for one in near]
    if isinstance(value, str):
        near += [ast.literal_eval(t) for t in texts[:20]]
        near += [value + ast.literal_eval(t) for t in texts[:6]] + [value[::-1], value * 2, ""]
        pieces = [*(ast.literal_eval(t) for t in texts), *_MARKS]
        near += [_spliced(value, rng.choice(pieces), rng) for _ in range(8)]
        near += [value.upper(), f" {value}", value.replace(" ", "_"), f"{value}\n", f"{value}é"]
    if isinstance(value, (list, tuple)):
        near += [type(value)(), value * 2, value[:1], value[::-1]]
        if value:  # a pair of a name and a number, as often as two of a kind
            at = rng.randrange(len(value))
            other = 1 if isinstance(value[at], str) else "abc"
            near += 3 * [type(value)([*value[:at], other, *value[at + 1 :]])]
    return [one for one in near if one != value or type(one) is not type(value)]


def _spliced(value: str, piece: str, rng: Random) -> str:
    """The text with a piece put in, or in the place of some of its characters."""
    start = rng.randint(0, len(value))
    end = start if rng.random() < 0.6 else min(len(value), start + rng.randint(1, 4))
    return value[:start] + piece + value[end:]


def _put(body: list[ast.stmt], old: ast.AST, new: ast.expr) -> bool:
    for statement in body:
        for parent in ast.walk(statement):
            for name, inner in ast.iter_fields(parent):
                if inner is old:
                    setattr(parent, name, new)
                    return True
                if isinstance(inner, list) and any(one is old for one in inner):
                    setattr(parent, name, [new if one is old else one for one in inner])
                    return True
    return False


def _statement(body: list[ast.stmt], builder: Builder, rng: Random) -> bool:
    calls = [i for i, node in enumerate(body[:-1]) if isinstance(node, ast.Expr)]
    if not calls:
        return False
    at = rng.choice(calls)
    if rng.random() < 0.5:
        del body[at]
    else:
        body.insert(rng.choice(calls), body[at])
    return True


def _argument(body: list[ast.stmt], builder: Builder, rng: Random) -> bool:
    calls = [
        one for node in body for one in ast.walk(node) if isinstance(one, ast.Call) and one.keywords
    ]
    if not calls:
        return False
    call = rng.choice(calls)
    call.keywords.pop(rng.randrange(len(call.keywords)))
    return True

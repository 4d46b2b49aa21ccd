"""More of an expression: `e + 1`, `e - name`, another condition beside a condition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from refute.function.search.edit import located
from refute.function.search.facts import Facts, may_be, type_of
from refute.function.search.operators.build import (
    Variant,
    binary,
    compare,
    const,
    load,
    negated,
    number,
)
from refute.function.search.sites import Site

__all__ = ["extensions"]


_BY_NAME: tuple[ast.operator, ...] = (ast.Sub(), ast.Mult(), ast.FloorDiv(), ast.Mod(), ast.Div())
_SIGNS: tuple[ast.cmpop, ...] = (ast.Gt(), ast.GtE(), ast.NotEq(), ast.Lt())


def extensions(site: Site, facts: Facts) -> Iterator[Variant]:
    """`e + 1`, `e - 1`, `e + name` and the like; another condition beside a condition."""
    node = site.node
    if isinstance(node, ast.Constant | ast.Starred | ast.Lambda):
        return
    if site.field == "func" or isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if site.is_test or type_of(node, facts) == "bool":
        yield from _conditions(site, facts)
        return
    if isinstance(node, ast.Slice) or (
        site.field == "value" and isinstance(site.owner, ast.Attribute)
    ):
        return
    if site.field == "value" and isinstance(site.owner, ast.Subscript):
        return
    if isinstance(site.owner, ast.Expr):
        return
    if may_be(node, facts, "int", "float", "num"):
        bound = site.field in ("slice", "upper", "lower", "comparators", "args") or isinstance(
            site.owner, ast.Return
        )
        in_range = (
            isinstance(site.owner, ast.Call) and getattr(site.owner.func, "id", "") == "range"
        )
        extra = 0.9 if in_range else 0.0 if bound else -0.7
        yield "plus one", binary(node, ast.Add(), const(1)), extra
        yield "minus one", binary(node, ast.Sub(), const(1)), extra - 0.2
        for op, value in ((ast.Mult(), 2), (ast.FloorDiv(), 2), (ast.Mod(), 2), (ast.Mod(), 10),
                          (ast.Pow(), 2), (ast.Add(), 2), (ast.Sub(), 2)):  # fmt: skip
            yield "extend constant", binary(node, op, const(value)), 0.0
        yield "minus", ast.UnaryOp(op=ast.USub(), operand=node), 0.0
        for value in facts.told_integers:
            if value > 2:
                for op in (ast.Mod(), ast.Mult(), ast.FloorDiv(), ast.Add(), ast.Sub()):
                    right = const(value)
                    yield "extend told", binary(node, op, right), 0.0
    for place, name in enumerate(site.context.names[:8]):
        kind = facts.types.get(name, "?")
        here = type_of(node, facts)
        numbers = {"int", "float", "num"}
        if kind != here and "?" not in (kind, here) and not {kind, here} <= numbers:
            continue
        extra = -0.1 * place
        yield "extend name", binary(node, ast.Add(), load(name)), extra
        if here not in ("str", "list"):
            for by in _BY_NAME:
                wide = binary(node, by, load(name))
                yield "extend name", wide, extra - 0.5
            flipped = binary(load(name), ast.Sub(), node)
            yield "extend name", flipped, extra - 0.5
        else:
            flipped = binary(load(name), ast.Add(), node)
            yield "extend name", flipped, extra


def _conditions(site: Site, facts: Facts) -> Iterator[Variant]:
    node = site.node
    if site.field == "values" and isinstance(site.owner, ast.BoolOp):
        return  # the whole condition is a site of its own
    atoms = list(facts.atoms)
    for atom in atoms:
        if isinstance(node, ast.BoolOp):
            present = any(value is atom for value in node.values)
        else:
            present = node is atom
        new = atom if not present else None
        if new is not None:
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, new]), 0.0
            yield "or atom", ast.BoolOp(op=ast.Or(), values=[node, new]), 0.0
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, negated(new)]), -0.7
        for near in _near_atoms(atom, site, facts):
            extra = 0.0 if present or isinstance(node, ast.BoolOp) else -0.7
            yield "and near atom", ast.BoolOp(op=ast.And(), values=[node, near]), extra
            yield "or near atom", ast.BoolOp(op=ast.Or(), values=[node, near]), extra
    for name in site.context.names[:6]:
        yield "and name", ast.BoolOp(op=ast.And(), values=[node, load(name)]), 0.0
        yield "or name", ast.BoolOp(op=ast.Or(), values=[node, load(name)]), -0.5
        nothing = negated(load(name))
        yield "or name", ast.BoolOp(op=ast.Or(), values=[nothing, node]), -0.3
    fresh = list(site.context.names[:5])
    for i, a in enumerate(fresh):
        for b in fresh[i + 1 :]:
            if facts.types.get(a, "?") != facts.types.get(b, "?"):
                continue
            for op in (ast.Eq(), ast.NotEq(), ast.Lt(), ast.Gt()):
                test = compare(load(a), op, load(b))
                yield "and pair", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0
    for name in site.context.names[:5]:
        if facts.types.get(name, "?") in ("int", "num", "float"):
            for sign in _SIGNS:
                for value in (0, 1):
                    test = compare(load(name), sign, const(value))
                    yield "and sign", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0


def _near_atoms(atom: ast.expr, site: Site, facts: Facts) -> Iterator[ast.expr]:
    """The program's own condition with one constant or one or two names changed."""
    leaves = [n for n in ast.walk(atom) if isinstance(n, ast.Name | ast.Constant)]
    if len(leaves) > 8:
        return
    variables = [n for n in leaves if isinstance(n, ast.Name) and n.id in site.context.names]
    for leaf in leaves:
        if isinstance(leaf, ast.Constant) and type(leaf.value) is int:
            for value in (*facts.told_integers[:6], *facts.integers[:4]):
                if value != leaf.value:
                    yield _replaced(atom, {id(leaf): number(value)})
        elif isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
            for text in (*facts.told_strings[:8], *facts.strings[:4]):
                if text != leaf.value:
                    yield _replaced(atom, {id(leaf): const(text)})
    for i, a in enumerate(variables):
        for name in site.context.names[:6]:
            if name != a.id:
                yield _replaced(atom, {id(a): load(name)})
        for b in variables[i + 1 :]:
            if b.id != a.id:
                yield _replaced(atom, {id(a): load(b.id), id(b): load(a.id)})


def _replaced(node: ast.expr, table: dict[int, ast.expr]) -> ast.expr:
    for new in table.values():
        located(new, node)
    result = _copied(node, table)
    assert isinstance(result, ast.expr)
    return result


def _copied(value: Any, table: dict[int, ast.expr]) -> Any:
    """As `copy_of`, with other nodes in the place of those with these ids."""
    if isinstance(value, list):
        return [_copied(item, table) for item in value]
    if not isinstance(value, ast.AST):
        return value
    if id(value) in table:
        return table[id(value)]
    new = value.__class__.__new__(value.__class__)
    new.__dict__.update((key, _copied(item, table)) for key, item in value.__dict__.items())
    return new

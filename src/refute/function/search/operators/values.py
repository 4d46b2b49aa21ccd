"""Operators on constants and names."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from refute.function.search.domain import is_tame
from refute.function.search.facts import Facts, fits, may_be, type_of
from refute.function.search.operators.build import Variant, call, const, load, number
from refute.function.search.sites import Site

__all__ = ["constants", "names", "replacements"]

_PAIRED = {"(": ")", ")": "(", "[": "]", "]": "[", "{": "}", "}": "{", "<": ">", ">": "<"}


def constants(site: Site, facts: Facts) -> Iterator[Variant]:
    """Another value for a constant."""
    node = site.node
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    initial = isinstance(site.owner, ast.Assign) and site.field == "value"
    if isinstance(value, bool):
        yield "flip bool", const(not value), 0.0
        yield "to none", const(None), 0.0
    elif isinstance(value, int):
        yield from _integers(site, value, facts, initial)
    elif isinstance(value, float):
        if value.is_integer() and abs(value) < 1e6:
            yield "constant step", const(value + 1), 0.0
            yield "constant step", const(value - 1), 0.0
            yield "constant type", number(int(value)), 0.0
        else:
            yield "constant drawn", const(-value), 0.0
        for told in facts.told_integers:
            yield "constant drawn", number(told), 0.0
    elif isinstance(value, str):
        yield from _strings(site, value, facts)
    elif value is None:
        for other in (0, 1, "", False, True):
            yield "none to value", const(other), 0.0
        yield "none to value", ast.List(elts=[], ctx=ast.Load()), 0.0
        yield "none to value", number(-1), 0.0


def _integers(site: Site, value: int, facts: Facts, initial: bool) -> Iterator[Variant]:
    near = 0.5 if initial and value in (0, 1) else _place(site)
    yield "constant step", number(value + 1), near
    yield "constant step", number(value - 1), near
    done = {value, value + 1, value - 1}
    for other in facts.told_integers:
        if other not in done:
            done.add(other)
            yield "constant told", number(other), 0.0
    for other in (*facts.integers, 0, 1, 2, 10):
        if other not in done:
            done.add(other)
            yield "constant drawn", number(other), 0.0
    for other in (-value, value + 2, value - 2, value * 2, value * 10, value // 2):
        if other not in done:
            done.add(other)
            yield "constant far", number(other), 0.0
    if initial:
        yield "constant type", const(""), 0.0
        yield "constant type", ast.List(elts=[], ctx=ast.Load()), 0.0
        if is_tame(value):
            yield "constant type", const(float(value)), -1.0
        for sign in ("inf", "-inf"):
            yield "initial infinite", call("float", const(sign)), 0.0
        yield "constant type", const(None), 0.0
        for name in _parameters(site):
            first = ast.Subscript(value=load(name), slice=const(0), ctx=ast.Load())
            yield "initial first", first, 0.0
    if value in (0, 1):
        yield "constant type", const(bool(value)), -1.0


def _place(site: Site) -> float:
    """Off-by-one is commonest where a number bounds something."""
    owner = site.owner
    if isinstance(owner, ast.AugAssign) and getattr(site.node, "value", 0) == 1:
        return -1.5  # `count += 1` is the idiom
    if isinstance(owner, ast.Subscript | ast.Slice | ast.Compare):
        return 0.2
    if isinstance(owner, ast.Call):
        return 0.3 if getattr(owner.func, "id", "") == "range" else -0.2
    if isinstance(owner, ast.Tuple | ast.List | ast.Set):
        return -0.7
    if isinstance(owner, ast.BinOp) and isinstance(owner.op, ast.Pow):
        return -0.7
    return 0.0


def _parameters(site: Site) -> list[str]:
    function = site.context.function
    return [arg.arg for arg in function.args.args] if function is not None else []


def _strings(site: Site, value: str, facts: Facts) -> Iterator[Variant]:
    done = {value}

    def new(text: str) -> bool:
        fresh = text not in done
        done.add(text)
        return fresh

    if value in site.context.names or value in facts.functions:
        yield "string to name", load(value), 0.0
    if value in ("", " "):
        yield "string space", const(" " if value == "" else ""), 0.0
        done.update(("", " "))
    if value in _PAIRED and new(_PAIRED[value]):
        yield "string pair", const(_PAIRED[value]), 0.0
    for word in facts.capitals if len(value) > 3 else ():
        if word != value and difflib.SequenceMatcher(None, word, value).ratio() > 0.7:
            new(word)
            yield "string told near", const(word), 0.0
    for text in facts.told_strings:
        if new(text):
            near = 1.0 if text.lower() == value.lower() else 0.0
            yield "string told", const(text), near
    for text in facts.strings:
        if len(text) <= 12 and new(text):
            yield "string drawn", const(text), 0.0
    for text in (value.lower(), value.upper(), value.strip(), value[::-1]):
        if new(text):
            yield "string case", const(text), 0.0
    if len(value) == 1:
        if new(value * 2):
            yield "string edit", const(value * 2), 0.0
    elif len(value) <= 60:
        for at in range(len(value)):
            text = value[:at] + value[at + 1 :]
            if new(text):
                yield "string drop char", const(text), 0.0
    for text in ("", " ", ", ", ",", "-", "_", "0", "1", "\n"):
        if new(text):
            yield "string common", const(text), 0.0
    if 0 < len(value) <= 12:
        for extra in (" ", *[t for t in facts.told_strings if len(t) == 1]):
            for text in (value + extra, extra + value):
                if new(text):
                    yield "string edit", const(text), 0.0


def names(site: Site, facts: Facts) -> Iterator[Variant]:
    """Another variable of the scope in place of a variable."""
    node = site.node
    if not isinstance(node, ast.Name):
        return
    callee = isinstance(site.owner, ast.Call) and site.field == "func"
    if isinstance(node.ctx, ast.Store):
        if isinstance(site.owner, ast.Assign | ast.AugAssign):
            for name in site.context.names:
                if name != node.id:
                    yield "assign other", ast.Name(id=name, ctx=ast.Store()), 0.0
        return
    if callee:
        for name in facts.functions:
            if name != node.id:
                yield "function other", load(name), 0.0
        return
    for place, name in enumerate(site.context.names):
        if name == node.id:
            continue
        extra = 0.0 if fits(site, name, facts) else -2.0
        if facts.idle(name):
            extra += 1.5
        if name in site.context.fresh:
            extra += 0.4
        if (name in facts.indices) != (node.id in facts.indices):
            extra -= 0.7  # an index and a value are seldom taken for each other
        yield "variable", load(name), extra - 0.08 * place


def replacements(site: Site, facts: Facts) -> Iterator[Variant]:
    """A variable or a small constant in place of another expression, and the reverse."""
    node = site.node
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if site.field == "func" and isinstance(site.owner, ast.Call):
        return
    if isinstance(node, ast.Name):
        kind = type_of(node, facts)
        if may_be(node, facts, "int", "float", "num"):
            for place, name in enumerate(site.context.names[:8]):
                sized = facts.types.get(name, "?") not in ("int", "float", "num", "bool")
                if name != node.id and sized:
                    length = call("len", load(name))
                    yield "variable to length", length, -0.08 * place
        if kind in ("?", "int", "num", "float"):
            for value in dict.fromkeys((0, 1, 2, *facts.integers[:6], *facts.told_integers[:4])):
                yield "variable to constant", number(value), 0.0
        if kind == "str":
            for text in facts.strings[:8]:
                yield "variable to constant", const(text), 0.0
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) > 3:
            return
        for place, name in enumerate(site.context.names):
            extra = 0.0 if fits(site, name, facts) else -2.0
            if facts.idle(name):
                extra += 1.5
            yield "constant to variable", load(name), extra - 0.08 * place
            if isinstance(node.value, int) and fits(site, name, facts):
                length = call("len", load(name))
                if facts.types.get(name, "?") not in ("int", "float", "num", "bool"):
                    yield "constant to length", length, -0.08 * place
        return
    for place, name in enumerate(site.context.names[:12]):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", None) == name:
            continue  # that is hoisting
        extra = 0.0 if fits(site, name, facts) else -2.0
        if facts.idle(name):
            extra += 1.5
        yield "expression to variable", load(name), extra - 0.08 * place
    if isinstance(node, ast.Call | ast.BinOp | ast.Subscript) and not site.is_test:
        for value in (0, 1):
            yield "expression to constant", number(value), 0.0
    if site.is_test and not isinstance(site.owner, ast.While):
        yield "condition to constant", const(True), 0.0
        yield "condition to constant", const(False), 0.0
    # A length where a name stands: `x / mean` becomes `x / len(numbers)` is the commoner way round.

"""Rules for constants and names, drawn from the program and from what its description says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.domain import is_tame
from refute.function.search.facts import CodeFacts, fits, may_be, type_of
from refute.function.search.rules.rule import Variant, call, const, draws, load, number, rule
from refute.function.search.sites import Site

REPEATED = -1.5
"""Log weight of what gives a call the same variable twice, or compares one with itself."""
_PAIRED = {"(": ")", ")": "(", "[": "]", "]": "[", "{": "}", "}": "{", "<": ">", ">": "<"}

rule("flip bool", 0.7, "return True", "return False", few=True, rows="True -> False\nFalse -> True")
rule("to none", 0.1, "return False", "return None", rows="True -> None\nFalse -> None")
rule("none to value", 0.2, "return None", "return 0", rows="""
    None -> 0
    None -> 1
    None -> ''
    None -> False
    None -> True
    None -> []
    None -> -1
""")  # fmt: skip
rule("constant step", 0.7, "return items[1]", "return items[2]", few=True)
rule("constant told", 0.5, "return a % 3 == 0", "return a % 7 == 0")
rule("constant drawn", 0.2, "return a + 5 + 20", "return a + 5 + 5")
rule("constant far", 0.1, "return a * 5", "return a * -5")
rule("constant type", 0.1, "x = 0\nreturn x", "x = ''\nreturn x")
rule("initial infinite", 0.15, "x = 0\nreturn min(x, a)", "x = float('inf')\nreturn min(x, a)")
rule("initial first", 0.15, "x = 0\nreturn max(x, b)", "x = items[0]\nreturn max(x, b)")
rule("string to name", 1.0, "return len('items')", "return len(items)")
rule("string space", 0.6, "return ' '.join(items)", "return ''.join(items)")
rule("string pair", 0.4, "return a == '('", "return a == ')'")
rule("string told", 0.3, "return a == 'no'", "return a == 'ok'")
rule("string drawn", 0.2, "return a == 'x' or b == 'yz'", "return a == 'yz' or b == 'yz'")
rule("variable", 0.8, "return a + a", "return a + b")
rule("assign other", 0.3, "n = m = 0\nn = a\nreturn n + m", "n = m = 0\nm = a\nreturn n + m")
rule("function other", 0.3, "return f(a, b, items)", "return g(a, b, items)")
rule("variable to length", 0.1, "return sum(items) / a", "return sum(items) / len(items)")
rule("variable to constant", 0.04, "return a % b", "return a % 2")
rule("constant to variable", 0.15, "return a % 2", "return a % b")
rule("constant to length", 0.1, "return a % 2", "return a % len(items)")
rule("expression to variable", 0.1, "return max(items)", "return items")
rule("expression to constant", 0.03, "return max(items)", "return 0")
rule("condition to constant", 0.04, "if a > b:\n    return a", "if True:\n    return a")


@draws(ast.Constant)
def constants(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another value for a constant."""
    assert isinstance(site.node, ast.Constant)
    value = site.node.value
    initial = isinstance(site.owner, ast.Assign) and site.field == "value"
    if type(value) is int:
        yield from _integers(site, value, facts, initial)
    elif isinstance(value, float):
        if value.is_integer() and abs(value) < 1e6:
            yield "constant step", const(value + 1), 0.0
            yield "constant step", const(value - 1), 0.0
            yield "constant type", number(int(value)), 0.0
        else:
            yield "constant drawn", const(-value), 0.0
            for other in (value + 1, value - 1, value * 2, value / 2):
                yield "constant far", const(other), 0.0
        for told in facts.told_integers:
            yield "constant drawn", number(told), 0.0
    elif isinstance(value, str):
        yield from _strings(site, value, facts)


def _integers(site: Site, value: int, facts: CodeFacts, initial: bool) -> Iterator[Variant]:
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


def _strings(site: Site, value: str, facts: CodeFacts) -> Iterator[Variant]:
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
    if value.strip() and new(value.strip()):
        yield "string space", const(value.strip()), 0.0
    if value in _PAIRED and new(_PAIRED[value]):
        yield "string pair", const(_PAIRED[value]), 0.0
    for text in facts.told_strings:
        if new(text):
            near = 1.0 if text.lower() == value.lower() else 0.0
            yield "string told", const(text), near
    for text in facts.strings:
        if len(text) <= 12 and new(text):
            yield "string drawn", const(text), 0.0


@draws(ast.Name, stored=True)
def names(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another variable of the scope in place of a variable."""
    node = site.node
    assert isinstance(node, ast.Name)
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
    beside = _beside(site)
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
        if name in beside:
            extra += REPEATED
        yield "variable", load(name), extra - 0.08 * place


def _beside(site: Site) -> set[str]:
    """The variables that stand beside a site: arguments of the same call, the other operand."""
    match site.owner:
        case ast.Call(args=parts):
            pass
        case ast.Compare(left=left, comparators=comparators):
            parts = [left, *comparators]
        case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.Mult):
            parts = [left, right]
        case _:
            parts = []
    return {part.id for part in parts if isinstance(part, ast.Name) and part is not site.node}


@draws(ast.expr)
def replacements(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """A variable or a small constant in place of another expression, and the reverse."""
    node = site.node
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

"""Writes a scenario and what it showed as a test that people commit.

What it needs is imported by name, the call stands there as a user would write it, and one comment
says where the expected value comes from. The text is a file of its own, which runs; `placing` puts
it among the tests of a project. It has not been run: whoever shows it does that first, since names
of fields and exceptions come from the program.
"""

from __future__ import annotations

import ast
import keyword
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any

from refute.core.problems import Scenario
from refute.function.formatting import code_of, laid_out, sorted_imports, wrapped_imports
from refute.function.scenarios.bodies import Context, Parts, Style, body_of, read_body
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.varying import unparsed
from refute.source.literals import NotLiteral, read_literal
from refute.source.syntax import bound_names, read_names

__all__ = ["Context", "Style", "as_hypothesis", "render_test"]

PLAIN = Style()
UNKNOWN = Context()


def render_test(
    scenario: Scenario,
    expected: Observation,
    *,
    module: str,
    name: str,
    style: Style = PLAIN,
    comment: str = "",
    context: Context = UNKNOWN,
) -> str:
    """A file with one test: `name` (of a function: ``test_total``) of a scenario of `module`.

    `comment` says where the expected value comes from: ``as before 1f2e3d``. Raises `NotLiteral`
    where what was seen has no source, `InputError` for a scenario that is not Python.
    """
    parts = body_of(scenario, expected, module, style, comment, context)
    return _file_of(name, parts, module, style)


def _file_of(
    name: str, parts: Parts, module: str, style: Style, decorators: Sequence[str] = ()
) -> str:
    """A file of one test: imports in isort's order, then the function, or a class with it."""
    returns = " -> None" if style.annotated else ""
    if style.kind == "unittest":
        parts.imports.add("import unittest")
    top = module.partition(".")[0]
    head = import_block(parts.imports, top, style.width)
    body = indent("\n".join(parts.lines), "    ")
    marks = "".join(f"@{one}\n" for one in decorators)
    if style.kind == "unittest":
        title = "".join(word.title() for word in module.rpartition(".")[2].split("_")) or "Module"
        given = ", ".join(["self", *parts.fixtures])
        test = indent(f"{marks}def {name}({given}){returns}:\n{body}\n", "    ")
        return f"{head}\n\n\nclass Test{title}(unittest.TestCase):\n{test}"
    return f"{head}\n\n\n{marks}def {name}({', '.join(parts.fixtures)}){returns}:\n{body}\n"


def import_block(imports: Iterable[str], top: str, width: int) -> str:
    """Return import lines in groups: standard library, other packages, the project's `top`."""
    groups: list[list[str]] = [[], [], []]
    for line in sorted_imports(_joined(imports)):
        groups[_import_group(line, top)].append(wrapped_imports(line, width))
    return "\n\n".join("\n".join(one) for one in groups if one)


def _import_group(line: str, top: str) -> int:
    """Return the block of a file's imports that a line belongs to; `top`: the project's package."""
    name = line.split()[1].partition(".")[0]
    if name == top:
        return 2
    return 0 if name in sys.stdlib_module_names or name == "__future__" else 1


def _joined(imports: Iterable[str]) -> list[str]:
    """The imports, those from one module in one line, but for renamed ones."""
    names: dict[str, set[str]] = {}
    lines = []
    for line in imports:
        head, mark, rest = line.partition(" import ")
        if mark and line.startswith("from ") and " as " not in rest:
            names.setdefault(head, set()).update(rest.split(", "))
        else:
            lines.append(line)
    return lines + [f"{head} import {', '.join(sorted(found))}" for head, found in names.items()]


# -- as a property ---------------------------------------------------------------------------------


def as_hypothesis(
    scenario: Scenario,
    expected: Observation,
    *,
    module: str,
    name: str,
    style: Style = PLAIN,
    comment: str = "",
    context: Context = UNKNOWN,
) -> str:
    """A skeleton for Hypothesis: the literal arguments of the observed call are drawn by their
    kind, the scenario stands as the example, and what is to hold for all of them is left open.

    Raises `NotLiteral` where the call has no literal argument, else as `render_test`.
    """
    body = read_body(scenario)
    names, values = _lift(body)
    quiet = replace(expected, printed="")  # a fixture would be shared by all examples
    lifted = unparsed(body, scenario)
    drawn = body_of(lifted, quiet, module, style, comment, context, frozenset(names))
    lines = [f"if {_pair(names)} == {_pair([code_of(one) for one in values])}:"]
    lines += [indent("\n".join(drawn.lines), "    "), "# here: what holds for every input"]
    strategies = [_strategy(read_literal(one)) for one in values]
    drawn.imports |= {
        "from hypothesis import example, given",
        "from hypothesis import strategies as st",
    }
    given = ", ".join(f"{key}={one}" for key, one in zip(names, strategies, strict=True))
    example = ", ".join(f"{key}={code_of(one)}" for key, one in zip(names, values, strict=True))
    room = style.width - (5 if style.kind == "unittest" else 1)
    marks = [laid_out(one, room) for one in (f"given({given})", f"example({example})")]
    return _file_of(name, Parts(lines, drawn.imports, names), module, style, marks)


def _lift(body: list[ast.stmt]) -> tuple[list[str], list[ast.expr]]:
    """Puts names in the place of the observed call's literal arguments: names and literals."""
    last = body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    names: list[str] = []
    values: list[ast.expr] = []
    taken = read_names(*body) | bound_names(*body)

    def named(wish: str, node: ast.expr) -> ast.Name:
        while wish in taken or keyword.iskeyword(wish):
            wish += "_"
        taken.add(wish)
        names.append(wish)
        values.append(node)
        return ast.Name(wish, ast.Load())

    if isinstance(call, ast.Call):
        for index, node in enumerate(call.args):
            if _is_literal(node):
                call.args[index] = named(f"argument_{index + 1}", node)
        for one in call.keywords:
            if one.arg and _is_literal(one.value):
                one.value = named(one.arg, one.value)
    if not names:
        raise NotLiteral("a call without literal arguments leaves nothing to draw")
    return names, values


def _is_literal(node: ast.expr) -> bool:
    try:
        _strategy(read_literal(node))
    except NotLiteral:
        return False
    return True


def _pair(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


_STRATEGIES: dict[type, str] = {
    bool: "st.booleans()", int: "st.integers()", str: "st.text()", bytes: "st.binary()",
    float: "st.floats(allow_nan=False)", type(None): "st.none()",
}  # fmt: skip


def _strategy(value: Any) -> str:
    """Return the strategy that draws values of a value's kind. Raises `NotLiteral`."""
    kind = type(value)
    if kind in _STRATEGIES:
        return _STRATEGIES[kind]
    if kind in (list, set, frozenset):
        drawn = " | ".join(sorted({_strategy(one) for one in value})) or "st.integers()"
        name = {list: "lists", set: "sets", frozenset: "frozensets"}[kind]
        return f"st.{name}({drawn})"
    if kind is tuple:
        return f"st.tuples({', '.join(map(_strategy, value))})"
    if kind is dict:
        keys = " | ".join(sorted({_strategy(one) for one in value})) or "st.integers()"
        items = " | ".join(sorted({_strategy(one) for one in value.values()})) or "st.integers()"
        return f"st.dictionaries({keys}, {items})"
    raise NotLiteral(f"no strategy for a {kind.__name__}")

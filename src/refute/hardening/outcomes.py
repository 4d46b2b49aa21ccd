"""Mutants that give one call of a function another outcome, and leave all others alone.

What a call was given, and what came of it, are texts of `refute.recording.outlining`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from itertools import islice

from refute.diffing.modules import Module
from refute.hardening.mutants import Mutant
from refute.hardening.operators import Edit
from refute.issue.observed_calls import Call
from refute.recording.replaying import beside
from refute.source.syntax import Function, first_line

MOST_OF_A_CALL = 12


def mutants_of_call(module: Module, functions: Mapping[str, Function], call: Call) -> list[Mutant]:
    """The mutants of a call; none where the module has several functions that it may be of."""
    nodes = [node for name, node in functions.items()
             if name.rpartition(".")[2] == call.function.rpartition(".")[2]
             and [*call.given] == _parameters(node)]  # fmt: skip
    if len(nodes) != 1:
        return []
    (node,) = nodes
    first = node.body[0]
    data, number = module.text.encode().split(b"\n"), first_line(first)
    line = data[number - 1]
    start = sum(len(part) + 1 for part in data[: number - 1])
    indent = line[: len(line) - len(line.lstrip())].decode()
    if number <= node.lineno:
        return []  # all in one line
    asked = f"if __import__('refute_inside').given(locals()) == {dict(call.given)!r}: "
    shown = ", ".join(f"{name}={text}"[:60] for name, text in call.given.items())
    found = []
    for told, statement in islice(other_outcomes(call), MOST_OF_A_CALL):
        new = f"{indent}{asked}{statement}\n".encode()
        operator = f"{call.function}({shown}) {told}"
        lines = node.lineno, node.end_lineno or node.lineno
        edit = Edit(operator, start, start, new, number, lines)
        found.append(Mutant(module, call.function, node, edit))
    return found


def _parameters(node: Function) -> list[str]:
    given = node.args
    plain = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [*plain, *(one.arg for one in (given.vararg, given.kwarg) if one is not None)]


def other_outcomes(call: Call) -> Iterator[tuple[str, str]]:
    """Other outcomes of a call: in words, and as a statement."""
    if call.raised:
        yield "returns None", "return None"
        kind = getattr(builtins, call.outcome.partition("(")[0], None)
        parents = kind.__mro__[:3] if isinstance(kind, type) else ()
        for error in dict.fromkeys((*parents, LookupError, ValueError, Exception)):
            if issubclass(error, Exception):
                told = f"{error.__name__}('something else')"
                yield f"raises {told}", f"raise {told}"
        return
    try:
        value = ast.literal_eval(call.outcome)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        yield "returns None", "return None"
        yield "returns 0", "return 0"
        return
    for other in (0, "x") if value is None else beside(value):
        if other != value:
            yield f"returns {other!r}"[:80], f"return {other!r}"
    yield "raises", "raise SystemError('something else')"

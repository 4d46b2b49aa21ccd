"""Faults that can be shown without knowing the right output.

A finding is reported when the code under test fails to load, raises `NameError` for a name that its
module binds nowhere, or is described by examples that contradict each other.

Every other exception may be the function's contract, and so may a run without end: of seven reports
about released functions, all on inputs like those of the examples, no maintainer would have
accepted one, and on 79 functions with planted bugs none was found so. Doubt is resolved in favour
of the code.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from functools import lru_cache

from refute.core.problems import FunctionProblem, Invocation
from refute.function.contract import Finding
from refute.function.examples import examples_of
from refute.sandbox import NotRun, Outcome, Raised
from refute.source.syntax import try_parse

__all__ = ["find_crashes"]

_ENVIRONMENT = frozenset(
    {"ModuleNotFoundError", "ImportError", "PermissionError", "OSError", "FileNotFoundError"}
)
"""What the machine lacks is no fault of the code."""


def find_crashes(
    problem: FunctionProblem,
    calls: Sequence[Invocation],
    outcomes: Sequence[Outcome],
    *,
    limit: int = 5,
) -> list[Finding]:
    """Return at most `limit` findings, surest first, one for each way of failing.

    `outcomes[i]` is what the code under test did with `calls[i]`. Raises `ValueError` when the two
    differ in length.
    """
    unbound_here = unbound_names(problem.code)
    findings: dict[object, Finding] = {}
    for call, outcome in zip(calls, outcomes, strict=True):
        if not isinstance(outcome, Raised) or outcome.type in _ENVIRONMENT:
            continue
        said = re.match(r"name '(\w+)' is not defined", outcome.message)
        unbound = outcome.type == "NameError" and said and said[1] in unbound_here
        if outcome.on_import or unbound:
            where = "when it is loaded" if outcome.on_import else f"at line {outcome.line}"
            reason = f"raises {outcome.type} {where}: {outcome.message}"[:200].rstrip(": ")
            finding = Finding(call, "crash", outcome, reason)
            findings.setdefault((outcome.type, outcome.line), finding)
    seen = {repr(call): outcome for call, outcome in zip(calls, outcomes, strict=True)}
    for test in (*problem.tests, *examples_of(problem)):
        if "contradicted by" in test.source:
            outcome = seen.get(repr(test.call), NotRun())
            finding = Finding(test.call, "contradiction", outcome, test.source)
            findings.setdefault(repr(test.call), finding)
    return list(findings.values())[:limit]


_PYTHON = frozenset(dir(builtins)) | {"__file__", "__path__"}


@lru_cache(maxsize=8)  # a module's functions are looked at one after another
def unbound_names(code: str) -> frozenset[str]:
    """The names that a module reads and binds nowhere, nor does Python; none where it may bind
    names that cannot be read."""
    tree = try_parse(code)
    bound, opaque = _names(tree)
    if tree is None or opaque:
        return frozenset()
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(read - bound - _PYTHON)


def _names(tree: ast.Module | None) -> tuple[frozenset[str], bool]:
    """The names that a module binds anywhere, and whether it may have others."""
    bound: set[str] = set()
    opaque = tree is None
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Global(names=names):
                bound.update(names)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                opaque |= any(alias.name == "*" for alias in aliases)
                bound.update((a.asname or a.name).partition(".")[0] for a in aliases)
            case ast.Name(id="exec" | "globals" | "setattr" | "vars"):
                opaque = True
    return frozenset(bound), opaque

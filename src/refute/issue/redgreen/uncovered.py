"""The statements that a fix adds or changes and that tests do not execute."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from refute.issue.drafting.original import TrialRun
from refute.issue.edits.indent import python_lines
from refute.issue.patches import added_lines
from refute.issue.redgreen.testbed import CandidateFix, TestBed
from refute.syntax import readable_module

__all__ = ["missed_statements", "statements_at"]

_MOST = 40
_UNCOUNTED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Global, ast.Nonlocal, ast.Pass, ast.Try, ast.TryStar),
)
"""What runs on import whichever tests are run, and what no runner counts."""


def missed_statements(bed: TestBed, trial: TrialRun, fix: CandidateFix) -> list[str]:
    """As `path:line: text`, the statements of the fix that the trial's tests do not execute.

    A statement over several lines counts as executed when one of them is. None where none of the
    fix's lines is executed: then nothing is known about the others. Blocks while tests are run.
    """
    wanted: dict[str, Sequence[tuple[range, str]]] = {}
    for path, lines in added_lines(fix.patch).items():
        text = bed.fixed_source(fix, path) if path.endswith(".py") else None
        if text:
            wanted[path] = statements_at(text, lines)
    counted = {path: [n for rows, _ in found for n in rows] for path, found in wanted.items()}
    executed = bed.executed(trial, fix, counted)
    if not executed:
        return []
    missed = [
        f"{path}:{rows[0]}: {text}"
        for path, found in wanted.items()
        for rows, text in found
        if not any((path, line) in executed for line in rows)
    ]
    return missed[:_MOST]


def statements_at(text: str, lines: Sequence[int]) -> list[tuple[range, str]]:
    """The statements that have one of these 1-based lines: their lines, and their first as text.

    Of a compound statement its head alone. Left out is what a count of lines says nothing about:
    docstrings, definitions and imports, `pass`. None where the text does not parse.
    """
    rows = python_lines(text)
    wanted = set(lines)
    spans = sorted(
        (_rows(node) for node in _statements(readable_module(text))), key=lambda span: span[0]
    )
    return [(span, rows[span[0] - 1].strip()) for span in spans if not wanted.isdisjoint(span)]


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or isinstance(node, _UNCOUNTED):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node


def _rows(node: ast.stmt) -> range:
    """The lines of a statement, or of the head of a compound one."""
    body: list[ast.AST] = getattr(node, "body", None) or getattr(node, "cases", None) or []
    stop = (node.end_lineno or node.lineno) + 1
    if body:
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        stop = max(node.lineno + 1, getattr(first, "lineno", stop))
    return range(node.lineno, stop)

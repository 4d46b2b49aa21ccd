"""A piece of code that a model wrote, as a tree."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from refute.issue.edits.indent import indent_of, python_lines, reindented
from refute.issue.edits.tree import EditProblem
from refute.source.syntax import first_line, parse_module

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of code that a model wrote, at no indentation."""

    source: str
    """Ends without a line feed."""
    body: Sequence[ast.stmt]
    indented: bool
    """It was written at some depth, as a method is."""

    @property
    def definitions(self) -> list[Definition]:
        """Its functions and classes, in their order."""
        return [n for n in self.body if isinstance(n, Definition)]

    def imports(self) -> tuple[str, str]:
        """Its top-level import statements, and the rest of it (comments stay with the rest)."""
        lines = python_lines(self.source)
        taken: list[str] = []
        for node in self.body:
            if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno is not None:
                span = range(node.lineno - 1, node.end_lineno)
                taken.append("".join(lines[n] for n in span).rstrip("\n"))
                for n in span:
                    lines[n] = ""
        return "\n".join(taken), "".join(lines).strip("\n")

    def piece(self, node: Definition) -> str:
        """The source of one of its definitions, decorators and comments just above included."""
        lines = python_lines(self.source)
        start = first_line(node)
        while start > 1 and lines[start - 2].startswith("#"):
            start -= 1
        return "".join(lines[start - 1 : node.end_lineno]).rstrip("\n")


def parsed_code(source: str) -> Code:
    """A model's code as a tree. Raises `EditProblem`: it is not Python, or empty."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    source = reindented(source, "").strip("\n")
    try:
        body = parse_module(source + "\n").body
    except SyntaxError as e:
        raise EditProblem(f"its code is not Python: {said(e)}") from None
    return Code(source, body, bool(indent_of(first)))


def said(error: BaseException) -> str:
    """Why a parser refused a text, in a few words."""
    if isinstance(error, SyntaxError) and error.msg:
        return f"{error.msg} (its line {error.lineno})"
    return type(error).__name__

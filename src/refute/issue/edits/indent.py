"""Source moved to another depth, string literals untouched; lines as Python counts them."""

from __future__ import annotations

import io
import re
import tokenize

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def python_lines(text: str) -> list[str]:
    """Lines with their ends, numbered as syntax trees number them (``\\r`` ends a line too)."""
    return _LINE.findall(text)


def indent_of(line: str) -> str:
    """The white space at the start of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def reindented(code: str, indent: str) -> str:
    """`code` with its first line that is not blank at `indent`, and the others moved alike.

    Lines that begin inside of a string literal stay as they are. A line with less indentation than
    the first goes to `indent` itself.
    """
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    margin = indent_of(first)
    if margin == indent:
        return code
    inside = _rows_in_strings(code, bool(margin))
    moved = []
    for row, line in enumerate(lines, start=1):
        if row in inside:
            moved.append(line)
        elif not line.strip():
            moved.append("")
        elif line.startswith(margin):
            moved.append(indent + line[len(margin) :])
        else:
            moved.append(indent + line.lstrip(" \t"))
    return "\n".join(moved)


def _rows_in_strings(code: str, nested: bool) -> set[int]:
    """1-based numbers of the lines that begin inside of a string literal."""
    extra = 1 if nested else 0
    source = "if 1:\n" + code if nested else code
    rows: set[int] = set()
    open_rows: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            name = tokenize.tok_name[token.type]
            if name in ("FSTRING_START", "TSTRING_START"):
                open_rows.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END") and open_rows:
                rows.update(range(open_rows.pop() + 1, token.end[0] + 1))
            elif name == "STRING":
                rows.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser will say what is wrong with it
    return {row - extra for row in rows}

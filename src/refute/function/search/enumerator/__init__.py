"""Enumerates small expressions that map given inputs to given outputs, cheapest first.

Its modules run inside the sandbox, as one program (`source`): standard library only. No untrusted
program is in that process, so the expected outputs may be: what it evaluates is built from the
operations of `templates` and nothing else. Its answers are believed only once the trusted side has
run them as a program.

Bottom-up enumeration by cost with observational equivalence (Albarghouthi, Gulwani, Kincaid, CAV
2013): of all expressions with the same values on every input only the cheapest is kept. Inputs
without a known output take part in that, so that what differs on them stays apart. The bodies of
comprehensions are enumerated in the same way, over the elements of the collection.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

__all__ = ["ENTRY_POINT", "source"]

ENTRY_POINT = "synthesize"
_MODULES = ("space", "goals")
"""In the order in which they import each other."""


@cache
def source() -> str:
    """The modules as the source of one, without the imports of each other."""
    texts = []
    for name in _MODULES:
        text = Path(__file__).with_name(f"{name}.py").read_text("utf-8")
        lines = text.splitlines()
        for stmt in ast.parse(text).body:
            own = isinstance(stmt, ast.ImportFrom) and (stmt.module or "").startswith(__name__)
            future = isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
            if own or future or (isinstance(stmt, ast.If) and "TYPE_CHECKING" in ast.dump(stmt)):
                lines[stmt.lineno - 1 : stmt.end_lineno] = [""] * (
                    (stmt.end_lineno or stmt.lineno) - stmt.lineno + 1
                )
        texts.append("\n".join(lines))
    return "\n".join(["from __future__ import annotations", *texts])

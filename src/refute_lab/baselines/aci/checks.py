"""What a linter says of an edit: broken syntax undoes it, a name without a definition is told.

SWE-agent checks each edit with flake8 and undoes it on errors of syntax and undefined names
(section 3). Undefined names are a remark only here: an import is often added by the next edit.
"""

from __future__ import annotations

import builtins
import symtable
import warnings

from refute.source.syntax import parse_module

_KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__path__",
    "__package__",
    "__spec__",
    "__loader__",
    "__builtins__",
    "__annotations__",
    "WindowsError",
    "unicode",
    "basestring",
    "xrange",
    "long",
    "unichr",
    "reduce",
}
"""Names of the module itself, and of Python 2, which old code asks for behind a condition."""


def broken_syntax(path: str, before: str, after: str) -> str:
    """What an edit broke in the syntax of a Python file; "" where it broke nothing.

    A file that this interpreter could not read before (Python 2, a template) is not judged.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    complaint = _complaint(after)
    return "" if complaint and _complaint(before) else complaint


def undefined_names(path: str, before: str, after: str) -> list[str]:
    """Names that a Python file uses and nothing in it defines, without those of before; sorted."""
    if not path.endswith(".py"):
        return []
    return sorted(_undefined(after) - _undefined(before))


def _complaint(source: str) -> str:
    try:
        parse_module(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{error.msg}"
    return ""


def _undefined(source: str) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if any("*" in part for part in _star_imports(source)):
                return set()
            top = symtable.symtable(source, "<edited>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    defined |= {child.get_name() for child in top.get_children()}
    used: set[str] = set()
    scopes = [top]
    while scopes:
        scope = scopes.pop()
        for symbol in scope.get_symbols():
            if symbol.is_global() or scope is top:
                if symbol.is_referenced():
                    used.add(symbol.get_name())
                if symbol.is_declared_global() and symbol.is_assigned():
                    defined.add(symbol.get_name())
        scopes += scope.get_children()
    return used - defined - _KNOWN


def _star_imports(source: str) -> list[str]:
    return [line for line in source.split("\n") if line.lstrip().startswith("from ")]

"""Imports that a program lacks: of well-known names that it uses and nowhere binds, and of what the
build of a package makes. By reading."""

from __future__ import annotations

import ast
import builtins

from refute.source.syntax import try_parse

_HOMES = {
    **{
        name: f"import {name}"
        for name in (
            "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools",
            "hashlib", "heapq", "itertools", "math", "operator", "random", "re", "statistics",
            "string", "sys", "typing", "numpy",
        )
    },
    **{
        name: f"from typing import {name}"
        for name in (
            "Any", "Callable", "Dict", "FrozenSet", "Iterable", "Iterator", "List", "Optional",
            "Sequence", "Set", "Tuple", "Union",
        )
    },
    **{
        name: f"from collections import {name}"
        for name in ("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque", "namedtuple")
    },
    **{
        name: f"from functools import {name}"
        for name in ("cache", "cmp_to_key", "lru_cache", "partial", "reduce")
    },
    "np": "import numpy as np",
}  # fmt: skip
"""Where names come from that programs use without importing them: by and large what the evaluation
of UTGen has in front of every program."""


def after_head(tree: ast.Module) -> int:
    """The line after which an import may stand: past docstring and `__future__` imports."""
    line = 0
    for number, node in enumerate(tree.body):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (future or (text and number == 0)):
            break
        line = node.end_lineno or node.lineno
    return line


def with_imports(source: str) -> str:
    """The source with imports for well-known names that it uses and nowhere binds."""
    tree = try_parse(source)
    if tree is None:
        return source
    used, bound = set[str](), set(vars(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name="*"):
                return source  # anything may be bound
            case ast.alias(name=name, asname=other):
                bound.add((other or name).split(".")[0])
    missing = [_HOMES[name] for name in sorted(used - bound) if name in _HOMES]
    if not missing:
        return source
    lines = source.split("\n")
    line = after_head(tree)
    lines[line:line] = missing
    return "\n".join(lines)


def unbuilt(message: str, module: str) -> str:
    """Return a hint where `module` cannot be imported because it is not built; else "".

    `message`: of a ModuleNotFoundError. A package that lacks a part of its own is most often one
    whose build makes that file (its version, a compiled module), in a plain clone.
    """
    missing = message.partition("'")[2].partition("'")[0]
    package = module.partition(".")[0]
    if not missing.startswith(f"{package}."):
        return ""
    return (
        f"; where the build of {package} makes it, install the project in place first: "
        "pip install -e ."
    )

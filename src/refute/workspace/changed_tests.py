"""Which tests of a file a patch adds or changes, named as the file's runner names them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from refute.syntax import Function, first_line, readable_module


def touched_tests(path: str, text: str, lines: Collection[int], known: str) -> tuple[str, ...]:
    """Ids of the tests in a file that have one of these lines (1-based), decorators included.

    `text`: the file with the patch. `known`: the id of any test of the file, which shows how its
    runner names them. Empty where none is touched or the text does not parse.
    """
    found = []
    for names, node in _tests(readable_module(text).body, ()):
        first = first_line(node)
        if any(first <= line <= (node.end_lineno or first) for line in lines):
            found.append(names)
    if "::" in known:
        return tuple("::".join((path, *names)) for names in found)
    module = ".".join(known.partition(" ")[0].split(".")[:-2])
    return tuple(".".join((module, *names)) for names in found)


def _tests(
    body: list[ast.stmt], owners: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Function]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, (*owners, node.name))
        elif isinstance(node, Function) and node.name.startswith("test"):
            yield (*owners, node.name), node

"""Take single tests out of a test patch, and leave everything else of it as it is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from refute.errors import PatchRejected
from refute.issue.drafting.original import Original
from refute.issue.edits.definitions import EditedModule
from refute.issue.edits.tree import EditProblem
from refute.source.syntax import first_line
from refute.workspace.contract import TestResult
from refute.workspace.control import names_of
from refute.workspace.patches import test_files
from refute.workspace.running import applied


def defined_as(id: str) -> str:
    """`Class.method` or `function` that a runner's id stands for, without parameters."""
    return ".".join(names_of(id)[-2:])


def without_tests(patch: str, drop: Sequence[TestResult], original: Original) -> str:
    """The patch without the tests `drop`: new ones are gone, changed ones are as they were.

    A test that cannot be taken out stays. The workspace is clean before and afterwards.
    """
    names: dict[str, set[str]] = {}
    for result in drop:
        names.setdefault(result.file, set()).add(defined_as(result.id))
    workspace = original.workspace
    before = {path: original.source(path) for path in test_files(patch)}
    try:
        with applied(workspace, patch):
            for path, old in before.items():
                text = original.source(path)
                if text is not None and names.get(path):
                    workspace.write(path, _without(text, old, names[path]).encode())
            return workspace.diff()
    except PatchRejected:
        return patch


def _without(text: str, old: str | None, names: Collection[str]) -> str:
    try:
        module = EditedModule(text)
        base = EditedModule(old) if old and old.strip() else None
    except EditProblem:
        return text
    for name in sorted(names):
        node = module.named(name, None)
        if node is None:
            continue
        was = None if base is None else base.named(name, None)
        try:
            if base is None or was is None:
                module.remove(node)
            else:
                module.replace(node, source_in(base, was), True)
        except EditProblem:
            continue  # it shares a line with another statement, or the file depends on it
    return module.text


def source_in(module: EditedModule, node: ast.stmt) -> str:
    """A statement with its decorators."""
    start = first_line(node)
    lines = module.lines[start - 1 : node.end_lineno]
    return "\n".join(line.rstrip("\r\n") for line in lines)

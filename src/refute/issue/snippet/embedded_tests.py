"""Tests that an issue holds already: its test cases and test functions as they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from refute.issue.edits.indent import reindented
from refute.issue.snippet.import_lookup import Names
from refute.issue.snippet.script import Statement, missing_names
from refute.workspace.patches import is_test_file


def given_tests(rows: Sequence[Statement], names: Names, base: str) -> str | None:
    """A module with the tests that the statements define; None where there are none.

    Methods that stand without their class get one that derives from `base` (an import of it is
    completed). Imports from the reporter's own project are left out.
    """
    if not any(_is_test(row.node) for row in rows):
        return None
    kept: list[Statement] = []
    for row in rows:
        if isinstance(row.node, ast.Import | ast.ImportFrom):
            level = row.node.level if isinstance(row.node, ast.ImportFrom) else 0
            module = getattr(row.node, "module", None) or row.node.names[0].name
            if not level and not names.importable(module):
                continue
            if level == 1:
                continue  # of the reporter's own application
        elif not isinstance(row.node, ast.ClassDef | ast.FunctionDef | ast.Assign):
            continue
        kept.append(row)
    loose = [row for row in kept if _is_method(row.node)]
    nodes: list[ast.AST] = [row.node for row in kept]
    parts = [row.source for row in kept if row not in loose]
    if loose:
        body = "\n\n".join(reindented(row.source, "    ") for row in loose)
        parts.append(f"class IssueTests({base}):\n{body}")
        nodes.append(ast.parse(base, mode="eval"))
    imports = []
    for name in sorted(missing_names(nodes)):
        statement = names.import_of(name)
        if statement is None:
            return None
        imports.append(statement)
    ahead = [part for part in parts if part.startswith(("import ", "from "))]
    rest = [part for part in parts if part not in ahead]
    head = "\n".join([*imports, *ahead])
    return "\n\n\n".join([part for part in (head, *rest) if part]) + "\n"


def relative_home(source: str, text: str, files: Mapping[str, str]) -> str | None:
    """A folder of tests where the relative imports of a module work; None: it has none, or nowhere.

    A folder that the issue's text names comes first.
    """
    wanted = re.findall(r"^from (\.\.+)(\w*) import +\(?([\w, ]+)", source, re.MULTILINE)
    if not wanted:
        return None
    folders = {str(PurePosixPath(path).parent) for path in files if is_test_file(path)}
    fitting = [
        folder
        for folder in sorted(folders)
        if all(_there(folder, len(dots), module, names, files) for dots, module, names in wanted)
    ]
    named = [f for f in fitting if "/".join(PurePosixPath(f).parts[-2:]) in text]
    return next(iter((*named, *fitting)), None)


def _there(folder: str, level: int, module: str, names: str, files: Mapping[str, str]) -> bool:
    start = PurePosixPath(folder)
    for _ in range(level - 1):
        start = start.parent
    source = files.get(str(start / f"{module}.py")) or files.get(
        str(start / module / "__init__.py")
    )
    return source is not None and all(
        name.split()[0] in source for name in names.split(",") if name.strip()
    )


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        plain = [arg.arg for arg in node.args.args if arg.arg != "self"]
        return node.name.startswith("test_") and not plain
    return (
        isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith("TestCase") for base in node.bases)
        and any(isinstance(n, ast.FunctionDef) and n.name.startswith("test") for n in node.body)
    )


def _is_method(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef)
        and bool(node.args.args)
        and node.args.args[0].arg == "self"
    )

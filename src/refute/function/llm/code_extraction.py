"""Read a program from an answer and put it into the module under test.

A model writes the function anew, often with its imports and helpers, and often with a call that
shows how it is used. Only what it defines goes into the module: definitions of the same name are
replaced where they stand, new ones go in front of the function, all else of the file stays as it
is, and the docstrings of definitions that are written anew without one. Nothing is executed.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from refute.function.llm.answers import code_spans, final_text
from refute.function.llm.results import Unreadable
from refute.models.contract import Completion
from refute.source.syntax import after_head, find_function, first_line, try_parse, with_imports

_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Said = tuple[ast.stmt, str]
"""The first statement of a body, and a docstring to put in front of it, without indentation."""


def apply_answer(
    code: str, answer: Completion | None, entry_point: str
) -> tuple[str | None, Unreadable | None]:
    """The module with the answer's program in it, or why there is none."""
    if answer is None:
        return None, Unreadable.CONTEXT
    if not answer.text.strip():
        return None, Unreadable.EMPTY
    program = read_program(answer.text, entry_point)
    module = None if program is None else merge_into_module(code, program, entry_point)
    return module, Unreadable.NO_CODE if module is None else None


def read_program(text: str, entry_point: str) -> str | None:
    """The program of an answer: the last code block that parses and defines the function.

    Without a code block the whole answer counts. None where there is none.
    """
    text = final_text(text)
    blocks = [block for block in code_spans(text) if "\n" in block.strip() or "def " in block]
    for block in [*reversed(blocks), text]:
        source = textwrap.dedent(block).strip("\n")
        tree = try_parse(source)
        if tree is not None and _defines(tree, entry_point):
            return source + "\n"
    return None


def merge_into_module(module: str, program: str, entry_point: str) -> str | None:
    """The module with the program's definitions put in; None where the result does not parse.

    A module that does not parse, or lacks the function, is replaced as a whole.
    """
    new, old = try_parse(program), try_parse(module)
    if new is None:
        return None
    if old is None or find_function(old, entry_point) is None:
        return _checked(with_imports(program), entry_point)
    owner, _, name = entry_point.rpartition(".")
    if owner and not any(isinstance(node, ast.ClassDef) for node in new.body):
        return _checked(with_imports(_one_method(module, program, entry_point)), entry_point)
    place = owner.split(".")[0] if owner else name
    standing = {node.name: node for node in old.body if isinstance(node, _Named)}
    pieces: list[tuple[int, int, str]] = []
    added: list[str] = []
    imports: list[str] = []
    known = {ast.dump(node) for node in old.body}
    written = {node.name: node for node in new.body if isinstance(node, _Named)}
    for node in new.body:
        text = _source(program, node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if ast.dump(node) not in known and not future:
                imports.append(text)
        elif isinstance(node, _Named):
            if written[node.name] is not node:
                continue  # defined once more below
            if node.name in standing:
                first, last = _lines(standing[node.name])
                pieces.append(
                    (
                        first,
                        last,
                        _source(program, node, _docstrings(standing[node.name], node, module)),
                    )
                )
            else:
                added.append(text)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and ast.dump(node) not in known:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if not names & written.keys():
                added.append(text)  # a table that the function uses, not a use of the function
    if place not in standing:
        return None
    first, _ = _lines(standing[place])
    if added:
        pieces.append((first, first - 1, "\n\n\n".join(added) + "\n\n"))
    if imports:
        line = after_head(old)
        pieces.append((line + 1, line, "\n".join(imports)))
    lines = module.split("\n")
    for start, stop, text in sorted(pieces, key=lambda piece: piece[:2], reverse=True):
        lines[start - 1 : stop] = text.split("\n")
    return _checked(with_imports("\n".join(lines)), entry_point)


def _defines(tree: ast.Module, entry_point: str) -> bool:
    """Return whether a program defines the function: in its class or at module level."""
    name = entry_point.rsplit(".", 1)[-1]
    return find_function(tree, entry_point) is not None or find_function(tree, name) is not None


def _one_method(module: str, program: str, entry_point: str) -> str:
    """The module with one method replaced by a function that was written without its class."""
    old, new = try_parse(module), try_parse(program)
    standing = None if old is None else find_function(old, entry_point)
    written = None if new is None else find_function(new, entry_point.rsplit(".", 1)[-1])
    if standing is None or written is None:
        return ""
    first, last = _lines(standing)
    text = _source(program, written, _docstrings(standing, written, module))
    body = textwrap.indent(text, " " * standing.col_offset)
    lines = module.split("\n")
    lines[first - 1 : last] = body.split("\n")
    return "\n".join(lines)


def _lines(node: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement, decorators included, from 1."""
    return first_line(node), node.end_lineno or node.lineno


def _source(program: str, node: ast.stmt, added: Sequence[_Said] = ()) -> str:
    """The lines of a statement, with docstrings `added`."""
    first, last = _lines(node)
    lines = program.split("\n")
    places = sorted(added, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True)
    for before, text in places:
        line = lines[before.lineno - 1].encode()
        head, rest = line[: before.col_offset].decode(), line[before.col_offset :].decode()
        # the body may begin on the line of the `def`
        indent = head if not head.strip() else " " * (len(head) - len(head.lstrip()) + 4)
        said = text.replace("\n", f"\n{indent}").replace(f"\n{indent}\n", "\n\n")
        start = f"{head.rstrip()}\n" if head.strip() else ""
        lines[before.lineno - 1] = f"{start}{indent}{said}\n{indent}{rest}"
    return textwrap.dedent("\n".join(lines[first - 1 : last]))


def _docstrings(old: ast.stmt, new: ast.stmt, module: str) -> list[_Said]:
    """The docstrings of `old`, a statement of the module, that `new` has none for; of a class those
    of its methods too."""
    if not isinstance(old, _Named) or not isinstance(new, _Named):
        return []
    found: list[_Said] = []
    said = ast.get_source_segment(module, old.body[0]) if ast.get_docstring(old) else None
    if said is not None and ast.get_docstring(new) is None:
        indent = module.split("\n")[old.body[0].lineno - 1][: old.body[0].col_offset]
        found.append((new.body[0], said if indent.strip() else said.replace(f"\n{indent}", "\n")))
    if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
        known = {node.name: node for node in old.body if isinstance(node, _Named)}
        for node in new.body:
            if isinstance(node, _Named) and node.name in known:
                found += _docstrings(known[node.name], node, module)
    return found


def _checked(source: str, entry_point: str) -> str | None:
    tree = try_parse(source)
    return source if tree is not None and find_function(tree, entry_point) is not None else None

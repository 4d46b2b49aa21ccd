"""SWT-Bench's custom diff (arXiv 2406.12952, section 4.2 and appendix A): whole functions.

A block names a file, what to do and where, and gives a function or class::

    diff
    tests/test_shape.py
    rewrite
    12
    def test_area():
        assert area(2, 3) == 6
    end diff

`rewrite` replaces the definition of that name (the line tells namesakes apart); `insert` adds at
the end of the file (EOF), its beginning (BOF) or near a line; `delete` removes. The reference reads
the same blocks and writes the file anew from its syntax tree; here the text is spliced. Where the
two differ:

- a block that cannot be done is reported, the others are;
- a method that is inserted (it takes ``self``) goes into the class at that place;
- what is to be rewritten but is not there is inserted, and that is reported;
- a rewrite of lines A-B replaces these lines, but where its code is nothing but new versions of
  functions and classes that the file has; it replaces the lines even so where they are the
  beginning of such a function, and its code ends as they do; without a range, what is no function
  or class replaces the assignment to the same name that is nearest to the line;
- an insert at a line goes behind the statement, or member of a class, that the line is in;
- a rewrite of lines without code, and a delete of lines, takes them out;
- inserts at one and the same line stand in the order in which they were written;
- indented code that is inserted at a line of a class becomes a member of the class;
- code at BOF goes after docstring and imports, or to the end if it needs names bound further down;
- imports that come with a function go to the top; decorators stay when the new version has none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent

from refute.issue.edits.code import Code, Definition, parsed_code, said
from refute.issue.edits.definitions import EditedModule
from refute.issue.edits.imports import add_imports, after_imports
from refute.issue.edits.tree import EditProblem, Tree, line_end
from refute.source.syntax import first_line, parse_module
from refute.workspace.patches import split_lines

_METHODS, _FUNCTIONS = "\n\n", "\n\n\n"
"""What stands between two of them."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a custom diff."""

    file: str
    verb: str
    """`rewrite`, `insert` or `delete`."""
    place: str | int | None
    """`EOF`, `BOF`, a 1-based line, or None where it says nothing that can be read."""
    code: str
    stop: int | None = None
    """The last line where `place` begins a range (`12-15`)."""
    strict: bool = False
    """What the reference refuses is a problem."""

    def apply(self, tree: Tree) -> Iterator[str]:
        """Edit the tree; what cannot be done is yielded, one line each."""
        try:
            yield from (f"{self.file}: {remark}" for remark in self._apply(tree))
        except EditProblem as e:
            yield f"{self.file}: {self.verb}: {e}"

    def _apply(self, tree: Tree) -> Iterator[str]:
        file = self.file
        text = tree.read(file)
        if self.strict:
            self._refuse(text)
        elif text is None and file.startswith(("a/", "b/")):
            file = file[2:]
            text = tree.read(file)
        line = tree.moved(file, self.place) if isinstance(self.place, int) else None
        if not self.code.strip() and self.verb != "insert" and self.stop is not None and text:
            module = EditedModule(text)
            module.remove_lines(line or 0, tree.moved(file, self.stop))
            tree.write(file, module.text)
            return
        if not self.code.strip():
            raise EditProblem("no code")
        if not file.endswith((".py", ".pyi")):
            tree.write(file, self._as_text(text, line))
            return
        if self.verb == "delete":
            tree.write(file, self._deleted(text, line))
            return
        if self.verb == "rewrite" and self.stop is not None and text:
            module = EditedModule(text)
            if self._replaced_lines(module, line, tree.moved(file, self.stop)):
                tree.write(file, module.text)
                return
        code = parsed_code(self.code)
        if not code.body:
            raise EditProblem("its code holds no statement")
        if text is None or not text.strip():
            if self.verb == "rewrite":
                yield (
                    "rewrite: no such file; made" if text is None else "rewrite: the file is empty"
                )
            tree.write(file, code.source + "\n")
            return
        try:
            module = EditedModule(text, tree.read)
        except EditProblem:
            if self.verb == "rewrite":
                raise
            tree.write(file, self._as_text(text, line))
            return
        if self.verb == "rewrite":
            yield from self._rewrite(module, code, line)
        else:
            yield from self._insert(module, code, line)
        tree.write(file, module.text)

    def _refuse(self, text: str | None) -> None:
        """Raise `EditProblem` for what the reference takes for no patch."""
        if self.verb not in ("rewrite", "insert"):
            raise EditProblem("no such verb")
        try:
            old, new = (parse_module(source) for source in (text or "", dedent(self.code)))
        except SyntaxError as e:
            raise EditProblem(f"the file or the code is not Python: {said(e)}") from None
        if self.verb == "insert":
            return
        first = new.body[0] if new.body else None
        if not isinstance(first, ast.FunctionDef | ast.ClassDef):
            raise EditProblem("its code begins with no function or class")
        if not any(type(n) is type(first) and n.name == first.name for n in ast.walk(old)):
            raise EditProblem(f"no {_kind(first)} {first.name}")

    def _replaced_lines(self, module: EditedModule, line: int | None, stop: int) -> bool:
        """Put the code in the place of the lines; False: it is meant for functions by their names,
        and what the module has become is to be thrown away.

        So it is where all of it is new versions of functions and classes that the file has (but for
        the beginning of one of them), and where the lines do not fit: what comes of them does not
        parse, or has a function twice.
        """
        try:
            code = parsed_code(self.code)
        except EditProblem:  # a piece of a statement
            module.replace_lines(line or 0, stop, self.code)
            return True
        names = [node.name for node in code.definitions]
        before = module.count(names)

        def is_there(node: Definition) -> bool:
            found = _version_of(module, code, node, line)
            if found is None or found.name != node.name:
                return False
            here = found.lineno <= stop and (found.end_lineno or found.lineno) >= (line or 0)
            return here or before[node.name] == 1

        anew = names and len(names) == len(code.body) and all(map(is_there, code.definitions))
        if anew and not self._begins(module, code, line or 0, stop):
            return False
        doubled = module.doubled(names)
        try:
            module.replace_lines(line or 0, stop, self.code)
        except EditProblem:
            if not names:
                raise
            return False
        return module.doubled(names) <= doubled

    def _begins(self, module: EditedModule, code: Code, line: int, stop: int) -> bool:
        """Whether the lines are the first ones of a definition, and the code ends as they do and
        not as the definition: its other lines are to stay."""
        node = _version_of(module, code, code.definitions[-1], line)
        end = 0 if node is None else node.end_lineno or node.lineno
        if node is None or not first_line(node) <= line <= node.lineno <= stop < end:
            return False
        written = self.code.strip("\n").splitlines()
        last = _within(written[0], written[-1])
        first = module.lines[node.lineno - 1]
        ends = [_within(first, module.lines[number - 1]) for number in (stop, end)]
        return last == ends[0] != ends[1]

    # -- the three verbs ---------------------------------------------------------------------------

    def _rewrite(self, module: EditedModule, code: Code, line: int | None) -> Iterator[str]:
        imports, rest = code.imports()
        left = [n for n in parsed_code(rest).body if not isinstance(n, Definition)] if rest else []
        if code.definitions and left:
            lines = ", ".join(ast.unparse(node).partition("\n")[0][:40] for node in left)
            yield f"rewrite: left out beside the functions: {lines[:200]}"
        if not code.definitions:
            if rest:
                module.replace_assignments(parsed_code(rest), line)
            if imports:
                add_imports(module, imports)
            return
        last: int | None = None  # where the definition before it ends
        new: list[str] = []
        for node in (*code.definitions, None):
            if node is not None and _version_of(module, code, node, line) is None:
                yield f"rewrite: no {_kind(node)} {node.name}; inserted"
                new.append(code.piece(node))
                continue
            if new:
                together = _after_one_another(new, code.indented)
                yield from self._insert(module, together, line if last is None else last + 1)
                new = []
            old = None if node is None else _version_of(module, code, node, line)
            if node is None or old is None:
                continue
            before = len(module.lines)
            last = module.replace(old, code.piece(node), bool(node.decorator_list))
            if line is not None and old.lineno < line:
                line += len(module.lines) - before
        if imports:
            add_imports(module, imports)

    def _insert(self, module: EditedModule, code: Code, line: int | None) -> Iterator[str]:
        """Put the code in; a name that is defined twice then is yielded."""
        names = [node.name for node in code.definitions]
        before = module.doubled(names)
        self._put(module, code, line)
        if module.doubled(names) > before and not self.strict:
            yield f"insert: {', '.join(names)[:60]} is defined twice now"

    def _put(self, module: EditedModule, code: Code, line: int | None) -> None:
        owner = self._owner(module, code, line)
        if owner is not None:
            imports, rest = code.imports()
            module.insert_method(owner, rest, line)
            if imports:
                add_imports(module, imports)
            return
        futures = "\n".join(
            ast.unparse(n)
            for n in code.body
            if isinstance(n, ast.ImportFrom) and n.module == "__future__"
        )
        if self.place == "BOF" or futures:
            imports, rest = code.imports()
            if imports:
                add_imports(module, imports)
            if not rest:
                return
            code = parsed_code(rest)
        at = len(module.lines)
        if self.place == "BOF":
            at = after_imports(module)
            at = len(module.lines) if module.needs_later(code, at) else at
        elif line is not None:
            at = module.boundary(line)
            at = len(module.lines) if module.needs_later(code, at) else at
        module.insert(code.source, at, 2 if code.definitions else 0)

    def _owner(self, module: EditedModule, code: Code, line: int | None) -> ast.ClassDef | None:
        """The class that an inserted method belongs to; None: it is not a method."""
        if self.place == "BOF":
            return None
        if code.definitions and all(_takes_self(n) for n in code.definitions):
            return module.class_at(line)
        if code.indented and line is not None:
            owner = module.class_at(line)
            return owner if owner is not None and module.holds(owner, line) else None
        return None

    def _deleted(self, text: str | None, line: int | None) -> str:
        if text is None:
            raise EditProblem("no such file")
        module = EditedModule(text)
        match = re.search(r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)", self.code, re.MULTILINE)
        name = match[1] if match else self.code.strip().split("(")[0].split()[-1].strip("`'\":")
        node = module.named(name, line)
        if node is None:
            raise EditProblem(f"no function or class {name[:60]}")
        module.remove(node)
        return module.text

    def _as_text(self, text: str | None, line: int | None) -> str:
        """Lines put in without looking at what they mean: other files, and what does not parse."""
        if self.verb != "insert":
            raise EditProblem("only Python files have functions")
        code = self.code.strip("\n")
        if not text:
            return code + "\n"
        end = line_end(text)
        lines = split_lines(text)
        at = len(lines) if self.place in ("EOF", None) else min(len(lines), (line or 1) - 1)
        head = "".join(lines[:at])
        head += end if head and not head.endswith("\n") else ""
        return head + code.replace("\n", end) + end + "".join(lines[at:])


def _version_of(
    module: EditedModule, code: Code, node: Definition, line: int | None
) -> Definition | None:
    """What a definition in a block's code is a new version of; None: the module has none.

    A name that is only alike is no version of what the code has a version of by its very name.
    """
    found = module.find(node, line, code.indented or _takes_self(node))
    if found is None or found.name == node.name:
        return found
    return None if any(found.name == other.name for other in code.definitions) else found


def _after_one_another(pieces: Sequence[str], indented: bool) -> Code:
    """Definitions as one piece of code, with the blank lines that belong between them."""
    codes = [parsed_code(piece) for piece in pieces]
    methods = indented or any(_takes_self(node) for code in codes for node in code.definitions)
    return parsed_code((_METHODS if methods else _FUNCTIONS).join(pieces))


def _takes_self(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg in ("self", "cls")


def _within(first: str, line: str) -> tuple[int, str]:
    """A line, and how much further than another it is indented."""
    return len(line) - len(line.lstrip()) - (len(first) - len(first.lstrip())), line.strip()


def _kind(node: Definition) -> str:
    return "class" if isinstance(node, ast.ClassDef) else "function"


def joined(one: Block, other: Block) -> Block | None:
    """Two inserts at one place as one, the first before the second; None: they are none."""
    here = (one.file, one.verb, one.place)
    if here != (other.file, "insert", other.place) or one.place in ("EOF", None):
        return None
    try:
        pair = [parsed_code(block.code) for block in (one, other)]
    except EditProblem:
        return None
    kinds = {(code.indented, any(_takes_self(node) for node in code.definitions)) for code in pair}
    if len(kinds) > 1 or not all(code.definitions for code in pair):
        return None
    gap = _METHODS if any(next(iter(kinds))) else _FUNCTIONS
    return replace(one, code=one.code.strip("\n") + gap + other.code.strip("\n"))

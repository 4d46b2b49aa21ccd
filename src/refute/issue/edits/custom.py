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
from itertools import takewhile
from textwrap import dedent

from refute.issue.edits.definitions import Code, Definition, EditedModule, parsed_code, said
from refute.issue.edits.tree import EditProblem, Tree, line_end
from refute.source.imports import add_imports, after_imports
from refute.source.syntax import first_line, parse_module
from refute.workspace.patches import split_lines

_METHODS, _FUNCTIONS = "\n\n", "\n\n\n"
"""Text between two of them."""


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
    """True: what the reference refuses is a problem."""

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
        """Return whether the lines are the first ones of a definition, and the code ends as they do
        and not as the definition: its other lines are to stay."""
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
    """Return the definition that one in a block's code is a new version of; None: the module has
    none.

    A name that is only alike does not count where the code has a version under the very name.
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


_BEGIN = re.compile(r"^\s*[`*]*\s*diff\s*[`*]*:?\s*$", re.IGNORECASE)
_END = re.compile(r"^\s*[`*<]*\s*end[\s_-]*(?:of[\s_-]*)?diff\b.*$", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_VERB = re.compile(
    r"^\W*(?:type|action|operation)?\W*(rewrite|replace|insert|add|append|delete|remove)\w*\W*$",
    re.IGNORECASE,
)
_VERBS = {"replace": "rewrite", "add": "insert", "append": "insert", "remove": "delete"}
_PLACE = re.compile(
    r"^\W*(?:(?:rough|approximate)\s+)?(?:lines?(?:\s+number)?|at)?\W*"
    r"(?:(EOF|BOF|end of file|beginning of file)|"
    r"[lL]?(\d{1,7})(?:\s*(?:-|–|to|,|:)\s*(\d{1,7}))?)\W*$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^\s*\d+(?: |\t|$)")
_FILE = re.compile(r"^[\w./@+-][\w./@+ -]*\.?\w+$")


def read_blocks(answer: str) -> list[Block]:
    """The blocks of an answer, in their order. A block that is not closed ends at the next one, at
    the fence around it, or with the answer."""
    lines = [line.rstrip("\r\n") for line in split_lines(answer)]
    heads = [_head(lines, number) for number in range(len(lines))]
    ended = _ended(lines, heads)
    found: list[Block] = []
    number = 0
    while number < len(lines):
        head = heads[number]
        if head is None:
            number += 1
            continue
        file, verb, place, stop, start = head
        number = _stop(lines, start, heads, ended)
        _add(found, Block(file, verb, place, _code(lines[start:number]), stop))
    return found


def _add(found: list[Block], block: Block) -> None:
    if found and (both := joined(found[-1], block)):
        found[-1] = both
    else:
        found.append(block)


def blocks_as_written(answer: str) -> list[Block]:
    """The blocks of an answer as the reference reads them: file, verb and place are the three lines
    below `diff`, to the letter."""
    lines = answer.lstrip("\n").splitlines()
    found: list[Block] = []
    for number, line in enumerate(lines[:-3]):
        if line.startswith("diff"):
            file, verb, place = lines[number + 1 : number + 4]
            code = takewhile(lambda line: not line.startswith("end diff"), lines[number + 4 :])
            _add(found, Block(file, verb, _place(place)[0], "\n".join(code), strict=True))
    return found


_Head = tuple[str, str, str | int | None, int | None, int]
"""File, verb, place, the end of its range and the first line of code."""


def _ended(lines: list[str], heads: list[_Head | None]) -> list[bool]:
    """For each line whether ``end diff`` comes after it before another block begins."""
    ended = [False] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        ended[number] = ended[number + 1]
        if heads[number] is not None:
            ended[number] = False
        elif _END.match(lines[number]):
            ended[number] = True
    return ended


def _head(lines: list[str], number: int) -> _Head | None:
    """Read the head of a block that begins at a line; None: none begins there."""
    if not _BEGIN.match(lines[number]):
        return None
    number = _filled(lines, number + 1)
    if number >= len(lines):
        return None
    file = _file(lines[number])
    if file is None:
        return None
    number = _filled(lines, number + 1)
    verb = _VERB.match(lines[number]) if number < len(lines) else None
    if verb is None:
        return None
    word = verb[1].lower()
    number += 1
    filled = _filled(lines, number)
    place, stop = _place(lines[filled]) if filled < len(lines) else (None, None)
    return file, _VERBS.get(word, word), place, stop, number if place is None else filled + 1


def _place(line: str) -> tuple[str | int | None, int | None]:
    """The place that a line names, and the end of its range."""
    match = _PLACE.match(line)
    if match is None:
        return None, None
    if match[1]:
        return "BOF" if match[1].lower().startswith("b") else "EOF", None
    return int(match[2]), int(match[3]) if match[3] else None


def _filled(lines: list[str], number: int) -> int:
    """The next line that is neither blank nor a fence."""
    while number < len(lines) and (not lines[number].strip() or _FENCE.match(lines[number])):
        number += 1
    return number


def _file(line: str) -> str | None:
    name = line.strip().strip("`'\"*<>").strip()
    name = re.sub(r"^(?:path|file|filename)\s*:\s*", "", name, flags=re.IGNORECASE).strip("`'\" ")
    return name if name and _FILE.match(name) else None


def _stop(lines: list[str], start: int, heads: list[_Head | None], ended: list[bool]) -> int:
    """The line after the code of a block."""
    fenced = False
    filled = next((n for n in range(start, len(lines)) if lines[n].strip()), len(lines))
    for number in range(start, len(lines)):
        line = lines[number]
        if _END.match(line) or heads[number] is not None:
            return number
        if _FENCE.match(line):
            if number == filled:
                fenced = True  # a fence of its own around the code
            elif not fenced and not ended[number]:
                return number
            else:
                fenced = False
    return len(lines)


def _code(lines: list[str]) -> str:
    """The code of a block, without fences, line numbers and marks that do not belong to it."""
    filled = [n for n, line in enumerate(lines) if line.strip()]
    if filled and _FENCE.match(lines[filled[0]]):
        rest = [n for n in filled[1:] if _FENCE.match(lines[n])]
        lines = lines[filled[0] + 1 : rest[-1] if rest else len(lines)]
    elif filled and _FENCE.match(lines[filled[-1]]):
        lines = lines[: filled[-1]]
    written = [line for line in lines if line.strip()]
    if written and all(_NUMBERED.match(line) for line in written):
        lines = [re.sub(r"^\s*\d+ ?", "", line) for line in lines]
    elif written and all(line.startswith("+") for line in written):
        lines = [line[1:] for line in lines]
    return "\n".join(line.rstrip("\r") for line in lines)

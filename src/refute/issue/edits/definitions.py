"""Functions and classes of a Python file found, replaced, removed and put in, as text.

Positions come from the syntax tree and the text is spliced, so every byte outside of the edited
definition stays: comments, blank lines, quotes, line ends. Source that is moved to
another depth keeps its string literals as they are.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.issue.edits.tree import EditProblem, Files, line_end
from refute.source.imports import after_imports
from refute.source.syntax import first_line, parse_module

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


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of code that a model wrote, at no indentation."""

    source: str
    """Ends without a line feed."""
    body: Sequence[ast.stmt]
    indented: bool
    """It was written at some depth, as a method is."""

    @property
    def definitions(self) -> list[Definition]:
        """Its functions and classes, in their order."""
        return [n for n in self.body if isinstance(n, Definition)]

    def imports(self) -> tuple[str, str]:
        """Its top-level import statements, and the rest of it (comments stay with the rest)."""
        lines = python_lines(self.source)
        taken: list[str] = []
        for node in self.body:
            if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno is not None:
                span = range(node.lineno - 1, node.end_lineno)
                taken.append("".join(lines[n] for n in span).rstrip("\n"))
                for n in span:
                    lines[n] = ""
        return "\n".join(taken), "".join(lines).strip("\n")

    def piece(self, node: Definition) -> str:
        """The source of one of its definitions, decorators and comments just above included."""
        lines = python_lines(self.source)
        start = first_line(node)
        while start > 1 and lines[start - 2].startswith("#"):
            start -= 1
        return "".join(lines[start - 1 : node.end_lineno]).rstrip("\n")


def parsed_code(source: str) -> Code:
    """A model's code as a tree. Raises `EditProblem`: it is not Python, or empty."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    source = reindented(source, "").strip("\n")
    try:
        body = parse_module(source + "\n").body
    except SyntaxError as e:
        raise EditProblem(f"its code is not Python: {said(e)}") from None
    return Code(source, body, bool(indent_of(first)))


def said(error: BaseException) -> str:
    """Return a parser's reason to refuse a text, in a few words."""
    if isinstance(error, SyntaxError) and error.msg:
        return f"{error.msg} (its line {error.lineno})"
    return type(error).__name__


_ASSIGNMENT = ast.Assign | ast.AnnAssign | ast.AugAssign
_ALIKE = 0.85
"""difflib's ratio from which a misspelt name is taken for the one that is there."""


class EditedModule:
    """A Python file that is being edited. Raises `EditProblem` when it cannot be parsed.

    `files` reads the other files of the project, which tell its own modules from other packages."""

    def __init__(self, text: str, files: Files = lambda path: None) -> None:
        self._files = files
        self._mark = text[: text.startswith("\ufeff")]
        self._source = text[len(self._mark) :]
        self.end = line_end(text)
        self._parse()

    @property
    def text(self) -> str:
        """The file as it is now."""
        return self._mark + self._source

    def is_own(self, package: str) -> bool:
        """Return whether the project has a module of that name at its top, or below `src` or
        `lib`."""
        ends = ("/__init__.py", ".py")
        places = (f"{at}{package}{end}" for at in ("", "src/", "lib/") for end in ends)
        return any(self._files(place) is not None for place in places)

    def _parse(self) -> None:
        try:
            self.tree = parse_module(self._source)
        except SyntaxError as e:
            raise EditProblem(f"the file does not parse: {said(e)}") from None
        self.lines = python_lines(self._source)

    def splice(self, start: int, stop: int, lines: Sequence[str]) -> None:
        """Put lines (without ends) in place of [start, stop), 0-based; the result must parse."""
        before = self._source
        head = "".join(self.lines[:start])
        if lines and head and not head.endswith(("\n", "\r")):
            head += self.end
        self._source = (
            head
            + "".join(s.replace("\n", self.end) + self.end for s in lines)
            + "".join(self.lines[stop:])
        )
        try:
            self._parse()
        except EditProblem as e:
            self._source = before
            self._parse()
            raise EditProblem(f"with it {e}") from None

    # -- finding -----------------------------------------------------------------------------------

    def find(self, like: Definition, line: int | None, method: bool) -> Definition | None:
        """The definition that a new version is meant for.

        Of several with its name: one in a class or not, as `method` says, that holds the line,
        or is nearest to it. Where the name is not there, the one whose name is most
        alike, if it is alike enough.
        """
        everything = list(_definitions(self.tree.body, False))
        classes = isinstance(like, ast.ClassDef)
        same = [
            (node, inside)
            for node, inside in everything
            if isinstance(node, ast.ClassDef) == classes
        ]
        named = [pair for pair in same if pair[0].name == like.name]
        if not named:
            plain = like.name.replace("_", "").lower()
            alike = [p for p in same if p[0].name.replace("_", "").lower() == plain]
            named = alike or self._alike(same, like.name, line)
        if not named:
            return None

        def distance(pair: tuple[Definition, bool]) -> tuple[bool, int, int]:
            node, inside = pair
            start, stop = first_line(node), node.end_lineno or node.lineno
            far = (
                0
                if line is None or start <= line <= stop
                else min(abs(start - line), abs(stop - line))
            )
            return (inside != method, far, start)

        return min(named, key=distance)[0]

    @staticmethod
    def _alike(
        same: list[tuple[Definition, bool]], name: str, line: int | None
    ) -> list[tuple[Definition, bool]]:
        """Misspelt: alike enough, and at the line that was said."""
        if line is None:
            return []
        return [
            (node, inside)
            for node, inside in same
            if first_line(node) - 3 <= line <= (node.end_lineno or node.lineno)
            and difflib.SequenceMatcher(None, node.name, name).ratio() >= _ALIKE
        ]

    def count(self, names: Sequence[str]) -> Counter[str]:
        """Count the functions and classes of each of these names."""
        wanted = set(names)
        found = (node.name for node, _ in _definitions(self.tree.body, False))
        return Counter(name for name in found if name in wanted)

    def doubled(self, names: Sequence[str]) -> int:
        """Count the definitions of these names that repeat one in the same class, or at the top."""
        classes = (n for n, _ in _definitions(self.tree.body, False) if isinstance(n, ast.ClassDef))
        bodies = [self.tree.body, *(node.body for node in classes)]
        counts = (
            Counter(n.name for n in body if isinstance(n, Definition) and n.name in names)
            for body in bodies
        )
        return sum(number - 1 for count in counts for number in count.values())

    def named(self, name: str, line: int | None) -> Definition | None:
        """A function or class by name, ``Class.method`` too, nearest to the line."""
        *owners, last = name.split(".")
        found = [node for node, _ in _definitions(self.tree.body, False) if node.name == last]
        if owners:
            inside = {
                id(node)
                for owner, _ in _definitions(self.tree.body, False)
                if isinstance(owner, ast.ClassDef) and owner.name == owners[-1]
                for node in owner.body
            }
            found = [node for node in found if id(node) in inside]
        return min(found, key=lambda n: abs(n.lineno - (line or 0)), default=None)

    # -- changing ----------------------------------------------------------------------------------

    def replace(self, old: Definition, new: str, decorated: bool) -> int:
        """Put `new` in the place of a definition, at its depth; returns its last line (1-based).

        The decorators of the old one stay where the new one has none.
        """
        start = (old.lineno if not decorated else first_line(old)) - 1
        stop = old.end_lineno or old.lineno
        self._alone(old)
        depth = indent_of(self.lines[start])
        self.splice(start, stop, [reindented(new, depth)])
        return start + 1 + new.count("\n")

    def replace_lines(self, start: int, stop: int, source: str) -> None:
        """Put code in the place of the lines `start` to `stop` (1-based, both included).

        Code without indentation goes to the depth of the first of them; other code has its own.
        Blank lines at either end of them stay, however the code ends.
        """
        if not 1 <= start <= stop <= len(self.lines):
            raise EditProblem(f"the file has no lines {start}-{stop}")
        written = next((line for line in source.split("\n") if line.strip()), "")
        old = next((line for line in self.lines[start - 1 : stop] if line.strip()), "")
        if not indent_of(written):
            source = reindented(source, indent_of(old))
        before, after = _blank_ends([line.strip() for line in self.lines[start - 1 : stop]])
        self.splice(start - 1, stop, [*[""] * before, source.strip("\n"), *[""] * after])

    def remove_lines(self, start: int, stop: int) -> None:
        """Take the lines `start` to `stop` out (1-based, both included); the rest must parse."""
        if not 1 <= start <= stop <= len(self.lines):
            raise EditProblem(f"the file has no lines {start}-{stop}")
        self.splice(start - 1, stop, [])

    def replace_assignments(self, code: Code, line: int | None) -> None:
        """Put each assignment of `code` in the place of the one to the same names, at the top or
        in a class, that is nearest to the line; one to new names goes beside its neighbour.

        Raises where it holds anything else, or where none of its names is set."""
        if not all(isinstance(node, _ASSIGNMENT) for node in code.body):
            raise EditProblem(
                "its code defines no function or class; for other statements give the range of "
                "lines that they replace"
            )
        known = [node for node in code.body if self._assigned_like(node, line) is not None]
        if not known:
            names = sorted({name for node in code.body for name in _bound(node)})
            raise EditProblem(f"nothing here sets {', '.join(names)[:60]}")
        lines = python_lines(code.source)
        start = 1
        for node in known:
            old = self._assigned_like(node, line)
            if old is None:
                continue  # a piece before this one replaced it
            stop = len(lines) if node is known[-1] else node.end_lineno or node.lineno
            piece = "".join(lines[start - 1 : stop]).strip("\n")
            self.replace_lines(old.lineno, old.end_lineno or old.lineno, piece)
            start = stop + 1

    def _assigned_like(self, node: ast.stmt, line: int | None) -> ast.stmt | None:
        """The assignment to the same names that is nearest to the line."""
        names = set(_bound(node))
        there = (n for n in _members(self.tree.body) if isinstance(n, _ASSIGNMENT))
        same = [n for n in there if names and set(_bound(n)) == names]
        return min(same, key=lambda n: (abs(n.lineno - (line or 0)), n.lineno), default=None)

    def holds(self, owner: ast.ClassDef, line: int) -> bool:
        """Return whether a class has a 1-based line, or ends just before it."""
        return first_line(owner) <= line <= (owner.end_lineno or owner.lineno) + 1

    def remove(self, old: Definition) -> None:
        """Take a definition out, with the blank lines before it."""
        start, stop = first_line(old) - 1, old.end_lineno or old.lineno
        self._alone(old)
        depth = indent_of(self.lines[old.lineno - 1])
        only = any(
            getattr(node, "body", None) == [old]
            for node in ast.walk(self.tree)
            if not isinstance(node, ast.Module)
        )
        if only:
            self.splice(start, stop, [f"{depth}pass"])
            return
        while start > 0 and not self.lines[start - 1].strip():
            start -= 1
        self.splice(start, stop, [])

    def _alone(self, node: Definition) -> None:
        """Raises where another statement shares a line with a definition."""
        head = self.lines[node.lineno - 1].encode()[: node.col_offset]
        tail = self.lines[(node.end_lineno or 0) - 1].encode()[node.end_col_offset or 0 :].strip()
        if head.strip() or (tail and not tail.startswith(b"#")):
            raise EditProblem(f"{node.name} shares a line with another statement")

    def boundary(self, line: int) -> int:
        """0-based line behind the top-level statement that a 1-based line is in, or comes after;
        at least behind the imports."""
        first = after_imports(self)
        begun = (node for node in self.tree.body if first_line(node) <= line)
        return max([first, *(node.end_lineno or node.lineno for node in begun)])

    def class_at(self, line: int | None) -> ast.ClassDef | None:
        """The innermost class that holds a line; else the last class of the file.

        Classes made within functions do not count: a test that is inserted after the models of
        another test is a test, not a method of those models.
        """
        found = [
            node
            for node in _classes(self.tree.body)
            if line is not None and node.lineno <= line <= (node.end_lineno or 0) + 1
        ] or [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        return max(found, key=lambda node: node.lineno, default=None)

    def insert_method(self, owner: ast.ClassDef, source: str, line: int | None) -> None:
        """Put code behind the member of a class that the line is in, or comes after; first where
        the line is above all members but the docstring, last without a line."""
        if owner.body[0].lineno == owner.lineno:
            raise EditProblem(f"class {owner.name} has its body on its own line")
        begun = [n for n in owner.body if line is None or first_line(n) <= line]
        if not begun and ast.get_docstring(owner, clean=False) is not None:
            begun = owner.body[:1]
        depth = indent_of(self.lines[owner.body[0].lineno - 1])
        at = (begun[-1].end_lineno or 0) if begun else first_line(owner.body[0]) - 1
        lead = [""] if begun else []
        follows = at < len(self.lines) and bool(self.lines[at].strip())
        self.splice(at, at, [*lead, reindented(source, depth), *[""] * follows])

    def insert(self, source: str, at: int, blanks: int = 2) -> None:
        """Put code before a 0-based line, with blank lines around it where code is next to it."""
        before = self.lines[:at]
        lead = _missing_blanks(reversed(before), blanks) if any(s.strip() for s in before) else 0
        after = self.lines[at:]
        tail = _missing_blanks(iter(after), blanks) if any(s.strip() for s in after) else 0
        self.splice(at, at, [*[""] * lead, source, *[""] * tail])

    def needs_later(self, code: Code, at: int) -> bool:
        """Return whether code at a 0-based line would use, when the module is imported, a name that
        the module only binds further down."""
        sooner = {name for n in self.tree.body if n.lineno <= at for name in _bound(n)}
        later = {name for n in self.tree.body if n.lineno > at for name in _bound(n)} - sooner
        return any(name in later for node in code.body for name in _used_at_once(node))


def _classes(body: Sequence[ast.stmt]) -> Iterator[ast.ClassDef]:
    """The classes of a body and those in them or under a condition; none made by a function."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "handlers", "finalbody"):
                yield from _classes(getattr(node, name, None) or [])


def _members(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at the top and in classes."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _members(node.body)


def _definitions(body: Sequence[ast.stmt], inside: bool) -> Iterator[tuple[Definition, bool]]:
    """Functions and classes at any depth, and whether they are in a class."""
    for node in body:
        if isinstance(node, Definition):
            yield node, inside
        inner = inside or isinstance(node, ast.ClassDef)
        for name in ("body", "orelse", "finalbody"):
            yield from _definitions(getattr(node, name, None) or [], inner)
        for handler in getattr(node, "handlers", None) or []:
            yield from _definitions(handler.body, inner)


def _blank_ends(lines: Sequence[str]) -> tuple[int, int]:
    """Count the blank lines at the beginning and at the end; all blank: at the end."""
    filled = [number for number, line in enumerate(lines) if line]
    return (filled[0], len(lines) - 1 - filled[-1]) if filled else (0, len(lines))


def _missing_blanks(lines: Iterator[str], wanted: int) -> int:
    for line in lines:
        if line.strip() or wanted == 0:
            return wanted
        wanted -= 1
    return wanted


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Definition):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif not isinstance(node, ast.Expr):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


def _used_at_once(node: ast.stmt) -> Iterator[str]:
    """Names that a statement reads when it is executed; bodies of functions are not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
        parts += [d for d in node.args.kw_defaults if d is not None]
        parts += [a.annotation for a in _arguments(node.args) if a.annotation is not None]
    elif isinstance(node, ast.ClassDef):
        parts = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        for inner in node.body:
            yield from _used_at_once(inner)
    else:
        parts = [node]
    for part in parts:
        yield from (n.id for n in ast.walk(part) if isinstance(n, ast.Name))


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (a for a in (arguments.vararg, arguments.kwarg) if a is not None)

"""Statements out of an issue's pieces, and the scripts that may be made of them.

A script is a list of statements. What an issue shows in one piece often needs what it showed in
those before, and sometimes cannot be joined with them; so each piece makes two scripts, with all of
the earlier ones and alone. A run of a script is evidence, from which claims are made.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from refute.issue.edits.definitions import python_lines
from refute.issue.snippet.issue_reader import Piece
from refute.source.syntax import first_line, parse_module, readable_module

_FORBIDDEN = re.compile(
    r"\b(?:app\.run|runserver|input|serve_forever|run_forever|mainloop|breakpoint|set_trace)\s*\("
)
"""Calls that wait for a person or for ever."""
_SETUP = re.compile(r"^\s*(?:os\.environ|sys\.exit\()")
"""Statements of a script that a test must not have."""

_OUTPUT = re.compile(r"\s*(?:output|result|prints|returns|out)\s*:\s*(\S[^\n]*)", re.I)


@dataclass(frozen=True, slots=True)
class Statement:
    """One top-level statement with what the issue shows beside it."""

    source: str
    node: ast.stmt
    piece: int
    """Index of the piece that it is from."""
    shown: str = ""
    """Output that the issue shows for it: of the session, or of the piece that follows."""
    comment: str = ""
    """The comments on its last line and below it, without `#`."""

    @property
    def expression(self) -> ast.expr | None:
        """The expression that it evaluates for its value or its print; None: it does else."""
        return self.node.value if isinstance(self.node, ast.Expr) else None

    @property
    def printed(self) -> bool:
        """True if it is `print(x)` of one value."""
        call = self.expression
        return (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "print"
            and len(call.args) == 1
            and not call.keywords
        )

    @property
    def value_source(self) -> str:
        """Source of what is looked at: the argument of `print`, else the whole expression."""
        value = self.expression
        if isinstance(value, ast.Call) and self.printed:
            value = value.args[0]
        text = ast.get_source_segment(self.source, value) if value is not None else None
        return text if text is not None else self.source


@dataclass(frozen=True, slots=True)
class Script:
    """Statements to be run one after another."""

    statements: tuple[Statement, ...]
    pieces: tuple[int, ...]
    """Indexes of the pieces that they are from; the last is the one that it is about."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Source of each statement."""
        return tuple(row.source for row in self.statements)

    def missing(self, known: Collection[str] = ()) -> frozenset[str]:
        """Names that are used and nowhere bound."""
        return missing_names([s.node for s in self.statements]) - frozenset(known)


def statements(pieces: Sequence[Piece]) -> dict[int, tuple[Statement, ...]]:
    """Index of each piece that holds code -> its statements; unreadable steps are left out."""
    found: dict[int, tuple[Statement, ...]] = {}
    for index, piece in enumerate(pieces):
        if piece.kind == "code":
            rows = list(_of_code(piece.text, index))
            following = pieces[index + 1] if index + 1 < len(pieces) else None
            if rows and following is not None:
                rows[-1] = replace(rows[-1], shown=_output_after(piece, following))
        elif piece.kind == "session":
            rows = [
                row for step in piece.steps for row in _of_step(step.source, step.output, index)
            ]
        else:
            continue
        if rows:
            found[index] = tuple(rows)
    return found


def _output_after(piece: Piece, following: Piece) -> str:
    """Return the output of the last statement that the piece behind some code shows."""
    if following.kind == "output" and piece.fenced:
        return following.text.strip("\n")
    match = _OUTPUT.match(following.text) if following.kind == "prose" else None
    return match[1].strip() if match else ""


def scripts(found: dict[int, tuple[Statement, ...]]) -> tuple[Script, ...]:
    """The scripts to try: each piece after all earlier ones, and alone."""
    made: list[Script] = []
    earlier: list[int] = []
    for index, rows in found.items():
        before = [row for other in earlier for row in found[other]]
        for taken, own in (((*earlier, index), [*before, *rows]), ((index,), list(rows))):
            script = Script(tuple(_looked_at(list(_runnable(own)))), taken)
            if script.statements and all(script.sources != one.sources for one in made):
                made.append(script)
        earlier.append(index)
    return tuple(one for one in made if not _dangerous(one))


def bound_names(node: ast.AST) -> frozenset[str]:
    """Names that a statement binds in the scope that it stands in."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset((node.name,))
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            names.add(part.id)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).partition(".")[0] for a in part.names}
    return frozenset(names)


def missing_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that are read in the statements and bound nowhere in them, builtins left out."""
    used: set[str] = set()
    bound: set[str] = set()
    for part in (part for node in nodes for part in ast.walk(node)):
        match part:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {(a.asname or a.name).partition(".")[0] for a in names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(part.name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return frozenset(used - bound - set(dir(builtins)) - {"__file__", "__name__"})


def _of_code(text: str, index: int) -> Iterator[Statement]:
    tree = readable_module(text)
    lines = python_lines(text)
    starts = [first_line(node) for node in tree.body]
    for place, node in enumerate(tree.body):
        last = node.end_lineno or node.lineno
        if place and starts[place] <= (tree.body[place - 1].end_lineno or 0):
            continue  # `a = 1; b = 2`: taken with the first of the line
        same = [n for n in tree.body if first_line(n) <= last and n.lineno >= node.lineno]
        last = max(n.end_lineno or n.lineno for n in same)
        source = "".join(lines[starts[place] - 1 : last]).rstrip()
        stop = starts[place + len(same)] - 1 if place + len(same) < len(starts) else len(lines)
        comment = " ".join(_comments(lines[last - 1], lines[last:stop]))
        for row in _of_step(source, "", index):
            yield replace(row, comment=comment)


def _of_step(source: str, output: str, index: int) -> Iterator[Statement]:
    """The statements of one input; what it printed belongs to the last."""
    body = readable_module(source).body
    if len(body) == 1:
        comment = " ".join(_comments(source.rpartition("\n")[2], ()))
        yield Statement(source, body[0], index, output, comment)
        return
    for node in body:
        segment = ast.get_source_segment(source, node)
        if segment is None or getattr(node, "decorator_list", None):
            segment = ast.unparse(node)
        yield Statement(segment, parse_module(segment).body[0], index, output * (node is body[-1]))


def _comments(last: str, below: Iterable[str]) -> Iterator[str]:
    head, mark, tail = last.rpartition("#")
    if mark and head.count('"') % 2 == 0 and head.count("'") % 2 == 0:
        yield tail.strip()
    for line in below:
        if line.strip().startswith("#"):
            yield line.strip().lstrip("#").strip()
        elif line.strip():
            return


def _runnable(rows: Iterable[Statement]) -> Iterator[Statement]:
    """Without the set-up of a script, and with the bodies of its main part and its tests."""
    for row in rows:
        if _SETUP.match(row.source):
            continue
        if isinstance(row.node, ast.If | ast.FunctionDef) and _is_run(row.node):
            body = "\n".join(ast.unparse(node) for node in row.node.body)
            yield from _runnable(_of_step(body, "", row.piece))
        elif isinstance(row.node, ast.ImportFrom) and row.node.names[0].name == "*":
            continue  # not allowed in a function: its names are completed one by one
        else:
            yield row


def _is_run(node: ast.If | ast.FunctionDef) -> bool:
    """Return whether it is the main part of a script, or a test."""
    if isinstance(node, ast.If):
        return "__name__" in ast.unparse(node.test)
    return node.name.startswith("test_") and not node.args.args


def _looked_at(rows: list[Statement]) -> list[Statement]:
    """With a look at what the last statement assigns: a lazy value does nothing before that."""
    last = rows[-1].node if rows else None
    if not isinstance(last, ast.Assign) or not isinstance(last.value, ast.Call):
        return rows
    target = last.targets[0]
    if not isinstance(target, ast.Name):
        return rows
    look = parse_module(target.id).body[0]
    return [*rows, replace(rows[-1], source=target.id, node=look)]


def _dangerous(script: Script) -> bool:
    outside = (ast.Return, ast.Await, ast.Yield, ast.YieldFrom)
    for row in script.statements:
        if _FORBIDDEN.search(row.source):
            return True
        if isinstance(row.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if any(isinstance(part, outside) for part in ast.walk(row.node)):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Value:
    """Value of a script's expression on the original code."""

    repr: str
    str: str


@dataclass(frozen=True, slots=True)
class ScriptError:
    """The exception that ended the script on the original code."""

    statement: int
    type: str
    message: str
    inside: bool
    """True if it came out of the repository's code, not of the test's own lines."""
    line: str = ""
    """The line of the script, with its comment, where it came up."""
    form: str = ""
    """`repr`, `str`: it came up when the value was shown, as it does for a query that is lazy."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of a script on the original code."""

    values: dict[int, Value] = field(default_factory=dict)
    raised: ScriptError | None = None

    def agreeing(self, other: Seen | None) -> Seen:
        """Without the values that were others in another run: times, ids, counters, addresses."""
        if other is None or other.raised is not None or self.raised is not None:
            return self
        same = {n: v for n, v in self.values.items() if other.values.get(n, v) == v}
        return replace(self, values=same)


@dataclass(frozen=True, slots=True)
class Claim:
    """Assertion of a test: `setup` runs, then the focus is looked at."""

    setup: tuple[Statement, ...]
    focus: Statement
    kind: str
    """`runs`, `equals`, `text`, `raises`."""
    confidence: float
    why: str
    """The evidence, on one line."""
    expected: str = ""
    """`equals`: source of a literal; `text`: the string itself; `raises`: the exception's name."""
    form: str = ""
    """`text`: by `str` or `repr`. `runs`, `raises`: the value is shown by it, not only made."""
    failure: str = "AssertionError"
    """Type of the exception with which it must fail on the original code."""

"""Write an edited syntax tree back into its source, touching only what the edit changed.

Comments, blank lines and formatting outside the smallest changed expression or statement stay as
they are, and unchanged parts inside it keep their text. Every result is parsed again and must equal
the edited tree; where that fails, the enclosing statements are written anew, then the function,
then the module.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from difflib import SequenceMatcher

from refute.function.search.edit import copy_of, same
from refute.source.syntax import first_line, parse_expression, parse_module

__all__ = ["rewrite"]

_HOLE = "_refute_hole_{}_"
_HOLES = re.compile(r"_refute_hole_(\d+)_")
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict,
          ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)  # fmt: skip


class _TooFine(Exception):
    """The change cannot be written at this level; the enclosing one must be."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters [start, end) of the source become `text`."""

    start: int
    end: int
    text: str
    expression: bool


def rewrite(source: str, new: ast.Module) -> str:
    """Source text of `new`, an edited version of what `source` parses to.

    Raises `SyntaxError` when `source` does not parse.
    """
    old = parse_module(source)
    if same(old, new):
        return source
    writer = _Writer(source)
    for coarse in (False, True):
        try:
            pieces = writer.statements(old.body, new.body, coarse)
        except _TooFine:
            continue
        for parentheses in (False, True):
            text = _spliced(source, pieces, parentheses)
            if _parses_to(text, new):
                return text
    anew = writer.functions(old, new)
    if anew is not None and _parses_to(anew, new):
        return anew
    return ast.unparse(new) + "\n"


def _spliced(source: str, pieces: list[_Piece], parentheses: bool) -> str:
    for piece in sorted(pieces, key=lambda p: (p.start, p.end), reverse=True):
        text = f"({piece.text})" if parentheses and piece.expression else piece.text
        source = source[: piece.start] + text + source[piece.end :]
    return source


def _parses_to(text: str, tree: ast.Module) -> bool:
    try:
        return same(parse_module(text), tree)
    except (SyntaxError, ValueError):
        return False


class _Writer:
    """Finds the pieces; holds the source and its line table."""

    def __init__(self, source: str) -> None:
        self.source = source
        # The parser ends lines at \n, \r and \r\n only, and counts columns in UTF-8 bytes.
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", source)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    # -- positions ---------------------------------------------------------------------------------

    def offset(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode(errors="ignore"))
        return self.starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        if node.end_lineno is None or node.end_col_offset is None:
            raise _TooFine
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def whole_lines(self, stmt: ast.stmt) -> tuple[int, int]:
        """Offsets of the lines of a statement that has its lines for itself."""
        first = first_line(stmt)
        assert stmt.end_lineno is not None
        start = self.starts[first - 1]
        before = self.source[start : self.offset(first, stmt.col_offset)]
        _, end = self.span(stmt)
        stop = self.starts[stmt.end_lineno]
        after = self.source[end:stop].strip()
        if before.strip() or (after and not after.startswith("#")):
            raise _TooFine
        return start, stop

    def indentation(self, stmt: ast.stmt) -> str:
        line = self.lines[first_line(stmt) - 1]
        return line[: len(line) - len(line.lstrip())]

    # -- differences -------------------------------------------------------------------------------

    def statements(self, old: list[ast.stmt], new: list[ast.stmt], coarse: bool) -> list[_Piece]:
        before, after = [ast.dump(s) for s in old], [ast.dump(s) for s in new]
        pieces: list[_Piece] = []
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag == "equal":
                continue
            if not old:
                raise _TooFine
            if tag == "replace" and j - i == m - k:
                for a, b in zip(old[i:j], new[k:m], strict=True):
                    pieces += self.statement(a, b, coarse)
            elif tag == "insert":
                near = old[i - 1] if i else old[0]
                start, stop = self.whole_lines(near)
                text = self.rendered(new[k:m], self.indentation(near), old)
                if i and not self.source[start:stop].endswith("\n"):
                    text = "\n" + text.rstrip("\n")
                at = stop if i else start
                pieces.append(_Piece(at, at, text, False))
            else:
                if m == k and j - i == len(old):
                    raise _TooFine  # an empty block: its owner changes shape
                start, _ = self.whole_lines(old[i])
                _, stop = self.whole_lines(old[j - 1])
                text = self.rendered(new[k:m], self.indentation(old[i]), old[i:j])
                if text and not self.source[start:stop].endswith("\n"):
                    text = text.rstrip("\n")
                pieces.append(_Piece(start, stop, text, False))
        return pieces

    def statement(self, old: ast.stmt, new: ast.stmt, coarse: bool) -> list[_Piece]:
        compound = hasattr(old, "body")
        if type(old) is type(new) and (compound or not coarse):
            try:
                return self.fields(old, new, coarse)
            except _TooFine:
                pass
        text = self.rendered([new], self.indentation(old), [old])
        indent = self.indentation(old)
        start, stop = self.span(old)
        if self.source.startswith("elif", start):
            if not isinstance(new, ast.If):
                raise _TooFine
            text = f"{indent}el{text[len(indent) :]}"
        elif not compound and text.count("\n") == 1:
            return [_Piece(start, stop, text[len(indent) :].rstrip("\n"), False)]
        start, stop = self.whole_lines(old)
        if not self.source[start:stop].endswith("\n"):
            text = text.rstrip("\n")
        return [_Piece(start, stop, text, False)]

    def fields(self, old: ast.AST, new: ast.AST, coarse: bool) -> list[_Piece]:
        """Pieces inside a node of the same type. Raises `_TooFine`."""
        pieces: list[_Piece] = []
        for name in old._fields:
            a, b = getattr(old, name, None), getattr(new, name, None)
            if name in ("ctx", "kind", "type_comment") or same(a, b):
                continue
            if isinstance(a, list) and isinstance(b, list):
                if all(isinstance(x, ast.stmt) for x in (*a, *b)):
                    pieces += self.statements(a, b, coarse)
                    continue
                if len(a) != len(b):
                    raise _TooFine
                for x, y in zip(a, b, strict=True):
                    if not same(x, y):
                        pieces += self.node(x, y, coarse)
            else:
                pieces += self.node(a, b, coarse)
        return pieces

    def node(self, old: object, new: object, coarse: bool) -> list[_Piece]:
        if not isinstance(old, ast.AST) or not isinstance(new, ast.AST):
            raise _TooFine
        if isinstance(old, ast.expr) and isinstance(new, ast.expr):
            return self.expression(old, new, coarse)
        if type(old) is type(new) and isinstance(
            old, ast.comprehension | ast.keyword | ast.arguments | ast.withitem | ast.ExceptHandler
        ):
            return self.fields(old, new, coarse)
        raise _TooFine

    def expression(self, old: ast.expr, new: ast.expr, coarse: bool) -> list[_Piece]:
        if isinstance(old, ast.JoinedStr | ast.FormattedValue):
            raise _TooFine
        if type(old) is type(new) and not isinstance(old, ast.Constant):
            try:
                return self.fields(old, new, coarse)
            except _TooFine:
                pass
            operator = self.operator(old, new)
            if operator is not None:
                return [operator]
        start, stop = self.span(old)
        return [_Piece(start, stop, self.expression_text(new, old), True)]

    def operator(self, old: ast.expr, new: ast.expr) -> _Piece | None:
        """Only the operator's sign changed: replace the sign."""
        if isinstance(old, ast.BinOp) and isinstance(new, ast.BinOp):
            sides = (old.left, old.right)
            alike = same(old.left, new.left) and same(old.right, new.right)
        elif isinstance(old, ast.Compare) and isinstance(new, ast.Compare):
            if len(old.ops) != 1 or len(new.ops) != 1:
                return None
            sides = (old.left, old.comparators[0])
            alike = same(old.left, new.left) and same(old.comparators, new.comparators)
        else:
            return None
        if not alike:
            return None
        start, stop = self.span(sides[0])[1], self.span(sides[1])[0]
        gap = self.source[start:stop]
        before, after = _sign(old), _sign(new)
        if gap.count(before) != 1 or "#" in gap:
            return None
        return _Piece(start, stop, gap.replace(before, after), False)

    # -- rendering ---------------------------------------------------------------------------------

    def expression_text(self, new: ast.expr, old: ast.expr) -> str:
        """`new` as source, its parts that `old` has too in their own words."""
        pool = {ast.dump(n): n for n in ast.walk(old) if isinstance(n, ast.expr)}
        holes: list[ast.expr] = []
        pattern = ast.unparse(_with_holes(copy_of(new), pool, holes))
        for wrap in (False, True):

            def text(match: re.Match[str], wrap: bool = wrap) -> str:
                part = holes[int(match.group(1))]
                own = self.text(part)
                bare = isinstance(part, _ATOMS) or not wrap
                return own if bare and "\n" not in own else f"({own})"

            filled = _HOLES.sub(text, pattern)
            try:
                if same(parse_expression(f"({filled}\n)"), new):
                    return filled
            except SyntaxError:
                continue
        return ast.unparse(new)

    def rendered(self, new: list[ast.stmt], indentation: str, old: list[ast.stmt]) -> str:
        """Statements as lines at `indentation`; those that `old` holds too in their own words."""
        pool: dict[str, ast.stmt] = {}
        for top in old:
            for node in ast.walk(top):
                if isinstance(node, ast.stmt):
                    pool.setdefault(ast.dump(node), node)
        kept: list[ast.stmt] = []

        def holed(body: list[ast.stmt]) -> list[ast.stmt]:
            result: list[ast.stmt] = []
            for stmt in body:
                twin = pool.get(ast.dump(stmt))
                if twin is not None and self._alone(twin):
                    name = ast.Name(id=_HOLE.format(len(kept)), ctx=ast.Load())
                    kept.append(twin)
                    result.append(ast.Expr(value=name))
                    continue
                shallow = copy_of(stmt)
                for field in ("body", "orelse", "finalbody"):
                    inner = getattr(stmt, field, None)
                    if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                        setattr(shallow, field, holed(inner))
                result.append(shallow)
            return result

        module = ast.Module(body=holed(new), type_ignores=[])
        text = ast.unparse(ast.fix_missing_locations(module))
        lines: list[str] = []
        for line in text.splitlines():
            match = re.fullmatch(r"(\s*)_refute_hole_(\d+)_", line)
            if match is None:
                lines.append(indentation + line if line.strip() else "")
                continue
            stmt = kept[int(match.group(2))]
            start, stop = self.whole_lines(stmt)
            own = textwrap.dedent(self.source[start:stop]).rstrip("\n").split("\n")
            outer = indentation + match.group(1)
            lines += [outer + each if each.strip() else each for each in own]
        return "\n".join(lines) + "\n" if lines else ""

    def _alone(self, stmt: ast.stmt) -> bool:
        try:
            start, _ = self.whole_lines(stmt)
        except _TooFine:
            return False
        return not self.source.startswith("elif", self.span(stmt)[0]) and start >= 0

    def functions(self, old: ast.Module, new: ast.Module) -> str | None:
        """The changed top-level statements written anew, the rest of the module kept."""
        if len(old.body) != len(new.body):
            return None
        pieces: list[_Piece] = []
        for a, b in zip(old.body, new.body, strict=True):
            if not same(a, b):
                try:
                    start, stop = self.whole_lines(a)
                except _TooFine:
                    return None
                pieces.append(_Piece(start, stop, ast.unparse(b) + "\n", False))
        return _spliced(self.source, pieces, False)


def _with_holes(node: ast.expr, pool: dict[str, ast.expr], holes: list[ast.expr]) -> ast.expr:
    class Holes(ast.NodeTransformer):
        def visit(self, child: ast.AST) -> ast.AST:
            twin = pool.get(ast.dump(child)) if isinstance(child, ast.expr) else None
            if twin is None or isinstance(twin, ast.Name | ast.Starred | ast.Slice | ast.JoinedStr):
                return self.generic_visit(child)
            holes.append(twin)
            return ast.Name(id=_HOLE.format(len(holes) - 1), ctx=ast.Load())

    result = Holes().visit(node)
    assert isinstance(result, ast.expr)
    return ast.fix_missing_locations(result)


def _sign(node: ast.BinOp | ast.Compare | ast.expr) -> str:
    x = ast.Name(id="x", ctx=ast.Load())
    if isinstance(node, ast.BinOp):
        bare: ast.expr = ast.BinOp(left=x, op=node.op, right=x)
    else:
        assert isinstance(node, ast.Compare)
        bare = ast.Compare(left=x, ops=node.ops, comparators=[x])
    return ast.unparse(bare)[1:-1].strip()

"""The pieces of a Python file that an excerpt is made of, and which of them refer to which."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from refute.source.syntax import first_line, readable_module

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_WHOLE_CLASS = 40
"""Lines up to which a class that is referred to is shown with its methods."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines [start, stop), 0-based, of a definition, of the head of a class, or of a statement."""

    names: tuple[str, ...]
    """What it binds: `function`, `Class`, `Class.method`, `CONSTANT`, `Class.attribute`."""
    start: int
    stop: int
    owner: int = -1
    """First line of the class that holds it."""
    class_name: str = ""
    """That class."""
    bases: tuple[str, ...] = ()
    """Of a class's head: the names of its bases."""
    lines_of_class: int = 0
    """Of a class's head: how long the class is."""
    defines: bool = True
    """It is a function, class or method."""
    in_head: bool = False
    """It stands before the first definition of the file."""
    uses: frozenset[str] = frozenset()
    """Names that its code reads, arguments (fixtures) too; `.name` for those of self and cls,
    `~name` for an attribute of anything."""

    @property
    def tail(self) -> str:
        """The first name, without its class."""
        return self.names[0].rpartition(".")[2] if self.names else ""

    def binds(self, names: Collection[str]) -> bool:
        """Whether it binds one of these names."""
        return any(name in names for name in self.names)

    def binds_tail(self, tails: Collection[str]) -> bool:
        """Whether it binds one of these names, in whichever class."""
        return any(name.rpartition(".")[2] in tails for name in self.names)


def spans_of(text: str) -> list[Span]:
    """The definitions of a file, its statements that come after the first of them, and the
    assignments before that.

    What stands before the first definition is the file's head. None where it does not parse.
    """
    body = readable_module(text).body
    found = [(node, span) for node in body for span in _of(node)]
    first = next((n for n, (_, span) in enumerate(found) if span.defines), len(found))
    head = [s for node, s in found[:first] if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [*(replace(span, in_head=True) for span in head), *(s for _, s in found[first:])]


def referred(spans: Sequence[Span], numbers: Collection[int]) -> set[int]:
    """The spans that those of `numbers` refer to by name, without these themselves.

    Members count in the class itself and in its bases that stand in the file.
    """
    bases = {span.names[0]: span.bases for span in spans if span.lines_of_class}
    members: set[str] = set()
    plain: set[str] = set()
    for number in numbers:
        span = spans[number]
        plain |= {name for name in span.uses if not name.startswith((".", "~"))}
        for owner in _family(span.class_name, bases):
            members |= {owner + name for name in span.uses if name.startswith(".")}
    small = {s.names[0] for s in spans if 0 < s.lines_of_class <= _WHOLE_CLASS and s.binds(plain)}
    return {
        number
        for number, span in enumerate(spans)
        if number not in numbers
        and (
            (not span.class_name and span.binds(plain))
            or span.binds(members)
            or span.class_name in small
        )
    }


def calling(spans: Sequence[Span], numbers: Collection[int]) -> set[int]:
    """The functions and tests that use one of those of `numbers` which are no tests themselves.

    A method counts as used where an attribute of its name is taken of anything.
    """
    called = [s for s in (spans[n] for n in numbers) if s.defines and not s.tail.startswith("test")]
    names = {
        f"~{span.tail}" if span.class_name else span.tail
        for span in called
        if not span.tail.startswith("__")
    }
    there = ((n, span) for n, span in enumerate(spans) if n not in numbers and span.defines)
    return {n for n, span in there if not span.lines_of_class and not names.isdisjoint(span.uses)}


def _family(name: str, bases: dict[str, tuple[str, ...]]) -> list[str]:
    """A class and its bases, as far as the file has them."""
    found: list[str] = []
    todo = [name] if name else []
    while todo:
        one = todo.pop()
        if one not in found:
            found.append(one)
            todo += bases.get(one, ())
    return found


def _of(node: ast.stmt) -> Iterator[Span]:
    start, stop = first_line(node) - 1, node.end_lineno or node.lineno
    if not isinstance(node, ast.ClassDef):
        yield Span(_bound(node), start, stop, defines=isinstance(node, _FUNCTION), uses=_uses(node))
        return
    bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
    inner = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    head = min(first_line(inner[0]) - 1, stop) if inner else stop
    uses = frozenset(bases)
    yield Span(
        (node.name,), start, max(head, node.lineno), bases=bases, lines_of_class=stop - start,
        uses=uses,
    )  # fmt: skip
    for child in inner:
        names = tuple(f"{node.name}.{name}" for name in _bound(child))
        end = child.end_lineno or child.lineno
        yield Span(
            names, first_line(child) - 1, end, node.lineno - 1, node.name,
            defines=isinstance(child, (*_FUNCTION, ast.ClassDef)), uses=_uses(child),
        )  # fmt: skip


def _bound(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement binds."""
    if isinstance(node, (*_FUNCTION, ast.ClassDef)):
        return (node.name,)
    stored = (
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )
    defined = (n.name for n in ast.walk(node) if isinstance(n, (*_FUNCTION, ast.ClassDef)))
    return tuple(dict.fromkeys((*stored, *defined)))


def _uses(node: ast.stmt) -> frozenset[str]:
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, ast.Attribute):
            found.add(f"~{inner.attr}")
            if isinstance(inner.value, ast.Name) and inner.value.id in ("self", "cls"):
                found.add(f".{inner.attr}")
    return frozenset(found)

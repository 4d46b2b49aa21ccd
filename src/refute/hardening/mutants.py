"""Mutants of functions: which there are, and a sample in which no line takes the whole budget."""

from __future__ import annotations

import ast
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile, zip_longest

from refute.diffing.definitions import Definition
from refute.diffing.modules import Module
from refute.hardening.operators import Edit, edits_of
from refute.source.syntax import Function, first_line, parse_module

PER_LINE = 3
"""Mutants of one line, however many there could be."""


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A function with one small change."""

    module: Module
    qualname: str
    node: Function
    """The function as it is."""
    edit: Edit

    @property
    def file(self) -> str:
        """Path in the tree."""
        return self.module.path

    @property
    def line(self) -> int:
        """Where the change begins (1-based)."""
        return self.edit.line

    @property
    def text(self) -> str:
        """The whole module with the change."""
        return self.edit.into(self.module.text.encode()).decode()

    @property
    def shown(self) -> tuple[str, str]:
        """The changed line before and after, without its indent."""
        at = self.line - 1
        texts = (self.module.text, self.text)
        old, new = (text.split("\n")[at].strip() for text in texts)
        return old, new


def mutants_of(
    module: Module, definition: Definition, lines: frozenset[int] | None = None
) -> list[Mutant]:
    """The mutants of a function; `lines`: only of statements that begin there."""
    data = module.text.encode()
    found = []
    for node in definition.nodes:
        for edit in edits_of(data, node):
            first, last = edit.reached_by
            if lines is not None and lines.isdisjoint(range(first, last + 1)):
                continue
            found.append(Mutant(module, definition.qualname, node, edit))
    return found


def _is_python(mutant: Mutant) -> bool:
    """Whether the function with the change parses, and is another one."""
    node, sources = mutant.node, list[str]()
    for text in (mutant.module.text, mutant.text):
        own = text.split("\n")[first_line(node) - 1 : node.end_lineno]
        sources.append("\n".join(own))
    edit, data = mutant.edit, mutant.module.text.encode()
    first = edit.line - first_line(node) + 1
    if node.col_offset:  # what its text continues at the margin would be no block
        sources = [f"if 1:\n{source}" for source in sources]
        first += 1
    lines = range(first, first + data.count(b"\n", edit.start, edit.end) + 1)
    try:
        old, new = (_around(_parsed(source), lines) for source in sources)
    except SyntaxError:
        return False
    return old != new


_parsed = lru_cache(maxsize=4)(parse_module)
"""Kept, since each mutant of a function is compared with the same text."""


def _around(tree: ast.Module, lines: range) -> list[object]:
    """All of a tree but the statements that lie outside of the lines: an edit leaves them alone,
    and each mutant of a long function would be compared with all of it."""
    found: list[object] = []
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        found.append(type(node))
        for _, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            found.append(len(parts))
            for part in parts:
                if not isinstance(part, ast.AST):
                    found.append((type(part), repr(part)))
                elif not isinstance(part, ast.stmt) or _meets(part, lines):
                    left.append(part)
    return found


def _meets(node: ast.stmt, lines: range) -> bool:
    return first_line(node) < lines.stop and (node.end_lineno or node.lineno) >= lines.start


def sampled(mutants: Iterable[Mutant], most: int, seed: int, end: float = math.inf) -> list[Mutant]:
    """At most `most` of the mutants that are Python, `PER_LINE` of a line.

    Of each line one, then of each a second one, by an operator that it has not had; in one order
    for a seed. `end`: when the time is up (`time.monotonic`); none is drawn after it.
    """
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for one in mutants:
        by_line[one.file, one.line].append(one)
    lines = [_mixed(ones, rng)[:PER_LINE] for ones in by_line.values()]
    rng.shuffle(lines)
    rounds: Iterator[Sequence[Mutant | None]] = iter(zip_longest(*lines))
    drawn = (one for row in rounds for one in row if one is not None)
    in_time = takewhile(lambda _: time.monotonic() <= end, drawn)
    return list(islice(filter(_is_python, in_time), most))


def _mixed(ones: list[Mutant], rng: random.Random) -> list[Mutant]:
    """The mutants of a line, each operator once before any comes again."""
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for one in ones:
        by_operator[one.edit.operator].append(one)
    groups = list(by_operator.values())
    rng.shuffle(groups)
    for group in groups:
        rng.shuffle(group)
    return [one for row in zip_longest(*groups) for one in row if one is not None]

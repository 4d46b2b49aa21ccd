"""Mutants of functions: which there are, and a sample in which no line takes the whole budget."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest

from refute.diffing.definitions import Definition
from refute.diffing.modules import Module
from refute.hardening.operators import Edit, edits_of
from refute.syntax import Function, first_line, parse_module

__all__ = ["PER_LINE", "Mutant", "mutants_of", "sampled"]

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
    node, sources = mutant.node, []
    for text in (mutant.module.text, mutant.text):
        lines = text.split("\n")[first_line(node) - 1 : node.end_lineno]
        sources.append("\n".join(lines))
    if node.col_offset:  # what its text continues at the margin would be no block
        sources = [f"if 1:\n{source}" for source in sources]
    try:
        old, new = map(_dumped, sources)
    except SyntaxError:
        return False
    return old != new


@lru_cache(maxsize=4)
def _dumped(source: str) -> str:
    """Kept, since each mutant of a function is compared with the same text."""
    return ast.dump(parse_module(source))


def sampled(mutants: Iterable[Mutant], most: int, seed: int) -> list[Mutant]:
    """At most `most` of the mutants that are Python, `PER_LINE` of a line.

    Of each line one, then of each a second one, by an operator that it has not had; in one order
    for a seed.
    """
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for one in mutants:
        by_line[one.file, one.line].append(one)
    lines = [_mixed(ones, rng)[:PER_LINE] for ones in by_line.values()]
    rng.shuffle(lines)
    rounds: Iterator[Sequence[Mutant | None]] = iter(zip_longest(*lines))
    drawn = (one for row in rounds for one in row if one is not None)
    return list(islice(filter(_is_python, drawn), most))


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

"""Shrinks a scenario: the least of it that still shows the same, as Hypothesis does with inputs.

Delta debugging (Zeller and Hildebrandt, 2002) on set-up statements, arguments, items and
characters, and a search for the smallest numbers, until nothing of it makes the scenario smaller.
Candidates are asked about in batches, since a batch costs little more in the sandbox than one;
those of a batch that keep what is seen are then tried together.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from refute.core.problems import Scenario
from refute.function.scenarios.reductions import (
    Edit,
    Path,
    Size,
    at,
    dropped_items,
    edited,
    expressions,
    inlined,
    is_leaf,
    number,
    rank,
    replaced,
    simplest,
    size,
    size_of,
    statements,
    tree_of,
    value_of,
    zeros,
)
from refute.function.scenarios.varying import unparsed

Keeps = Callable[[Sequence[Scenario]], Sequence[bool]]

BATCH = 32
MOST_ROUNDS = 20


def shrink(
    scenario: Scenario, keeps: Keeps, *, most: int = 400, seconds: float | None = None
) -> Scenario:
    """The smallest scenario found (by `reductions.size`) for which `keeps` holds, or the given one.

    `keeps` tells of each of up to 32 candidates, the most promising first, whether what was seen
    of `scenario` is still seen of it; it is not asked about `scenario` itself, and about no
    candidate twice. At most `most` candidates are asked about, and none after `seconds`.
    Deterministic, as far as time allows. What is not Python is given back.
    """
    try:
        search = _Search(scenario, keeps, most, seconds)
    except SyntaxError:
        return scenario
    passes: tuple[Callable[[], None], ...] = (
        lambda: search.edits(statements),
        lambda: search.edits(dropped_items),
        lambda: search.edits(zeros),
        lambda: search.edits(replaced, alone=True),
        lambda: search.edits(inlined, alone=True),
        search.shorten_texts,
        search.lower_numbers,
        lambda: search.edits(simplest, alone=True),
        search.plainer_texts,
    )
    for _ in range(MOST_ROUNDS):
        before = search.size
        for one in passes:
            one()
        if search.size == before or not search.goes_on():
            break
    return search.best


Build = Callable[[Sequence[int]], ast.Module]
"""The tree with the changes of these numbers."""


@dataclass
class _Search:
    best: Scenario
    keeps: Keeps
    left: int
    seconds: float | None
    tree: ast.Module = field(init=False)
    size: Size = field(init=False)
    known: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = tree_of(self.best)
        self.size = size(self.best)
        self.known[self.best.source] = True
        self.end = None if self.seconds is None else time.monotonic() + self.seconds

    def goes_on(self) -> bool:
        """Return whether more may be asked."""
        return self.left > 0 and (self.end is None or time.monotonic() < self.end)

    def ask(self, trees: Iterable[ast.Module]) -> list[bool]:
        """Return whether each is smaller than the best so far and keeps what is seen."""
        sources: list[str] = []
        batch: list[Scenario] = []
        for tree in trees:
            if not self.goes_on():
                break
            one = self._smaller(tree)
            sources.append("" if one is None else one.source)
            if one is not None and one.source not in self.known:
                self.known[one.source] = False  # until `keeps` answers
                batch.append(one)
            if len(batch) >= min(BATCH, self.left):
                self._tell(batch)
                batch = []
        self._tell(batch)
        return [self.known.get(one, False) for one in sources]

    def _tell(self, batch: Sequence[Scenario]) -> None:
        if batch and self.goes_on():
            self.left -= len(batch)
            for one, kept in zip(batch, self.keeps(batch), strict=True):
                self.known[one.source] = kept

    def _smaller(self, tree: ast.Module) -> Scenario | None:
        try:
            return unparsed(tree.body, self.best) if size_of(tree) < self.size else None
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return None

    def take(self, tree: ast.Module) -> None:
        """Go on from this tree, which keeps what is seen."""
        self.best = unparsed(tree.body, self.best)
        self.tree = tree_of(self.best)
        self.size = size(self.best)

    def first(self, trees: Sequence[ast.Module]) -> int | None:
        """Go on from the first of these that keeps what is seen; its number."""
        for index, kept in enumerate(self.ask(trees)):
            if kept:
                self.take(trees[index])
                return index
        return None

    # -- many changes at once ----------------------------------------------------------------------

    def edits(self, propose: Callable[[ast.Module], list[Edit]], *, alone: bool = False) -> None:
        """As many of the proposed edits as can be; `alone`: runs of them are not tried first."""
        for _ in range(MOST_ROUNDS):
            base, edits = self.tree, propose(self.tree)
            build = self._builder(base, edits)
            if not self.most_of(len(edits), build, width=1 if alone else len(edits)):
                return

    @staticmethod
    def _builder(base: ast.Module, edits: Sequence[Edit]) -> Build:
        return lambda chosen: edited(base, [edits[one] for one in chosen])

    def most_of(self, count: int, build: Build, width: int) -> bool:
        """Make as many of `count` changes as can be, long runs first; whether any was made."""
        left, done = list(range(count)), list[int]()
        while left and self.goes_on():
            runs: list[list[int]] = []
            while True:
                runs += [left[at : at + width] for at in range(0, len(left), width)]
                if width <= 1 or len(runs) >= 6:
                    break
                width = (width + 1) // 2
            kept = self.ask(build([*done, *run]) for run in runs)
            good = [run for run, one in zip(runs, kept, strict=False) if one]
            if not good:
                if width <= 1:
                    break
                width = (width + 1) // 2
                continue
            good.sort(key=len, reverse=True)
            sizes = [len(good) >> halved for halved in range(3) if len(good) >> halved > 1]
            sets = [sorted({one for run in good[:many] for one in run}) for many in sizes]
            trees = [build([*done, *chosen]) for chosen in (*sets, good[0])]
            number = self.first(trees)
            if number is None:  # it was known to keep, so only the asking has ended
                break
            done += (*sets, good[0])[number]
            left = [one for one in left if one not in done]
            width = max(1, min(width, len(left)))
        return bool(done)

    # -- texts -------------------------------------------------------------------------------------

    def shorten_texts(self) -> None:
        """Texts without the characters that do not matter."""
        for path, text in self._texts():
            self.most_of(len(text), self._without(path, text), width=len(text))

    def plainer_texts(self) -> None:
        """Texts with "a", "0" or "A" for every character that may be another one."""
        for plain in "a0A":
            for path, text in self._texts():
                odd = [i for i, one in enumerate(text) if rank(one) > rank(plain)]
                self.most_of(len(odd), self._with(path, text, odd, plain), width=len(odd))

    def _texts(self) -> Iterator[tuple[Path, str]]:
        """Yield the places of texts one after the other, as they are when it is their turn."""
        for path, _ in expressions(self.tree):
            node = at(self.tree, path)
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, (str, bytes)) and value:
                yield path, value if isinstance(value, str) else value.decode("latin-1")

    def _without(self, path: Path, text: str) -> Build:
        def build(chosen: Sequence[int]) -> ast.Module:
            gone = set(chosen)
            return self._put(path, "".join(c for i, c in enumerate(text) if i not in gone))

        return build

    def _with(self, path: Path, text: str, places: Sequence[int], plain: str) -> Build:
        def build(chosen: Sequence[int]) -> ast.Module:
            new = list(text)
            for one in chosen:
                new[places[one]] = plain
            return self._put(path, "".join(new))

        return build

    def _put(self, path: Path, text: str) -> ast.Module:
        old = at(self.tree, path)
        binary = isinstance(old, ast.Constant) and isinstance(old.value, bytes)
        new = ast.Constant(text.encode("latin-1") if binary else text)
        return edited(self.tree, [((path, new),)])

    # -- numbers -----------------------------------------------------------------------------------

    def lower_numbers(self) -> None:
        """Numbers nearer to 0: equal ones together, then each."""
        groups: dict[str, list[Path]] = {}
        for path, node in expressions(self.tree):
            if is_leaf(node):
                groups.setdefault(ast.unparse(node), []).append(path)
        together = [paths for paths in groups.values() if len(paths) > 1]
        alone = [[path] for paths in groups.values() for path in paths]
        for paths in (*together, *alone):
            value = value_of(at(self.tree, paths[0]))  # no change here moves anything
            if type(value) is float:
                value = self._rounded(paths, value)
            if type(value) is int and value:
                self._lower(paths, value)

    def _set(self, paths: Sequence[Path], values: Sequence[int | float]) -> list[ast.Module]:
        return [
            edited(self.tree, [tuple((path, number(value)) for path in paths)]) for value in values
        ]

    def _rounded(self, paths: Sequence[Path], value: float) -> float | int:
        if value - value != 0:
            return value
        whole = int(value)
        nearest = whole + (1 if value > 0 else -1)
        values: list[int | float] = [whole, nearest, float(whole), float(nearest)]
        for digits in (1, 2, 3):
            step = 10.0**-digits
            values += [round(value + more, digits) for more in (0, step, -step)]
        found = self.first(self._set(paths, values))
        return value if found is None else values[found]

    def _lower(self, paths: Sequence[Path], value: int) -> None:
        """The smallest number, by halving, then in ever shorter steps up from what is too small."""
        if value < 0 and self.first(self._set(paths, [-value])) is not None:
            value = -value
        sign, high = (-1 if value < 0 else 1), abs(value)
        step = 1 + high.bit_length() // 40
        steps = sorted({high >> shift for shift in range(1, high.bit_length() + 1, step)})
        low = -1
        while steps:
            found = self.first(self._set(paths, [sign * one for one in steps]))
            low = steps[-1] if found is None else steps[found - 1] if found else low
            high = high if found is None else steps[found]
            between = (high - low) // 8 + 1
            steps = list(range(low + between, high, between))
            if not self.goes_on():
                return

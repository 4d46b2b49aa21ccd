"""Shrinks a scenario: the least of it that still shows the same, as Hypothesis does with inputs.

Delta debugging (Zeller and Hildebrandt, 2002) on set-up statements, arguments, items and
characters, and a search for the smallest numbers, until nothing of it makes the scenario smaller.
Candidates are asked about in batches, since a batch costs little more in the sandbox than one;
those of a batch that keep what is seen are then tried together.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.core.problems import Scenario
from refute.function.scenarios.varying import parsed, unparsed
from refute.source.literals import is_literal
from refute.source.syntax import bound_names, read_names

Path = tuple[str | int, ...]
"""Path to a node: ("body", 0, "value", "args", 1)."""
Edit = tuple[tuple[Path, ast.AST | None], ...]
"""New nodes for places; None: the item of the list is dropped."""
Size = tuple[int, int, int, int, int]
"""Statements; calls; expressions; characters of texts and numbers; how odd these are."""


def tree_of(scenario: Scenario) -> ast.Module:
    """The statements and the expression. Raises SyntaxError."""
    return ast.Module(parsed(scenario), [])


def at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at a path."""
    found = _found(tree, path)
    assert isinstance(found, ast.AST)
    return found


def is_leaf(node: ast.AST) -> bool:
    """Return whether it is a constant, or a number with a sign."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() | complex())):
            return True
    return isinstance(node, ast.Constant)


def expressions(tree: ast.Module) -> list[tuple[Path, ast.expr]]:
    """Every expression that can be replaced, outer ones first; of a method its receiver."""
    return list(_below(tree, ()))


def _below(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.expr]]:
    if isinstance(node, ast.expr):
        named = path[-1] == "func" and isinstance(node, (ast.Name, ast.Attribute))
        if not named and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield path, node
        if is_leaf(node) or isinstance(node, ast.JoinedStr):
            return
    for name, inner in ast.iter_fields(node):
        if isinstance(inner, ast.AST):
            yield from _below(inner, (*path, name))
        elif isinstance(inner, list):
            for index, item in enumerate(inner):
                if isinstance(item, ast.AST):
                    yield from _below(item, (*path, name, index))


def edited(tree: ast.Module, edits: Iterable[Edit]) -> ast.Module:
    """A copy of a tree with all edits, whose paths are those of `tree`.

    Where two edits meet, the outer one, of two at the same place the first, counts.
    """
    places: dict[Path, ast.AST | None] = {}
    for edit in edits:
        for path, new in edit:
            places.setdefault(path, new)
    module = _copied(tree)
    holes: dict[Path, set[str | int]] = {}
    for path, new in places.items():
        if any(path[:length] in places for length in range(1, len(path))):
            continue
        holder, last = _found(module, path[:-1]), path[-1]
        if new is None:
            holes.setdefault(path[:-1], set()).add(last)
        elif isinstance(last, int):
            holder[last] = new
        else:
            setattr(holder, last, new)
    lists = [(_found(module, path), dropped) for path, dropped in holes.items()]
    for items, dropped in lists:
        items[:] = [one for index, one in enumerate(items) if index not in dropped]
    return module


def _copied(tree: ast.Module) -> ast.Module:
    made = copy.copy(tree)
    left: list[Any] = [made]
    while left:
        node = left.pop()
        for name, inner in ast.iter_fields(node):
            if isinstance(inner, list):
                new: Any = [copy.copy(one) for one in inner]
                left += [one for one in new if isinstance(one, ast.AST)]
            elif isinstance(inner, ast.AST):
                new = copy.copy(inner)
                left.append(new)
            else:
                continue
            setattr(node, name, new)
    return made


def _found(tree: Any, path: Path) -> Any:
    """The node or the list at a path."""
    for step in path:
        tree = tree[step] if isinstance(step, int) else getattr(tree, step)
    return tree


# -- size ------------------------------------------------------------------------------------------


def size(scenario: Scenario) -> Size:
    """`size_of` its statements and expression. Raises SyntaxError."""
    return size_of(tree_of(scenario))


def size_of(tree: ast.Module) -> Size:
    """Measure how much there is to read; scenarios are ordered by it. Well-founded.

    First the number of statements; then of calls and awaits (a literal such as ``Decimal("1")``
    or ``set()`` is none); then of expressions, literals and names alike; then of characters in
    texts and digits in numbers, none for None, False, 0 and ""; last how far characters and numbers
    are from the plainest, "a" and 0. Five natural numbers, compared in this order: what gets
    smaller at each step comes to an end.
    """
    calls = parts = characters = oddness = 0
    for node in _nodes(tree):
        if isinstance(node, (ast.Call, ast.Await)) and not is_literal(node):
            calls += 1
        if isinstance(node, (ast.expr, ast.keyword)):
            parts += 1
        if is_leaf(node):
            more, odd = _leaf(node)
            characters += more
            oddness += odd
    return len(tree.body), calls, parts, characters, oddness


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not is_leaf(node):
        for inner in ast.iter_child_nodes(node):
            yield from _nodes(inner)


def _leaf(node: ast.AST) -> tuple[int, int]:
    """(characters, oddness) of a constant."""
    negative = isinstance(node, ast.UnaryOp)
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool):
        return 0, int(value)
    if isinstance(value, int):
        digits = str(value) if value.bit_length() < 10_000 else hex(value)
        return (len(digits) + negative if value else 0), 2 * value + negative
    if isinstance(value, float):
        text = repr(value).removesuffix(".0")
        digits = "".join(one for one in text if one.isdigit())
        return (len(text) + negative if value else 0), 2 * int(digits or 9) + negative + 1
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return len(text), sum(map(rank, text)) + isinstance(value, bytes)
    return (0, 0) if value is None else (len(repr(value)), 1)


_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ _-.,"


def rank(character: str) -> int:
    """Return how far a character is from "a"."""
    found = _PLAIN.find(character)
    return found if found >= 0 else len(_PLAIN) + ord(character)


def zero_of(node: ast.expr) -> ast.expr | None:
    """The smallest constant of a constant's kind; None where it is that."""
    match node:
        case ast.Constant(value=True):
            return ast.Constant(False)
        case ast.Constant(value=str(value)) if value:
            return ast.Constant("")
        case ast.Constant(value=bytes(value)) if value:
            return ast.Constant(b"")
        case ast.UnaryOp() if is_leaf(node):
            return ast.Constant(0)
        case ast.Constant(value=int() | float() | complex() as value) if (
            value or type(value) is not int
        ) and value is not False:
            return ast.Constant(0)
    return None


# -- edits ----------------------------------------------------------------------------------------


def statements(tree: ast.Module) -> list[Edit]:
    """Each set-up statement dropped, with those that need what it binds; last ones first."""
    found: list[Edit] = []
    for index in reversed(range(len(tree.body) - 1)):
        dropped, needed = _with_dependents(tree, index)
        if not needed:
            found.append(tuple((("body", one), None) for one in sorted(dropped)))
    return found


def _with_dependents(tree: ast.Module, index: int) -> tuple[set[int], bool]:
    """Return the statements that go with one, and whether the observed expression needs any of
    them."""
    dropped, gone = {index}, {*bound_names(tree.body[index])}
    for later in range(index + 1, len(tree.body)):
        node = tree.body[later]
        if gone & read_names(node):
            if later == len(tree.body) - 1:
                return dropped, True
            dropped.add(later)
            gone |= bound_names(node)
        else:
            gone -= bound_names(node)
    return dropped, False


def _assigned(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr, list[Path]]]:
    """(index, name, value, uses) of the variables that are bound once, by a plain assignment."""
    places = expressions(tree)
    for index, statement in enumerate(tree.body[:-1]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if sum(name in bound_names(one) for one in tree.body) == 1:
                    uses = [
                        path
                        for path, node in places
                        if isinstance(node, ast.Name) and node.id == name
                    ]
                    yield index, name, value, uses


def inlined(tree: ast.Module) -> list[Edit]:
    """Each variable that is used once written out where it is used."""
    return [
        ((("body", index), None), (uses[0], value))
        for index, _, value, uses in _assigned(tree)
        if len(uses) == 1
    ]


def dropped_items(tree: ast.Module) -> list[Edit]:
    """Each item of a display, each pair of a dictionary, each argument and keyword dropped."""
    found: list[Edit] = []
    for path, node in expressions(tree):
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                found += [(((*path, "elts", i), None),) for i in range(len(items))]
            case ast.Dict(keys=keys):
                for i in range(len(keys)):
                    found.append((((*path, "keys", i), None), ((*path, "values", i), None)))
            case ast.Call(args=args, keywords=keywords):
                for i in reversed(range(len(keywords))):
                    found.append((((*path, "keywords", i), None),))
                for i in reversed(range(len(args))):
                    found.append((((*path, "args", i), None),))
            case ast.BoolOp(values=values) if len(values) > 2:
                found += [(((*path, "values", i), None),) for i in range(len(values))]
    return found


def replaced(tree: ast.Module) -> list[Edit]:
    """Each expression replaced by one that it is made of; a call by its receiver or an argument."""
    observed = _observed(tree)
    found: list[Edit] = []
    for path, node in expressions(tree):
        if path == observed or is_leaf(node):
            continue
        for inner in _parts(node):
            found.append(((path, inner),))
    return found


def _observed(tree: ast.Module) -> Path:
    """Return the path of the observed call: the last expression, or what that awaits."""
    path: Path = ("body", len(tree.body) - 1, "value")
    while isinstance(at(tree, path), ast.Await):
        path = (*path, "value")
    return path


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that one is made of, for a receiver's call the receiver first."""
    match node:
        case ast.Starred(value=ast.List(elts=[only]) | ast.Tuple(elts=[only])):
            yield only
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.keyword):
            yield inner.value
        elif isinstance(node, ast.Call) and inner is node.func:
            if isinstance(inner, ast.Attribute):
                yield inner.value
        elif isinstance(inner, ast.Starred):
            yield inner.value
        elif isinstance(inner, ast.expr) and not isinstance(inner, ast.Slice):
            yield inner


def simplest(tree: ast.Module) -> list[Edit]:
    """Each object, and each variable with what it needs, replaced by None, 0, "" or [].

    A literal stays of its kind: a test with None for a text would look like wrong use.
    """
    plainest = [ast.Constant(None), ast.Constant(0), ast.Constant(""), ast.List([], ast.Load())]
    observed = _observed(tree)
    found: list[Edit] = []
    for index, _, _, uses in _assigned(tree):
        if not any(path[-1] == "value" and path[-2:-1] == ("func",) for path in uses):
            for plain in plainest[:2]:
                found.append(((("body", index), None), *((use, plain) for use in uses)))
    for path, node in expressions(tree):
        receiver = path[-2:] == ("func", "value")
        statement = len(path) == 3 and isinstance(at(tree, path[:2]), ast.Expr)
        fixed = path in (observed, observed[:3]) or isinstance(node, ast.Starred)
        literal = is_leaf(node) or isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict))
        if fixed or receiver or statement or literal:
            continue
        found += [((path, plain),) for plain in plainest]
    return found


def zeros(tree: ast.Module) -> list[Edit]:
    """Each constant replaced by the smallest of its kind."""
    found: list[Edit] = []
    for path, node in expressions(tree):
        zero = zero_of(node)
        if zero is not None:
            found.append(((path, zero),))
    return found


def number(value: int | float) -> ast.expr:
    """The tree of a number."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def value_of(node: ast.AST) -> object:
    """A constant's value."""
    if isinstance(node, ast.UnaryOp):
        inner = node.operand
        return -inner.value if isinstance(inner, ast.Constant) else None  # type: ignore[operator]
    return node.value if isinstance(node, ast.Constant) else None


# -- the search ------------------------------------------------------------------------------------


Keeps = Callable[[Sequence[Scenario]], Sequence[bool]]

BATCH = 32
MOST_ROUNDS = 20


def shrink(
    scenario: Scenario, keeps: Keeps, *, most: int = 400, seconds: float | None = None
) -> Scenario:
    """The smallest scenario found (by `size`) for which `keeps` holds, or the given one.

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

"""A file as a prompt shows it: whole where it fits, else the definitions that matter most.

It is made of the pieces of a Python file, of which it is known which refer to which.
The companions of a test file (models, fixtures of a `conftest.py`) are found here, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from refute.issue.context import estimated_tokens, numbered, ranked
from refute.source.syntax import first_line, readable_module

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_WHOLE_CLASS = 40
"""Lines up to which a class that is referred to is shown with its methods."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines [start, stop), 0-based, of a definition, of the head of a class, or of a statement."""

    names: tuple[str, ...]
    """Names that it binds: `function`, `Class`, `Class.method`, `CONSTANT`, `Class.attribute`."""
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
        """Return whether it binds one of these names."""
        return any(name in names for name in self.names)

    def binds_tail(self, tails: Collection[str]) -> bool:
        """Return whether it binds one of these names, in whichever class."""
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
    """The functions and tests that use one of those of `numbers` that are not tests themselves.

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


GAP = "..."
_SMALL_GAP = 3
"""Lines that are shown where they alone are missing between two others."""
_HEAD_SHARE = 5
"""A file's beginning (docstring, imports) may have one part in so many."""
_LONG_DOCSTRING, _OF_DOCSTRING = 10, 5
"""Lines from which a docstring is shortened in a file that is not shown whole, and to how many."""
_SET_UP = frozenset(
    ("setUp", "setUpClass", "setUpTestData", "setup_method", "setup_class", "setup", "asyncSetUp")
)


def excerpt(
    text: str,
    tokens: int,
    *,
    query: str = "",
    named: Collection[str] = (),
    last: bool = False,
    around: Collection[int] = (),
) -> str:
    """Lines of `text` with their numbers, about `tokens` of them at most; `...` for what is cut.

    First come definitions that are `named` (`function`, `Class`, `Class.method`, `method`, or a
    name bound at the top or in a class), then what those refer to in the file and how their class
    is set up, then who calls them, and with `last` the last definition of the file. `query` says
    which of these go first; where nothing is named, what BM25 ranks highest for it is shown. A
    member brings the first line of its class. Of the first that does not fit its beginning and its
    end are shown, or what stands around the lines `around` (1-based). What does not parse is shown
    from its beginning.
    """
    whole = numbered(text)
    if estimated_tokens(whole) <= tokens:
        return whole
    lines = text.splitlines()
    spans = spans_of(text)
    long = _middles_of_docstrings(text)
    shown: set[int] = set()
    first = min((span.start for span in spans if not span.in_head), default=len(lines))
    head = [number for number in range(first) if number not in long]
    left = tokens - _show(head, lines, shown, tokens // _HEAD_SHARE if spans else tokens)
    ordered = _ordered(spans, lines, query, named, last)
    _add(ordered, lines, shown, left, long, [number - 1 for number in around])
    return "\n".join(_with_gaps(shown, lines))


def outline(text: str, tokens: int, *, query: str = "") -> str:
    """The functions, classes and methods that a file defines, on one line.

    Where they are too many, what stands at the top goes first, then the methods that BM25 ranks
    highest for `query`; all in the file's order.
    """
    spans = [span for span in spans_of(text) if span.defines]
    names = [span.tail if span.owner < 0 else f".{span.tail}" for span in spans]
    costs = [estimated_tokens(name) + 1 for name in names]
    kept = set(range(len(names)))
    if sum(costs) > tokens:
        ranks = _by_words(spans, text.splitlines(), query) if query else range(len(spans))
        kept = set()
        for number in sorted(ranks, key=lambda n: spans[n].owner >= 0):
            tokens -= costs[number]
            if tokens < 0:
                break
            kept.add(number)
    parts: list[str] = []
    for number, name in enumerate(names):
        if number in kept:
            parts.append(name)
        elif parts[-1:] != [GAP]:
            parts.append(GAP)
    return " ".join(parts)


def _ordered(
    spans: list[Span], lines: list[str], query: str, named: Collection[str], last: bool
) -> list[Span]:
    """Order the parts that have a reason to be shown, best first; where nothing is named, all by
    BM25.

    The head of a class comes with its members: alone it says nothing, unless it is named.
    """
    order = {number: place for place, number in enumerate(_by_words(spans, lines, query))}
    wanted = {n for n, span in enumerate(spans) if span.binds(named)}
    there = {name for span in spans for name in span.names}
    tails = {name.rpartition(".")[2] for name in named if name not in there}
    wanted |= {n for n, span in enumerate(spans) if n not in wanted and span.binds_tail(tails)}
    if not wanted:
        return [spans[n] for n in order if not spans[n].lines_of_class]
    owners = {spans[n].owner for n in wanted if spans[n].owner >= 0}
    set_up = {n for n, s in enumerate(spans) if s.owner in owners and s.tail in _SET_UP}
    classes = {spans[n].class_name for n in wanted}
    heads = {n for n, s in enumerate(spans) if s.lines_of_class and s.binds(classes)}
    near = referred(spans, wanted | set_up | heads) | set_up
    groups: dict[int, int] = {}
    for group, numbers in enumerate((wanted, near, calling(spans, wanted), referred(spans, near))):
        for number in numbers:
            groups.setdefault(number, group)
    if last:
        groups.setdefault(len(spans) - 1, 1)
    of_class = [n for n in order if spans[n].class_name in named]
    ranks = sorted(
        {*groups, *of_class},
        key=lambda n: (groups.get(n, 1), not spans[n].binds(named), order[n]),
    )
    return [spans[n] for n in ranks]


def _by_words(spans: list[Span], lines: list[str], query: str) -> list[int]:
    texts = {f"{n:06d}": "\n".join(lines[s.start : s.stop]) for n, s in enumerate(spans)}
    return [int(key) for key in ranked(query, texts)]


def _middles_of_docstrings(text: str) -> set[int]:
    """The 0-based lines of long docstrings that are left out."""
    found: set[int] = set()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(readable_module(text)):
        if not isinstance(node, kinds) or ast.get_docstring(node, clean=False) is None:
            continue
        first = node.body[0]
        stop = first.end_lineno or first.lineno
        if stop - first.lineno >= _LONG_DOCSTRING:
            found.update(range(first.lineno - 1 + _OF_DOCSTRING, stop - 1))
    return found


def _add(
    spans: Iterable[Span],
    lines: list[str],
    shown: set[int],
    tokens: int,
    without: Collection[int],
    around: Collection[int],
) -> int:
    """Show spans, each as a whole but for the lines `without`, while they fit; the tokens that
    they take. Of the first a part is shown where it does not fit; see `_part`.
    """
    taken = 0
    for number, span in enumerate(spans):
        wanted = {n for n in range(span.start, span.stop) if n not in without}
        wanted |= {span.owner} if span.owner >= 0 else set()
        cost = sum(_cost(n, lines) for n in wanted - shown)
        cost += estimated_tokens(GAP) if cost else 0
        if taken + cost > tokens and number == 0:  # what matters most, as much of it as fits
            wanted = _part(span, lines, tokens - taken, around)
            cost = sum(_cost(n, lines) for n in wanted - shown)
        if taken + cost <= tokens:
            shown |= wanted
            taken += cost
    return taken


def _part(span: Span, lines: list[str], tokens: int, around: Collection[int]) -> set[int]:
    """Lines of a span that is too large: its beginning, and as much of its end, or of what stands
    around each of the lines `around` (0-based) that it holds."""
    inner = range(span.start, span.stop)
    places = [number for number in sorted(around) if number in inner]
    outward = [sorted(inner, key=lambda n, p=place: abs(n - p)) for place in places]  # type: ignore[misc]
    orders: list[Iterable[int]] = [inner, *outward] if outward else [inner, reversed(inner)]
    found: set[int] = set()
    for numbers in orders:
        left = tokens // len(orders) - estimated_tokens(GAP)
        for number in numbers:
            left -= 0 if number in found else _cost(number, lines)
            if left < 0:
                break
            found.add(number)
    return found


def _cost(number: int, lines: list[str]) -> int:
    return estimated_tokens(f"{number + 1} {lines[number]}")


def _show(wanted: Iterable[int], lines: list[str], shown: set[int], limit: int) -> int:
    """Show lines while they fit; the tokens that they take."""
    taken = 0
    for number in wanted:
        taken += _cost(number, lines)
        if taken > limit:
            return taken - _cost(number, lines)
        shown.add(number)
    return taken


def _with_gaps(shown: Collection[int], lines: list[str]) -> Iterable[str]:
    """Numbered lines; gaps of a few lines, or of blank ones, are filled."""
    before = -1
    for number in sorted(shown):
        between = range(before + 1, number)
        if len(between) > _SMALL_GAP and any(lines[n].strip() for n in between):
            yield GAP
        else:
            yield from (f"{n + 1} {lines[n]}" for n in between)
        yield f"{number + 1} {lines[number]}"
        before = number
    if any(line.strip() for line in lines[before + 1 :]):
        yield GAP


_FIXTURE_FUNCTION = re.compile(r"^\d+ (?:async )?def (\w+)", re.MULTILINE)
_MOST_FIXTURES = 30
_WORD = re.compile(r"[A-Za-z_]\w*")


def companions(
    shown: Sequence[Mapping[str, str]], files: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Files that the tests shown import from their own folder, or whose fixtures they use.

    `shown`: `path` and `numbered` (an excerpt) of each test file. Returns path -> the names in it
    that an excerpt mentions, files that are shown already left out; files that no excerpt mentions
    a name of come last, with no name.
    """
    used: dict[str, dict[str, None]] = {}
    paths = {file["path"] for file in shown}
    for file in shown:
        mentioned = set(_WORD.findall(_body(file["numbered"])))
        for path, names in _beside(file["path"], files):
            if path not in paths:
                found = used.setdefault(path, {})
                found.update((name, None) for name in names if name in mentioned)
    named = {path: tuple(names) for path, names in used.items() if names}
    return named | {
        path: () for path in used if path not in named and not path.endswith("conftest.py")
    }


def further_fixtures(
    shown: Sequence[Mapping[str, str]], files: Mapping[str, str]
) -> tuple[str, ...]:
    """The fixtures of the `conftest.py` above the files shown that no excerpt defines."""
    defined = {name for file in shown for name in _FIXTURE_FUNCTION.findall(file["numbered"])}
    found = {
        name: None
        for file in shown
        for path in _conftests(file["path"], files)
        for name in _fixtures(files[path])
        if name not in defined
    }
    return tuple(found)[:_MOST_FIXTURES]


def _body(numbered: str) -> str:
    """An excerpt without its import statements, which mention everything."""
    return re.sub(r"^\d+ (?:from|import) [^(\n]*(?:\([^)]*\))?", "", numbered, flags=re.MULTILINE)


def _beside(path: str, files: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Files that a file imports by relative imports, and each `conftest.py` above it."""
    tree = readable_module(files.get(path, ""))
    folder = PurePosixPath(path).parent
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = folder
        for _ in range(node.level - 1):
            base = base.parent
        module = base.joinpath(*(node.module or "").split(".")) if node.module else base
        plain = f"{module}.py"
        if plain in files:
            yield plain, [alias.asname or alias.name for alias in node.names]
        for alias in node.names:
            inner = f"{module / alias.name}.py"
            if inner in files:
                yield inner, []
    for conftest in _conftests(path, files):
        yield conftest, _fixtures(files[conftest])


def _conftests(path: str, files: Mapping[str, str]) -> list[str]:
    """The `conftest.py` that pytest reads for a file, the nearest first."""
    above = (str(folder / "conftest.py") for folder in PurePosixPath(path).parents)
    return [conftest for conftest in above if conftest in files and conftest != path]


def _fixtures(text: str) -> list[str]:
    """The functions at the top of a `conftest.py`, but for hooks."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    names = [node.name for node in readable_module(text).body if isinstance(node, functions)]
    return [name for name in names if not name.startswith(("pytest_", "_"))]

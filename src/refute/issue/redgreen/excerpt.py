"""A file as a prompt shows it: whole where it fits, else the definitions that matter most."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from refute.issue.context.ranking import estimated_tokens, numbered, ranked
from refute.issue.redgreen.spans import Span, calling, referred, spans_of

__all__ = ["excerpt", "outline"]

GAP = "..."
_SMALL_GAP = 3
"""Lines that are shown where they alone are missing between two others."""
_HEAD_SHARE = 5
"""A file's beginning (docstring, imports) may have one part in so many."""
_FILL_SHARE = 5
"""Where definitions are named, what only BM25 finds may have one part in so many of the rest."""
_SET_UP = frozenset(
    ("setUp", "setUpClass", "setUpTestData", "setup_method", "setup_class", "setup", "asyncSetUp")
)


def excerpt(
    text: str, tokens: int, *, query: str = "", named: Collection[str] = (), last: bool = False
) -> str:
    """Lines of `text` with their numbers, about `tokens` of them at most; `...` for what is cut.

    First come definitions that are `named` (`function`, `Class`, `Class.method`, `method`, or a
    name bound at the top or in a class), then what those refer to in the file and how their class
    is set up, then the tests that call a helper of theirs, then, with `last`, the last definition
    of the file, then what BM25 ranks highest for `query`. A member brings the first line of its
    class. What does not parse is shown from its beginning.
    """
    whole = numbered(text)
    if estimated_tokens(whole) <= tokens:
        return whole
    lines = text.splitlines()
    spans = spans_of(text)
    shown: set[int] = set()
    first = min((span.start for span in spans), default=len(lines))
    left = tokens - _show(range(first), lines, shown, tokens // _HEAD_SHARE if spans else tokens)
    chosen, rest = _ordered(spans, lines, query, named, last)
    left -= _add(chosen, lines, shown, left)
    _add(rest, lines, shown, left // _FILL_SHARE if chosen else left)
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
) -> tuple[list[Span], list[Span]]:
    """What has a reason to be shown, the best reason first; and the rest, by BM25."""
    order = {number: place for place, number in enumerate(_by_words(spans, lines, query))}
    wanted = {n for n, span in enumerate(spans) if span.binds(named)}
    there = {name for span in spans for name in span.names}
    tails = {name.rpartition(".")[2] for name in named if name not in there}
    wanted |= {n for n, span in enumerate(spans) if n not in wanted and span.binds_tail(tails)}
    owners = {spans[n].owner for n in wanted if spans[n].owner >= 0}
    set_up = {n for n, s in enumerate(spans) if s.owner in owners and s.tail in _SET_UP}
    classes = {spans[n].class_name for n in wanted}
    heads = {n for n, s in enumerate(spans) if s.lines_of_class and s.binds(classes)}
    near = referred(spans, wanted | set_up | heads) | set_up
    far = referred(spans, near) | calling(spans, wanted)
    groups: dict[int, int] = {}
    for group, numbers in enumerate((wanted, near, far)):
        for number in numbers:
            groups.setdefault(number, group)
    if last and spans:
        groups.setdefault(len(spans) - 1, 1)

    def rank(number: int) -> tuple[int, int]:
        exact = groups.get(number) == 0 and not spans[number].binds(named)
        in_named_class = spans[number].class_name in named
        return groups.get(number, 3 if in_named_class else 4) * 2 + exact, order[number]

    ranks = sorted(range(len(spans)), key=rank)
    if not wanted:
        return [], [spans[n] for n in ranks]
    chosen = [n for n in ranks if n in groups or spans[n].class_name in named]
    return [spans[n] for n in chosen], [spans[n] for n in ranks if n not in set(chosen)]


def _by_words(spans: list[Span], lines: list[str], query: str) -> list[int]:
    texts = {f"{n:06d}": "\n".join(lines[s.start : s.stop]) for n, s in enumerate(spans)}
    return [int(key) for key in ranked(query, texts)]


def _add(spans: Iterable[Span], lines: list[str], shown: set[int], tokens: int) -> int:
    """Show spans, each as a whole, while they fit; the tokens that they take.

    Of the first the ends are shown where it does not fit.
    """
    taken = 0
    for number, span in enumerate(spans):
        wanted = {*range(span.start, span.stop)} | ({span.owner} if span.owner >= 0 else set())
        cost = sum(_cost(n, lines) for n in wanted - shown)
        cost += estimated_tokens(GAP) if cost else 0
        if taken + cost > tokens and number == 0:  # what matters most, as much of it as fits
            wanted = _ends(span, lines, tokens - taken)
            cost = sum(_cost(n, lines) for n in wanted - shown)
        if taken + cost <= tokens:
            shown |= wanted
            taken += cost
    return taken


def _ends(span: Span, lines: list[str], tokens: int) -> set[int]:
    """The lines at the beginning and at the end of a span that is too large, half of each."""
    found: set[int] = set()
    for numbers in (range(span.start, span.stop), reversed(range(span.start, span.stop))):
        left = tokens // 2 - estimated_tokens(GAP)
        for number in numbers:
            left -= _cost(number, lines)
            if left < 0 or number in found:
                break
            found.add(number)
    return found


def _cost(number: int, lines: list[str]) -> int:
    return estimated_tokens(f"{number + 1} {lines[number]}")


def _show(wanted: range, lines: list[str], shown: set[int], limit: int) -> int:
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

"""Strings of a domain: an alphabet, a vocabulary or a layout, and what lies near one."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["Texts"]

_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class Texts:
    """Strings. `alphabet` is already generalised (all lower-case letters once some were seen)."""

    alphabet: str
    shortest: int
    longest: int
    vocabulary: tuple[str, ...] = ()
    """If not empty, strings are words of it (several with `separator`, one without)."""
    separator: str = ""
    layouts: frozenset[str] = frozenset()
    """If not empty, `layout(s)` must be one of them: "9/9", "9-9-9", "9 a a 9 a"."""
    balanced: bool = False
    seen: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()
    """Numbers that may matter inside structured strings: constants of the code and neighbours."""

    @classmethod
    def learn(
        cls, values: Sequence[str], words: Sequence[str] = (), marks: Sequence[float] = ()
    ) -> Texts:
        """The domain of strings seen in one place; `words`: string constants of the code."""
        chars = "".join(values)
        filled = [value for value in values if value]
        sizes = [len(value) for value in values]
        vocabulary, separator = _vocabulary(filled, words)
        layouts = {layout(value) for value in filled}
        structured = all("9" in one for one in layouts) and any(
            re.search(r"\W", one) for one in layouts
        )
        brackets = bool(filled) and set(chars) & set(_BRACKETS) and not re.search(r"\w", chars)
        return cls(
            alphabet=_generalise(chars),
            shortest=min(sizes),
            longest=max(sizes),
            vocabulary=vocabulary,
            separator=separator,
            layouts=frozenset(layouts) if structured else frozenset(),
            balanced=bool(brackets) and all(map(_balanced, values)),
            seen=tuple(dict.fromkeys(filled)),
            marks=tuple(mark for mark in marks if isinstance(mark, int) and mark >= 0),
        )

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        if type(value) is not str or not min(self.shortest, 1) <= len(value):
            return False
        if self.vocabulary:
            parts = value.split(self.separator) if self.separator else [value]
            return all(part in self.vocabulary for part in parts) or not value
        if len(value) > 2 * self.longest + 4 or not set(value) <= set(self.alphabet):
            return False
        if self.layouts and not self._laid_out(value):
            return False
        if len(self.seen) > 2 and self.shortest == self.longest != len(value):
            return False
        if not self._spaced_as_seen(value):
            return False
        return not self.balanced or _balanced(value)

    def _laid_out(self, value: str) -> bool:
        """A known layout; no number is zero unless one was: it may be a denominator or a day."""
        zero = re.compile(r"(?<!\d)0+(?!\d)")
        return layout(value) in self.layouts and (
            zero.search(value) is None or any(map(zero.search, self.seen))
        )

    def _spaced_as_seen(self, value: str) -> bool:
        """No blanks at the ends, and no two in a row, unless some known string has them."""
        if value != value.strip() and all(one == one.strip() for one in self.seen):
            return False
        return "  " not in value or any("  " in one for one in self.seen)

    def sample(self, rng: Random, room: int = 1) -> str:
        """A value of this part, drawn with `rng`."""
        if self.vocabulary:
            if not self.separator:
                return rng.choice(self.vocabulary)
            size = max(len(one.split(self.separator)) for one in self.seen)
            picks = [rng.choice(self.vocabulary) for _ in range(rng.randint(1, size + 2))]
            return self.separator.join(picks)
        if self.layouts:
            return _refill(rng.choice(self.seen), self.marks, rng)
        size = rng.randint(max(1, self.shortest), max(2, self.longest + 2))
        if self.balanced:
            return _random_balanced(self.alphabet, size, rng)
        pool = self.alphabet or string.ascii_lowercase
        if len(pool) > 8 and rng.random() < 0.5:  # few letters: repeats and palindromes happen
            pool = "".join(rng.sample(pool, 4))
        if " " in self.alphabet and rng.random() < 0.7:
            return self._words(rng)
        return "".join(rng.choice(pool) for _ in range(size))

    def _words(self, rng: Random) -> str:
        tokens = [token for one in self.seen for token in one.split()]
        count = rng.randint(1, 5)
        return " ".join(rng.choice(tokens) if tokens else "ab" for _ in range(count))

    def near(self, value: str, rng: Random) -> Iterator[str]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        if self.vocabulary and not self.separator:
            yield from self.vocabulary
            return
        if self.layouts:
            for _ in range(6):
                yield _refill(value, self.marks, rng)
            return
        if self.separator or " " in value:
            yield from _token_moves(value, self.separator or " ", self.vocabulary, rng)
        if not self.vocabulary:
            yield from self._char_moves(value, rng)

    def _char_moves(self, value: str, rng: Random) -> Iterator[str]:
        size = len(value)
        yield value[::-1]
        if any(c.isalpha() for c in value):
            yield from (value.swapcase(), value.upper(), value.lower(), value.title())
        for index in dict.fromkeys((0, size - 1, size // 2) if size else ()):
            yield value[:index] + value[index + 1 :]
            yield value[: index + 1] + value[index:]
            yield value[:index] + rng.choice(self.alphabet or "a") + value[index + 1 :]
        if size > 1:
            yield value[1] + value[0] + value[2:]
            yield value[-1] + value[1:-1] + value[0]
            yield value[: size // 2]
            yield value[0] * size
        yield value + value
        yield value + value[::-1]
        yield value + value[-2::-1]
        yield "".join(sorted(value))
        for other in self.seen[:3]:
            yield value + other
        yield self.sample(rng)
        yield from value[:2]

    def edges(self) -> Iterator[str]:
        """Values at or just past the borders of what was seen."""
        yield ""
        yield from self.alphabet[:2]
        if not (self.vocabulary or self.layouts or self.balanced):
            yield from (" ", "a", "A", "z", "Z", "0", "9", ".", "ab", "aA", "a b", "  a  b ")
        for one in self.seen[:2]:
            yield from (one + " ", " " + one, one.replace(" ", "  "))


def layout(value: str) -> str:
    """The shape of a string: runs of digits become 9, runs of letters a."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", value))


def _generalise(chars: str) -> str:
    """The alphabet that the seen characters stand for."""
    seen = dict.fromkeys(chars)
    digits = [c for c in seen if c in string.digits]
    letters = [c for c in seen if c in string.ascii_letters]
    if digits and letters and all(c in "ABCDEF" for c in letters):
        return string.digits + "ABCDEF"
    pool = "".join(c for c in seen if c not in string.digits + string.ascii_letters)
    for group in (string.ascii_lowercase, string.ascii_uppercase):
        own = [c for c in letters if c in group]
        pool += group if len(own) > 2 or (own and len(letters) > 3) else "".join(own)
    return pool + (string.digits if set(digits) - {"0", "1"} else "".join(digits))


def _vocabulary(values: Sequence[str], words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Words that make up the strings: those of the code, or tokens that come again and again."""
    known = [word for word in dict.fromkeys(words) if word]
    if not values:
        return (), ""
    if len(known) > 1 and all(len(value) > 1 and value in known for value in values):
        return tuple(known), ""
    for separator in (" ", ", ", ","):
        tokens = [token for value in values for token in value.split(separator)]
        if len(tokens) < 3 or len(tokens) == len(values):
            continue
        if all(token in known for token in tokens) and any(len(token) > 1 for token in tokens):
            clean = [word for word in known if separator not in word]
            return tuple(clean), separator
        counts = Counter(tokens)
        symbols = sum(not token.isalnum() for token in counts) * 2 >= len(counts)
        if symbols and len(counts) * 2 <= len(tokens) and any(len(t) > 1 for t in counts):
            return tuple(counts), separator
    return (), ""


def _balanced(value: str) -> bool:
    stack: list[str] = []
    for char in value:
        if char in _BRACKETS.values():
            stack.append(char)
        elif char in _BRACKETS and (not stack or stack.pop() != _BRACKETS[char]):
            return False
    return not stack


def _random_balanced(alphabet: str, size: int, rng: Random) -> str:
    """Groups of nested pairs; with blanks between groups where the alphabet has them."""
    pairs = [opening + char for char, opening in _BRACKETS.items() if char in alphabet]
    groups: list[str] = []
    left = max(1, size // 2)
    while left > 0:
        group, left = "", left - 1
        for _ in range(rng.randint(0, left)):
            pair = rng.choice(pairs)
            group = rng.choice((pair[0] + group + pair[1], group + pair, pair + group))
            left -= 1
        pair = rng.choice(pairs)
        groups.append(pair[0] + group + pair[1])
    return (" " if " " in alphabet else "").join(groups)


def _refill(value: str, marks: Sequence[int], rng: Random) -> str:
    """The same layout with other numbers, mostly of the same width."""
    runs = list(re.finditer(r"\d+", value))
    chosen = rng.choice(runs) if runs and rng.random() < 0.7 else None

    def fresh(match: re.Match[str]) -> str:
        if chosen is not None and match.start() != chosen.start():
            return match[0]
        width = len(match[0])
        if marks and rng.random() < 0.5:
            return str(rng.choice(marks) or 1).zfill(width)
        if match[0][0] != "0" and rng.random() < 0.5:
            return str(max(1, int(match[0]) + rng.choice((-1, 1, 2))))
        low = 10 ** (width - 1) if match[0][0] != "0" else 1
        return str(rng.randint(low, 10**width - 1)).zfill(width)

    return re.sub(r"\d+", fresh, value)


def _token_moves(
    value: str, separator: str, vocabulary: Sequence[str], rng: Random
) -> Iterator[str]:
    tokens = value.split(separator)
    for index in dict.fromkeys((0, len(tokens) - 1, rng.randrange(len(tokens)))):
        if len(tokens) > 1:
            yield separator.join(tokens[:index] + tokens[index + 1 :])
        yield separator.join([*tokens[: index + 1], *tokens[index:]])
        if vocabulary:
            for _ in range(2):
                other = rng.choice(vocabulary)
                yield separator.join([*tokens[:index], other, *tokens[index + 1 :]])
    yield separator.join(tokens[::-1])
    yield separator.join(sorted(tokens))
    yield separator.join(sorted(tokens, key=len))
    yield tokens[0]

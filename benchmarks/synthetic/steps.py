"""The steps that the family's tasks are made of: words, a line of code, a function, its slips."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

__all__ = ["KINDS", "LETTERS", "NAME", "Kind", "Step", "draw"]

Kind = Literal["word", "string", "list", "number"]
"""Of values: a word is a string of three letters that no step makes shorter."""
KINDS: tuple[Kind, ...] = ("word", "string", "list", "number")
LETTERS = "ABCDEFGHIJKL"
NAME: Mapping[Kind, str] = MappingProxyType(
    {"word": "w", "string": "s", "list": "xs", "number": "n"}
)
"""Of the variable that holds the value."""
_COMPARE: Mapping[str, tuple[str, Callable[[int, int], bool]]] = MappingProxyType(
    {
        ">": ("above", lambda x, k: x > k),
        ">=": ("from {} up", lambda x, k: x >= k),
        "<": ("below", lambda x, k: x < k),
        "<=": ("up to", lambda x, k: x <= k),
    }
)
_LOOSER = {">": ">=", ">=": ">", "<": "<=", "<=": "<"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task: an operation with its parameters."""

    operation: str
    parameters: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        """What it does, for the description: "keep the numbers above 4"."""
        return _OPERATIONS[self.operation].words(*self.parameters)

    @property
    def code(self) -> str:
        """Its line (or lines) of code, without indentation."""
        return _OPERATIONS[self.operation].code(*self.parameters)

    def run(self, value: Any) -> Any:
        """What it makes of a value."""
        return _OPERATIONS[self.operation].run(value, *self.parameters)

    def neighbours(self) -> list[Step]:
        """What a slip of the pen would make of it."""
        operation = _OPERATIONS[self.operation]
        found = [Step(self.operation, other) for other in operation.near(*self.parameters)]
        return found + [Step(name) for name in operation.mistaken_for]


def draw(kind: Kind, rng: random.Random) -> Step:
    """Any step for values of a kind, all operations alike."""
    name = rng.choice(_operations(kind))
    return Step(name, _OPERATIONS[name].draw(rng))


@dataclass(frozen=True, slots=True)
class _Operation:
    kind: Kind
    draw: Callable[[random.Random], tuple[Any, ...]]
    words: Callable[..., str]
    code: Callable[..., str]
    run: Callable[..., Any]
    near: Callable[..., list[tuple[Any, ...]]]
    """Other parameters that a slip would give."""
    mistaken_for: tuple[str, ...] = ()
    """Operations without parameters."""


def _range(op: str, k: int) -> str:
    words = _COMPARE[op][0]
    return words.format(k) if "{}" in words else f"{words} {k}"


def _slips(op: str, k: int, *rest: int) -> list[tuple[Any, ...]]:
    return [(_LOOSER[op], k, *rest), (op, k + 1, *rest), (op, k - 1, *rest)]


def _other_letter(*letters: str) -> list[tuple[Any, ...]]:
    """One of the letters is the next in the alphabet, or the one before."""
    found = []
    for place, letter in enumerate(letters):
        for by in (1, -1):
            other = LETTERS[(LETTERS.index(letter) + by) % len(LETTERS)]
            if other not in letters:
                found.append((*letters[:place], other, *letters[place + 1 :]))
    return found


def _nearby(k: int, *rest: int) -> list[tuple[Any, ...]]:
    return [(k + 1, *rest), (k - 1, *rest)]


def _no_slip() -> list[tuple[Any, ...]]:
    return []


def _a_range(rng: random.Random) -> tuple[str, int]:
    return rng.choice(list(_COMPARE)), rng.randint(2, 7)


def _two(rng: random.Random, of: Any) -> tuple[Any, ...]:
    return tuple(rng.sample(of, 2))


def _if(op: str, x: int, k: int) -> bool:
    return _COMPARE[op][1](x, k)


def _keeping(kind: Kind, things: str) -> _Operation:
    """The first few elements."""
    name = NAME[kind]
    return _Operation(
        kind,
        lambda rng: (rng.randint(2, 3),),
        lambda m: f"keep the first {m} {things}",
        lambda m: f"{name} = {name}[:{m}]",
        lambda value, m: value[:m],
        _nearby,
    )


def _dropping(kind: Kind, things: str) -> _Operation:
    """All but the first few elements."""
    name = NAME[kind]
    return _Operation(
        kind,
        lambda rng: (rng.randint(1, 2),),
        lambda m: f"drop the first {m} {things}",
        lambda m: f"{name} = {name}[{m}:]",
        lambda value, m: value[m:],
        _nearby,
    )


def _limiting(
    kind: Kind, code: str, words: str, limits: tuple[int, int], run: Callable[..., Any]
) -> _Operation:
    """A bound on numbers; `{}` in code and words is the bound, which is drawn from `limits`."""
    return _Operation(
        kind,
        lambda rng: (rng.randint(*limits),),
        lambda k: words.replace("{}", str(k)),
        lambda k: code.replace("{}", str(k)),
        run,
        _nearby,
    )


def _replacing(kind: Kind) -> _Operation:
    """One letter by another."""
    name = NAME[kind]
    return _Operation(
        kind,
        lambda rng: _two(rng, LETTERS),
        lambda a, b: f"replace each '{a}' with '{b}'",
        lambda a, b: f"{name} = {name}.replace('{a}', '{b}')",
        lambda value, a, b: value.replace(a, b),
        _other_letter,
    )


_OPERATIONS: Mapping[str, _Operation] = MappingProxyType(
    {
        "spell": _replacing("word"),
        "keep": _Operation(
            "list",
            _a_range,
            lambda op, k: f"keep the numbers {_range(op, k)}",
            lambda op, k: f"xs = [x for x in xs if x {op} {k}]",
            lambda xs, op, k: [x for x in xs if _if(op, x, k)],
            _slips,
        ),
        "raise": _Operation(
            "list",
            lambda rng: (*_a_range(rng), rng.randint(1, 3)),
            lambda op, k, c: f"add {c} to the numbers {_range(op, k)}",
            lambda op, k, c: f"xs = [x + {c} if x {op} {k} else x for x in xs]",
            lambda xs, op, k, c: [x + c if _if(op, x, k) else x for x in xs],
            _slips,
        ),
        "swap": _Operation(
            "list",
            lambda rng: _two(rng, range(10)),
            lambda a, b: f"replace each {a} with {b}",
            lambda a, b: f"xs = [{b} if x == {a} else x for x in xs]",
            lambda xs, a, b: [b if x == a else x for x in xs],
            _nearby,
        ),
        "cap": _limiting(
            "list",
            "xs = [min(x, {}) for x in xs]",
            "lower the numbers above {} to {}",
            (3, 8),
            lambda xs, k: [min(x, k) for x in xs],
        ),
        "first": _keeping("list", "numbers"),
        "rest": _dropping("list", "numbers"),
        "backwards": _Operation(
            "list",
            lambda rng: (),
            lambda: "reverse the list",
            lambda: "xs = xs[::-1]",
            lambda xs: xs[::-1],
            _no_slip,
            ("sorted",),
        ),
        "sorted": _Operation(
            "list",
            lambda rng: (),
            lambda: "sort the list",
            lambda: "xs = sorted(xs)",
            lambda xs: sorted(xs),
            _no_slip,
            ("backwards",),
        ),
        "letter": _replacing("string"),
        "remove": _Operation(
            "string",
            lambda rng: (rng.choice(LETTERS),),
            lambda a: f"remove each '{a}'",
            lambda a: f"s = s.replace('{a}', '')",
            lambda s, a: s.replace(a, ""),
            _other_letter,
        ),
        "start": _keeping("string", "letters"),
        "end": _dropping("string", "letters"),
        "add": _Operation(
            "number",
            lambda rng: (rng.choice(list(_COMPARE)), rng.randint(3, 16), rng.randint(1, 5)),
            lambda op, k, c: f"add {c} to a number {_range(op, k)}",
            lambda op, k, c: f"if n {op} {k}:\n    n = n + {c}",
            lambda n, op, k, c: n + c if _if(op, n, k) else n,
            _slips,
        ),
        "at most": _limiting(
            "number", "n = min(n, {})", "lower a number above {} to {}", (5, 18), min
        ),
        "at least": _limiting(
            "number", "n = max(n, {})", "lift a number below {} to {}", (2, 12), max
        ),
    }
)


@cache
def _operations(kind: Kind) -> tuple[str, ...]:
    return tuple(name for name, one in _OPERATIONS.items() if one.kind == kind)

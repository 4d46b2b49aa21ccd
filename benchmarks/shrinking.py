"""How near the brute-force minimum shrunk scenarios are, and what that costs.

    python benchmarks/shrinking.py [--starts 5] [--seed 1] [--verbose]

Each case is a property of a call and a drawing of large scenarios that have it. The minimum is
found by enumerating small values (and short sequences of methods) of the case's domain: of those
that have the property the smallest by `trees.size`. Prints for each case source characters of the shrunk
scenario by those of the minimum (mean and worst over the starts), how often they are as small by
`trees.size`, and how many candidates were run in how many batches. Everything here is our own code
and runs in process. Cases of the half
`report` were run when `shrinking` stood.
"""

# ruff: noqa: E501 (the cases are a table)

from __future__ import annotations

import argparse
import datetime
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise, product
from random import Random
from statistics import mean, median
from typing import Any

from refute.core.problems import Scenario
from refute.function.scenarios.shrinking import shrink
from refute.function.scenarios.trees import size

TRIES = 20_000


# -- what is called --------------------------------------------------------------------------------


class Cart:
    """Items with prices; more than two of one get a discount, which is lost when one is removed."""

    def __init__(self, tax: float = 0, note: str = "") -> None:
        self.tax, self.note = tax, note
        self.items: dict[str, list[int]] = {}

    def add(self, name: str, price: int = 1) -> None:
        self.items.setdefault(name, []).append(price)

    def remove(self, name: str) -> None:
        self.items.pop(name)

    def total(self) -> float:
        plain = sum(sum(one) for one in self.items.values())
        return plain * (1 + self.tax)


class Stack:
    """A stack that forgets its first item when it grows beyond a limit."""

    def __init__(self, limit: int = 3) -> None:
        self.limit, self.rows = limit, list[Any]()

    def push(self, one: Any) -> None:
        self.rows.append(one)

    def pop(self) -> Any:
        return self.rows.pop()

    def show(self) -> list[Any]:
        return self.rows[-self.limit :]


class Cache:
    """The least recently used item goes when there are too many."""

    def __init__(self, most: int = 2) -> None:
        self.most, self.kept = most, OrderedDict[Any, Any]()

    def put(self, key: Any, value: Any) -> None:
        self.kept[key] = value
        while len(self.kept) > self.most:
            self.kept.popitem(last=False)

    def get(self, key: Any) -> Any:
        if key in self.kept:
            self.kept.move_to_end(key)
        return self.kept.get(key)


class Account:
    """Money; it may not be overdrawn."""

    def __init__(self, balance: int = 0, owner: str = "") -> None:
        self.balance, self.owner = balance, owner

    def deposit(self, amount: int) -> None:
        self.balance += amount

    def withdraw(self, amount: int) -> None:
        if amount > self.balance:
            raise ValueError("overdrawn")
        self.balance -= amount


def same(*args: Any, **named: Any) -> Any:
    """What it was given."""
    return (args[0] if len(args) == 1 else args) if not named else (args, named)


NAMES: dict[str, Any] = {
    "f": same, "Cart": Cart, "Stack": Stack, "Cache": Cache, "Account": Account,
    "datetime": datetime,
}  # fmt: skip


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A property, large scenarios to start from, and small ones among which the minimum is."""

    name: str
    half: str
    holds: Callable[[Any], bool]
    large: Callable[[Random], tuple[str, ...]]
    """Statements, the observed expression last."""
    small: Callable[[], Iterable[tuple[str, ...]]]
    raises: type[BaseException] | None = None

    def check(self, statements: Sequence[str]) -> bool:
        """Whether these have the property."""
        space = dict(NAMES)
        try:
            for one in statements[:-1]:
                exec(one, space)
            value = eval(statements[-1], space)
            return self.raises is None and bool(self.holds(value))
        except Exception as error:
            return self.raises is not None and type(error) is self.raises


def ints(rng: Random, count: int, top: int = 200) -> list[int]:
    return [rng.randint(-top, top) for _ in range(count)]


def text(rng: Random, count: int) -> str:
    return "".join(rng.choice("abcXYZ 0129-_.,é@") for _ in range(count))


def call(*values: Any, **named: Any) -> tuple[str, ...]:
    parts = [*map(repr, values), *(f"{key}={value!r}" for key, value in named.items())]
    return (f"f({', '.join(parts)})",)


def lists(items: Sequence[Any], longest: int = 3) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        for row in product(items, repeat=length):
            yield call(list(row))


def numbers(top: int = 3000) -> Iterator[tuple[str, ...]]:
    for one in range(top):
        yield call(one)
        yield call(-one)


def texts(letters: str = "a0A@ -", longest: int = 4) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        for row in product(letters, repeat=length):
            yield call("".join(row))


def sequences(
    starts: Sequence[str], calls: Sequence[str], ends: Sequence[str], longest: int = 4
) -> Callable[[], Iterator[tuple[str, ...]]]:
    """A receiver, calls of its methods, and a last call."""

    def rows() -> Iterator[tuple[str, ...]]:
        for start in starts:
            yield from ((end.replace("o.", f"{start[4:]}."),) for end in ends)
        for length in range(longest + 1):
            for start, row, end in product(starts, product(calls, repeat=length), ends):
                yield (start, *row, end)

    return rows


def drawn(
    start: str, calls: Sequence[str], end: str, count: int = 10
) -> Callable[[Random], tuple[str, ...]]:
    """A long sequence; numbers and letters are drawn for {n} and {c}."""

    def large(rng: Random) -> tuple[str, ...]:
        row = [rng.choice(calls) for _ in range(count)]
        fill = [one.format(n=rng.randint(1, 99), c=rng.choice("abcdef"), t=text(rng, 4))
                for one in (start, *row, end)]  # fmt: skip
        return tuple(fill)

    return large


def _balance(values: Any) -> bool:
    return any(a > b for a, b in pairwise(values))


SMALL = (0, 1, 2, 3, -1)
ROUND = (*SMALL, 10, 11, 99, 100, 101, -100)


def cases() -> list[Case]:
    """All of them, by half."""
    # fmt: off
    made: list[Case] = []

    def case(name: str, half: str, holds: Any, large: Any, small: Any, raises: Any = None) -> None:
        made.append(Case(name, half, holds, large, small, raises))

    def listed(rng: Random) -> tuple[str, ...]:
        return call(ints(rng, rng.randint(6, 25)))

    # those looked at while it was written
    case("sum above 100", "dev", lambda v: sum(v) > 100, listed, lambda: lists(ROUND))
    case("an int from 1000", "dev", lambda v: v >= 1000, lambda r: call(r.randint(1000, 10**7)), numbers)
    case("a negative int", "dev", lambda v: v <= -57, lambda r: call(-r.randint(57, 10**6)), numbers)
    case("a duplicate", "dev", lambda v: len(set(v)) < len(v), lambda r: call(ints(r, 30, 30)), lambda: lists(SMALL))
    case("not sorted", "dev", _balance, listed, lambda: lists(SMALL))
    case("capital and digit", "dev", lambda v: any(map(str.isupper, v)) and any(map(str.isdigit, v)),
         lambda r: call(text(r, 30)), texts)
    case("difference of three", "dev", lambda v: v[1] - v[0] == 3, lambda r: (lambda n: call(n, n + 3))(r.randint(-900, 900)),
         lambda: (call(a, b) for a in range(-5, 6) for b in range(-5, 6)))
    case("nested value", "dev", lambda v: v["b"]["c"], lambda r: call({"a": ints(r, 5), "b": {"c": text(r, 6), "d": None}}),
         lambda: (call({"b": {"c": one}}) for one in ("", "a")))
    case("a float above 2.3", "dev", lambda v: v > 2.3, lambda r: call(r.uniform(2.31, 900)),
         lambda: chain(numbers(20), (call(one / 10) for one in range(40))))
    case("items after add", "dev", lambda v: v > 50, drawn("o = Cart(tax={n}, note='{t}')", ["o.add('{c}', {n})", "o.add('{c}')"], "o.total()"),
         sequences(["o = Cart()", "o = Cart(51)"], ["o.add('', 51)", "o.add('')"], ["o.total()"], 2))
    case("missing item", "dev", bool, drawn("o = Cart({n})", ["o.add('{c}', {n})"], "o.remove('{c}{c}z')"),
         sequences(["o = Cart()"], ["o.add('')"], ["o.remove('')", "o.remove(0)"], 1), KeyError)
    case("the 29th", "dev", lambda v: v.day == 29, lambda r: (f"f(datetime.datetime({r.randint(1990, 2030)}, {r.randint(3, 12)}, 29, {r.randint(0, 23)}, 59))",),
         lambda: (("f(datetime.datetime(1, 1, 29))",),))
    # the others
    case("three of a kind", "report", lambda v: any(v.count(one) > 2 for one in v), lambda r: call(ints(r, 30, 5)), lambda: lists(SMALL))
    case("long list", "report", lambda v: len(v) >= 4, listed, lambda: lists((0, 1), 5))
    case("product above 1000", "report", lambda v: v[0] * v[1] > 1000, lambda r: call(r.randint(40, 900), r.randint(40, 900)),
         lambda: (call(a, b) for a in range(140) for b in range(140)))
    case("sum is ten", "dev", lambda v: sum(v) == 10, lambda r: (lambda row: call([*row, 10 - sum(row)]))(ints(r, 8)), lambda: lists((*SMALL, 9, 10)))
    case("an even int above 50", "report", lambda v: v > 50 and v % 2 == 0, lambda r: call(2 * r.randint(26, 10**5)), numbers)
    case("divisible by 7", "report", lambda v: v and v % 7 == 0, lambda r: call(7 * r.randint(1, 10**5)), numbers)
    case("two at signs", "report", lambda v: v.count("@") > 1, lambda r: call(text(r, 20) + "@" + text(r, 10) + "@"), texts)
    case("space at the end", "report", lambda v: v != v.rstrip(), lambda r: call(text(r, 20) + " "), texts)
    case("a palindrome", "report", lambda v: len(v) > 2 and v == v[::-1], lambda r: (lambda t: call(t + t[::-1]))(text(r, 8)), texts)
    case("not ASCII", "report", lambda v: not v.isascii(), lambda r: call(text(r, 20) + "é"), lambda: texts("aé0"))
    case("a list in a list", "report", lambda v: any(isinstance(one, list) and one for one in v),
         lambda r: call([ints(r, 3), [], text(r, 4), ints(r, 2)]), lambda: (call([[one]]) for one in (0, 1)))
    case("two equal values", "report", lambda v: len(set(v.values())) < len(v),
         lambda r: call({text(r, 3) + str(i): r.randint(0, 5) for i in range(9)}),
         lambda: (call({a: 0, b: 0}) for a in ("", "a") for b in ("", "a", "0")))
    case("big key", "report", lambda v: any(isinstance(k, int) and k > 9 for k in v),
         lambda r: call({one: text(r, 3) for one in [*ints(r, 6), 77]}), lambda: (call({one: 0}) for one in range(20)))
    case("option and list", "report", lambda v: v[1]["deep"] and len(v[0][0]) > 1,
         lambda r: call(ints(r, 9), deep=True, width=r.randint(1, 99), name=text(r, 5)),
         lambda: (call(a, deep=d) for a in ([0, 0], [0], []) for d in (True, 1, False)))
    case("third push", "report", lambda v: len(v) > 2, drawn("o = Stack(limit=9)", ["o.push({n})", "o.push('{t}')"], "o.show()", 8),
         sequences(["o = Stack()", "o = Stack(0)"], ["o.push(0)"], ["o.show()"]))
    case("pop of nothing", "report", bool, lambda r: ("o = Stack(5)", f"o.push({r.randint(1, 9)})", "o.pop()", "o.push('ab')", "o.pop()", "o.pop()"),
         sequences(["o = Stack()"], ["o.push(0)", "o.pop()"], ["o.pop()"], 2), IndexError)
    case("evicted", "report", lambda v: v is None, lambda r: ("o = Cache(most=3)", *(f"o.put({one}, {r.randint(1, 99)})" for one in (5, 6, 7, 5, 8, 9)), "o.get(6)"),
         sequences(["o = Cache()"], ["o.put(0, 0)"], ["o.get(0)"], 2))
    case("kept after use", "report", lambda v: v == 7, lambda r: ("o = Cache(2)", "o.put('a', 7)", "o.put('b', 3)", "o.get('a')", "o.put('c', 5)", "o.get('a')"),
         sequences(["o = Cache()"], ["o.put(0, 7)", "o.get(0)"], ["o.get(0)"], 2))
    case("overdrawn", "report", bool, drawn("o = Account({n}, owner='{t}')", ["o.deposit({n})"], "o.withdraw(5000)"),
         sequences(["o = Account()"], ["o.deposit(1)"], ["o.withdraw(1)"], 1), ValueError)
    case("later than noon", "report", lambda v: v.hour >= 12, lambda r: (f"f(datetime.datetime({r.randint(1990, 2030)}, 7, 9, {r.randint(12, 23)}, {r.randint(0, 59)}))",),
         lambda: ((f"f(datetime.datetime(1, 1, 1, {one}))",) for one in range(24)))
    case("a long timedelta", "report", lambda v: v.days > 365, lambda r: (f"f(datetime.timedelta(days={r.randint(400, 9000)}, seconds=5, minutes=3))",),
         lambda: ((f"f(datetime.timedelta({one}))",) for one in range(500)))
    case("a range of values", "report", lambda v: max(v) - min(v) > 20, listed, lambda: lists((*SMALL, 9, 20, 21)))
    # written after a first look at those above
    case("mean above nine", "report", lambda v: sum(v) / len(v) > 9, lambda r: call([r.randint(5, 90) for _ in range(12)]),
         lambda: lists((*SMALL, 9, 10)))
    case("two long words", "report", lambda v: sum(len(one) > 3 for one in v.split()) > 1, lambda r: call(" ".join(text(r, 6) + "abcd" for _ in range(5))),
         lambda: (("f('aaaa aaaa')",),))
    case("pairs that meet", "report", lambda v: any(a[1] > b[0] for a, b in pairwise(v)), lambda r: call([(one, one + r.randint(0, 9)) for one in ints(r, 9)]),
         lambda: (call([(a, b), (c, d)]) for a, b, c, d in product((0, 1, -1), repeat=4)))
    case("a float with a part", "report", lambda v: v != int(v), lambda r: call(r.uniform(1, 500)), lambda: (call(one / 10) for one in range(100)))
    case("total of three deposits", "report", lambda v: v is None, drawn("o = Account({n}, owner='{t}')", ["o.deposit({n})", "o.withdraw(1)"], "o.withdraw(20)"),
         sequences(["o = Account()", "o = Account(20)"], ["o.deposit(20)"], ["o.withdraw(20)", "o.withdraw(0)"], 1))
    case("bytes with a zero", "report", lambda v: 0 in v, lambda r: call(bytes([r.randint(1, 255) for _ in range(9)]) + b"\0" + b"xyz"),
         lambda: (call(bytes(row)) for row in product((0, 97), repeat=2)) )
    case("both options", "report", lambda v: v[1]["a"] + v[1]["b"] > 12, lambda r: call(text(r, 5), a=r.randint(13, 99), b=r.randint(13, 99), c=[1, 2]),
         lambda: (call(*g, a=a, b=b) for g in ((), (0,)) for a in range(14) for b in range(14)))
    # fmt: on
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--half", choices=["dev", "report"])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    print(vars(options))
    worst: dict[str, list[float]] = {"dev": [], "report": []}
    runs: dict[str, list[int]] = {"dev": [], "report": []}
    equal: dict[str, list[bool]] = {"dev": [], "report": []}
    for case in cases():
        if options.half in (None, case.half):
            row = measure(case, options)
            for rows, new in zip((worst, runs, equal), zip(*row, strict=True), strict=True):
                rows[case.half] += new  # type: ignore[arg-type]
    for half, ratios in worst.items():
        if ratios:
            near = sum(one <= 1.2 for one in ratios)
            print(
                f"{half}: {len(ratios)} scenarios; at most 1.2 times the minimum's length:"
                f" {near} ({near / len(ratios):.1%});"
                f" mean {mean(ratios):.2f}, worst {max(ratios):.2f};"
                f" as small by size: {mean(equal[half]):.1%}; candidates run: median"
                f" {median(runs[half]):.0f}, most {max(runs[half])}"
            )


def measure(case: Case, options: argparse.Namespace) -> list[tuple[float, int, bool]]:
    """(ratio, candidates, whether as small) of each start."""
    rng, rows = Random(f"{options.seed} {case.name}"), []
    small = (one for one in islice(case.small(), TRIES) if case.check(one))
    least = min((_scenario(one) for one in small), key=size)
    batches = []
    for _ in range(options.starts):
        large = next(one for one in iter(lambda: case.large(rng), ()) if case.check(one))
        asked = [0, 0]

        def keeps(batch: Sequence[Scenario], asked: list[int] = asked) -> list[bool]:
            asked[0] += len(batch)
            asked[1] += 1
            return [case.check((*one.setup, one.expression)) for one in batch]

        found = shrink(_scenario(large), keeps, most=options.most)
        ratio = len(found.source) / len(least.source)
        rows.append((ratio, asked[0], size(found) <= size(least)))
        batches.append(asked[1])
        if options.verbose and ratio > 1:
            print(f"    {found.source!r} of {_scenario(large).source!r}")
    ratios, asked_of, _ = zip(*rows, strict=True)
    print(
        f"{case.half:6} {case.name:22} mean {mean(ratios):.2f} worst {max(ratios):.2f}"
        f" as small {sum(one[2] for one in rows)}/{len(rows)} candidates {median(asked_of):.0f}"
        f" batches {median(batches):.0f}  {least.source!r}"
    )
    return rows


def _scenario(statements: Sequence[str]) -> Scenario:
    return Scenario(statements[-1], tuple(statements[:-1]))


if __name__ == "__main__":
    main()

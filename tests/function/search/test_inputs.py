"""Proposed inputs: deterministic, new, inside the evident precondition first."""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

import pytest

from refute.core.problems import Call, Expression, FunctionProblem, Invocation
from refute.function.search import inputs
from refute.function.search.domain import ROOM, Sequences, learn
from refute.function.search.inputs import ProposedInput, Tier, propose_inputs
from refute.function.search.precondition import evident_precondition
from refute.sandbox.values import NDArray, Opaque, encode
from refute.source.syntax import lifted_limits


def problem(code: str, description: str = "") -> FunctionProblem:
    name = code.split("def ")[-1].split("(")[0]
    return FunctionProblem("p", description, "", name, code)


def proposals(
    code: str, *known: tuple[Any, ...], words: str = "", count: int = 150, seed: int = 0
) -> list[ProposedInput]:
    calls: list[Invocation] = [Call(args) for args in known]
    return list(islice(propose_inputs(problem(code, words), calls, seed=seed), count))


def inside(found: list[ProposedInput]) -> list[tuple[Any, ...]]:
    return [one.call.args for one in found if one.tier is Tier.IN_DOMAIN]


LISTS = "def f(xs, k):\n    return sorted(xs)[:k]"


def test_the_same_for_a_seed_and_another_for_another() -> None:
    first = proposals(LISTS, ([3, 1, 2], 2))
    assert first == proposals(LISTS, ([3, 1, 2], 2))
    assert first != proposals(LISTS, ([3, 1, 2], 2), seed=1)


def test_nothing_twice_and_nothing_known() -> None:
    found = [repr(one.call) for one in proposals(LISTS, ([3, 1, 2], 2), count=400)]
    assert len(found) == 400
    assert len(set(found)) == 400
    assert repr(Call(([3, 1, 2], 2))) not in found


def test_mostly_in_domain_at_first() -> None:
    head = proposals(LISTS, ([3, 1, 2], 2), ([5, -4, 4], 1), count=100)
    assert sum(one.tier is Tier.IN_DOMAIN for one in head) >= 70
    assert all(one.tier is not Tier.WILD for one in head)


def test_relations_between_arguments_hold_in_domain() -> None:
    for xs, k in inside(proposals(LISTS, ([3, 1, 2], 2), ([5, -4, 4, 9], 1))):
        assert 0 <= k <= len(xs)
    pairs = inside(proposals("def f(a, b): ...", ("010", "110"), ("0011", "1010")))
    assert all(len(a) == len(b) for a, b in pairs)
    assert {char for a, b in pairs for char in a + b} <= {"0", "1"}
    low_high = inside(proposals("def f(a, b): ...", (2, 5), (10, 20), (1, 8)))
    assert all(1 <= a <= b for a, b in low_high)


def test_types_and_shapes_are_kept_in_domain() -> None:
    known = ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 2)
    for grid, _ in inside(proposals("def f(grid, k): ...", known)):
        assert len({len(row) for row in grid}) <= 1
    records = ([{"name": "ab", "age": 3}, {"name": "cd", "age": 5}],)
    for (rows,) in inside(proposals("def f(rows): ...", records)):
        assert all(
            set(row) == {"name", "age"}
            and isinstance(row["name"], str)
            and isinstance(row["age"], int)
            for row in rows
        )


def test_structured_strings_keep_their_layout() -> None:
    for (date,) in inside(proposals("def f(d): ...", ("03-11-2000",), ("15-01-2012",))):
        parts = date.split("-")
        assert len(parts) == 3
        assert all(part.isdigit() for part in parts)
    for (text,) in inside(proposals("def f(s): ...", ("(()) ()",), count=40)):
        depth = 0
        for char in text:
            depth += {"(": 1, ")": -1}.get(char, 0)
            assert depth >= 0
        assert depth == 0


def test_words_of_the_code_are_a_vocabulary() -> None:
    code = "def f(s):\n    return [{'zero': 0, 'one': 1, 'two': 2}[w] for w in s.split()]"
    found = inside(proposals(code, ("two one one",)))
    assert any("zero" in s for (s,) in found)
    assert all(set(s.split()) <= {"zero", "one", "two"} for (s,) in found)


def test_constants_that_are_compared_with_are_tried_with_their_neighbours() -> None:
    code = "def f(n):\n    return n > 17"
    numbers = {args[0] for args in inside(proposals(code, (5,), (30,), count=60))}
    assert {16, 17, 18} <= numbers


def test_the_description_bounds_the_domain() -> None:
    code = "def f(xs):\n    return max(xs)"
    assert [] in [one.call.args[0] for one in proposals(code, ([1],))]
    two = inside(proposals(code, ([1, 2, 3],), words="a list of at least two numbers"))
    assert min(len(xs) for (xs,) in two) == 2
    positive = inside(proposals("def f(n): ...", words="Given a positive integer n"))
    assert positive
    assert min(n for (n,) in positive) == 1


def test_without_examples_annotations_use_and_names_stand_in() -> None:
    code = (
        "def f(words: list[str], d: dict[str, int], p: tuple[int, float], flag=False):\n"
        "    return words"
    )
    for words, d, p, *_ in inside(proposals(code)):
        assert all(type(word) is str for word in words)
        assert all(type(k) is str and type(v) is int for k, v in d.items())
        assert [type(x) for x in p] == [int, float]
    used = inside(proposals("def f(a, b, c):\n    return a.split(), b % 2, [x for x, y in c]"))
    for a, b, c in used:
        assert type(a) is str
        assert type(b) is int
        assert all(len(pair) == 2 for pair in c)


def test_inputs_are_learnt_from_expressions_too() -> None:
    code = "def f(xs): ..."
    known = [Expression("round(f([1.5, 2.0]), 2)")]
    found = list(islice(propose_inputs(problem(code), known, seed=0), 20))
    assert all(isinstance(one.call.args[0], list) for one in found)
    condition = evident_precondition(problem(code), known)
    assert condition.holds(([3.5],))
    assert not condition.holds(("ab",))
    assert not condition.holds(([1.5], 2))


def test_keyword_only_parameters_are_passed_by_name() -> None:
    (first, *_) = proposals("def f(xs: list[int], *, k: int): ...", count=3)
    assert list(first.call.kwargs) == ["k"]
    assert len(first.call.args) == 1


def test_keyword_only_defaults_and_required_ones_are_given_where_they_belong() -> None:
    code = "def f(name: str, *, validate: bool = False, depth: int): ..."
    found = list(islice(propose_inputs(problem(code), [], seed=0), 200))
    assert found
    assert all(len(one.call.args) == 1 and "depth" in one.call.kwargs for one in found)
    assert {True, False} == {one.call.kwargs.get("validate", False) for one in found}
    known: list[Invocation] = [
        Call(("a",), {"depth": 2}),
        Expression("f('b', validate=True, depth=3)"),
    ]
    for one in islice(propose_inputs(problem(code), known, seed=0), 200):
        assert [type(value) for value in one.call.args] == [str], one
        assert type(one.call.kwargs["depth"]) in (int, float), one


def test_proposals_end_for_a_caller_that_drops_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few short lists of booleans look like the known ones; of wilder ones there is no end."""
    flags = problem("def count(flags: list[bool]) -> int:\n    return sum(flags)\n")
    known = [Call(([True, False, True],)), Call(([False, False],))]
    used = list(propose_inputs(flags, known, seed=0, wild=False))
    assert 20 < len(used) < 200
    assert all(one.tier is not Tier.WILD for one in used)
    monkeypatch.setattr(inputs, "MOST", 300)
    assert len(list(propose_inputs(flags, known, seed=0))) == 300


def test_choices_are_the_only_values() -> None:
    code = "def f(s: str, side: Literal['left', 'right'] = 'left'): ..."
    for known in ([], [Call(("ab", "right"))], [Call(("ab",), {"side": "left"})]):
        found = list(islice(propose_inputs(problem(code), known, seed=0), 120))
        sides = {repr(one.call.kwargs.get("side", one.call.args[1:])) for one in found
                 if one.tier is not Tier.WILD}  # fmt: skip
        assert sides <= {"()", "('left',)", "('right',)", "'left'", "'right'"}
    code = "def f(n, mode='up'):\n    if mode == 'down': return -n\n    return n\n"
    for args in inside(proposals(code, (1, "up"), (2, "down"))):
        assert args[1:] in ((), ("up",), ("down",))


def test_what_the_code_refuses_is_outside() -> None:
    code = (
        "def f(n, xs):\n    if n <= 0 or 9 < n:\n        raise ValueError\n"
        "    if not xs:\n        raise ValueError\n    if len(xs) > 3:\n        raise ValueError\n"
    )
    found = inside(proposals(code, (5, [1, 2]), (3, [1])))
    assert found
    assert all(0 < n <= 9 and 1 <= len(xs) <= 3 for n, xs in found)


def test_a_default_says_the_type() -> None:
    for call in (one.call for one in proposals("def f(s: str, width=3.5, fill='x'): ...")):
        values = {**dict(zip(("s", "width", "fill"), call.args, strict=False)), **call.kwargs}
        assert type(values.get("width", 1.0)) in (float, int)
        assert type(values.get("fill", "")) in (str, type(None))


SIGNATURES = (
    "*, a, b=2",
    "a, /, b=None, *args, c, d=(), **more",
    "x: np.ndarray, y=np.nan, *, z: 'Sequence[Undefined]' = object()",
    "x: Literal['left', 'right'] = 'left'",
    "x: int | None = None, *rest: str",
    "*args, **kwargs",
    "",
    "x: Callable[..., int], y: Annotated[list[int], 'odd'] = field(default_factory=list)",
    "x: (lambda: 1), y: 'not python (' = ...",
    "x: tuple[()], y: dict[int], z: Literal[()]",
)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_no_signature_is_too_odd(signature: str) -> None:
    """Arrays, opaque defaults, keyword-only parameters: inputs or none, but no exception."""
    code = f"def f({signature}): ..."
    names = ast.parse(code).body[0].args  # type: ignore[attr-defined]
    required = {a.arg for a, d in zip(names.kwonlyargs, names.kw_defaults, strict=True) if not d}
    known: list[Sequence[Invocation]] = [
        [],
        [Call((NDArray([1.0], "float64", (1,)),))],
        [Call((), {"unheard_of": 1})],
        [Call((1, 2, 3, 4, 5), dict.fromkeys(required, 1))],
        [Call((Opaque((), "<x>", "X"),))],
    ]
    for calls in known:
        for one in islice(propose_inputs(problem(code), calls, seed=0), 60):
            assert required <= set(one.call.kwargs)
            encode((one.call.args, dict(one.call.kwargs)), strict=True)


def test_a_tiny_domain_ends_and_odd_code_does_no_harm() -> None:
    assert proposals("def f(): ...") == [ProposedInput(Call(()), Tier.IN_DOMAIN)]
    assert len(proposals("def f(flag: bool): ...", count=50)) < 50
    broken = FunctionProblem("p", "", "f(n: int) -> int", "f", "def f(n:\n")
    found = list(islice(propose_inputs(broken, [], seed=0), 5))
    assert all(type(one.call.args[0]) is int for one in found)


@pytest.mark.parametrize("listed", [False, True])
def test_a_huge_integer_is_not_printed_for_each_proposal(listed: bool) -> None:
    """70,000 digits take 50 ms to print; 150 proposals with their near ones took minutes."""
    known: Any = [1 << 240_000, 3] if listed else 1 << 240_000
    before = time.process_time()
    with lifted_limits():
        proposals("def f(x):\n    return x", (known,), (7,))
        found = proposals("def f(x, y=3):\n    return x", (5, known), (7, 8), count=50)
    assert time.process_time() - before < 3.0
    assert not any(1 << 10_000 in one.call.args for one in found)


def test_an_empty_list_where_a_number_was_seen_too() -> None:
    """What else the parameter may be is not always a sequence to draw items from (boltons)."""
    assert proposals("def f(x): return x", ([],), (5,), count=900)


# -- domains: what is drawn stays of a size that can be worked with -------------------------------


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_what_nests_deep_does_not_double_at_each_level() -> None:
    domain = learn([nested(150)])
    rng = Random(0)
    for _ in range(20):
        assert len(repr(domain.sample(rng))) < 4 * ROOM
    assert len(list(domain.near(nested(150), rng))) < 100


def test_what_nests_little_is_drawn_as_it_was_seen() -> None:
    long = learn([list(range(2_000))])
    assert any(len(long.sample(Random(seed))) > 500 for seed in range(9))
    rows = learn([[[1, 2], [3, 4]]])
    assert all(any(rows.sample(Random(seed))) for seed in range(9))


def test_a_mixed_list_is_in_no_order_and_has_no_rows() -> None:
    element = learn([1, [1, 2], 3.5, [3]])
    for shape in ({"ascending": True}, {"rectangular": True}):
        part = Sequences(list, element, 1, 4, **shape)
        assert not part.accepts([1, [2, 3]])

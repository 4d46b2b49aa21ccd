"""What a call returned is used where it says nothing itself."""

from __future__ import annotations

from random import Random

import pytest

from refute.function.scenarios.building import Builder
from refute.function.scenarios.described import ANY, Described, Parameter, Signature
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.pieces import Namer, Piece
from refute.function.scenarios.proposing import Proposer, Target
from refute.function.scenarios.results import function_returned, uses
from refute.sandbox.values import Incomplete
from refute.source.syntax import find_function, parse_module

CODE = """
def adder(by):
    def unused(a, b, c): ...
    def add(x, *, twice=False):
        return x + by
    return add
"""


def builder() -> Builder:
    return Builder(Described(), Namer("m", ()))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("    def inner(x): ...\n    return inner", "inner"),
        ("    def inner(x): ...\n    def other(y): ...\n    return wraps(f)(inner)", "inner"),
        ("    if f:\n        async def inner(x): ...\n        return inner\n    return f", "inner"),
        ("    return lambda x: x", "returned"),
        ("    def inner(x): ...\n    return inner_(3)", None),
    ],
)
def test_the_function_that_is_returned(body: str, name: str | None) -> None:
    node = find_function(parse_module(f"def f(f):\n{body}\n"), "f")
    found = function_returned(node)
    assert (None if found is None else found.name) == name
    assert found is None or [one.arg for one in found.args.args] == ["x"]


def test_calls_with_what_the_function_takes() -> None:
    node = function_returned(find_function(parse_module(CODE), "adder"))
    base = Piece("adder(1)", (("D", "decimal:Decimal"),), ("a = 1",))
    found = list(uses(base, "function", node, builder(), Random(1)))
    assert found
    assert all(one.source.startswith("adder(1)(") for one in found)
    assert any("twice=" in one.source for one in found)
    assert all(one.imports == base.imports and one.setup[:1] == base.setup for one in found)


def test_a_context_is_entered() -> None:
    [found] = uses(Piece("f()"), "_GeneratorContextManager", None, builder(), Random(1))
    assert found.source == "f().__enter__()"


def test_the_proposer_learns_that_a_result_must_be_called() -> None:
    signature = Signature("function", (Parameter("by", 1, False, None, ANY),))
    target = Target("m", "adder", signature, CODE)
    proposer = Proposer(target, Described(names={"adder": signature}), lambda path: None)
    first = proposer.batch(4)
    assert not any(")(" in one.scenario.source for one in first)
    proposer.learn(first[0], Observation("returned", Incomplete("", "function")))
    later = [one.scenario.source for one in proposer.batch(12)]
    assert any(one.startswith(f"{first[0].scenario.source}(") for one in later)

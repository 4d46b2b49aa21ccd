"""Values of answers: literals are read, all else is evaluated in the real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, FunctionProblem
from refute.function.llm.answers import read_output
from refute.function.llm.generation import read_proposal, resolve_output, shape_of
from refute.function.llm.results import Output, Unreadable
from refute.models.contract import Completion
from refute.sandbox.pool import SandboxPool


@pytest.fixture(scope="module")
def box() -> Iterator[SandboxPool]:
    with SandboxPool(2) as pool:
        yield pool


def output(text: str, box: SandboxPool) -> Output | Unreadable:
    return asyncio.run(resolve_output(read_output(text, "f"), box))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("`[1, 2.5, None]`", [1, 2.5, None]),
        ("`true`", True),
        ("`'a' * 3`", "aaa"),
        ("`sorted([3, 1])`", [1, 3]),
        ("`[x * x for x in range(4)]`", [0, 1, 4, 9]),
        ("`math.factorial(5)`", 120),
        ("`Counter('aab')['a']`", 2),
        ("`float('inf')`", float("inf")),
        ("`2 ** 100`", 2**100),
    ],
)
def test_values(text: str, value: Any, box: SandboxPool) -> None:
    assert output(text, box) == Output(value)


@pytest.mark.parametrize(
    "text",
    [
        "`f(3)`",  # the program must not judge itself
        "`undefined`",
        "`1 / 0`",
        "`lambda x: x`",
        "`(x for x in [1])`",
        "`object()`",
        "`[0] * 10 ** 10`",
        "`9 ** 9 ** 9`",
        "`__import__('os')._exit(0)`",
        "`(lambda g: g(g))(lambda g: g(g))`",
    ],
)
def test_no_value(text: str, box: SandboxPool) -> None:
    assert output(text, box) is Unreadable.NO_VALUE


def test_an_expression_reaches_neither_files_nor_the_next_answer(
    box: SandboxPool, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    assert output(f"`open({str(target)!r}, 'w').write('x')`", box) is Unreadable.NO_VALUE
    assert not target.exists()
    spoil = "`__import__('builtins').__dict__.__setitem__('sorted', lambda x: 7) or 1`"
    output(spoil, box)
    assert output("`sorted([2, 1])`", box) == Output([1, 2])


def problem(code: str, entry_point: str = "f") -> FunctionProblem:
    return FunctionProblem("p", "", "f(...)", entry_point, code)


def call(text: str, of: FunctionProblem, box: SandboxPool) -> Any:
    return asyncio.run(read_proposal(Completion(text), of, shape_of(of), box)).call


TWO = problem("def f(a, b=0, *, key=None):\n    return a\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Arguments: f(1, 2)", Call((1, 2))),
        ("Arguments: f(b=2, a=1)", Call((1, 2))),
        ("Arguments: f(left=1, right=2)", Call((1, 2))),  # names of the model's own
        ("Arguments: f(1, key='k')", Call((1,), {"key": "k"})),
        ("Arguments: (1, 2)", Call(((1, 2),))),  # b may be left out: one argument it is
        ("Arguments: f(*[1, 2])", Call((1, 2))),
        ("Arguments: f(**{'a': 1})", Call((1,))),
        ("Arguments: f([0] * 3, len('abc'))", Call(([0, 0, 0], 3))),
        ("Arguments: f(1, 2, 3)", Unreadable.ARGUMENTS),
        ("Arguments: f()", Unreadable.ARGUMENTS),
        ("Arguments: f(unknown_name)", Unreadable.ARGUMENTS),
        ("Arguments: f(lambda: 1)", Unreadable.ARGUMENTS),
        ("no call at all", Unreadable.NO_CALL),
        ("", Unreadable.EMPTY),
    ],
)
def test_calls_are_bound_to_the_signature(text: str, wanted: Any, box: SandboxPool) -> None:
    assert call(text, TWO, box) == wanted

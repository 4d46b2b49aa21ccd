"""Arguments beside what annotations and defaults say."""

from __future__ import annotations

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.described import Parameter, Signature
from refute.function.scenarios.fitting import misfits

INT, TEXT = ("class", "builtins:int", []), ("class", "builtins:str", [])
SIGNATURE = Signature(
    "function",
    (
        Parameter("text", 1, False, None, TEXT),
        Parameter("sizes", 1, True, None, ("class", "typing:Sequence", [INT])),
        Parameter("mark", 3, True, "-"),
        Parameter("limit", 3, True, None, ("union", [INT, ("none",)])),
    ),
)


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("f('a')", 0), ("f(1)", 1), ("f('a', [1, 2])", 0), ("f('a', ['x'])", 1),
        ("f('a', mark='x', limit=None)", 0), ("f('a', mark=3, limit='x')", 2),
        ("f(make(), other)", 0), ("f(*rest)", 0), ("it.f(2, limit=True)", 1), ("f(", 0),
    ],
)  # fmt: skip
def test_how_many_do_not_fit(expression: str, count: int) -> None:
    assert misfits(Scenario(expression), SIGNATURE) == count


def test_nothing_is_said_of_an_unknown_signature() -> None:
    assert misfits(Scenario("f(1)"), Signature("function", None)) == 0

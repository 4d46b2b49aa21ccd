"""A model that knows the answer gets everywhere; one that is always wrong does no harm.

The whole of the dataset is in `benchmarks/oracle.py`, whose models are used here.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refute.core.problems import FunctionKey, FunctionProblem
from refute.function.llm.options import Options
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool
from refute_lab.datasets import Item, load

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "oracle.py"


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_oracle", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def boxes() -> Iterator[tuple[LocalSandbox, SandboxPool]]:
    with LocalSandbox() as box, SandboxPool(2) as pool:
        yield box, pool


def verdict(
    item: Item,
    model: str,
    oracle: ModuleType,
    boxes: tuple[LocalSandbox, SandboxPool],
    **changed: Any,
) -> Any:
    box, pool = boxes
    return asyncio.run(oracle.check(item, model, box, pool, Options(**changed)))


@pytest.fixture(scope="module")
def he_fix(data_dir: Path) -> list[Item]:
    return list(load("he-fix", data=data_dir, limit=5))  # the sixth never ends: too slow here


def test_the_oracle_mends_every_program(
    he_fix: list[Item], oracle: ModuleType, boxes: tuple[LocalSandbox, SandboxPool]
) -> None:
    for item in he_fix:
        found = verdict(item, "oracle", oracle, boxes)
        assert found.passed, found
        assert found.accurate == found.tests > 0, found
        assert found.broken == 0


def test_the_liar_breaks_no_certain_test(
    he_fix: list[Item], oracle: ModuleType, boxes: tuple[LocalSandbox, SandboxPool]
) -> None:
    for item in he_fix:
        found = verdict(item, "liar", oracle, boxes)
        assert found.broken == 0, found
        assert found.accurate == 0, found


RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x * x\n"
TEXT = "Return the double of x.\n\n>>> double(2)\n4\n>>> double(0)\n0\n"


def item(code: str) -> Item:
    return Item(
        FunctionProblem("p", TEXT, "double(x)", "double", code),
        FunctionKey("p", "double", RIGHT, ((3,), (5,), (2,), (-1,))),
    )


@pytest.mark.parametrize("backtrack", [True, False])
@pytest.mark.parametrize("code", [RIGHT, WRONG])
def test_without_data_too(
    code: str, backtrack: bool, oracle: ModuleType, boxes: tuple[LocalSandbox, SandboxPool]
) -> None:
    found = verdict(item(code), "oracle", oracle, boxes, backtrack=backtrack)
    assert found.passed
    assert found.accurate == found.tests == 3
    lied = verdict(item(code), "liar", oracle, boxes, backtrack=backtrack)
    assert lied.broken == 0
    assert lied.passed == (code == RIGHT)


def test_without_the_guard_the_liar_does_harm(
    oracle: ModuleType, boxes: tuple[LocalSandbox, SandboxPool]
) -> None:
    """The liar is tempting indeed: what holds it back is the guard."""
    lied = verdict(item(RIGHT), "liar", oracle, boxes, guard=False)
    assert lied.broken > 0
    assert not lied.passed

"""`budget` is a promise in wall time, and no function is too large for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from refute.core.problems import Call, FunctionProblem, UnitTest
from refute.core.registry import METHODS
from refute.function import verbs
from refute.function.contract import Ask, MethodResult, State
from refute.function.project_sandbox import open_box
from refute.function.search.engine import search
from refute.function.target import open_target
from refute.sandbox import NotRun
from refute.sandbox.local import LocalSandbox
from refute.source.syntax import lifted_limits


def problem(code: str, description: str) -> FunctionProblem:
    return FunctionProblem("id", description, "f(x)", "f", code)


ADDED = "".join(f"    x = x + {i}\n" for i in range(2500))
BRANCHES = "".join(f"    elif x == {i}:\n        return {i * 7}\n" for i in range(1, 900))
LARGE = {
    "2,500 statements": (f"def f(x):\n{ADDED}    return x\n", ">>> f(1)\n0\n"),
    "a sum of 800 terms": (
        f"def f(x):\n    return {' + '.join(f'x * {i}' for i in range(800))}\n",
        ">>> f(1)\n0\n",
    ),
    "900 branches, one below the other": (
        f"def f(x):\n    if x == 0:\n        return 0\n{BRANCHES}    return -1\n",
        ">>> f(1)\n8\n>>> f(2)\n14\n",
    ),
    "nothing but openings": ("def f(x):\n    return x\n", "f(" * 20_000),
    "an example of 5,000 items": ("def f(x):\n    return sum(x)\n", ">>> f([0] * 5000)\n1\n"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_functions_and_texts_end(name: str, box: LocalSandbox) -> None:
    """CPU time of this process, which a busy machine does not change: it was a minute and more."""
    before = time.process_time()
    with lifted_limits():
        search(problem(*LARGE[name]), box=box, budget=1.0)
    assert time.process_time() - before < 20.0


@pytest.mark.parametrize(
    "code",
    [
        "import time\ndef f(x):\n    time.sleep(2.5)\n    return x + 1",
        "def f(x):\n    for i in range(10 ** 9): pass\n    return x + 1",
    ],
)
def test_slow_programs_end_with_the_time(code: str, box: LocalSandbox) -> None:
    start = time.monotonic()
    examples = "".join(f">>> f({i})\n{i + 2}\n" for i in range(12))
    result = search(problem(code, examples), box=box, budget=1.0)
    assert time.monotonic() - start < 5.0  # it was 20 and more
    ran = list(result.given)
    assert all(not isinstance(failed.actual, NotRun) for failed in result.failing)
    if not ran:
        assert result.state is State.CANNOT_TELL
        assert any("time was up" in note for note in result.notes)
        assert not any("no example" in note for note in result.notes)


def test_a_constant_that_is_no_float(box: LocalSandbox) -> None:
    code = f"def f(x):\n    if x == {'0x' + 'f' * 6000}:\n        return 4\n    return x + 1\n"
    with lifted_limits():
        result = search(problem(code, ">>> f(1)\n3\n>>> f(2)\n4\n"), box=box, budget=5.0)
    assert result.candidates


@pytest.mark.parametrize("work", ["time.sleep(0.5)", "pass"])
def test_the_replay_of_examples_is_in_the_budget(work: str, tmp_path: Path) -> None:
    """What hangs took 9 s before the search began, what sleeps 18 s."""
    examples = "".join(f"    >>> f({n})\n    {n}\n" for n in range(1, 4))
    text = f'import time\n\ndef f(x):\n    """\n{examples}    """\n    while x: {work}\n'
    path = tmp_path / "hanging.py"
    path.write_text(text)
    module = open_target(str(path))
    with open_box(module) as box:
        given = {"f": (UnitTest(Call(args=(7,)), 1),)}
        start = time.monotonic()
        solver = verbs.inline(METHODS.get("search"), None, box, seed=0)
        [found] = verbs.hunt(module, solver=solver, box=box, budget=0.8, tests=given)
        assert time.monotonic() - start < 3.5
    assert found.state is State.CANNOT_TELL  # nothing was run to its end, so nothing is claimed
    assert any("time was up" in note for note in found.notes)


def test_the_load_of_the_module_is_in_the_budget(tmp_path: Path) -> None:
    """Each function has its part of it, and a quarter of the budget whatever the load takes."""
    path = tmp_path / "two.py"
    path.write_text("def f(x):\n    return x\n\n\ndef g(x):\n    return x\n")
    module = open_target(str(path))
    seconds: list[float] = []

    def solver(problem: FunctionProblem, ask: Ask | None, left: float) -> MethodResult:
        seconds.append(left)
        return MethodResult((), ())

    with open_box(module) as box:
        list(verbs.hunt(module, solver=solver, box=box, budget=100.0, spent=80.0))
        list(verbs.debug(module, solver=solver, box=box, budget=100.0, spent=1000.0))
    assert all(40 < left <= 60 for left in seconds[:2])
    assert all(5 < left <= 25 for left in seconds[2:])
    assert len(seconds) == 4

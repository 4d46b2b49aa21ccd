"""`budget` is a promise in wall time, and no function is too large for it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from refute.function.contract import State
from refute.function.search import search
from refute.function.search.timed import Timed
from refute.problems import Call, FunctionProblem
from refute.sandbox import NotRun, Program, Returned
from refute.sandbox.local import LocalSandbox


@pytest.fixture(scope="module")
def box() -> Iterator[LocalSandbox]:
    with LocalSandbox() as made:
        yield made


def problem(code: str, description: str) -> FunctionProblem:
    return FunctionProblem("id", description, "f(x)", "f", code)


ADDED = "".join(f"    x = x + {i}\n" for i in range(2500))
LARGE = {
    "2,500 statements": (f"def f(x):\n{ADDED}    return x\n", ">>> f(1)\n0\n"),
    "a sum of 800 terms": (
        f"def f(x):\n    return {' + '.join(f'x * {i}' for i in range(800))}\n",
        ">>> f(1)\n0\n",
    ),
    "nothing but openings": ("def f(x):\n    return x\n", "f(" * 20_000),
    "an example of 5,000 items": ("def f(x):\n    return sum(x)\n", ">>> f([0] * 5000)\n1\n"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_functions_and_texts_end(name: str, box: LocalSandbox) -> None:
    """CPU time of this process, which a busy machine does not change: it was a minute and more."""
    before = time.process_time()
    search(problem(*LARGE[name]), box=box, budget=1.0)
    assert time.process_time() - before < 4.0


@pytest.mark.parametrize(
    "code",
    [
        "import time\ndef f(x):\n    time.sleep(2.5)\n    return x + 1",
        "import time\ntime.sleep(0.9)\ndef f(x):\n    return x + 1",
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


def test_a_timed_box(box: LocalSandbox) -> None:
    program = Program("import time\ndef f(x):\n    time.sleep(x)\n    return x", "f")
    timed = Timed(box, time.monotonic() + 1.0)
    calls = [Call(args=(0.0,)), Call(args=(2.0,)), Call(args=(0.0,))]
    first, *rest = timed.run(program, calls)
    assert first == Returned(box.run(program, calls[:1])[0].data)  # type: ignore[union-attr]
    assert rest == [NotRun(), NotRun()]
    assert timed.spent
    assert timed.run_variants([program], calls) == [[NotRun()] * 3]
    assert Timed(box).run(program, calls[:1]) == [first]

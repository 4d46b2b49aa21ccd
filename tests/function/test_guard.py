"""One function's trouble, whatever it is, ends no other function and is no internal error."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.core.problems import FunctionProblem
from refute.errors import InputError, SandboxUnavailable
from refute.function import verbs
from refute.function.contract import Ask, MethodResult, State
from refute.function.project_sandbox import open_box
from refute.function.target import open_target

THREE = "".join(
    f'def f{n}(x):\n    """\n    >>> f{n}(1)\n    2\n    """\n    return x\n\n\n' for n in "abc"
)


def breaking(error: BaseException) -> verbs.Solver:
    def solver(problem: FunctionProblem, ask: Ask | None, seconds: float) -> MethodResult:
        if problem.entry_point == "fb":
            raise error
        return MethodResult((), ())

    return solver


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUTE_TRACEBACK", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "three.py"
    path.write_text(THREE)
    return path


class Odd(ValueError):
    def __str__(self) -> str:
        return str(10**5000)


@pytest.mark.parametrize(
    "error", [TypeError("a\nb"), RecursionError(), MemoryError(), KeyError(), Odd()]
)
def test_a_method_that_breaks_on_one_function(file: Path, error: Exception) -> None:
    module = open_target(str(file))
    with open_box(module) as box:
        found = list(verbs.hunt(module, solver=breaking(error), box=box))
        fixes = list(verbs.debug(module, solver=breaking(error), box=box))
    for hunts in (found, [fix.hunt for fix in fixes]):
        assert [one.function for one in hunts] == ["fa", "fb", "fc"]
        assert [one.trouble for one in hunts] == [False, True, False]
        assert hunts[1].state is State.CANNOT_TELL
        (note,) = hunts[1].notes
        assert "\n" not in note
    assert fixes[1].code == module.source.text


@pytest.mark.parametrize(
    "error", [InputError("no"), SandboxUnavailable("no"), OSError("full"), KeyboardInterrupt()]
)
def test_what_is_no_mistake_of_ours_goes_on(file: Path, error: BaseException) -> None:
    module = open_target(str(file))
    with open_box(module) as box, pytest.raises(type(error)):
        list(verbs.hunt(module, solver=breaking(error), box=box))

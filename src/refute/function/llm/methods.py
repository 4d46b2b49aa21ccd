"""The registry of the methods that ask a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from refute.function.llm.debug import debug
from refute.function.llm.generate import Generator
from refute.function.llm.hybrid import check, hybrid
from refute.function.llm.no_ut import debug_without_tests
from refute.function.llm.options import Options
from refute.function.llm.record import LlmResult
from refute.models.contract import Asker
from refute.problems import FunctionProblem
from refute.sandbox.pool import AsyncSandbox

__all__ = ["METHODS", "LlmMethod", "MethodSpec"]


class LlmMethod(Protocol):
    """A function-level method that asks a model."""

    async def __call__(
        self,
        problem: FunctionProblem,
        *,
        ask: Asker,
        box: AsyncSandbox,
        seed: int = 0,
        tester: Asker | None = None,
    ) -> LlmResult:
        """Work on one problem. `seed`: the number of the run; another one draws other samples.

        `tester` asks the model that writes the unit tests, where that is another one than the one
        that edits the code (the paper's UTGen: an adapter on the model that debugs). Raises
        `ModelUnavailable`, `AnswersPending`, `BudgetExceeded`, `SandboxUnavailable`.
        """
        ...


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """A method by name: `make(options)` gives the method."""

    name: str
    summary: str
    """One line for people."""
    make: Callable[[Options], LlmMethod]
    tests: bool = True
    """Whether it generates unit tests (`hunt` can use it)."""


def _with_tests(generator: Generator) -> Callable[[Options], LlmMethod]:
    def make(options: Options) -> LlmMethod:
        async def method(
            problem: FunctionProblem,
            *,
            ask: Asker,
            box: AsyncSandbox,
            seed: int = 0,
            tester: Asker | None = None,
        ) -> LlmResult:
            return await debug(
                problem,
                generator=generator,
                ask=ask,
                tester=tester or ask,
                box=box,
                options=options,
                seed=seed,
            )

        return method

    return make


def _without_tests(options: Options) -> LlmMethod:
    async def method(
        problem: FunctionProblem,
        *,
        ask: Asker,
        box: AsyncSandbox,
        seed: int = 0,
        tester: Asker | None = None,
    ) -> LlmResult:
        return await debug_without_tests(problem, ask=ask, box=box, options=options, seed=seed)

    return method


def _hybrid(options: Options) -> LlmMethod:
    check(options)

    async def method(
        problem: FunctionProblem,
        *,
        ask: Asker,
        box: AsyncSandbox,
        seed: int = 0,
        tester: Asker | None = None,
    ) -> LlmResult:
        tester = tester or ask
        return await hybrid(problem, ask=ask, tester=tester, box=box, options=options, seed=seed)

    return method


METHODS: Mapping[str, MethodSpec] = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            MethodSpec("random", "tests from the description alone", _with_tests("random")),
            MethodSpec(
                "prompted", "tests that a model is asked to break the code with",
                _with_tests("prompted"),
            ),
            MethodSpec(
                "utgen", "as prompted; for a model that was trained to write such tests",
                _with_tests("prompted"),
            ),
            MethodSpec("hybrid", "a model and the search engine together", _hybrid),
            MethodSpec("no-ut", "the model's own feedback, without tests", _without_tests, False),
        )
    }
)  # fmt: skip
"""The methods of the paper, and ours, by name. `Options` are the ablations."""

"""The contract of methods at both levels: a problem and a context in, a result out.

    @method("mine", summary="two greedy answers", asks_model=True)
    async def mine(problem: FunctionProblem, *, ctx: Context, options: MineOptions) -> MethodResult:
        ...

The decorated name is a `MethodSpec`, which is what the registry holds (`core.registry`): a file
in `refute/function/methods` or `refute/issue/methods`, or an entry point `refute.methods` of
another package. A method never sees an answer key: nothing in `Context` is one or leads to one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, get_type_hints

from refute.core.parameters import checked, parameter
from refute.core.problems import FunctionProblem, IssueProblem
from refute.errors import InputError, ModelUnavailable, SandboxUnavailable, WorkspaceUnavailable

if TYPE_CHECKING:
    from refute.models.contract import Asker, Completion, Message, Sampling, Tally
    from refute.sandbox.pool import AsyncSandbox
    from refute.workspace.contract import Workspace

__all__ = [
    "Bounds",
    "Context",
    "Given",
    "Level",
    "Method",
    "MethodSpec",
    "NoOptions",
    "Spawn",
    "Task",
    "finished",
    "method",
    "options_from",
]

Level = Literal["function", "issue"]
"""Object of a method's work: a function with its description, or a repository with an issue."""
Task = Literal["tests", "repair"]
"""Goal for an issue: tests that reproduce it (SWT-Bench), or a change of the code that
resolves it (SWE-bench)."""
Spawn = Callable[[], "Workspace"]
"""Opens one more private workspace of the same repository at the same commit."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds for one issue. Calls are samples asked of the model."""

    calls: int = parameter(60, "Samples of the model for one issue, at most.", at_least=1)
    seconds: float = parameter(1800.0, "For one issue, at most.", above=0)
    """Wall clock, with the runs of tests, without the waiting for a batch's answers."""
    test_seconds: float = parameter(300.0, "For one run of tests.", above=0)


@dataclass(frozen=True, slots=True)
class Given:
    """Extra input of a method besides the issue and the code (SWT-Bench, Table 5)."""

    test_files: tuple[str, ...] = ()
    """The files that the tests shall go to."""
    code_patch: str = ""
    """A change of the code that is shown; the code files it touches lead the context."""
    patch_may_be_wrong: bool = False


class _NoModel:
    """Stands where no model was named."""

    @property
    def tally(self) -> Tally:
        from refute.models.contract import Tally

        return Tally()

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first: int = 0,
        sampling: Sampling | None = None,
    ) -> list[Completion]:
        raise ModelUnavailable("the method asks a model and none was named; add --model")


class _NoSandbox:
    """Stands where a method was given no sandbox: whatever is asked of it is refused."""

    def __getattr__(self, name: str) -> Any:
        raise SandboxUnavailable("the method has no sandbox")


def _no_workspace() -> Workspace:
    raise WorkspaceUnavailable("the method has no workspace")


_NO_MODEL: Asker = _NoModel()
_NO_SANDBOX: Any = _NoSandbox()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Services for a method. One that is missing raises its `Unavailable` on the first use."""

    model: Asker = _NO_MODEL
    tester: Asker | None = None
    """The model that writes the unit tests, where that is another one (the paper's UTGen: an
    adapter on the model that debugs)."""
    sandbox: AsyncSandbox = _NO_SANDBOX
    """Runs functions (function level)."""
    workspace: Spawn = _no_workspace
    """Opens one more workspace of the repository (issue level)."""
    bounds: Bounds = Bounds()
    """Limits of the cost of one issue."""
    given: Given = Given()
    """Hints of the experiments of Table 5 (issue level)."""
    task: Task = "tests"
    """Goal (issue level)."""
    seed: int = 0
    """The number of the run: another one draws other samples and inputs."""
    seconds: float | None = None
    """Time left for this problem, in seconds; None: as the method's options say."""
    ask: Callable[[Any], Any] | None = None
    """Answers questions that tell fixes apart; None: nobody is there."""

    @property
    def writer(self) -> Asker:
        """The model that writes the unit tests."""
        return self.tester or self.model


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of a method without options."""


ProblemT = TypeVar("ProblemT", contravariant=True)
OptionsT = TypeVar("OptionsT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)
Problem_ = TypeVar("Problem_", FunctionProblem, IssueProblem)
Result_ = TypeVar("Result_")


class Method(Protocol[ProblemT, OptionsT, ResultT]):
    """A method of either level: `FunctionProblem` -> `MethodResult`, or `IssueProblem` ->
    `Reproduction`. It is stateless: all that a run needs to know is in what it returns."""

    async def __call__(self, problem: ProblemT, *, ctx: Context, options: OptionsT) -> ResultT:
        """Work on one problem, deterministically for a seed and the same answers of the model.

        Raises `Unavailable` and `BudgetExceeded` where what it needs cannot be had, and
        `ContextTooLong` where the problem fits into no question; whatever the model says or the
        code under test does is no error.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSpec(Generic[Problem_, Result_]):
    """A method with what one has to know before one calls it. It is itself a `Method`."""

    name: str
    summary: str
    """One line for people."""
    level: Level
    run: Callable[..., Coroutine[Any, Any, Result_]]
    options: type[Any] = NoOptions
    """A frozen dataclass of `refute.core.parameters`: with the paper's values as defaults."""
    asks_model: bool = False
    writes_tests: bool = True
    """True if it generates unit tests (`hunt` can use it)."""
    takes_given: bool = False
    """True if it looks at `Context.given` (Table 5)."""
    repairs: bool = False
    """True if it can be asked for a fix (`Context.task`)."""
    tells_writer: bool = False
    """True if it asks for tests apart from the rest, of `Context.writer` (issue level)."""
    cpu_bound: bool = False
    """True if it computes and waits for nothing but its sandbox: it is run in this thread without
    an event loop (`finished`), and a bench runs it in worker processes."""

    async def __call__(self, problem: Problem_, *, ctx: Context, options: Any = None) -> Result_:
        """See `Method`. `options` None: the defaults. Raises `ModelUnavailable` at once where it
        asks a model and there is none."""
        if self.asks_model and ctx.model is _NO_MODEL:
            raise ModelUnavailable(f"{self.name} asks a model; add --model")
        return await self.run(problem, ctx=ctx, options=options or self.options())


def method(
    name: str, *, summary: str, **facts: bool
) -> Callable[[Callable[..., Coroutine[Any, Any, Result_]]], MethodSpec[Any, Result_]]:
    """Make a coroutine function a method. Its level and its options' class are those that its
    parameters `problem` and `options` are annotated with; `facts`: the rest of `MethodSpec`.
    Raises `TypeError` where a parameter is not annotated so."""

    def made(run: Callable[..., Coroutine[Any, Any, Result_]]) -> MethodSpec[Any, Result_]:
        hints = get_type_hints(run)
        levels: Mapping[Any, Level] = {
            FunctionProblem: "function",
            IssueProblem: "issue",
        }
        level = levels.get(hints.get("problem"))
        if level is None or not inspect.iscoroutinefunction(run):
            raise TypeError(f"{name}: a method is `async def f(problem: ..., *, ctx, options)`")
        return MethodSpec(
            name=name,
            summary=summary,
            level=level,
            run=run,
            options=hints.get("options", NoOptions),
            **facts,
        )

    return made


def finished(work: Coroutine[Any, Any, Result_]) -> Result_:
    """Run a coroutine that waits for nothing in this thread; return its result.

    For methods that compute (`MethodSpec.cpu_bound`): Ctrl-C ends them at once, where
    `asyncio.run` would wait for them to come back to its loop, and asyncio, which takes a tenth of
    the time of a small run to import, is not needed. Raises `TypeError` for one that waits.
    """
    try:
        work.send(None)
    except StopIteration as ended:
        result: Result_ = ended.value
        return result
    work.close()
    raise TypeError("a method that is cpu_bound waits for nothing but its sandbox")


def options_from(spec: MethodSpec[Any, Any], values: Mapping[str, Any]) -> Any:
    """The method's options: `values` by field name, those that are None left at their default.

    Raises `InputError` for a value that the options refuse, and for one that they do not have.
    """
    known = [field.name for field in fields(spec.options)]
    given = {name: value for name, value in values.items() if value is not None}
    strange = sorted(set(given) - set(known))
    if strange:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"{spec.name} has no option {', '.join(strange)}; {has}")
    checked(spec.options, given)
    return spec.options(**given)

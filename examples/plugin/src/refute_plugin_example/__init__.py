"""One method, one model and one dataset for refute, found by their entry points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute import Candidate, Context, FunctionKey, FunctionProblem, MethodResult, method
from refute.core.parameters import parameter
from refute.models.contract import Message, Sampling
from refute.models.providers import Provider
from refute.testing.models import ScriptedModel
from refute_lab.datasets import Item
from refute_lab.datasets.rows import DatasetSpec, Keep, LoaderOptions


@dataclass(frozen=True)
class GreedyOptions:
    """The parameters of `greedy`."""

    max_tokens: int = parameter(512, "Of the answer.", at_least=1)


@method("greedy", summary="one greedy answer, taken as the whole program", asks_model=True)
async def greedy(problem: FunctionProblem, *, ctx: Context, options: GreedyOptions) -> MethodResult:
    """Ask once for the right program and believe it."""
    sampling = Sampling(temperature=0.0, top_p=1.0, max_tokens=options.max_tokens)
    question = f"{problem.description}\n\nCorrect this program:\n{problem.code}"
    [answer] = await ctx.model.ask([Message("user", question)], sampling=sampling)
    return MethodResult(given=(), failing=(), candidates=(Candidate(answer.text, 1.0, ()),))


def _echoed(messages: Sequence[Message], number: int) -> str:
    """The program of the question with each minus as a plus; else the question again and again."""
    said = messages[-1].content.encode("utf-8", "replace").decode()
    return (said.partition("program:\n")[2] or 40 * said).replace("-", "+")


def echo() -> ScriptedModel:
    """A model of a few lines; one of yours is a class as `refute.models.contract.Model` says."""
    return ScriptedModel(_echoed, name="echo:1")


def _sums(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    code = "def total(a, b):\n    return a - b\n"
    problem = FunctionProblem("sums/0", "Add two numbers.", "total(a, b)", "total", code)
    inputs = ((1, 2), (0, 0), (5, -3))
    yield Item(problem, FunctionKey("sums/0", "total", code.replace("-", "+"), inputs))


ECHO = Provider(name="echo", syntax="echo:1", summary="echoes", open=lambda rest, link: echo())
SUMS = DatasetSpec(name="sums", summary="one sum that is wrong", items=_sums)

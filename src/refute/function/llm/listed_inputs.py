"""Many inputs by one question: what costs a model little, and programs can be run on."""

from __future__ import annotations

from itertools import chain

from refute.function.llm.answers import code_spans, final_text, read_test
from refute.function.llm.generation import samples, shape_of, user
from refute.function.llm.results import Unreadable
from refute.function.llm.value_resolution import resolve_call
from refute.models.contract import Asker, Sampling
from refute.problems import FunctionProblem, Invocation
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox

__all__ = ["listed_inputs"]


async def listed_inputs(
    problem: FunctionProblem, count: int, *, ask: Asker, box: AsyncSandbox, sampling: Sampling
) -> list[Invocation]:
    """Inputs that the model lists when it is asked for `count`, at most twice as many.

    It sees the description, not the code. Raises what `Asker.ask` raises (but `ContextTooLong`),
    and `SandboxUnavailable`.
    """
    question = render(
        "inputs",
        signature=problem.signature,
        description=problem.description.strip(),
        entry_point=problem.entry_point,
        count=count,
    )
    [answer] = await samples(ask, [user(question)], first=0, n=1, sampling=sampling)
    text = "" if answer is None else final_text(answer.text)
    shape, found = shape_of(problem), list[Invocation]()
    for line in chain.from_iterable(span.splitlines() for span in code_spans(text)):
        said = read_test(line, problem.entry_point)
        call = await resolve_call(said.call, shape.subject, box, keyword_only=shape.keyword_only)
        if not isinstance(call, Unreadable) and len(found) < 2 * count:
            found.append(call)
    return found

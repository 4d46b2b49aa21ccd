"""Many inputs by one question: what costs a model little, and programs can be run on."""

from __future__ import annotations

from itertools import chain

from refute.function.formatting import call_source
from refute.function.llm.answers import code_spans, final_text, read_test
from refute.function.llm.generation import Sampler, shape_of, user
from refute.function.llm.results import Unreadable
from refute.function.llm.value_resolution import resolve_call
from refute.problems import FunctionProblem, Invocation
from refute.prompts import render
from refute.sandbox.pool import AsyncSandbox

__all__ = ["listed_inputs"]


LISTS = 4
"""Answers with a list, at most."""


async def listed_inputs(
    problem: FunctionProblem, count: int, *, sampler: Sampler, box: AsyncSandbox
) -> list[Invocation]:
    """Inputs that the model lists when it is asked for `count`, at most twice as many.

    A weak model lists one or none: while there are not half of `count`, it is asked again. It sees
    the description, not the code. Raises what `Asker.ask` raises (but `ContextTooLong`), and
    `SandboxUnavailable`.
    """
    question = render(
        "inputs",
        signature=problem.signature,
        description=problem.description.strip(),
        entry_point=problem.entry_point,
        count=count,
    )
    shape, name, found = shape_of(problem), problem.entry_point, dict[str, Invocation]()
    for n in (1, LISTS - 1):
        answers = await sampler.draw([user(question)], n)
        texts = [final_text(answer.text) for answer in answers if answer is not None]
        spans = chain.from_iterable(map(code_spans, texts))
        for line in chain.from_iterable(span.splitlines() for span in spans):
            said = read_test(line, name).call
            call = await resolve_call(said, shape.subject, box, keyword_only=shape.keyword_only)
            if not isinstance(call, Unreadable) and len(found) < 2 * count:
                found.setdefault(call_source(call, name), call)
        if 2 * len(found) >= count:
            break
    return [*found.values()]

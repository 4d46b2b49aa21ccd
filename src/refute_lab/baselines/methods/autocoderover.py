"""AutoCodeRover as SWT-Bench runs it (section 4.1, App. B): context search, then the tests.

Stage 1: in at most 10 rounds the model calls searches over the code and is given what they find.
It names them in its text; they are read out of it here, and no second model is asked for that. What
AutoCodeRover asks in two questions a round (what do the results say? what is needed next?) is one.
Stage 2: the tests in AutoCodeRover's form of a patch, asked for again, up to 3 times in all, only
where none of it applies. Nothing is run.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssuePrediction, IssueProblem
from refute.errors import ContextTooLong
from refute.issue.contract import Reproduction
from refute.issue.drafting.bounded_asker import Bounded, OutOfBounds
from refute.issue.drafting.original import Original
from refute.issue.drafting.submission import fix_submission, submission
from refute.issue.edits import Files, read_edits
from refute.models.contract import Message, Sampling
from refute.prompts import render
from refute.source.syntax import parse_expression
from refute_lab.baselines.aci.commands import ask_within
from refute_lab.baselines.codesearch import SEARCHES, CodeSearch

ROUNDS = 10
"""Rounds of context search."""
TRIES = 3
"""Answers with tests, until one applies."""
MOST_CALLS = 10
"""Searches of one round."""
LONGEST_CALL = 4_000
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)

_START = re.compile(rf"\b({'|'.join(SEARCHES)})\s*\(")
_KEPT = 20
"""Results that are shown whole: all of them, unless the conversation gets too long."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A search that the model calls."""

    name: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The call as it is written."""
        return f"{self.name}({', '.join(map(repr, self.arguments))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutocoderoverOptions:
    """What the method's figures depend on."""

    rounds: int = parameter(ROUNDS, "Rounds of searching.", flag="--search-rounds", at_least=1)
    tries: int = parameter(TRIES, "Answers to one question, until one can be read.", at_least=1)


@method(
    "autocoderover",
    summary="searches over the code, then tests",
    asks_model=True,
    repairs=True,
)
async def autocoderover(
    problem: IssueProblem, *, ctx: Context, options: AutocoderoverOptions
) -> Reproduction:
    """See the module's docstring."""
    asking, rounds, tries = Bounded(ctx.model, ctx.bounds), options.rounds, options.tries
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        sources = await asyncio.to_thread(original.sources)
        fix = ctx.task == "repair"
        known = {"issue": problem.text, "searches": list(SEARCHES.values())}
        searching = render("acr_search", fix=fix, **known)
        messages = [Message("system", render("acr_system", fix=fix)), Message("user", searching)]
        steps: list[dict[str, Any]] = []
        try:
            await _search(asking, CodeSearch(sources), messages, steps, rounds, tries, fix=fix)
            prediction = await _write(
                problem.id, asking, original.source, messages, steps, tries, fix=fix
            )
        except OutOfBounds as error:
            prediction = IssuePrediction(problem.id, "", notes=(f"ended by the bounds: {error}",))
        except ContextTooLong:
            if not steps:
                raise  # not even the first question fits: nothing was tried
            notes = ("ended: the conversation is too long for the model",)
            prediction = IssuePrediction(problem.id, "", notes=notes)
    return Reproduction(prediction, tuple(steps))


async def _search(
    asking: Bounded,
    searches: CodeSearch,
    messages: list[Message],
    steps: list[dict[str, Any]],
    rounds: int,
    tries: int,
    *,
    fix: bool,
) -> None:
    """Stage 1: adds the rounds to the conversation. It ends when the model calls no search."""
    done: set[SearchCall] = set()
    for number in range(1, rounds + 1):
        if asking.left <= tries:
            return  # what is left is for the tests
        answer = await ask_within(asking, messages, SAMPLING, keep=_KEPT)
        messages.append(Message("assistant", answer.text))
        calls = read_calls(answer.text)
        results = []
        for call in calls:
            if call in done:
                results.append((call.text, "Its result is above."))
            else:
                found = await asyncio.to_thread(searches.search, call.name, call.arguments)
                results.append((call.text, found))
        done |= set(calls)
        steps.append(
            {"kind": "search", "answer": answer.text, "calls": [call.text for call in calls]}
        )
        if not calls:
            return
        told = render("acr_results", results=results, left=rounds - number, fix=fix)
        messages.append(Message("user", told))


async def _write(
    id: str,
    asking: Bounded,
    files: Files,
    messages: list[Message],
    steps: list[dict[str, Any]],
    tries: int,
    *,
    fix: bool,
) -> IssuePrediction:
    """Stage 2: the tests, or the fix; the last answer's prediction, which may be empty."""
    handed_in = fix_submission if fix else submission
    request = Message("user", render("acr_write", fix=fix))
    if messages[-1].role == "user" and len(messages) > 2:
        # results of the last round: one message, for some servers want the roles to alternate
        last = messages.pop()
        request = Message("user", f"{last.content}\n\n{request.content}")
    messages.append(request)
    prediction = IssuePrediction(id, "")
    for number in range(tries):
        answer = await ask_within(asking, messages, SAMPLING, keep=_KEPT)
        applied = await asyncio.to_thread(read_edits(answer.text, "autocoderover").apply, files)
        prediction = handed_in(id, applied.patch, *applied.problems)
        steps.append(
            {
                "kind": "fix" if fix else "tests",
                "answer": answer.text,
                "problems": list(prediction.notes),
            }
        )
        if prediction.patch or number + 1 == tries:
            break
        again = render("acr_again", problems=prediction.notes, fix=fix)
        messages += [Message("assistant", answer.text), Message("user", again)]
    return prediction


def read_calls(answer: str) -> list[SearchCall]:
    """The searches that an answer calls, in their order, each once; at most `MOST_CALLS`."""
    found = dict.fromkeys(_calls(answer))
    return list(found)[:MOST_CALLS]


def _calls(answer: str) -> Iterator[SearchCall]:
    for start in _START.finditer(answer):
        text = answer[start.start() : start.start() + LONGEST_CALL]
        arguments = _arguments(text)
        if arguments is not None and not _is_usage(start[1], arguments):
            yield SearchCall(start[1], tuple(arguments))


def _arguments(text: str) -> Sequence[str] | None:
    """The arguments of the call that the text begins with; None where it is never closed."""
    for number, end in enumerate(re.finditer(r"\)", text)):
        if number > 40:
            return None
        try:
            node = parse_expression(text[: end.end()])
        except SyntaxError:
            continue
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return [_value(one, text) for one in given]
    # something that is no Python between the brackets, such as a path without quotes
    line = re.match(r"\w+\s*\(([^()\n]*)\)", text)
    return [part.strip().strip("'\"`") for part in line[1].split(",")] if line else None


def _value(node: ast.expr, text: str) -> str:
    """A literal's value as text; of a name or another expression, its source."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return ast.get_source_segment(text, node) or ""


def _is_usage(name: str, arguments: Sequence[str]) -> bool:
    """Whether it is our own explanation, repeated."""
    return list(arguments) == list(SEARCHES[name].parameters)

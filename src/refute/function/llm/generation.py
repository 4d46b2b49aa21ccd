"""Generated unit tests: what is asked for, how an answer becomes a test, and which tests are kept.

- *random*: from the description alone;
- *prompted*: from the description and the code under test, which the model is asked to break;
- *utgen*: the same prompt, put to a model that was trained for it (`refute_lab.train`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from refute.core.combinators import vote
from refute.core.problems import Call, Expression, FunctionProblem, Invocation, Trust, UnitTest
from refute.errors import ContextTooLong, NotContinued
from refute.function.contract import FailingTest
from refute.function.examples.subject import DescribedFunction, subject
from refute.function.formatting import call_source, describe, expected_source
from refute.function.llm.answers import (
    WrittenOutput,
    final_text,
    read_output,
    read_test,
    source_text,
)
from refute.function.llm.options import SuiteOptions
from refute.function.llm.results import Attempt, Output, Unreadable, Vote
from refute.models.contract import Asker, Completion, Message, Sampling
from refute.prompts import render
from refute.sandbox import Limits, Program, Returned, values
from refute.sandbox.equality import equal
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import LOOSE_NAMES, NotLiteral, read_literal
from refute.source.syntax import find_function, try_parse

_LIMITS = Limits(cpu=1.0, memory=512 << 20, output=1 << 20)
_MODULES = (
    "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq",
    "itertools", "math", "operator", "re", "string",
)  # fmt: skip
_SCENE = "\n".join(
    [
        *(f"import {name}" for name in _MODULES),
        "from collections import Counter, OrderedDict, defaultdict, deque",
        "from decimal import Decimal",
        "from fractions import Fraction",
        "from math import inf, nan",
        "def resolve(): pass",
    ]
)
"""Names that an expression may use without an import. No name of a program."""


class _NoValue(Exception):
    """The expression has no value that could be handed to a program or compared."""


async def resolve_output(written: WrittenOutput | None, box: AsyncSandbox) -> Output | Unreadable:
    """The expected output that is written. Raises `SandboxUnavailable`."""
    if written is None:
        return Unreadable.NO_OUTPUT
    if written.node is None:
        return Output(raises=written.raises)
    try:
        return Output(await _value(written.node, box))
    except _NoValue:
        return Unreadable.NO_VALUE


async def resolve_call(
    call: ast.Call | None,
    about: DescribedFunction,
    box: AsyncSandbox,
    *,
    keyword_only: Collection[str] = (),
) -> Invocation | Unreadable:
    """The call that is written, with the arguments in the order of the signature.

    `keyword_only`: the parameters that have to be named. An argument that only the program's own
    names can build stays an expression. Raises `SandboxUnavailable`.
    """
    if call is None:
        return Unreadable.NO_CALL
    func = source_text(call.func)
    if about.method and func != about.entry_point:  # `Stack().push(1)`: its object is an argument
        return _expression(call, about)
    try:
        args = await _value(ast.Tuple(call.args, ast.Load()), box)
        kwargs = await _named(call, box)
    except _NoValue:
        return _expression(call, about)
    named = {name: kwargs.pop(name) for name in keyword_only if name in kwargs}
    bound = _bound(tuple(args), kwargs, about)
    return Call(bound.args, {**bound.kwargs, **named}) if isinstance(bound, Call) else bound


async def _named(call: ast.Call, box: AsyncSandbox) -> dict[str, Any]:
    keys: list[ast.expr | None] = [ast.Constant(k.arg) if k.arg else None for k in call.keywords]
    named = await _value(ast.Dict(keys, [k.value for k in call.keywords]), box)
    if not all(type(name) is str for name in named):
        raise _NoValue
    return dict(named)


def _bound(
    args: tuple[Any, ...], kwargs: dict[str, Any], about: DescribedFunction
) -> Call | Unreadable:
    """The call by position, as far as the signature is known."""
    names = about.parameters
    if names is None:
        return Call(args, kwargs)
    if not about.fits(len(args) + len(kwargs)) and len(args) == 1 and not kwargs:
        (only,) = args  # `Arguments: (1, 2)` of a function of two
        if type(only) is tuple and about.fits(len(only)):
            return Call(only)
        if type(only) is dict and set(only) <= set(names) and about.fits(len(only)):
            args, kwargs = (), only
    rest = names[len(args) :]
    if kwargs and not set(kwargs) <= set(rest) and about.fits(len(args) + len(kwargs)):
        kwargs = dict(zip(rest, kwargs.values(), strict=False))  # names of the answer's own
    in_order: list[Any] = list(args)
    for name in rest:
        if name not in kwargs:
            break
        in_order.append(kwargs.pop(name))
    if not set(kwargs) <= set(rest) or not about.fits(len(in_order) + len(kwargs)):
        return Unreadable.ARGUMENTS
    return Call(tuple(in_order), kwargs)


def _expression(call: ast.Call, about: DescribedFunction) -> Expression | Unreadable:
    """The call as an expression over the program's names, where it uses one besides the function's.

    `about.names` are those that the module binds at its top level.
    """
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    source = source_text(call)
    if source and used & (about.names - ({about.entry_point} if not about.method else set())):
        return Expression(source)
    return Unreadable.ARGUMENTS


async def _value(node: ast.expr, box: AsyncSandbox) -> Any:
    """The value of an expression that has no names of a program. Raises `_NoValue`."""
    try:
        value = read_literal(node, names=LOOSE_NAMES)
    except NotLiteral:
        value = await _evaluated(node, box)
    try:
        values.encode(value, strict=True)
    except (values.Unencodable, ValueError, RecursionError, MemoryError):
        raise _NoValue from None
    return value


async def _evaluated(node: ast.expr, box: AsyncSandbox) -> Any:
    source = source_text(node)
    if not source or isinstance(node, ast.Name):  # a bare word is prose
        raise _NoValue
    scene = _SCENE
    if "np." in source or "numpy." in source:  # importing it costs every run, so only then
        scene = f"import numpy\nimport numpy as np\n{scene}"
    [outcome] = await box.run(Program(scene, "resolve", "<answer>"), [Expression(source)], _LIMITS)
    if not isinstance(outcome, Returned):
        raise _NoValue
    try:
        return outcome.value
    except values.MalformedValue:
        raise _NoValue from None


Generator = Literal["random", "prompted"]


@dataclass(frozen=True, slots=True)
class CallShape:
    """Known facts about how the function is called."""

    subject: DescribedFunction
    keyword_only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedTest:
    """One answer of a generator, read: its call, and the output that it states."""

    answer: str
    call: Invocation | Unreadable
    stated: Output | Unreadable
    before_output: str = ""
    """The answer up to and with its call."""

    def source(self, entry_point: str) -> str | None:
        """The call as Python source; None where there is none."""
        return None if isinstance(self.call, Unreadable) else call_source(self.call, entry_point)


# -- proposals and votes ---------------------------------------------------------------------------


def voted_on(proposal: ProposedTest, held: Vote | None) -> Attempt:
    """Return the attempt for a new input; without a vote, a test keeps its stated output."""
    attempt = unasked(proposal)
    output = attempt.stated if held is None else held.winner
    if output is None:
        return replace(attempt, status="unreadable" if held is None else "outvoted", vote=held)
    assert attempt.call is not None
    test = UnitTest(
        attempt.call,
        output.value,
        output.raises,
        Trust.PREDICTED,
        "model",
        confidence=1.0 if held is None else held.confidence,
    )
    return replace(attempt, status="kept", vote=held, test=test)


def passed_over(proposal: ProposedTest) -> Attempt:
    """An answer without a call, or with one that was tried before."""
    if isinstance(proposal.call, Unreadable):
        return Attempt(0, proposal.answer, "unreadable", unreadable=proposal.call)
    return replace(unasked(proposal), status="duplicate")


def unasked(proposal: ProposedTest) -> Attempt:
    """An input whose output nobody was asked for yet."""
    assert not isinstance(proposal.call, Unreadable)
    attempt = Attempt(0, proposal.answer, "unasked", proposal.call)
    if isinstance(proposal.stated, Unreadable):
        return replace(attempt, unreadable=proposal.stated)
    return replace(attempt, stated=proposal.stated)


def bare_proposal(call: Invocation, entry_point: str) -> ProposedTest:
    """An input that no model proposed, as what a vote on its output goes on from."""
    said = f"Arguments: ```{call_source(call, entry_point)}```"
    return ProposedTest("", call, Unreadable.NO_OUTPUT, said)


async def hold_vote(
    request: Sequence[Message],
    proposal: ProposedTest,
    entry_point: str,
    *,
    sampler: Sampler,
    box: AsyncSandbox,
    options: SuiteOptions,
    first: int = 0,
) -> Vote:
    """The vote on a proposal's output, as the options want it asked for, by samples from number
    `first`.

    A model that cannot continue its own answer is asked a question instead; `Vote.continued` says
    which it was.
    """
    hold = partial(
        ballot,
        entry_point=entry_point,
        ask=sampler.ask,
        box=box,
        k=options.k,
        sampling=options.vote_sampling(sampler.sampling),
        raises=options.raises,
        start=first,
    )
    if options.vote_by == "continuation":
        try:
            return replace(await hold(to_continue(request, proposal)), continued=True)
        except NotContinued:
            pass
    return await hold(output_question(request, proposal, entry_point))


async def ballot(
    question: Sequence[Message],
    entry_point: str,
    *,
    ask: Asker,
    box: AsyncSandbox,
    k: int,
    sampling: Sampling,
    raises: bool = True,
    start: int = 0,
) -> Vote:
    """The vote on the output that a question asks for, by value (section 3.3 of the paper).

    `raises`: an exception is an output, too. `start`: number of its first sample. Raises what
    `Asker.ask` raises (but `ContextTooLong`, which is a vote for nothing), and
    `SandboxUnavailable`.
    """
    unreadable: Counter[Unreadable] = Counter()

    async def draw(first: int, n: int) -> list[Output | None]:
        answers = await samples(ask, question, first=start + first, n=n, sampling=sampling)
        found = [await _output(answer, entry_point, box) for answer in answers]
        read = [_admitted(one, raises) for one in found]
        unreadable.update(one for one in read if isinstance(one, Unreadable))
        return [one if isinstance(one, Output) else None for one in read]

    held = await vote(draw, k=k, same=same_output)
    return Vote(held.k, held.asked, held.counts, tuple(sorted(unreadable.items())))


async def _output(
    answer: Completion | None, entry_point: str, box: AsyncSandbox
) -> Output | Unreadable:
    if answer is None:
        return Unreadable.CONTEXT
    written = read_output(answer.text, entry_point)
    if written is None and not answer.text.strip():
        return Unreadable.EMPTY
    return await resolve_output(written, box)


def _admitted(output: Output | Unreadable, raises: bool) -> Output | Unreadable:
    """The output, unless it is an exception and none may be expected."""
    refused = isinstance(output, Output) and output.raises is not None and not raises
    return Unreadable.EXCEPTION if refused else output


def same_output(one: Output, other: Output) -> bool:
    """Return whether two expected outputs are equal by value; `other` is taken as right."""
    if one.raises is not None or other.raises is not None:
        return one.raises == other.raises
    return equal(one.value, other.value)


# -- what is asked, and what is read ---------------------------------------------------------------


async def samples(
    ask: Asker, messages: Sequence[Message], *, first: int, n: int, sampling: Sampling
) -> list[Completion | None]:
    """Samples number `first` to `first + n - 1`; None for each where the request is too long.

    Raises what `Asker.ask` raises besides.
    """
    try:
        return list(await ask.ask(messages, n=n, first=first, sampling=sampling))
    except ContextTooLong:
        return [None] * n


@dataclass(slots=True)
class Sampler:
    """Puts requests to a model; the same one once more gives further samples, not the same."""

    ask: Asker
    sampling: Sampling
    drawn: dict[tuple[Message, ...], int] = field(default_factory=dict)
    """Number of samples of a request that are drawn or reserved."""

    def reserve(self, request: Sequence[Message], n: int) -> int:
        """Number of the first of `n` samples that only the caller draws."""
        first = self.drawn.get(tuple(request), 0)
        self.drawn[tuple(request)] = first + n
        return first

    async def draw(self, request: Sequence[Message], n: int = 1) -> list[Completion | None]:
        """`n` samples; None for each where the request is too long. Raises what `ask` raises."""
        first = self.reserve(request, n)
        return await samples(self.ask, request, first=first, n=n, sampling=self.sampling)


def user(content: str) -> Message:
    """A message of the user."""
    return Message("user", content)


def conversation(problem: FunctionProblem, code: str) -> tuple[Message, ...]:
    """The task, and `code` as if the model had written it."""
    described = "\n".join((problem.description.strip(), *problem.editor_lines))
    task = render("write_code", signature=problem.signature, description=described)
    return user(task), Message("assistant", render("code_answer", code=code.strip("\n")))


def feedback_on(failing: FailingTest, entry_point: str) -> dict[str, str]:
    """A failing test in the words of the prompts."""
    return {
        "call": call_source(failing.test.call, entry_point),
        "actual": describe(failing.actual, failing.test.call),
        "expected": expected_source(failing.test),
    }


def test_request(problem: FunctionProblem, code: str, generator: Generator) -> list[Message]:
    """The request for one unit test of `code`, a version of the module under test."""
    about = {
        "signature": problem.signature,
        "description": problem.description.strip(),
        "entry_point": problem.entry_point,
    }
    if generator == "random":
        return [user(render("random_test", **about))]
    return [user(render("failing_test", **about, code=code.strip("\n")))]


def output_question(
    request: Sequence[Message], proposal: ProposedTest, entry_point: str
) -> list[Message]:
    """The question for the output of a proposed input, put after the answer up to its call."""
    assert not isinstance(proposal.call, Unreadable)
    call = call_source(proposal.call, entry_point)
    return [
        *request,
        Message("assistant", proposal.before_output),
        user(render("expected_output", call=call)),
    ]


def to_continue(request: Sequence[Message], proposal: ProposedTest) -> list[Message]:
    """The answer that proposed an input, up to its call, for the model to go on from there.

    A conversation that ends with the assistant's words is one that the model continues
    (`Model.generate`).
    """
    return [*request, Message("assistant", proposal.before_output)]


def shape_of(problem: FunctionProblem) -> CallShape:
    """Return how the function is called, according to the code under test."""
    about = subject(problem.description, problem.entry_point, problem.code)
    tree = try_parse(problem.code)
    function = find_function(tree, problem.entry_point) if tree is not None else None
    named = function.args.kwonlyargs if function is not None else []
    return CallShape(about, tuple(arg.arg for arg in named))


async def read_proposal(
    answer: Completion | None,
    problem: FunctionProblem,
    shape: CallShape,
    box: AsyncSandbox,
    *,
    raises: bool = True,
) -> ProposedTest:
    """The unit test of an answer (None: the request did not fit). `raises`: it may expect an
    exception. Raises `SandboxUnavailable`."""
    if answer is None:
        return ProposedTest("", Unreadable.CONTEXT, Unreadable.CONTEXT)
    if not final_text(answer.text).strip():
        return ProposedTest(answer.text, Unreadable.EMPTY, Unreadable.EMPTY)
    said = read_test(answer.text, problem.entry_point)
    call = await resolve_call(said.call, shape.subject, box, keyword_only=shape.keyword_only)
    stated: Output | Unreadable = Unreadable.NO_OUTPUT
    if not isinstance(call, Unreadable):
        stated = _admitted(await resolve_output(said.output, box), raises)
    return ProposedTest(answer.text, call, stated, said.before_output)

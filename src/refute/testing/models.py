"""A model with scripted answers, and a list of checks that every model must pass.

SUBJECT = Subject(open=lambda: MyModel(...))

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check):
    conform(check, SUBJECT)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from refute.errors import ContextTooLong, ModelUnavailable
from refute.models.contract import GREEDY, Completion, Message, Model, Sampling, Tool, Usage


@dataclass(frozen=True)
class Subject:
    """A model under test. It answers "long" with more than four tokens."""

    open: Callable[[], Model]
    """Makes the model; called once for every check."""
    exact: bool = True
    """At temperature 0 the same request has the same answer."""
    seeds: bool = False
    """With a seed, sample i of a request is always the same."""
    tools: bool = False
    """Calls the tool that it is given."""
    limit: int | None = None
    """A prompt of so many words does not fit; None: everything fits."""


Check = Callable[[Subject, Model], Awaitable[None]]
CHECKS: list[Check] = []

BRIEF = Sampling(max_tokens=8)
BRIEF_GREEDY = Sampling(temperature=0.0, top_p=1.0, max_tokens=12)


def conform(check: Check, subject: Subject) -> None:
    """Run one check on a model made for it."""

    async def run() -> None:
        model = subject.open()
        try:
            await check(subject, model)
        finally:
            await model.close()

    asyncio.run(run())


def user(text: str) -> list[Message]:
    return [Message("user", text)]


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


def well_formed(answers: Sequence[Completion], n: int) -> None:
    assert isinstance(answers, list)
    assert len(answers) == n
    for answer in answers:
        assert isinstance(answer, Completion)
        assert isinstance(answer.text, str)
        answer.text.encode("utf-8")
        assert answer.finish_reason in ("stop", "length", "tool_calls")
        assert answer.usage.prompt_tokens >= 0
        assert answer.usage.completion_tokens >= 0


@check
async def exactly_n_samples(subject: Subject, model: Model) -> None:
    for n in (1, 3, 8):
        well_formed(await model.generate(user("hello"), n=n, sampling=BRIEF), n)


@check
async def later_samples_of_a_request(subject: Subject, model: Model) -> None:
    well_formed(await model.generate(user("hello"), n=2, sampling=BRIEF, first=5), 2)


@check
async def the_name_is_stable(subject: Subject, model: Model) -> None:
    before = model.name
    await model.generate(user("hello"), n=1, sampling=BRIEF)
    other = subject.open()
    assert before
    assert model.name == other.name == before
    await other.close()


@check
async def cut_at_max_tokens(subject: Subject, model: Model) -> None:
    sampling = Sampling(temperature=0.0, top_p=1.0, max_tokens=4)
    [answer] = await model.generate(user("long"), n=1, sampling=sampling)
    assert answer.finish_reason == "length"
    assert answer.text
    assert answer.usage.completion_tokens <= 5  # some count the end of the turn


@check
async def usage_counts_the_prompt_for_the_first(subject: Subject, model: Model) -> None:
    answers = await model.generate(user("one two three four " * 4), n=2, sampling=BRIEF)
    assert answers[0].usage.prompt_tokens > 0
    assert sum(answer.usage.completion_tokens for answer in answers) > 0


@check
async def greedy_answers_repeat(subject: Subject, model: Model) -> None:
    if not subject.exact:
        return
    twice = await model.generate(user("hello"), n=2, sampling=BRIEF_GREEDY)
    [once] = await model.generate(user("hello"), n=1, sampling=BRIEF_GREEDY)
    assert {answer.text for answer in twice} == {once.text}


@check
async def stops_before_a_stop_string(subject: Subject, model: Model) -> None:
    if not subject.exact:
        return
    [whole] = await model.generate(user("hello"), n=1, sampling=BRIEF_GREEDY)
    middle = whole.text[len(whole.text) // 2]
    sampling = Sampling(temperature=0.0, top_p=1.0, max_tokens=12, stop=("\x07never", middle))
    [cut] = await model.generate(user("hello"), n=1, sampling=sampling)
    assert cut.text == whole.text.partition(middle)[0]
    assert cut.finish_reason == "stop"


@check
async def many_at_once_as_one_by_one(subject: Subject, model: Model) -> None:
    prompts = [f"number {at}" for at in range(12)]
    at_once = await asyncio.gather(
        *(model.generate(user(one), n=1, sampling=BRIEF_GREEDY) for one in prompts)
    )
    for answers in at_once:
        well_formed(answers, 1)
    if subject.exact:
        for prompt, [answer] in list(zip(prompts, at_once, strict=True))[::4]:
            [alone] = await model.generate(user(prompt), n=1, sampling=BRIEF_GREEDY)
            assert alone.text == answer.text


@check
async def a_seed_fixes_each_sample_by_its_number(subject: Subject, model: Model) -> None:
    if not subject.seeds:
        return
    sampling = Sampling(temperature=1.0, top_p=1.0, max_tokens=8, seed=11)
    four = await model.generate(user("hello"), n=4, sampling=sampling)
    again = await model.generate(user("hello"), n=2, sampling=sampling, first=2)
    assert [answer.text for answer in four[2:]] == [answer.text for answer in again]
    assert len({answer.text for answer in four}) > 1


@check
async def conversations_and_foreign_texts(subject: Subject, model: Model) -> None:
    conversation = [
        Message("system", "be brief"),
        Message("user", "hello"),
        Message("assistant", "yes?"),
        Message("user", "\ud800 \x00 é \U0001f389 <|im_end|> {{ 7 * 7 }} \r\n"),
    ]
    well_formed(await model.generate(conversation, n=2, sampling=BRIEF), 2)


@check
async def tools_are_called(subject: Subject, model: Model) -> None:
    if not subject.tools:
        return
    tool = Tool("look", "Look at a file.", '{"type": "object", "properties": {}}')
    sampling = Sampling(max_tokens=64, tools=(tool,))
    [answer] = await model.generate(user("use the tool"), n=1, sampling=sampling)
    assert answer.finish_reason == "tool_calls"
    assert [call.name for call in answer.tool_calls] == ["look"]
    turn = [
        *user("use the tool"),
        Message("assistant", answer.text, tool_calls=answer.tool_calls),
        Message("tool", "nothing there", tool_call_id=answer.tool_calls[0].id),
    ]
    well_formed(await model.generate(turn, n=1, sampling=sampling), 1)


@check
async def too_long_a_prompt_is_told_by_type(subject: Subject, model: Model) -> None:
    if subject.limit is None:
        return
    with pytest.raises(ContextTooLong):
        await model.generate(user("word " * subject.limit), n=1, sampling=BRIEF)
    well_formed(await model.generate(user("hello"), n=1, sampling=BRIEF), 1)


@check
async def usable_after_a_request_was_cancelled(subject: Subject, model: Model) -> None:
    asking = asyncio.ensure_future(model.generate(user("long"), n=4, sampling=BRIEF))
    await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    well_formed(await model.generate(user("hello"), n=1, sampling=GREEDY_SHORT), 1)


@check
async def closing_twice_is_fine(subject: Subject, model: Model) -> None:
    await model.generate(user("hello"), n=1, sampling=BRIEF)
    await model.close()
    await model.close()


GREEDY_SHORT = Sampling(temperature=GREEDY.temperature, top_p=GREEDY.top_p, max_tokens=4)


Answer = str | Completion
Script = Callable[[Sequence[Message], int], Answer] | Sequence[Answer]


class ScriptedModel:
    """A deterministic model.

    `answer` is either a function of (messages, number of the sample) or a list that is dealt out in
    the order of asking, one sample each; a list that is used up raises `ModelUnavailable`. Whatever
    the function raises comes out of `generate`. A plain text is cut at the first stop string and
    counted as one token per four characters.
    """

    def __init__(self, answer: Script, name: str = "scripted") -> None:
        self._answer = answer
        self._name = name
        self.requests = 0
        """Number of calls of `generate`."""
        self.samples = 0
        """Number of samples handed out."""
        self.asked: list[tuple[Message, ...]] = []
        """The messages of every request, in the order of asking."""
        self.closed = False

    @property
    def name(self) -> str:
        """Name of the model in cache keys."""
        return self._name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """The next n answers. Raises `ModelUnavailable` when a list has run out."""
        self.requests += 1
        self.asked.append(tuple(messages))
        prompt = sum(len(message.content) for message in messages) // 4
        answers = []
        for number in range(first, first + n):
            answer = self._one(messages, number)
            self.samples += 1
            if isinstance(answer, str):
                answer = _completion(answer, sampling, prompt if number == first else 0)
            answers.append(answer)
        return answers

    def _one(self, messages: Sequence[Message], number: int) -> Answer:
        if callable(self._answer):
            return self._answer(messages, number)
        if self.samples >= len(self._answer):
            raise ModelUnavailable(f"{self._name}: the script has {len(self._answer)} answers")
        return self._answer[self.samples]

    async def close(self) -> None:
        """Note that it was closed; idempotent."""
        self.closed = True


def _completion(text: str, sampling: Sampling, prompt_tokens: int) -> Completion:
    """A text as an answer: cut at the stop strings, and at `max_tokens` of four characters each."""
    for stop in sampling.stop:
        text = text.partition(stop)[0]
    reason = "stop"
    if len(text) > 4 * sampling.max_tokens:
        text, reason = text[: 4 * sampling.max_tokens], "length"
    return Completion(text, reason, usage=Usage(prompt_tokens, -(-len(text) // 4)))

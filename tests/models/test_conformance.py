"""The conformance suite on the scripted model, on recordings, and over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.models.cache import Recording, ReplayModel
from refute.models.contract import Completion, Message, Sampling
from refute.models.openai import OpenAIModel
from refute.testing.models import CHECKS, Check, ScriptedModel, Subject, conform

from .loopback import Behaviour, Loopback, Reply, chat, error, obedient

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


def answer(messages: Sequence[Message], number: int) -> str:
    said = messages[-1].content.encode("utf-8", "replace").decode()
    return "a long text of many words" if said == "long" else f"{said}, you said"


def exact(body: dict[str, Any], before: int) -> Reply:
    """As `obedient`, but the same at every temperature of 0, and strict about its context."""
    said = body["messages"][-1]["content"]
    if len(said) > 2000:
        return error(400, "This model's maximum context length is 500 tokens.")
    if body["temperature"] == 0 and said not in ("long", "stop") and "tools" not in body:
        text = f"{said}, you said"
        for stop in body.get("stop", []):
            text = text.partition(stop)[0]
        return chat([text] * body.get("n", 1))
    return obedient(body, before)


def one_choice(body: dict[str, Any], before: int) -> Reply:
    """Ignores n, as `transformers serve` and Ollama do; knows no stop strings either."""
    return exact({**body, "n": 1, "stop": []}, before)


def grudging(body: dict[str, Any], before: int) -> Reply:
    """Refuses what reasoning models and small servers refuse, one parameter at a time."""
    refused = {
        "n": "only one completion choice is allowed",
        "seed": "Unrecognized request argument supplied: seed",
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "stop": "Unsupported parameter: 'stop' is not supported with this model.",
        "top_p": "`top_p` must be > 0.0 and < 1.0",
    }
    for name, text in refused.items():
        if name in body and (name != "top_p" or body["top_p"] == 1.0):
            return error(400, text)
    return exact({**body, "max_tokens": body["max_completion_tokens"]}, before)


@every_check
def test_scripted(check: Check) -> None:
    conform(check, Subject(lambda: ScriptedModel(answer)))


class Recorded:
    """A model whose answers are recorded as those of a session are."""

    def __init__(self, model: ScriptedModel, path: Path) -> None:
        self.model, self.recording = model, Recording(path)
        self.name = model.name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        answers = await self.model.generate(messages, n=n, sampling=sampling, first=first)
        self.recording.keep(messages, sampling, first, answers)
        return answers

    async def close(self) -> None:
        self.recording.close()
        await self.model.close()


@every_check
def test_recorded_then_replayed(check: Check, tmp_path: Path) -> None:
    """What passes while it is recorded passes again when it is replayed."""
    path = tmp_path / "answers.jsonl"
    path.touch()
    conform(check, Subject(lambda: Recorded(ScriptedModel(answer), path)))
    conform(check, Subject(lambda: ReplayModel(path)))


@every_check
@pytest.mark.parametrize(
    "behaviour",
    [exact, one_choice, grudging],
    ids=["exact", "one choice", "grudging"],
)
def test_http(
    check: Check,
    behaviour: Behaviour,
    server: Loopback,
    quick_retry: Any,
) -> None:
    server.behaviour = behaviour
    conform(
        check,
        Subject(
            lambda: OpenAIModel("m", base_url=server.url, retry=quick_retry),
            tools=True,
            limit=500,
        ),
    )

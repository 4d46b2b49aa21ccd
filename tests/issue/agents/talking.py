"""Agents with a scripted model on a real repository: what these tests share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.core.methods import Bounds, Context, MethodSpec
from refute.issue.contract import Reproduction
from refute.models.contract import Completion, Message, ToolCall
from refute.models.session import Session
from refute.testing.models import ScriptedModel

from ..projects import Project

GOLDEN = Path(__file__).parent / "golden"

Answer = str | Completion | Exception


def command(text: str) -> str:
    """An answer that writes commands as text."""
    return f"DISCUSSION\nNext.\n```\n{text}\n```\n"


def called(*calls: tuple[str, str]) -> Completion:
    """An answer that calls tools natively: names and JSON arguments."""
    made = tuple(ToolCall(f"call_{i}", name, given) for i, (name, given) in enumerate(calls))
    return Completion("I go on.", "tool_calls", made)


def scripted(answers: Sequence[Answer]) -> ScriptedModel:
    """A model that gives the answers in their order; an exception is raised."""
    left = list(answers)

    def answer(messages: Sequence[Message], number: int) -> str | Completion:
        if not left:
            pytest.fail(f"asked once too often: {messages[-1].content}")
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return ScriptedModel(answer)


def reproduce(
    model: ScriptedModel,
    project: Project,
    method: MethodSpec[Any, Reproduction],
    *,
    bounds: Bounds | None = None,
    **options: object,
) -> Reproduction:
    """Run a method on the project's issue."""

    async def work() -> Reproduction:
        async with Session(model) as session:
            found: Reproduction = await method(
                project.problem,
                ctx=Context(
                    workspace=project.spawn,
                    model=session.asker(project.problem.id),
                    bounds=bounds or Bounds(),
                ),
                options=method.options(**options),
            )
            return found

    return asyncio.run(work())


def conversation(messages: Sequence[Message]) -> str:
    """What a model was sent, as text."""
    parts = []
    for message in messages:
        calls = "".join(f"\n<{c.name} {c.arguments}>" for c in message.tool_calls)
        parts.append(f"=== {message.role}\n{message.content}{calls}\n")
    return "\n".join(parts)


def same_as_golden(name: str, text: str) -> None:
    """Compare with golden/NAME.txt; with REFUTE_WRITE_GOLDEN=1, write it."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("REFUTE_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path} is what was sent before; see talking.same_as_golden"

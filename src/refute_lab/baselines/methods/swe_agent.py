"""SWE-Agent and SWE-Agent+ as SWT-Bench runs them (section 4.1, App. B): an agent loop over the
agent-computer interface, at most 20 calls of the model. The + variant must run its tests
before it submits, and is reminded once where it did not.

Its tools are called natively or as text, whichever the model has. `tools="auto"`: the first
question explains the text form and offers the native tools as well. The first answer that calls
something decides: a native call, and tools it is from then on; a command as text, and the tools are
offered no more. A model that refuses to be offered tools is asked for text.

The prediction is the part of the final diff that touches test files. What an agent leaves besides
(scripts, a fix of the code) is dropped and noted. Asked for a fix, it is the other part. It blocks
nothing: all work on the workspace is done in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssueProblem
from refute.errors import AnswersPending, ContextTooLong, InputError, ModelUnavailable
from refute.issue.contract import Bounded, OutOfBounds, Reproduction
from refute.issue.original import fix_submission, submission
from refute.models.contract import Completion, Message, Sampling
from refute.prompts import render
from refute.workspace.contract import Recipe
from refute_lab.baselines.aci import (
    Action,
    Actions,
    Misused,
    ask_within,
    documentation,
    native_tools,
    read_call,
    read_text,
)

CALLS = 20
"""Calls of the model (SWT-Bench, section 5.1)."""
Tools = Literal["auto", "native", "text"]
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)

_TEST_COMMANDS = {
    "pytest": "python -m pytest {options}tests/test_name.py",
    "unittest": "python -m unittest {options}tests.test_name",
    "django": "python tests/runtests.py {options}label_of_the_test_app",
    "sympy": "python bin/test {options}sympy/module/tests/test_name.py",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweAgentOptions:
    """The agent's options; its figures depend on them."""

    tools: Tools = parameter("auto", "How the model calls its tools.")
    turns: int = parameter(CALLS, "Calls of the model.", at_least=1)


@method(
    "swe-agent",
    summary="an agent with commands to search, view, edit and run",
    asks_model=True,
    repairs=True,
)
async def swe_agent(
    problem: IssueProblem, *, ctx: Context, options: SweAgentOptions
) -> Reproduction:
    """SWE-Agent (section 4.1). Asked for a fix: as its authors use it (section 5.3)."""
    return await _worked(problem, ctx, options, plus=False)


@method("swe-agent+", summary="the same, told and reminded to run its tests", asks_model=True)
async def swe_agent_plus(
    problem: IssueProblem, *, ctx: Context, options: SweAgentOptions
) -> Reproduction:
    """SWE-Agent+ (section 4.2)."""
    return await _worked(problem, ctx, options, plus=True)


async def _worked(
    problem: IssueProblem, ctx: Context, options: SweAgentOptions, *, plus: bool
) -> Reproduction:
    bounds = ctx.bounds
    asking = Bounded(ctx.model, replace(bounds, calls=min(bounds.calls, options.turns)))
    with await asyncio.to_thread(ctx.workspace) as workspace:
        actions = Actions(workspace, seconds=lambda: min(bounds.test_seconds, asking.seconds_left))
        agent = _Agent(
            problem, asking, actions, plus=plus, tools=options.tools, fix=ctx.task == "repair"
        )
        ending = await agent.work()
        diff = await asyncio.to_thread(workspace.diff)
    handed_in = fix_submission if ctx.task == "repair" else submission
    return Reproduction(handed_in(problem.id, diff, ending), tuple(agent.steps))


def command_of_tests(recipe: Recipe | None) -> str:
    """Return the repository's test command as a person would type it."""
    recipe = recipe or Recipe()
    options = "".join(f"{option} " for option in recipe.options)
    return _TEST_COMMANDS[recipe.runner].format(options=options)


class _Agent:
    """One conversation: answer, actions, observations, until submit or the bounds."""

    def __init__(
        self,
        problem: IssueProblem,
        asking: Bounded,
        actions: Actions,
        *,
        plus: bool,
        tools: Tools,
        fix: bool = False,
    ) -> None:
        self._asking = asking
        self._actions = actions
        self._remind = plus
        self._form = tools
        system = render("swe_agent_system", form=tools, commands=documentation())
        task = render(
            "swe_agent",
            issue=problem.text,
            test_command=command_of_tests(problem.recipe),
            plus=plus,
            fix=fix,
            form=tools,
            calls=asking.left,
            where=actions.where,
        )
        self._messages = [Message("system", system), Message("user", task)]
        self.steps: list[dict[str, Any]] = []

    async def work(self) -> str:
        """To the end; returns why it ended, "" where the agent submitted."""
        try:
            while not self._actions.submitted:
                answer = await self._ask()
                self._messages += await asyncio.to_thread(self._turn, answer)
        except OutOfBounds as error:
            return f"ended by the bounds: {error}"
        except ContextTooLong:
            if not self.steps:
                raise  # not even the first question fits: nothing was tried
            return "ended: the conversation is too long for the model"
        return ""

    async def _ask(self) -> Completion:
        offered = () if self._form == "text" else native_tools()
        sampling = replace(SAMPLING, tools=offered)
        try:
            return await ask_within(self._asking, self._messages, sampling)
        except AnswersPending:
            raise
        except (ModelUnavailable, InputError) as error:
            # models in process say so with InputError, servers with a refusal of many wordings
            if self._form != "auto" or "tool" not in str(error).lower():
                raise
        self._form = "text"
        return await ask_within(self._asking, self._messages, SAMPLING)

    def _turn(self, answer: Completion) -> list[Message]:
        """The model's answer and what came of it. Blocks."""
        native = bool(answer.tool_calls) and self._form != "text"
        said = Message("assistant", answer.text, answer.tool_calls if native else ())
        observations = self._call_tools(answer) if native else [self._run_text(answer)]
        self.steps.append(
            {
                "kind": "turn",
                "answer": answer.text,
                "calls": [{"name": c.name, "arguments": c.arguments} for c in said.tool_calls],
                "observed": [message.content for message in observations],
            }
        )
        return [said, *observations]

    def _call_tools(self, answer: Completion) -> list[Message]:
        self._form = "native"
        found = []
        for call in answer.tool_calls:
            try:
                content = self._observed([read_call(call)])
            except Misused as error:
                content = f"Not done: {error}."
            found.append(Message("tool", content, tool_call_id=call.id))
        return found

    def _run_text(self, answer: Completion) -> Message:
        if self._form == "native":
            return Message("user", "Call one of the tools; `submit` ends your work.")
        try:
            actions = read_text(answer.text)
        except Misused as error:
            return Message("user", render("swe_agent_format", problem=str(error)))
        self._form = "text"
        return Message("user", self._observed(actions))

    def _observed(self, actions: Sequence[Action]) -> str:
        """Carry out actions one after another; nothing is done after a submit."""
        told: list[str] = []
        for action in actions:
            if self._actions.submitted:
                break
            if action.name == "submit" and self._remind and not self._actions.tested:
                self._remind = False
                told.append(render("swe_agent_reminder"))
                break
            told.append(self._actions.do(action))
        return "\n\n".join([*told, self._actions.where])

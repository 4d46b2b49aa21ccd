"""Any coding agent as a command: it is run in the repository, and its changes are the prediction.

Without `network` the command runs in the workspace's jail as tests do: no network, no files but the
repository, its environment and the machine's programs, no variables of the user's. That is enough
for a script, or a model in process.

With `network` (`--set network=true`) it runs on this machine as the user does, in a private copy of
the repository. NOT protected then: everything the user can read, write and reach, the keys in the
environment among it; processes that the agent moves to a session of their own outlive it. What
still holds: the user's checkout is not touched, the copy has a history of one commit and nothing
later, the time limit ends the command and its process group, and its changes are read as data and
judged in the jail. Such a run is not blind either: the network may hold the fix.

Only the parts of its changes that touch test files are kept.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as resource_files
from pathlib import Path

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssueProblem
from refute.errors import InputError
from refute.issue.contract import Reproduction
from refute.issue.drafting.original import shortened
from refute.issue.drafting.submission import submission
from refute.prompts import render
from refute.workspace.contract import CommandResult, Workspace
from refute_lab.baselines.host_checkout import HostCheckout

UNCONTAINED = "the agent ran outside of the jail, with the network and the user's files"
_PLACE = "{prompt_file}"
_PROMPT = ".refute-prompt.md"
_NOT_FOUND = 127
_OUTPUT = 20_000
"""Characters of the agent's output in the journal."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent as a shell command."""

    name: str
    """Of the preset, or "command"."""
    command: str
    network: bool = False
    """It is of no use without the network."""

    def started(self, prompt_file: str) -> str:
        """The command with the path of its task, which is quoted for the shell already."""
        return self.command.replace(_PLACE, prompt_file)


def presets() -> Mapping[str, Agent]:
    """The agents of `agents.toml`, by name."""
    text = resource_files("refute_lab.baselines").joinpath("agents.toml").read_text("utf-8")
    return {name: Agent(name, **table) for name, table in tomllib.loads(text).items()}


def chosen_agent(agent: str | None, *, network: bool) -> Agent:
    """The preset of that name, or the command. Raises `InputError` where it cannot be run."""
    known = presets()
    names = ", ".join(known)
    if not agent or not agent.strip():
        raise InputError(
            f"name an agent with --set agent=...: a command with {_PLACE}, or one of {names}"
        )
    if agent not in known:
        if _PLACE not in agent:
            raise InputError(f"agent = {agent!r}: is no preset ({names}) and has no {_PLACE}")
        return Agent("command", agent)
    chosen = known[agent]
    if chosen.network and not network:
        raise InputError(
            f"{agent} needs the network and its key: add --set network=true; it then runs outside "
            "of the jail and can read your files"
        )
    program = chosen.command.split()[0]
    if shutil.which(program) is None:
        raise InputError(f"{agent}: there is no program {program!r} on PATH; install it first")
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalOptions:
    """Which agent, and what it may reach."""

    agent: str | None = parameter(None, "A preset, or a command with {prompt_file}.")
    network: bool = parameter(
        False,
        "Let the agent's command out of its jail: it reads your files and the network.",
        flag="--allow-network",
    )

    def __post_init__(self) -> None:
        """Raises `InputError` where the agent cannot be run: before any work."""
        chosen_agent(self.agent, network=self.network)


@method("external", summary="any coding agent, as a command (--set agent=...)")
async def external(
    problem: IssueProblem, *, ctx: Context, options: ExternalOptions
) -> Reproduction:
    """See the module's docstring; the agent has its own model."""
    chosen = chosen_agent(options.agent, network=options.network)
    network, bounds = options.network, ctx.bounds
    prompt = render("external", issue=problem.text)
    run = _outside if network else _inside
    with await asyncio.to_thread(ctx.workspace) as workspace:
        done = await run(workspace, chosen, prompt, bounds.seconds)
        diff = await asyncio.to_thread(workspace.diff)
    remarks = [UNCONTAINED if network else ""]
    if done.timed_out:
        remarks.append(f"the agent was ended after {bounds.seconds:.0f} seconds")
    elif done.status == _NOT_FOUND and not network:
        remarks.append(
            "the agent's program was not found in the jail, where only the machine's programs and "
            "the repository's environment are; --set network=true runs it outside"
        )
    elif done.status:
        remarks.append(f"the agent ended with exit status {done.status}")
    step = {
        "kind": "agent",
        "agent": chosen.name,
        "command": chosen.command,
        "contained": not network,
        "prompt": prompt,
        "status": done.status,
        "timed_out": done.timed_out,
        "seconds": round(done.seconds, 3),
        "output": shortened(done.output, _OUTPUT),
    }
    return Reproduction(submission(problem.id, diff, *remarks), (step,))


async def _inside(workspace: Workspace, agent: Agent, prompt: str, seconds: float) -> CommandResult:
    """Run the agent in the jail. The task lies in the temporary folder, not in the tree."""

    def work() -> CommandResult:
        workspace.write(_PROMPT, prompt.encode("utf-8", "replace"))
        workspace.run(f'mv {_PROMPT} "$TMPDIR/{_PROMPT}"')
        return workspace.run(agent.started(f'"$TMPDIR/{_PROMPT}"'), timeout=seconds)

    return await asyncio.to_thread(work)


async def _outside(
    workspace: Workspace, agent: Agent, prompt: str, seconds: float
) -> CommandResult:
    """Run the agent on this machine, in a copy; bring its changes back into the workspace."""
    copy = HostCheckout(workspace)

    def work() -> CommandResult:
        with copy:
            task = Path(copy.folder).parent / _PROMPT
            task.write_text(prompt, encoding="utf-8", errors="replace")
            done = copy.run(agent.started(shlex.quote(os.fspath(task))), timeout=seconds)
            copy.bring_back()
        return done

    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        copy.stop()  # else the thread, and with it the program, would go on
        raise

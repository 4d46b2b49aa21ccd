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
import selectors
import shlex
import shutil
import signal
import stat
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files as resource_files
from pathlib import Path
from types import TracebackType

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssueProblem
from refute.core.storage import ScratchFolder
from refute.errors import InputError, WorkspaceUnavailable
from refute.issue.contract import Reproduction
from refute.issue.original import shortened, submission
from refute.prompts import render
from refute.workspace.commands import OutputBuffer
from refute.workspace.contract import CommandResult, Workspace
from refute.workspace.repositories import GitFailed, git
from refute.workspace.rooted_files import MOST_BYTES, put, take

# -- host checkout ---------------------------------------------------------------------------------


_host_checkout_OUTPUT = 200_000
_MOST_CHANGED = 2_000
"""Changed files that are brought back; more is a build, not an edit."""
_GONE = ".refute-gone"
_GRACE = 5.0
"""Seconds between asking a program to end and ending it."""


class HostCheckout:
    """A context manager: the copy is gone afterwards."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._holder = ScratchFolder(ignore_cleanup_errors=True)
        self.folder = os.path.join(os.path.realpath(self._holder.name), workspace.root.name)
        self._given: dict[str, bytes] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the program that runs; from another thread."""
        self._stopped.set()

    def __enter__(self) -> HostCheckout:
        try:
            self._fill()
        except BaseException:
            self._holder.cleanup()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holder.cleanup()

    def _fill(self) -> None:
        """The files as they are now, links as the files that they lead to; one commit of them."""
        os.mkdir(self.folder)
        for path in self._workspace.files():
            try:
                data = self._workspace.read(path)
            except OSError:
                continue  # a link to a folder, or out of the tree; a huge file
            self._given[path] = data
            put(self.folder, path, data)
        for path in self._executables():
            if path in self._given:
                os.chmod(os.path.join(self.folder, path), 0o755)
        folder = Path(self.folder)
        who = ("-c", "user.name=refute", "-c", "user.email=refute@localhost")
        try:
            git("init", "--quiet", folder=folder)
            git("add", "--all", "--force", ".", folder=folder)
            git("commit", "--quiet", "--allow-empty", "-m", "as it is", folder=folder, options=who)
        except GitFailed as error:
            raise WorkspaceUnavailable(f"cannot make a copy for the agent: {error}") from None

    def _executables(self) -> list[str]:
        found = self._workspace.run("git ls-files -s | grep ^100755 | cut -f 2", timeout=60)
        return found.output.split("\n")

    def run(self, command: str, *, timeout: float) -> CommandResult:
        """Run a shell command in the copy, as the user; its process group ends with it."""
        started = time.monotonic()
        kept = OutputBuffer(_host_checkout_OUTPUT)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            with process.stdout:
                timed_out = not self._watched(process, kept, started + timeout)
        finally:
            _end_group(process)
        return CommandResult(
            process.returncode,
            kept.content().decode("utf-8", "replace"),
            timed_out,
            time.monotonic() - started,
        )

    def _watched(
        self, process: subprocess.Popen[bytes], kept: OutputBuffer, deadline: float
    ) -> bool:
        """Read what the program prints until it ends; False where the deadline came first."""
        stream = process.stdout
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        open_still = True
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                ended = process.poll() is not None
                if open_still and selector.select(0 if ended else 0.1):
                    data = os.read(stream.fileno(), 65536)
                    kept.add(data)
                    open_still = bool(data)
                    if data and not self._stopped.is_set() and time.monotonic() < deadline:
                        continue
                if ended:
                    return True
                if self._stopped.is_set() or time.monotonic() >= deadline:
                    return False
                if not open_still:
                    time.sleep(0.05)

    def bring_back(self) -> None:
        """Write what the program changed, made and removed into the workspace."""
        seen: set[str] = set()
        changed = 0
        for path in self._walked():
            seen.add(path)
            try:
                data = take(self.folder, path)
            except OSError:
                continue
            if data != self._given.get(path) and changed < _MOST_CHANGED:
                changed += 1
                try:
                    self._workspace.write(path, data)
                except OSError:
                    continue  # a folder of the tree became a file, or such
        gone = sorted(set(self._given) - seen)[:_MOST_CHANGED]
        if gone:
            self._workspace.write(_GONE, b"\0".join(map(os.fsencode, gone)))
            self._workspace.run(f"xargs -0 rm -f -- < {_GONE}; rm -f {_GONE}")

    def _walked(self) -> Iterator[str]:
        """Regular files of the copy, without git's own; links are not followed."""
        for folder, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
            for name in sorted(names):
                full = os.path.join(folder, name)
                found = os.lstat(full)
                if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES:
                    yield os.path.relpath(full, self.folder)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the program's process group: asked first, so that it can tidy up, then killed."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


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
            raise InputError(f"agent = {agent!r}: is not a preset ({names}) and has no {_PLACE}")
        return Agent("command", agent)
    chosen = known[agent]
    if chosen.network and not network:
        raise InputError(
            f"{agent} needs the network and its key: add --set network=true; it then runs outside "
            "of the jail and can read your files"
        )
    program = chosen.command.split()[0]
    if shutil.which(program) is None:
        raise InputError(f"{agent}: {program!r} is not on PATH; install it first")
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalOptions:
    """The agent, and the things it may reach."""

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

"""verifiers: agents in a jail of `refute.workspace`, without a container (tried with 0.4.0).

verifiers makes only the runtimes that it names (`verifiers.v1.runtimes.RuntimeConfig`), but an
agent may be put into one that is there: `Agent.run(task, runtime=...)`. So the module of a taskset
names an environment beside it:

    from refute_lab.adapters.verifiers import RefuteTaskset
    from refute_lab.adapters.verifiers_jail import JailEnv
    __all__ = ["JailEnv", "RefuteTaskset"]

What runs inside sees no files of yours and no network but the ports of 127.0.0.1 that its harness
serves, where the model answers; it is ended with all that it started.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import verifiers.v1 as vf
from verifiers.v1.runtimes import (
    ProgramResult,
    Runtime,
    SubprocessConfig,
    SubprocessRuntime,
    SubprocessRuntimeInfo,
)

from refute.core.storage import ScratchFolder
from refute.errors import WorkspaceUnavailable
from refute.workspace.local import LocalBackend, interpreter_facts
from refute_lab.adapters import verifiers_relay
from refute_lab.adapters.scoring import empty_jail

__all__ = ["JailEnv", "JailEnvConfig", "JailRuntime"]

_SECONDS = 24 * 3600.0
"""Of one command; verifiers has limits of its own."""
_KEPT = 16 << 20
"""Bytes of what it prints."""


class JailRuntime(Runtime):
    """An empty folder and one command or file at a time.

    Programs of harnesses are installed outside, before anything runs in the jail. Processes that
    outlive a command, which tool servers inside of a runtime are, it has none of.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.config = SubprocessConfig()
        self.info = SubprocessRuntimeInfo()
        self._host = SubprocessRuntime(SubprocessConfig(), f"{self.name}-host")
        self._readable = [verifiers_relay.__file__]
        self._jail: LocalBackend | None = None
        self._servers: dict[int, asyncio.Server] = {}
        self._one = asyncio.Lock()

    async def start(self) -> None:
        """Make the folders."""
        await self._host.start()
        self._folder = ScratchFolder()
        self._sockets = Path(self._folder.name, "ports")
        self._sockets.mkdir()
        self._readable.append(str(self._sockets))
        self.info.id = self._folder.name

    async def prepare_uv_script(
        self,
        script: str | bytes,
        env: dict[str, str] | None = None,
        *,
        activate: bool = True,
    ) -> list[str]:
        """Install a program of a harness on the host; what is returned runs in the jail."""
        argv: list[str] = await self._host.prepare_uv_script(script, env, activate=activate)
        python, path = Path(argv[-2]), argv[-1]
        new = {*interpreter_facts(python).readable, str(python.parent.parent), path}
        if not new <= {*self._readable}:
            if self._jail is not None:
                raise vf.SandboxError("a command has run here before the harness was installed")
            self._readable += sorted(new - {*self._readable})
        return argv

    async def prepare_execution(self, routes: list[str] | None) -> None:
        """Open the ports of `routes`, URLs of the model and of servers of tools on this machine."""
        for route in routes or ():
            to, port = urlsplit(route).hostname, urlsplit(route).port
            if to != "127.0.0.1" or port is None:
                raise vf.SandboxError(f"a jail reaches ports of 127.0.0.1 alone, not {route}")
            if port not in self._servers:
                connect = partial(asyncio.open_connection, to, port)
                serve = verifiers_relay.forwarding(connect)
                path = self._sockets / str(port)
                self._servers[port] = await asyncio.start_unix_server(serve, path)

    async def run(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
        """Run a command to its end."""
        async with self._one:
            jail = await asyncio.to_thread(self._begun)
            relay = [jail.python, "-I", "-S", verifiers_relay.__file__, str(self._sockets)]
            try:
                done = await asyncio.to_thread(
                    jail.execute,
                    [*relay, *argv],
                    env=self.process_env(env),
                    timeout=_SECONDS,
                    keep=_KEPT,
                )
            except asyncio.CancelledError:
                jail.close()
                raise
            except WorkspaceUnavailable as error:
                raise vf.SandboxError(str(error)) from None
        out, err = (part.decode("utf-8", "replace") for part in (done.out, done.err))
        if done.cause:
            err += f"\nended by the jail: {done.cause}"
        return ProgramResult(exit_code=done.status, stdout=out, stderr=err)

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        async with self._one:
            jail = await asyncio.to_thread(self._begun)
            try:
                return (await asyncio.to_thread(jail.take, path))[:max_bytes]
            except (OSError, WorkspaceUnavailable) as error:
                raise vf.SandboxError(f"read {path!r}: {error}") from None

    async def write(self, path: str, data: bytes) -> None:
        """Write a file of the folder."""
        async with self._one:
            jail = await asyncio.to_thread(self._begun)
            try:
                await asyncio.to_thread(jail.put, path, data)
            except (OSError, WorkspaceUnavailable) as error:
                raise vf.SandboxError(f"write {path!r}: {error}") from None

    async def teardown(self) -> None:
        """End what runs and remove its files."""
        for server in self._servers.values():
            server.close()
        await self._host.teardown()
        await asyncio.to_thread(self.cleanup)

    def cleanup(self) -> None:
        """End the jail and remove its files; idempotent."""
        if self._jail is not None:
            self._jail.close()
        if hasattr(self, "_folder"):
            self._folder.cleanup()

    def _begun(self) -> LocalBackend:
        if self._jail is None:
            try:
                self._jail = empty_jail(Path(self._folder.name), self._readable)
            except WorkspaceUnavailable as error:
                raise vf.SandboxError(str(error)) from None
        if not self._jail.protections()["network"]:
            raise vf.SandboxError("this jail needs namespaces, which this machine does not give")
        return self._jail


class JailEnvConfig(vf.EnvConfig):
    """One agent, whose place is the jail."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=SubprocessConfig())


class JailEnv(vf.Env[JailEnvConfig]):
    """A taskset and one agent in a jail of its own for each rollout."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """One rollout."""
        box = JailRuntime()
        try:
            await box.start()
            await agents.agent.run(task, runtime=box)
        finally:
            await box.stop()

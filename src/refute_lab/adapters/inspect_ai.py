"""Inspect: a task, a scorer and a sandbox without containers (tried with inspect-ai 0.3.285).

    inspect eval refute/programs -T rows=rows.jsonl --model ...

The names are found by the entry point `inspect_ai`. ``sandbox="refute"`` runs the commands of tools
in a jail of `refute.workspace`: no network, no files of yours, limits on memory and processes.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import (
    ExecResult,
    SandboxEnvironment,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)

from refute.core.storage import ScratchFolder
from refute.errors import WorkspaceUnavailable
from refute_lab.adapters.scoring import empty_jail, read_rows, score_async

__all__ = ["JailEnvironment", "programs", "refute_scorer"]


@task
def programs(rows: str, partial: bool = False) -> Task:
    """The rows of a file that `refute data rows` has written.

    `partial`: see `refute_lab.adapters.scoring.score`.
    """
    samples = [
        Sample(input=row.question, id=row.id, metadata={"task": row.task})
        for row in read_rows(rows)
    ]
    return Task(MemoryDataset(samples), solver=generate(), scorer=refute_scorer(partial))


@scorer(metrics=[accuracy(), mean(), stderr()])
def refute_scorer(partial: bool = False) -> Any:
    """The verdict on the completion; a sample's `metadata["task"]` is its task as JSON."""

    async def verdict(state: TaskState, target: Target) -> Score:
        one = await score_async(state.output.completion, state.metadata["task"], partial=partial)
        return Score(value=one.reward, explanation=one.reason)

    return verdict


@sandboxenv(name="refute")
class JailEnvironment(SandboxEnvironment):
    """A jail of `refute.workspace` on an empty folder, one for each sample."""

    def __init__(self) -> None:
        """Raises `SandboxUnavailableError`."""
        super().__init__()
        self._folder = ScratchFolder()
        try:
            self._jail = empty_jail(Path(self._folder.name))
        except WorkspaceUnavailable as error:
            self._folder.cleanup()
            raise SandboxUnavailableError(str(error)) from None

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """One environment for the sample."""
        return {"default": await asyncio.to_thread(cls)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """End the jails of a sample."""
        for one in environments.values():
            await asyncio.to_thread(one.as_type(cls).close)

    def close(self) -> None:
        """End the processes and remove the files; idempotent."""
        self._jail.close()
        self._folder.cleanup()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command. Where no time is given, an hour is its limit. There is one user."""
        if user is not None:
            raise SandboxUserUnsupportedError(f"the jail has one user, it cannot run as {user!r}")
        if cwd is not None:  # relative to the tree, in which the jail starts
            cmd = ["/bin/sh", "-c", f'cd {shlex.quote(cwd)} && exec "$@"', "sh", *cmd]
        given = input.encode() if isinstance(input, str) else input or b""
        done = await self._run(cmd, env or {}, given, float(timeout or 3600))
        if done.cause == "timeout":
            raise TimeoutError(f"not done after {timeout or 3600} s")
        out, err = (part.decode("utf-8", "replace") for part in (done.out, done.err))
        return ExecResult(done.status == 0, done.status, out, err)

    async def _run(
        self, cmd: list[str], env: Mapping[str, str], given: bytes, timeout: float
    ) -> Any:
        try:
            return await asyncio.to_thread(
                self._jail.execute, cmd, env=env, given=given, timeout=timeout, keep=10 << 20
            )
        except WorkspaceUnavailable as error:
            raise SandboxUnavailableError(str(error)) from None

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file of the tree."""
        data = contents.encode() if isinstance(contents, str) else contents
        await asyncio.to_thread(self._jail.put, self._inside(file), data)

    async def read_file(self, file: str, text: bool = True) -> Any:
        """A file of the tree, of at most 64 MiB."""
        data = await asyncio.to_thread(self._jail.take, self._inside(file))
        return data.decode() if text else data

    def _inside(self, file: str) -> str:
        """The path, relative to the tree. Raises `PermissionError` for one outside of it."""
        path = Path(self._jail.tree, file)
        if not path.is_relative_to(self._jail.tree):
            raise PermissionError(f"{file}: only files below {self._jail.tree} can be exchanged")
        return str(path.relative_to(self._jail.tree))

"""Runs tests on a backend with the probe in their interpreter, and reports what it saw."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from refute import probe
from refute.workspace.backend import Execution, ExecutionBackend
from refute.workspace.contract import Failure, Frame, Outcome, TestReport, TestResult, TestSelection
from refute.workspace.recipe import Recipe

__all__ = ["run_tests"]

_KEPT_OUTPUT = 20_000


def run_tests(
    backend: ExecutionBackend,
    recipe: Recipe,
    selection: TestSelection,
    count_lines: Mapping[str, Sequence[int]],
    timeout: float,
) -> TestReport:
    """Run the selection once. Raises `WorkspaceUnavailable`; nothing the tests do is an error."""
    if not selection.files and not selection.tests:
        return TestReport((), "finished", {f: dict.fromkeys(n, 0) for f, n in count_lines.items()})
    nonce = secrets.token_hex(16)
    env, files = probe.environment(
        f"{backend.scratch}/channel",
        nonce,
        count_lines,
        backend.tree,
        site=backend.site,
        env=backend.environ,
    )
    command = probe.command(
        recipe.runner,
        selection.files,
        selection.tests,
        recipe.options,
        backend.python,
        backend.site,
    )
    backend.fresh(files)
    done = backend.execute(command, env=env, timeout=timeout, keep=2 * _KEPT_OUTPUT, merge=True)
    raw = probe.read(backend.gather(), nonce, count_lines)
    return _report(raw, done, backend.tree)


def _report(raw: probe.RawReport, done: Execution, tree: str) -> TestReport:
    if done.cause:
        status = {"timeout": "timeout", "memory": "memory"}.get(done.cause, "crashed")
    else:
        status = "finished" if raw.closed and raw.failure is None else "crashed"
    remark = raw.remark
    if done.cause and raw.trusted:
        during = f" while {raw.running} ran" if raw.running else ""
        remark = f"ended after {done.seconds:.0f} s: over the limit of {done.cause}{during}"
    elif not raw.closed and not done.cause and raw.trusted:
        remark = f"{raw.remark} (exit status {done.status})"
    return TestReport(
        results=tuple(_result(result, tree) for result in raw.results),
        status=cast(Literal["finished", "timeout", "memory", "crashed"], status),
        lines=raw.lines,
        seconds=done.seconds,
        output=done.out.decode("utf-8", "replace")[-_KEPT_OUTPUT:],
        trusted=raw.trusted,
        remark=remark,
        running=raw.running,
    )


def _result(raw: probe.RawResult, tree: str) -> TestResult:
    return TestResult(
        id=raw.id,
        file=_relative(raw.file, tree),
        outcome=cast(Outcome, raw.outcome),
        phase=cast(Literal["collect", "setup", "call", "teardown"], raw.phase),
        failure=_failure(raw.failure, tree),
        reason=raw.reason,
        seconds=raw.seconds,
        names=raw.names,
    )


def _failure(raw: probe.RawFailure | None, tree: str) -> Failure | None:
    if raw is None:
        return None
    frames = tuple(Frame(_relative(file, tree), line, name) for file, line, name in raw.frames)
    return Failure(raw.type, raw.message, raw.traceback.replace(f"{tree}/", ""), frames)


def _relative(file: str, tree: str) -> str:
    return os.path.relpath(file, tree) if file.startswith(tree + "/") else file

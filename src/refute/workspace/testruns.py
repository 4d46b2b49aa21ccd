"""Runs tests on a backend with the probe in their interpreter, and reports what it saw."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from refute import probe
from refute.workspace.backend import Execution, ExecutionBackend
from refute.workspace.contract import Failure, Frame, Outcome, TestReport, TestResult, TestSelection
from refute.workspace.recipe import WORK_TREE, Recipe

__all__ = ["run_tests"]

_KEPT_OUTPUT = 20_000


def run_tests(
    backend: ExecutionBackend,
    recipe: Recipe,
    selection: TestSelection,
    count_lines: Mapping[str, Sequence[int]],
    timeout: float,
) -> TestReport:
    """Run the selection once. Raises `WorkspaceUnavailable`; nothing the tests do is an error.

    An id that holds the path of the tree (a parameter that is one) has `WORK_TREE` in its place, in
    the report and in what is asked for: it is the same in every workspace and on every machine.
    """
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
        [test.replace(WORK_TREE, backend.tree) for test in selection.tests],
        (*_cache(recipe, backend), *recipe.options),
        backend.python,
        backend.site,
        import_only=selection.import_only,
    )
    backend.fresh(files)
    done = backend.execute(command, env=env, timeout=timeout, keep=2 * _KEPT_OUTPUT, merge=True)
    raw = probe.read(backend.gather(), nonce, count_lines)
    return _report(raw, done, backend.tree)


def _cache(recipe: Recipe, backend: ExecutionBackend) -> tuple[str, ...]:
    """pytest's cache outside of the tree, and new for each run. Without its plugin pytest would not
    know `cache_dir`, `--lf` and the like, which repositories set."""
    if recipe.runner != "pytest" or "no:cacheprovider" in recipe.options:
        return ()
    return ("-o", f"cache_dir={backend.scratch}/pytest-cache")


def _report(raw: probe.RawReport, done: Execution, tree: str) -> TestReport:
    output = done.out.decode("utf-8", "replace")[-_KEPT_OUTPUT:]
    if done.cause:
        status = {"timeout": "timeout", "memory": "memory"}.get(done.cause, "crashed")
    else:
        whole = raw.closed and raw.failure is None and not _did_not_start(raw)
        status = "finished" if whole else "crashed"
    remark = raw.remark
    if done.cause and raw.trusted:
        during = f" while {raw.running} ran" if raw.running else ""
        remark = f"ended after {done.seconds:.0f} s: over the limit of {done.cause}{during}"
    elif not raw.closed and not done.cause and raw.trusted:
        remark = f"{raw.remark} (exit status {done.status})"
    elif status == "crashed" and not done.cause and raw.failure is None and raw.trusted:
        remark = f"the runner did not start (exit status {raw.exit}): {_last_error(output)}"
    return TestReport(
        results=tuple(_result(result, tree) for result in raw.results),
        status=cast(Literal["finished", "timeout", "memory", "crashed"], status),
        lines=raw.lines,
        seconds=done.seconds,
        output=output,
        trusted=raw.trusted,
        remark=remark,
        running=raw.running.replace(tree, WORK_TREE),
    )


def _did_not_start(raw: probe.RawReport) -> bool:
    """Whether a runner came to its end without having run a test: a usage error, an internal error
    (pytest looks at some settings only after it has collected). 5 says that there was no test."""
    return raw.closed and not raw.results and raw.exit not in (0, 5)


_TELLING = re.compile(
    r"^(?:INTERNALERROR> *|ERROR:? *|E +|[\w./-]+: error: *)(\S.*)$", re.MULTILINE
)
_EXCEPTION = re.compile(
    r"^(?:INTERNALERROR> *)?((?:\w+\.)*\w*(?:Error|Warning|Exception)\b.*)$", re.M
)


def _last_error(output: str) -> str:
    """The line of what a runner printed that says most, for people."""
    for sign in (_EXCEPTION, _TELLING):
        told = sign.findall(output)
        if told:
            return str(told[-1]).strip()[:300]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"


def _result(raw: probe.RawResult, tree: str) -> TestResult:
    return TestResult(
        id=raw.id.replace(tree, WORK_TREE),
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

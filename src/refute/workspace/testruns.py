"""Runs tests on a backend with the probe in their interpreter, and reports what it saw."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal, cast

from refute import probe
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import (
    WORK_TREE,
    Execution,
    ExecutionBackend,
    Failure,
    Frame,
    Outcome,
    Recipe,
    TestReport,
    TestResult,
    TestSelection,
)
from refute.workspace.infer import MOST_READ, PYTEST_SETTINGS, has_pytest, needs_pytest, sets_pytest

_KEPT_OUTPUT = 20_000


class NotStarted(WorkspaceUnavailable):
    """The runner ended before it had looked for a test: a plugin or an option that the settings ask
    for is not there, say."""

    def __init__(self, message: str, report: TestReport) -> None:
        super().__init__(message)
        self.report = report


def run_tests(
    backend: ExecutionBackend,
    recipe: Recipe,
    selection: TestSelection,
    count_lines: Mapping[str, Sequence[int]],
    timeout: float,
) -> TestReport:
    """Run the selection once. Raises `WorkspaceUnavailable` where the interpreter lacks the runner,
    and `NotStarted`; nothing else that the tests do is an error.

    Files below settings of pytest of their own run apart, as they do alone: whichever are selected,
    a test has one id, and its project's settings. An id that holds the path of the tree (a
    parameter that is one) has `WORK_TREE` in its place, in the report and in what is asked for: it
    is the same in every workspace and on every machine.
    """
    if not selection.files and not selection.tests:
        return TestReport((), "finished", {f: dict.fromkeys(n, 0) for f, n in count_lines.items()})
    reports: list[TestReport] = []
    for part in _parts(backend, recipe, selection):
        left = timeout - sum(report.seconds for report in reports)
        reports.append(_run(backend, recipe, part, count_lines, max(left, 1.0)))
        if reports[-1].status in ("timeout", "memory"):
            break
    report = together(reports)
    if _is_for_want(recipe):  # what unittest does not see must not count as no test
        seen = {result.file for result in report.results if result.phase != "collect"}
        unseen = [file for file in selection.files if file not in seen]
        if any(needs_pytest(_text(backend, file)) for file in unseen):
            return _run(backend, replace(recipe, runner="pytest"), selection, count_lines, timeout)
    return report


def _is_for_want(recipe: Recipe) -> bool:
    """Return whether unittest is the runner because a user's own environment lacks pytest."""
    python = recipe.interpreter
    return recipe.runner == "unittest" and python is not None and not has_pytest(Path(python))


def together(reports: Sequence[TestReport]) -> TestReport:
    """Reports of several files as one."""
    first, *others = reports
    if not others:
        return first
    ended = next((report for report in reports if report.status != "finished"), first)
    return replace(
        ended,
        results=tuple(result for report in reports for result in report.results),
        lines={
            file: {line: sum(report.lines[file][line] for report in reports) for line in counts}
            for file, counts in first.lines.items()
        },
        seconds=sum(report.seconds for report in reports),
        output="\n".join(report.output for report in reports),
        trusted=all(report.trusted for report in reports),
    )


def nearest(backend: ExecutionBackend, selection: TestSelection) -> TestSelection:
    """The selection in a tree that lacks some of its files: folders in their place."""
    found = dict.fromkeys(_nearest(backend, one) for one in selection.tests or selection.files)
    return TestSelection(tuple(found))


def _nearest(backend: ExecutionBackend, operand: str) -> str:
    path = operand.partition("::")[0]
    while path:
        try:
            backend.take(path)
            return path
        except IsADirectoryError:
            return path
        except OSError:
            path = path.rpartition("/")[0]
    return "."


def _text(backend: ExecutionBackend, path: str) -> str:
    try:
        return backend.take(path)[:MOST_READ].decode()
    except (OSError, UnicodeDecodeError):
        return ""


_EXISTING = 'for one do [ -f "$one" ] && printf "%s\\n" "$one"; done; true'


def _parts(
    backend: ExecutionBackend, recipe: Recipe, selection: TestSelection
) -> list[TestSelection]:
    """The selection by the settings that pytest finds for each file alone: the nearest above."""
    operands = selection.tests or selection.files
    above = {one: PurePosixPath(one.partition("::")[0]).parents for one in operands}
    folders = {str(folder) for parents in above.values() for folder in parents} - {"."}
    if recipe.runner != "pytest" or len(operands) == 1 or not folders:
        return [selection]
    names = [f"{folder}/{name}" for folder in sorted(folders) for name in PYTEST_SETTINGS]
    told = backend.execute(("/bin/sh", "-c", _EXISTING, "sh", *names)).out
    found = told.decode("utf-8", "surrogateescape").split("\n")[:-1]
    holders = {path.rpartition("/")[0] for path in found if sets_pytest(path, _text(backend, path))}
    parts: dict[str, list[str]] = {}
    for one, parents in above.items():
        holder = next((str(folder) for folder in parents if str(folder) in holders), "")
        parts.setdefault(holder, []).append(one)
    if len(parts) == 1:
        return [selection]
    if selection.tests:
        return [replace(selection, tests=tuple(part)) for part in parts.values()]
    return [replace(selection, files=tuple(part)) for part in parts.values()]


def _run(
    backend: ExecutionBackend,
    recipe: Recipe,
    selection: TestSelection,
    count_lines: Mapping[str, Sequence[int]],
    timeout: float,
) -> TestReport:
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
    python = backend.python
    if raw.missing and raw.trusted:
        raise WorkspaceUnavailable(
            f"{raw.missing} is not installed in {python}, and the tests need it: "
            f"{python} -m pip install {raw.missing}; --python names another interpreter"
        )
    report = _report(raw, done, backend.tree)
    if _did_not_start(raw) and raw.planned is None and raw.trusted:
        said = raw.failure.message if raw.failure is not None else _last_error(report.output)
        first = said.strip().partition("\n")[0]
        raise NotStarted(f"{recipe.runner} does not start in {python}: {first}", report)
    return report


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
    """Return whether a runner came to its end without having run a test: a usage error, an internal
    error (pytest looks at some settings only after it has collected). 5 says that there was no
    test."""
    return raw.closed and not raw.results and raw.exit not in (0, 5)


_TELLING = re.compile(
    r"^(?:INTERNALERROR> *|ERROR:? *|E +|[\w./ -]+: error: *)(\S.*)$", re.MULTILINE
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

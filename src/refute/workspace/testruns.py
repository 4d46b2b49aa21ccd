"""Runs tests on a backend with the probe in their interpreter, and reports what it saw."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

from msgspec import convert

from refute import probe
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import (
    WORK_TREE,
    Execution,
    ExecutionBackend,
    Failure,
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
    told = read(backend.gather(), nonce, count_lines)
    python = backend.python
    if told.missing and told.trusted:
        raise WorkspaceUnavailable(
            f"{told.missing} is not installed in {python}, and the tests need it: "
            f"{python} -m pip install {told.missing}; --python names another interpreter"
        )
    report = _report(told, done, backend.tree)
    if _did_not_start(told) and told.planned is None and told.trusted:
        said = told.failure.message if told.failure is not None else _last_error(report.output)
        first = said.strip().partition("\n")[0]
        raise NotStarted(f"{recipe.runner} does not start in {python}: {first}", report)
    return report


def _cache(recipe: Recipe, backend: ExecutionBackend) -> tuple[str, ...]:
    """pytest's cache outside of the tree, and new for each run. Without its plugin pytest would not
    know `cache_dir`, `--lf` and the like, which repositories set."""
    if recipe.runner != "pytest" or "no:cacheprovider" in recipe.options:
        return ()
    return ("-o", f"cache_dir={backend.scratch}/pytest-cache")


def _report(told: Told, done: Execution, tree: str) -> TestReport:
    output = done.out.decode("utf-8", "replace")[-_KEPT_OUTPUT:]
    if done.cause:
        status = {"timeout": "timeout", "memory": "memory"}.get(done.cause, "crashed")
    else:
        whole = told.closed and told.failure is None and not _did_not_start(told)
        status = "finished" if whole else "crashed"
    remark = told.remark
    if done.cause and told.trusted:
        during = f" while {told.running} ran" if told.running else ""
        remark = f"ended after {done.seconds:.0f} s: over the limit of {done.cause}{during}"
    elif not told.closed and not done.cause and told.trusted:
        remark = f"{told.remark} (exit status {done.status})"
    elif status == "crashed" and not done.cause and told.failure is None and told.trusted:
        remark = f"the runner did not start (exit status {told.exit}): {_last_error(output)}"
    return TestReport(
        results=tuple(_in_tree(result, tree) for result in told.results),
        status=cast(Literal["finished", "timeout", "memory", "crashed"], status),
        lines=told.lines,
        seconds=done.seconds,
        output=output,
        trusted=told.trusted,
        remark=remark,
        running=told.running.replace(tree, WORK_TREE),
    )


def _did_not_start(told: Told) -> bool:
    """Return whether a runner came to its end without having run a test: a usage error, an internal
    error (pytest looks at some settings only after it has collected). 5 says that there was no
    test."""
    return told.closed and not told.results and told.exit not in (0, 5)


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


def _in_tree(one: TestResult, tree: str) -> TestResult:
    """A result without the path of the tree."""
    failure = one.failure
    if failure is not None:
        frames = tuple(replace(f, file=_relative(f.file, tree)) for f in failure.frames)
        text = failure.traceback.replace(f"{tree}/", "")
        failure = replace(failure, traceback=text, frames=frames)
    id, file = one.id.replace(tree, WORK_TREE), _relative(one.file, tree)
    seconds = one.seconds if 0 <= one.seconds < 1e7 else 0.0
    return replace(one, id=id, file=file, failure=failure, seconds=seconds)


def _relative(file: str, tree: str) -> str:
    return os.path.relpath(file, tree) if file.startswith(tree + "/") else file


# -- reading the channel ---------------------------------------------------------------------------


_LARGEST_RESULTS = 256 * 2**20


@dataclass(slots=True)
class Told:
    """Records of one run, as far as they are genuine."""

    results: list[TestResult] = field(default_factory=list)
    closed: bool = False
    """The runner came to its end; without it the run crashed or was killed."""
    exit: int | None = None
    """The runner's exit status, where it came to its end."""
    failure: Failure | None = None
    """Failure that ended the runner itself (pytest's internal errors included)."""
    running: str = ""
    """The test that had started and not ended when the run ended."""
    planned: int | None = None
    """Number of tests that were collected; None: the runner did not get that far."""
    missing: str = ""
    """The runner, where the interpreter does not have it."""
    lines: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """File as given -> line -> executions, over all processes; 0 for lines never reached."""
    trusted: bool = True
    remark: str = ""
    """One line: what is wrong with the run or with its trust; empty when all is well."""


def read(
    written: Mapping[str, bytes],
    nonce: str,
    count_lines: Mapping[str, Sequence[int]] | None = None,
) -> Told:
    """Return the records of a run whose processes have all ended.

    `written`: the regular files of the channel, by name. `nonce` and `count_lines` are those given
    to `probe.environment`; the copies in the channel are not believed. Never raises for what the
    run left in the channel: that shows in `trusted`, `closed` and `remark`.
    """
    lines = _merge_lines(written, probe.layout(count_lines))
    data = written.get("results")
    if data is None or len(data) > _LARGEST_RESULTS:
        taken = "secret" not in written
        remark = "the results were removed" if taken else "the runner did not start"
        return Told(lines=lines, trusted=not taken, remark=remark)
    told = _told(*_records(data, nonce))
    told.lines = lines
    return told


def _merge_lines(
    written: Mapping[str, bytes], files: Mapping[str, tuple[int, tuple[int, ...]]]
) -> dict[str, dict[int, int]]:
    slots = sum(len(lines) for _, lines in files.values())
    totals = [0] * slots
    for name, data in written.items():
        if not name.startswith("lines-") or len(data) != 8 * slots:
            continue
        for slot, count in enumerate(struct.unpack(f"={slots}Q", data)):
            totals[slot] += count
    return {
        file: {line: totals[first + offset] for offset, line in enumerate(chosen)}
        for file, (first, chosen) in files.items()
    }


def _records(data: bytes, nonce: str) -> tuple[list[dict[str, Any]], str]:
    """The records up to the first that is not genuine, and what is wrong with that one."""
    key = hashlib.blake2b(nonce.encode(), person=b"refute probe 1").digest()
    records: list[dict[str, Any]] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1]):  # a last line without its end: killed while writing
        head, _, rest = line.partition(b" ")
        digest, _, body = rest.partition(b" ")
        signed = hashlib.blake2b(b"%d " % number + body, key=key, digest_size=16).hexdigest()
        if head != b"%d" % number or not hmac.compare_digest(signed.encode(), digest):
            return records, f"record {number} of the results was forged or lost"
        key = hashlib.blake2b(key, person=b"next key").digest()
        try:
            record = json.loads(body)
            if b"\\ud" in body:  # half a character, which no file can hold
                text = json.dumps(record, ensure_ascii=False)
                record = json.loads(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return records, f"record {number} of the results cannot be read"
        if not isinstance(record, dict):
            return records, f"record {number} of the results is not an object"
        records.append(record)
    return records, ""


def _told(records: list[dict[str, Any]], wrong: str) -> Told:
    told, runner, altered = Told(), "", ""
    for record in records:
        try:
            if told.closed:
                raise ValueError("a record after the end")
            match record:
                case {"kind": "opened", "runner": str(runner)}:
                    pass
                case {"kind": "missing", "runner": str(missing)}:
                    told.missing = missing
                case {"kind": "planned", "tests": int(count)}:
                    told.planned = count
                case {"kind": "started", "id": str(running)}:
                    told.running = running
                case {"kind": "result"}:
                    result = convert(record, TestResult)
                    told.results.append(result)
                    told.running = "" if result.id == told.running else told.running
                    altered = altered or result.id * (record.get("altered") is True)
                case {"kind": "trouble", "failure": failure}:
                    told.failure = convert(failure, Failure | None)
                case {"kind": "closed", "exit": int(status)}:
                    told.closed, told.exit = True, status
                    told.failure = convert(record.get("failure"), Failure | None) or told.failure
                    if record.get("planned") != told.planned:
                        raise ValueError("the end does not know how many tests there were")
                case _:
                    raise ValueError("of no kind that there is")
        except ValueError as error:
            wrong = wrong or f"a record of the results is malformed: {error}"
    remark = wrong
    if not remark and altered:
        remark = f"something reported another outcome than was observed for {altered}"
    ran = sum(result.phase != "collect" for result in told.results)
    # pytest reports every test that it collected, unless it says by its status that it stopped
    planned = told.planned or 0
    if not remark and runner == "pytest" and told.exit in (0, 1) and ran < planned:
        remark = f"{ran} of {planned} tests have a result, and the runner says that it is done"
    told.trusted = not remark
    if not remark and told.failure is not None:
        said = f"the runner failed: {told.failure.type}: {told.failure.message}"
        remark = said.partition("\n")[0][:300]
    elif not remark and not told.closed:
        remark = "the process ended" + (f" while {told.running} ran" if told.running else " early")
    told.running, told.remark = "" if told.closed else told.running, remark
    return told

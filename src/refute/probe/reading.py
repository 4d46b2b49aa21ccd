"""Read what the probe wrote. Everything in the channel is hostile until it is checked."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from refute.probe.starting import layout

_LARGEST_RESULTS = 256 * 2**20
_OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
_PHASES = ("collect", "setup", "call", "teardown")


@dataclass(frozen=True, slots=True)
class RawFailure:
    """An exception; frames are (file, line, function), outermost first."""

    type: str
    message: str
    traceback: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RawSubtest:
    """A subtest that did not pass."""

    id: str
    outcome: str
    failure: RawFailure | None = None


@dataclass(frozen=True, slots=True)
class RawResult:
    """One test, or a file that could not be collected (phase `collect`)."""

    id: str
    file: str
    outcome: str
    phase: str
    failure: RawFailure | None = None
    reason: str = ""
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    """Other names that logs know the test by: unittest's printed form, its first line of doc."""
    subtests: tuple[RawSubtest, ...] = ()
    altered: bool = False
    """Something in the run reported another outcome than what was observed, which stands here."""


@dataclass(frozen=True, slots=True)
class RawReport:
    """One run."""

    results: tuple[RawResult, ...] = ()
    opened: bool = False
    """The runner was started."""
    closed: bool = False
    """The runner came to its end; without it the run crashed or was killed."""
    exit: int | None = None
    """The runner's exit status, where it came to its end."""
    failure: RawFailure | None = None
    """What the runner itself died of (pytest's internal errors included)."""
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


class _Malformed(ValueError):
    """A record whose digest is right but whose content is not."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Malformed("a text was expected")
    return value.encode("utf-8", "replace").decode("utf-8")


def _failure(value: object) -> RawFailure | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("frames"), list):
        raise _Malformed("a failure was expected")
    frames = []
    for frame in value["frames"]:
        if not isinstance(frame, list) or len(frame) != 3:
            raise _Malformed("a frame was expected")
        frames.append((_text(frame[0]), _count(frame[1]), _text(frame[2])))
    return RawFailure(
        _text(value.get("type")),
        _text(value.get("message")),
        _text(value.get("traceback")),
        tuple(frames),
    )


def _choice(value: object, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _Malformed(f"one of {', '.join(choices)} was expected")
    return value


def _count(value: object) -> int:
    """A whole number of a size that a runner can mean; JSON knows infinity, and any length."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**31:
        raise _Malformed("a count was expected")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e7:
        return 0.0
    return float(value)


def _result(record: dict[str, Any]) -> RawResult:
    subtests = tuple(
        RawSubtest(
            _text(sub.get("id")),
            _choice(sub.get("outcome"), _OUTCOMES),
            _failure(sub.get("failure")),
        )
        for sub in record.get("subtests") or ()
    )
    return RawResult(
        id=_text(record.get("id")),
        file=_text(record.get("file")),
        outcome=_choice(record.get("outcome"), _OUTCOMES),
        phase=_choice(record.get("phase"), _PHASES),
        failure=_failure(record.get("failure")),
        reason=_text(record.get("reason") or ""),
        seconds=_seconds(record.get("seconds")),
        names=tuple(_text(name) for name in record.get("names") or ()),
        subtests=subtests,
        altered=record.get("altered") is True,
    )


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
        except (ValueError, RecursionError):
            return records, f"record {number} of the results cannot be read"
        if not isinstance(record, dict):
            return records, f"record {number} of the results is no object"
        records.append(record)
    return records, ""


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


def read(
    written: Mapping[str, bytes],
    nonce: str,
    count_lines: Mapping[str, Sequence[int]] | None = None,
) -> RawReport:
    """The report of a run whose processes have all ended.

    `written`: the regular files of the channel, by name. `nonce` and `count_lines` are those given
    to `environment`; the copies in the channel are not believed. Line counts come back under the
    names of `count_lines`. Never raises for what the run left in the channel: that shows in
    `trusted`, `closed` and `remark`.
    """
    lines = _merge_lines(written, layout(count_lines))
    data = written.get("results")
    if data is None or len(data) > _LARGEST_RESULTS:
        taken = "secret" not in written
        remark = "the results were removed" if taken else "the runner did not start"
        return RawReport(lines=lines, trusted=not taken, remark=remark)
    records, wrong = _records(data, nonce)
    report = _report(records, wrong)
    return replace(report, lines=lines)


def _report(records: list[dict[str, Any]], wrong: str) -> RawReport:
    results: list[RawResult] = []
    opened = closed = False
    status: int | None = None
    planned: int | None = None
    failure: RawFailure | None = None
    running = runner = missing = ""
    for record in records:
        try:
            if closed:
                raise _Malformed("a record after the end")
            match record.get("kind"):
                case "opened":
                    opened = True
                    runner = _text(record.get("runner"))
                case "missing":
                    missing = _text(record.get("runner"))
                case "planned":
                    planned = _count(record.get("tests", 0))
                case "started":
                    running = _text(record.get("id"))
                case "result":
                    results.append(_result(record))
                    running = "" if results[-1].id == running else running
                case "trouble":
                    failure = _failure(record.get("failure"))
                case "closed":
                    closed = True
                    status = _count(record.get("exit", 1))
                    failure = _failure(record.get("failure")) or failure
                    if record.get("planned") != planned:
                        raise _Malformed("the end does not know how many tests there were")
        except (_Malformed, ValueError, TypeError, AttributeError) as error:
            wrong = wrong or f"a record of the results is malformed: {error}"
    altered = [result.id for result in results if result.altered]
    remark = wrong
    if not remark and altered:
        remark = f"something reported another outcome than was observed for {altered[0]}"
    ran = sum(result.phase != "collect" for result in results)
    # pytest reports every test that it collected, unless it says by its status that it stopped
    if not remark and runner == "pytest" and planned and status in (0, 1) and ran < planned:
        remark = f"{ran} of {planned} tests have a result, and the runner says that it is done"
    trusted = not remark
    if not remark and failure is not None:
        remark = f"the runner failed: {failure.type}: {failure.message}".split("\n")[0][:300]
    elif not remark and not closed:
        remark = "the process ended" + (f" while {running} ran" if running else " early")
    return RawReport(
        results=tuple(results),
        opened=opened,
        closed=closed,
        exit=status,
        failure=failure,
        running="" if closed else running,
        planned=planned,
        missing=missing,
        trusted=trusted,
        remark=remark,
    )

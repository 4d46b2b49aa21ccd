"""The right outputs: a key's private tests, ready to compare, computed once and cached.

Expected outputs that the dataset does not state are what the reference returns in the sandbox. The
reference is run in any case, once, for the limits: a call may use the larger of 1 s and 4 times the
CPU time of the reference (EvalPlus's rule, which measures wall time). That time is known here by
powers of four only: a call that the reference ends within 0.25 s gets 1 s, within 1 s gets 4 s, and
so on. A call for which the reference needs more than the memory limit gets 4 GiB, EvalPlus's limit.

Results are kept in ``~/.cache/refute`` (or REFUTE_CACHE), under a name made of all that they depend
on. Only graders use this module: it takes answer keys.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from refute.core.problems import Call, FunctionKey, Invocation
from refute.core.storage import cache_folder, parse_json, read_file, unpack, write_atomically
from refute.sandbox import (
    Killed,
    Limits,
    Outcome,
    OutOfMemory,
    Program,
    Returned,
    Sandbox,
    TimedOut,
    nodes,
    values,
)
from refute.sandbox.equality import Expected
from refute.sandbox.pool import Waits, finished, run_in_steps
from refute_lab.runs.journal import Count, Number, checked

DEFAULT_LIMITS = Limits()
_STEPS = (0.25, 1.0, 4.0, 16.0)
"""CPU seconds that the reference is given, one after the other, for calls that need them."""
_FACTOR = 4.0
_LARGE = 4 << 30
_VERSION = 6


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """A key's private unit tests, ready to be run and compared."""

    id: str
    calls: tuple[Call, ...]
    expected: tuple[Expected, ...]
    """Expected outcome of each call."""
    limits: tuple[Limits, ...]
    """What each call may use; few different ones."""
    seconds: float = 0.0
    """Wall seconds that the reference took for all of its inputs; 0 where there is none."""
    invalid: tuple[tuple[int, str], ...] = ()
    """Inputs without an expected output, because the reference does not return: their index in the
    key and how the reference ends. They are not among `calls`."""


def expected_outputs(
    key: FunctionKey,
    box: Sandbox,
    *,
    limits: Limits = DEFAULT_LIMITS,
    cache: Path | str | None = None,
) -> GroundTruth:
    """The key's private tests with expected outputs and limits.

    `limits`: the least that any call gets.
    `cache`: directory; None: REFUTE_CACHE or ``~/.cache/refute``; an empty string: none. Raises
    `SandboxUnavailable`, and `ValueError` when the reference returns for none of the inputs, or
    something that cannot be compared (a function, an endless iterator, an object of unknown state).
    """
    calls = tuple(map(Call, key.inputs))
    allowed, outputs, invalid, seconds = _reference_results(key, calls, box, limits, cache)
    if key.seconds is not None:
        allowed = [replace(one, cpu=key.seconds) for one in allowed]
    kept, expected = [], []
    stated = key.expected
    for index, args in enumerate(key.inputs):
        if stated is not None:
            data = values.encode(stated[index])
        elif outputs[index] is None:
            continue
        else:
            data = outputs[index] or b""
        kept.append(index)
        right = Expected(data, atol=key.atol, checker=key.checker, args=args)
        if not right.comparable:
            shown = " ".join(f"{right.value!r:.80}".split())
            raise ValueError(f"{key.id}: cannot compare the output of input {index + 1}: {shown}")
        expected.append(right)
    if key.inputs and not kept:
        raise ValueError(f"{key.id}: the reference returns for none of its inputs: {invalid[0][1]}")
    return GroundTruth(
        id=key.id,
        calls=tuple(calls[i] for i in kept),
        expected=tuple(expected),
        limits=tuple(allowed[i] for i in kept),
        seconds=seconds,
        invalid=() if stated is not None else tuple(invalid),
    )


def run_within(
    program: Program,
    calls: Sequence[Invocation],
    allowed: Sequence[Limits],
    box: Sandbox,
    *,
    stop_after: int | None = None,
    run_wall: float | None = None,
) -> list[Outcome]:
    """See `steps_within`."""
    return finished(
        steps_within(program, calls, allowed, box, stop_after=stop_after, run_wall=run_wall)
    )


def steps_within(
    program: Program,
    calls: Sequence[Invocation],
    allowed: Sequence[Limits],
    box: Sandbox,
    *,
    stop_after: int | None = None,
    run_wall: float | None = None,
) -> Waits[list[Outcome]]:
    """Run the calls, each within its own limits; one run for each limits that occur.

    `stop_after`: give up after so many seconds' worth of calls that were cut short, at least two;
    0: after the first.
    `run_wall`: or after so many seconds in all.
    """
    outcomes: dict[int, Outcome] = {}
    for limits in dict.fromkeys(allowed):
        chosen = [i for i, own in enumerate(allowed) if own is limits or own == limits]
        some = calls if len(chosen) == len(calls) else [calls[i] for i in chosen]
        patience = stop_after and max(2, math.ceil(stop_after / limits.cpu))
        patience = 1 if stop_after == 0 else patience
        began = time.monotonic()
        within = replace(limits, stop_after=patience, run_wall=run_wall)
        results = yield from run_in_steps(box, program, some, within)
        if run_wall is not None:
            run_wall = max(0.0, run_wall - (time.monotonic() - began))
        outcomes.update(zip(chosen, results, strict=True))
    return [outcomes[i] for i in range(len(calls))]


# -- the reference's results -----------------------------------------------------------------------

_Results = tuple[list[Limits], list[bytes | None], list[tuple[int, str]], float]
"""Limits and encoded output of each call, how the others end, and the seconds that it took."""


def _reference_results(
    key: FunctionKey,
    calls: tuple[Call, ...],
    box: Sandbox,
    limits: Limits,
    cache: Path | str | None,
) -> _Results:
    if not key.reference or not calls:
        return [limits] * len(calls), [None] * len(calls), [], 0.0
    file = _cache_file(key, limits, cache)
    stored = None if file is None else _read(file, len(calls), limits)
    if stored is not None:
        return stored
    program = Program(key.reference, key.entry_point, "<reference>")
    began = time.monotonic()
    steps, outcomes = _climb(program, calls, box, limits)
    seconds = time.monotonic() - began
    outputs = [o.data if isinstance(o, Returned) else None for o in outcomes]
    invalid = [(i, repr(outcomes[i])) for i, data in enumerate(outputs) if data is None]
    if file is not None and not any(isinstance(o, Killed) for o in outcomes):
        _write(file, steps, outputs, invalid, seconds)
    return _allowances(steps, limits), outputs, invalid, seconds


_Step = tuple[int, bool]  # index into `_STEPS`, and whether the large memory was needed


def _climb(
    program: Program, calls: Sequence[Call], box: Sandbox, limits: Limits
) -> tuple[list[_Step], list[Outcome]]:
    """Run the calls with limits that grow until each returns; the step that each call ended at."""
    steps: list[_Step] = [(0, False)] * len(calls)
    outcomes: dict[int, Outcome] = {}
    left = list(range(len(calls)))
    while left:
        for step in sorted({steps[i] for i in left}):
            some = [i for i in left if steps[i] == step]
            memory = max(limits.memory, _LARGE) if step[1] else limits.memory
            within = replace(limits, cpu=_STEPS[step[0]], wall=None, memory=memory)
            results = box.run(program, [calls[i] for i in some], within)
            outcomes.update(zip(some, results, strict=True))
        again = []
        for i in left:
            level, large = steps[i]
            if isinstance(outcomes[i], TimedOut) and level + 1 < len(_STEPS):
                steps[i] = (level + 1, large)
                again.append(i)
            elif isinstance(outcomes[i], OutOfMemory) and not large:
                steps[i] = (level, True)
                again.append(i)
        left = again
    return steps, [outcomes[i] for i in range(len(calls))]


def _allowances(steps: Sequence[_Step], limits: Limits) -> list[Limits]:
    """Return the limits of programs under test, given the steps at which the reference ended."""
    made = {
        (level, large): replace(
            limits,
            cpu=max(limits.cpu, _FACTOR * _STEPS[level]),
            memory=max(limits.memory, _LARGE) if large else limits.memory,
        )
        for level, large in set(steps)
    }
    return [made[step] for step in steps]


# -- the cache -------------------------------------------------------------------------------------


def _cache_file(key: FunctionKey, limits: Limits, cache: Path | str | None) -> Path | None:
    if cache == "":
        return None
    directory = Path(cache) if cache else cache_folder()
    about = [_VERSION, sys.version_info[:2], key.reference, key.entry_point]
    about += [limits.cpu, limits.memory, limits.output]
    digest = hashlib.sha256(json.dumps(about).encode())
    digest.update(values.encode(key.inputs))
    return directory / "truth" / f"{digest.hexdigest()[:40]}.gz"


@dataclass(frozen=True, slots=True)
class _Stored:
    """The head of a file of results."""

    steps: tuple[tuple[Count, bool], ...]
    sizes: tuple[Count, ...]
    ends: tuple[tuple[Count, str], ...]
    seconds: Number


_LARGEST = 1 << 30
"""Bytes of stored results, unpacked."""


def _read(file: Path, count: int, limits: Limits) -> _Results | None:
    """The stored results; None where there are none, or none that can be used."""
    try:
        head, _, body = unpack(read_file(file), limit=_LARGEST).partition(b"\n")
        stored = checked(parse_json(head), _Stored)
        steps, sizes, ends = stored.steps, stored.sizes, stored.ends
        if not len(steps) == len(sizes) == count or sum(sizes) != len(body):
            return None
        if not all(level < len(_STEPS) for level, _ in steps):
            return None
        if not all(index < count for index, _ in ends):
            return None
        failed = {index for index, _ in ends}
        outputs: list[bytes | None] = []
        at = 0
        for index, size in enumerate(sizes):
            outputs.append(None if index in failed else body[at : at + size])
            at += size
        for output in outputs:
            if output is not None:
                nodes.decode(output)
    except (OSError, ValueError):  # a `MalformedValue` is one
        return None
    return _allowances(steps, limits), outputs, list(ends), stored.seconds


def _write(
    file: Path,
    steps: list[_Step],
    outputs: list[bytes | None],
    ends: list[tuple[int, str]],
    seconds: float,
) -> None:
    """Store whole or not at all; a cache that cannot be written is only slower."""
    parts = [part or b"" for part in outputs]
    stored = {"steps": steps, "sizes": list(map(len, parts)), "ends": ends, "seconds": seconds}
    head = json.dumps(stored).encode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        data = gzip.compress(head + b"\n" + b"".join(parts), 1)
        write_atomically(file, data, mode=0o600, durable=False)
    except OSError:
        pass

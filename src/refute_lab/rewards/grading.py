"""`grade`: one program, one verdict."""

from __future__ import annotations

import asyncio
import http.client
import json
import marshal
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from functools import partial as bound
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from refute.core.problems import Call, FunctionKey, FunctionProblem, UnitTest
from refute.errors import InputError, SandboxUnavailable
from refute.sandbox import Limits, NotRun, Outcome, Program, Returned, Sandbox
from refute.sandbox.equality import equal
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool, Waits, finished
from refute.sandbox.values import MalformedValue
from refute_lab.benches.grade import grade_tests, run_within
from refute_lab.rewards.asserts import (
    PASSED,
    Trial,
    answers_of,
    imports,
    judge,
    patience,
    run_asserts,
    run_calls,
    said,
    short,
    trials_of,
    try_all,
)
from refute_lab.rewards.task import (
    MOST_OUTPUT,
    Kind,
    Share,
    Task,
    Test,
    TestResult,
    Verdict,
    same_output,
    verdict,
)

REPEATS = 4
"""Times that a test which would be paid is run again on each program."""


@dataclass(frozen=True, slots=True)
class TestReward:
    """A test's rewards, each in [0, 1]."""

    __test__ = False  # not a test class of pytest

    attack: Share
    """Share of the faulty programs that its inputs tell from the reference."""
    accuracy: Share
    """1.0 where what it states holds of the reference; else 0.0."""
    both: Share
    """Share of the faulty programs that it attacks and fails, where it is accurate; else 0.0."""
    reason: str = ""
    """Reason that it is not accurate, in one line; "" where it is."""

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def grade_test(
    test: Test | str,
    reference: str,
    faulty: str | Sequence[str],
    *,
    entry_point: str = "",
    atol: float = 0.0,
    checker: str | None = None,
    seconds: float = 2.0,
    memory: int = 1 << 30,
    box: Sandbox | None = None,
) -> TestReward:
    """Grade a test, a call with its expected output or the source of a file of asserts, against a
    reference and faulty programs. Raises `SandboxUnavailable`, and `InputError` where there is no
    faulty program, or no `entry_point` for a call.

    `atol`, `checker`, `seconds`, `memory`: see `Task`.
    """
    programs = [faulty] if isinstance(faulty, str) else list(faulty)
    if not programs:
        raise InputError("a test is graded against at least one faulty program")
    if box is None:
        with LocalSandbox() as own:
            return grade_test(
                test, reference, programs, entry_point=entry_point, atol=atol, checker=checker,
                seconds=seconds, memory=memory, box=own,
            )  # fmt: skip
    if isinstance(test, Test):
        task = Task(entry_point, (test,), "calls", atol=atol, checker=checker)
        limits = Limits(
            cpu=test.seconds or seconds, memory=test.memory or memory, output=MOST_OUTPUT
        )
        return _of_call(task, reference, programs, limits, box)
    try:
        task = Task(entry_point, (), "asserts", test, seconds=seconds, memory=memory)
        return _of_file(task, reference, programs, box)
    except InputError as error:
        return TestReward(0.0, 0.0, 0.0, short(str(error)))


def _of_call(
    task: Task, reference: str, programs: Sequence[str], limits: Limits, box: Sandbox
) -> TestReward:
    (test,) = task.tests
    stated = UnitTest(Call(test.args, test.kwargs), test.expected, raises=test.raises)
    key = FunctionKey(
        task.id, task.entry_point, reference, (), atol=task.atol, checker=task.checker
    )
    verdicts = [
        grade_tests(
            [stated], FunctionProblem("", "", "", task.entry_point, code), key, box, limits=limits
        ).verdicts[0]
        for code in programs
    ]
    accurate = all(verdict.accurate for verdict in verdicts)
    reason = "" if accurate else "the reference does not do what the test expects"
    return TestReward(
        _share([verdict.attacks for verdict in verdicts]),
        float(accurate),
        _share([verdict.both for verdict in verdicts]) if accurate else 0.0,
        reason,
    )


def _of_file(task: Task, reference: str, programs: Sequence[str], box: Sandbox) -> TestReward:
    right = trials_of(task)
    try_all(reference, right, task, box)
    right = [trial for trial in right if trial.state != "left out"]
    wrong = next((trial for trial in right if trial.state != "passed"), None)
    attacks = [_differ(right, code, task, box) for code in programs]
    if wrong is not None or not right:
        reason = wrong.reason if wrong is not None else "every test is skipped"
        return TestReward(_share(attacks), 0.0, 0.0, f"on the reference: {reason}")
    fails, failed = [], []
    for code, attacked in zip(programs, attacks, strict=True):
        trials = [Trial(trial.item, trial.asked) for trial in right]
        try_all(code, trials, task, box)
        fails.append(attacked and any(trial.state == "failed" for trial in trials))
        failed += [[trial for trial in trials if trial.state == "failed" and trial.answers]]
    if not (any(fails) or can_fail(right, task, box)):
        return TestReward(_share(attacks), 0.0, 0.0, "it passes on anything")
    if any(changes_its_mind(trials, task, box) for trials in (right, *failed)):
        reason = "the same answers make it pass and fail"
        return TestReward(_share(attacks), 0.0, 0.0, reason)
    return TestReward(_share(attacks), 1.0, _share(fails))


def _share(parts: Sequence[bool]) -> float:
    return sum(parts) / len(parts)


def _differ(right: Sequence[Trial], code: str, task: Task, box: Sandbox) -> bool:
    """Return whether a program answers otherwise to what the tests ask of the reference."""
    asked = [trial for trial in right if trial.asked and trial.answers]
    found = answers_of(code, asked, task, box)
    return any(
        not equal(answers, trial.answers) for answers, trial in zip(found, asked, strict=True)
    )


def changes_its_mind(trials: Sequence[Trial], task: Task, box: Sandbox) -> bool:
    """Return whether tests end otherwise when they run again, each in a process of its own, on the
    same answers: a coin would pass on the reference and fail on the others now and then."""
    again = [replace(trial, state="") for trial in trials for _ in range(REPEATS)]
    judge(again, task, box, alone=True)
    return any(one.state != trials[index // REPEATS].state for index, one in enumerate(again))


def can_fail(right: Sequence[Trial], task: Task, box: Sandbox) -> bool:
    """Return whether one of the tests fails where each answer to a call is another value."""
    spoilt = [
        replace(trial, answers=[*map(_spoilt, trial.answers)], state="")
        for trial in right
        if trial.answers
    ]
    judge(spoilt, task, box)
    return any(trial.state == "failed" for trial in spoilt)


def _spoilt(answer: Any) -> Any:
    match answer:
        case ("ok", value, changed):
            return ("ok", _other(value), changed)
    return answer


def _other(value: Any) -> Any:
    """Another value of the same type, so that a test cannot know it for what it is; of what is held
    by the program, and of rarer types, the same."""
    match value:
        case ("v", bool() as truth):
            return ("v", not truth)
        case ("v", None):
            return ("v", 0)
        case ("v", int() | float() | complex() as number):
            return ("v", number + 1)
        case ("v", str() as text):
            return ("v", f"{text}a")
        case ("v", bytes() as raw):
            return ("v", raw + b"a")
        case ("l" | "t" | "s" | "f" | "q" as tag, list() as parts):
            return (tag, [_other(part) for part in parts] or [("v", 1)])
        case ("d" | "C" | "O" as tag, list() as pairs):
            return (tag, [(key, _other(item)) for key, item in pairs] or [(("v", 1), ("v", 1))])
    return value


# -- grading ---------------------------------------------------------------------------------------


# -- stdio -----------------------------------------------------------------------------------------


_PAYLOAD = 1 << 20
"""Characters of input that are sent at once: every process is given all that is sent."""


def run_stdio(program: str, task: Task, box: Sandbox, *, partial: bool) -> list[TestResult]:
    """A result for each test. Raises `SandboxUnavailable`."""
    script = Program((_script(), imports(program)), "run")
    deadline = time.monotonic() + task.run_seconds
    results: list[TestResult] = []
    for chosen in _portions(task.tests):
        tests = task.tests[chosen]
        left = deadline - time.monotonic()
        if left <= 0 or not (partial or all(result.passed for result in results)):
            results += [TestResult(False, said(NotRun()))] * len(tests)
            continue
        outcomes = run_within(
            script, [Call((program, test.stdin)) for test in tests],
            [replace(limits, alone=True) for limits in task.limits[chosen]], box,
            stop_after=patience(partial), run_wall=left,
        )  # fmt: skip
        results += [_result(*pair, task) for pair in zip(outcomes, tests, strict=True)]
    return results


def _portions(tests: Sequence[Test]) -> Iterator[slice]:
    start = size = 0
    for index, test in enumerate(tests):
        if size + len(test.stdin) > _PAYLOAD and index > start:
            yield slice(start, index)
            start, size = index, 0
        size += len(test.stdin)
    yield slice(start, len(tests))


@cache
def _script() -> bytes:
    """Compiled once; the sandbox runs this version of Python."""
    text = Path(__file__).with_name("script.py").read_text("utf-8")
    return marshal.dumps(compile(text, "<script>", "exec", dont_inherit=True))


def _result(outcome: Outcome, test: Test, task: Task) -> TestResult:
    if not isinstance(outcome, Returned):
        return TestResult(False, said(outcome))
    try:
        printed = outcome.value
    except MalformedValue:
        printed = None
    if type(printed) is not str:
        return TestResult(False, "printed too much, or wrote over the result")
    if same_output(printed, test.stdout or "", task.checker, task.atol):
        return PASSED
    return TestResult(False, f"wrong answer: printed {short(repr(printed))}")


_RUNNERS: dict[Kind, Callable[..., list[TestResult]]] = {
    "stdio": run_stdio,
    "asserts": run_asserts,
}
"""Of the kinds that are run in one step."""


def grade(
    program: str, task: Task, *, partial: bool = False, box: Sandbox | None = None
) -> Verdict:
    """Grade a program by the task's tests.

    `partial`: the reward is the share of tests that are passed; else it is 1.0 or 0.0, and tests
    behind one that is cut short (time-out, crash) need not be run. `box`: None makes a sandbox for
    this call; `Grader` keeps some. Raises `SandboxUnavailable`, which is never a verdict.
    """
    if box is not None:
        return grade_in(program, task, box, partial=partial)
    with LocalSandbox() as own:
        return grade_in(program, task, own, partial=partial)


async def grade_async(
    program: str, task: Task, *, partial: bool = False, box: Sandbox | None = None
) -> Verdict:
    """As `grade`, in a thread, so that the event loop keeps running."""
    return await asyncio.to_thread(grade, program, task, partial=partial, box=box)


def grade_in(program: str, task: Task, box: Sandbox, *, partial: bool) -> Verdict:
    """As `grade`, in a sandbox that is there."""
    return finished(grade_in_steps(program, task, box, partial=partial))


def grade_in_steps(program: str, task: Task, box: Sandbox, *, partial: bool) -> Waits[Verdict]:
    """As `grade_in`, for who has other things to do while the program runs."""
    if type(program) is not str:
        raise InputError(f"a program is a text, not {type(program).__name__}")
    before = box.cpu_seconds if isinstance(box, LocalSandbox) else 0.0
    if task.kind == "calls":
        results = yield from run_calls(program, task, box, partial=partial)
    else:
        results = _RUNNERS[task.kind](program, task, box, partial=partial)
    used = box.cpu_seconds - before if isinstance(box, LocalSandbox) else 0.0
    return verdict(results, partial=partial, cpu_seconds=used)


# -- pool ------------------------------------------------------------------------------------------


AHEAD = 3
"""Programs under way and waiting for each sandbox, at most: `grade_batch` asks for no more."""
_SMALL = 1 << 16
"""Characters of a program that an event loop handles itself."""


class ManyAtOnce(ABC):
    """A source of verdicts for callers that wait in one of three ways."""

    size: int
    """Number of programs that are graded at once."""

    @abstractmethod
    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """Ask for a verdict and continue; as many as are asked for wait in memory."""

    @abstractmethod
    def submit_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> Future[TestReward]:
        """As `submit`, for a test; `how`: see `refute_lab.rewards.grade_test`."""

    def grade(self, program: str, task: Task, *, partial: bool | None = None) -> Verdict:
        """See `refute_lab.rewards.grade`."""
        return self.submit(program, task, partial=partial).result()

    async def grade_async(
        self, program: str, task: Task, *, partial: bool | None = None
    ) -> Verdict:
        """As `grade`, for coroutines."""
        return await asyncio.wrap_future(self.submit(program, task, partial=partial))

    def grade_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> TestReward:
        """See `refute_lab.rewards.grade_test`."""
        return self.submit_test(test, reference, faulty, **how).result()

    async def grade_test_async(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> TestReward:
        """As `grade_test`, for coroutines."""
        return await asyncio.wrap_future(self.submit_test(test, reference, faulty, **how))

    def grade_batch(
        self, pairs: Iterable[tuple[str, Task]], *, partial: bool | None = None
    ) -> Iterator[Verdict]:
        """Verdicts in the order of the pairs, which are drawn a few at a time as work is done."""
        waiting: deque[Future[Verdict]] = deque()
        try:
            for program, task in pairs:
                waiting.append(self.submit(program, task, partial=partial))
                if len(waiting) >= AHEAD * self.size:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Grader(ManyAtOnce):
    """Grades programs in several sandboxes. A context manager; safe to use from many threads.

    A sandbox whose server dies is replaced and its program is graded again; where the fresh one
    fails, too, `SandboxUnavailable` is raised, which is never a verdict.
    """

    def __init__(
        self, size: int | None = None, *, partial: bool = False, preload: Iterable[str] = ("numpy",)
    ) -> None:
        """`size`: how many sandboxes; None: one for each processor. `partial`: see `grade`.
        `preload`: packages that are imported once, for the programs that mention them."""
        self.size = size or len(os.sched_getaffinity(0))
        self._partial = partial
        self._pool = SandboxPool(self.size, bound(LocalSandbox, preload=tuple(preload)))

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the programs under way and end the sandboxes; idempotent."""
        self._pool.close()

    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """See `ManyAtOnce.submit`."""
        share = self._partial if partial is None else partial
        return self._pool.submit(lambda box: grade_in(program, task, box, partial=share))

    async def grade_async(
        self, program: str, task: Task, *, partial: bool | None = None
    ) -> Verdict:
        """See `ManyAtOnce.grade_async`; the event loop itself compares where that takes no time."""
        if type(program) is not str or len(program) > _SMALL or not task.is_small:
            return await super().grade_async(program, task, partial=partial)
        share = self._partial if partial is None else partial
        return await self._pool.do_in_steps(
            lambda box: grade_in_steps(program, task, box, partial=share)
        )

    def submit_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> Future[TestReward]:
        """See `ManyAtOnce.submit_test`."""
        return self._pool.submit(lambda box: grade_test(test, reference, faulty, **how, box=box))


# -- remote ----------------------------------------------------------------------------------------
# `Remote`: a grader behind HTTP (`refute serve`), asked in the same way as one in this process.


_PATIENCE = 600.0
_PAUSE = 1.0
"""Seconds to wait where the server does not say how long."""
_LOST = 3
"""Connections that may be lost in a row: it may be starting again."""
_ANSWER_SECONDS = 900.0
"""For an answer: the line before a sandbox, and the program's time."""
_TASKS = 256
"""Tasks that are kept as text."""


class Remote(ManyAtOnce):
    """Grades programs by a `refute serve`. A context manager; safe to use from many threads.

    Where the server is busy (429) or has no sandbox (503) it is asked again when it says so.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        size: int = 32,
        partial: bool = False,
        patience: float = _PATIENCE,
    ) -> None:
        """`url`: ``http://HOST:PORT``, with a path where a proxy adds one. `size`: requests at
        once. `patience`: seconds for one program that is refused, until `SandboxUnavailable`.
        `partial`: see `refute_lab.rewards.grade`. Raises `InputError`."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url}: not an URL such as http://127.0.0.1:8014")
        self.size = size
        self._url = url
        self._parts = parts
        self._partial = partial
        self._patience = patience
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="remote")
        self._own = threading.local()
        self._tasks: OrderedDict[int, tuple[Task, str]] = OrderedDict()
        self._lock = threading.Lock()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the answers under way, give up the others; idempotent."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def submit(self, program: str, task: Task, *, partial: bool | None = None) -> Future[Verdict]:
        """See `ManyAtOnce.submit`. The future raises `InputError` for what the server does not
        take, and `SandboxUnavailable` where it gives no verdict."""
        if type(program) is not str:
            raise InputError(f"a program is a text, not {type(program).__name__}")
        share = self._partial if partial is None else partial
        return self._threads.submit(self._graded, program, task, share)

    def submit_test(
        self, test: Test | str, reference: str, faulty: Sequence[str], **how: Any
    ) -> Future[TestReward]:
        """See `ManyAtOnce.submit_test`; what the future raises: see `submit`."""
        return self._threads.submit(self._tested, test, reference, faulty, how)

    def _tested(
        self, test: Test | str, reference: str, faulty: Sequence[str], how: dict[str, Any]
    ) -> TestReward:
        told = test if isinstance(test, str) else Task("f", (test,)).to_json()["tests"][0]
        programs = [faulty] if isinstance(faulty, str) else list(faulty)
        asked = {"test": told, "reference": reference, "faulty": programs, **how}
        answer = self._asked("/v1/test_reward", json.dumps(asked).encode())
        return msgspec.json.decode(answer, type=TestReward)

    def _graded(self, program: str, task: Task, partial: bool) -> Verdict:
        asked = json.dumps({"program": program, "partial": partial})
        answer = self._asked("/v1/grade", f'{asked[:-1]},"task":{self._text(task)}}}'.encode())
        return msgspec.json.decode(answer, type=Verdict)

    def _text(self, task: Task) -> str:
        """The task as JSON; many programs have the same."""
        with self._lock:
            kept = self._tasks.pop(id(task), None)
            if kept is None:
                kept = task, json.dumps(task.to_json())
            self._tasks[id(task)] = kept
            while len(self._tasks) > _TASKS:
                self._tasks.popitem(last=False)
        return kept[1]

    def _asked(self, path: str, body: bytes) -> bytes:
        until, lost = time.monotonic() + self._patience, 0
        while True:
            try:
                status, pause, answer = self._once(path, body)
            except (OSError, http.client.HTTPException) as error:
                lost += 1
                if lost == _LOST:
                    raise SandboxUnavailable(f"{self._url}: {error or 'no answer'}") from None
                time.sleep(_PAUSE if lost > 1 else 0)  # at once: it was only left by an idle server
                continue
            if status == 200:
                return answer
            line = f"{self._url}: {_line(answer)} ({status})"
            if status not in (429, 503):
                raise InputError(line) if status < 500 else SandboxUnavailable(line)
            if time.monotonic() + pause > until:
                raise SandboxUnavailable(line)
            lost = 0
            time.sleep(pause)

    def _once(self, path: str, body: bytes) -> tuple[int, float, bytes]:
        """Status, seconds until the next try, and body."""
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            kind = _WholeTLS if self._parts.scheme == "https" else _Whole
            host = self._parts.hostname or ""
            connection = kind(host, self._parts.port, timeout=_ANSWER_SECONDS)
            self._own.connection = connection
        try:
            connection.request("POST", self._parts.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            self._own.connection = None
            raise
        told = response.headers.get("Retry-After", "")
        return response.status, float(told) if told.isdecimal() else _PAUSE, answer


class _Whole(http.client.HTTPConnection):
    """Sends head and body of a request in one piece: the server wakes once for it, not twice."""

    def request(self, *given: Any, **more: Any) -> None:
        self._parts: list[bytes] | None = []
        super().request(*given, **more)
        whole, self._parts = b"".join(self._parts), None
        self.send(whole)

    def send(self, data: Any) -> None:
        if self._parts is None:
            super().send(data)
        else:
            self._parts.append(data)


class _WholeTLS(_Whole, http.client.HTTPSConnection):
    """The same, encrypted."""


def _line(answer: bytes) -> str:
    """Return the error that the server reports."""
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError):
        return " ".join(answer[:200].decode(errors="replace").split())

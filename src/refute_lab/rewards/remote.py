"""`Remote`: a grader behind HTTP (`refute serve`), asked in the same way as one in this process."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import msgspec

from refute.errors import InputError, SandboxUnavailable
from refute_lab.rewards.grading import ManyAtOnce
from refute_lab.rewards.task import Task, Test, Verdict
from refute_lab.rewards.testing import TestReward

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

"""Real servers in processes of their own, and a client that shows status, headers and body."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKENS = {"ann": "ann-token-0123456789", "bob": "bob-token-0123456789"}
ADD = {"entry_point": "f", "tests": [{"args": [1], "expected": 2}, {"args": [5], "expected": 6}]}
RIGHT = "def f(x): return x + 1\n"
SLEEPS = "import time\ndef f(x):\n    time.sleep(0.7)\n    return x + 1\n"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def error(self) -> str:
        """The one line of a refusal."""
        (key,) = self.json
        assert key == "error"
        assert "\n" not in self.json["error"]
        return str(self.json["error"])


class Server:
    """A `refute serve` that listens."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        tenant: str = "ann",
        method: str | None = None,
        **headers: str,
    ) -> Answer:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.connect()
        try:
            given = {"Authorization": f"Bearer {TOKENS.get(tenant, tenant)}"} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            how = method or ("GET" if body is None else "POST")
            connection.request(how, path, data, {k: v for k, v in given.items() if v})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def measure(self, name: str) -> float:
        """A number of /metrics."""
        text = self.ask("/metrics").body.decode()
        found = re.search(rf"(?m)^{re.escape(name)} (\S+)$", text)
        assert found, text
        return float(found[1])

    def children(self) -> list[int]:
        """All processes below the server's, the innermost ones last."""
        return descendants(self.process.pid)


def descendants(pid: int) -> list[int]:
    found, level = [], [pid]
    while level:
        level = [child for parent in level for child in _children(parent)]
        found += level
    return found


def _children(pid: int) -> list[int]:
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            found += [int(child) for child in text.split()]
    except OSError:
        pass
    return found


def wait_for(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.02)
    assert found
    return found


@contextmanager
def serving(*options: str, tokens: bool = True) -> Iterator[Server]:
    """A server on a free port of the loopback device; it is gone afterwards, with all below it."""
    environment = {**os.environ}
    environment.pop("REFUTE_SERVE_TOKENS", None)
    if tokens:
        environment["REFUTE_SERVE_TOKENS"] = "\n".join(map(" ".join, TOKENS.items()))
    command = [sys.executable, "-m", "refute", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        found = re.fullmatch(r"refute serve: listening on http://127\.0\.0\.1:(\d+) .*\n", line)
        assert found, line + process.stderr.read()
        yield Server(process, int(found[1]))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.communicate()

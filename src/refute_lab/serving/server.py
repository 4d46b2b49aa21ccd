"""The server process: a socket, the application on it, an end in good order."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import uvloop

from refute.core.remarks import gaps
from refute.core.starting import Variable
from refute.errors import InputError, SandboxUnavailable
from refute.sandbox.local import LocalSandbox
from refute_lab.datasets import function_datasets, load
from refute_lab.rewards import Grader
from refute_lab.serving.app import Service, application
from refute_lab.serving.requests import Bounds
from refute_lab.serving.tenants import Held, Known, Line, Tokens
from refute_lab.serving.verdicts import Verdicts

_HELD = 32
"""Bodies of the largest size that a tenant may have here at once."""
_USUAL = ("numpy",)
"""Imported once where it is installed."""
_HARMLESS = {"see the names of your files"}
"""Of what is not protected, what a server goes on with."""
_IDLE_SECONDS = 75
"""A connection without a request is kept."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a server is started."""

    host: str
    port: int
    jobs: int
    tokens: Tokens
    most_body: int
    """Bytes."""
    most_seconds: float
    queue: int
    preload: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    data: Path | None = None


def serve(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises `InputError`, `SandboxUnavailable` and `OSError`."""
    _check(options)
    with LocalSandbox() as box:  # none: say so at once
        lacking = gaps(box.protections())
    if set(lacking) - _HARMLESS:
        raise SandboxUnavailable(f"here programs could {', '.join(lacking)}")
    with (
        _bound(options) as listener,
        Grader(options.jobs, preload=options.preload or _USUAL) as grader,
        # asyncio's own writes head and body of an answer one by one, and is slower
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(options, listener, grader))


def _check(options: Options) -> None:
    if not len(options.tokens) and not _is_loopback(options.host):
        raise InputError(
            f"--host {options.host}: others could ask without a token: give --token-file FILE or "
            f"{Variable.SERVE_TOKENS}"
        )
    for name in options.preload:
        if not name.isidentifier() or importlib.util.find_spec(name) is None:
            raise InputError(f"--preload {name}: no such package is installed")
    known = function_datasets()
    for name in options.datasets:
        if name not in known:
            raise InputError(f"--dataset {name}: none of {', '.join(known)}")
        load(name, data=options.data, limit=1)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--host {options.host} --port {options.port}: {reason}") from None
    return listener


async def _serve(options: Options, listener: socket.socket, grader: Grader) -> None:
    bounds = Bounds(options.most_seconds, options.datasets)
    service = Service(
        Verdicts(grader, Line(options.jobs, options.queue), bounds, options.data),
        options.tokens,
        bounds,
        Held(_HELD * options.most_body),
        Known(bounds),
        options.most_body,
    )
    config = uvicorn.Config(
        application(service),
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        http="httptools",
        lifespan="off",
        ws="none",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=round(options.most_seconds) + 5,
    )
    await _Server(config, options).serve([listener])
    await service.verdicts.line.drained()


class _Server(uvicorn.Server):
    """Says where it listens; a signal ends it in good order, a second one at once."""

    def __init__(self, config: uvicorn.Config, options: Options) -> None:
        super().__init__(config)
        self._options = options

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = (sockets or [])[0].getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        jobs = self._options.jobs
        kept = f"{jobs} sandbox{'es' * (jobs > 1)}{', tokens' * bool(self._options.tokens)}"
        sys.stderr.write(f"refute serve: listening on http://{where}:{port} ({kept})\n")
        sys.stderr.flush()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        wanted = (signal.SIGINT, signal.SIGTERM)
        for number in wanted:
            loop.add_signal_handler(number, self._end, number)
        try:
            yield
        finally:
            for number in wanted:
                loop.remove_signal_handler(number)

    def _end(self, number: int) -> None:
        if self.should_exit:
            os._exit(128 + number)  # sandboxes end with the process that they work for
        self.should_exit = True

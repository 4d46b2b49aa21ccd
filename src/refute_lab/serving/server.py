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
from typing import TYPE_CHECKING

import uvicorn
import uvloop

from refute.core.processes import cores
from refute.core.remarks import gaps
from refute.core.starting import Variable
from refute.errors import InputError, SandboxUnavailable
from refute.sandbox.local import LocalSandbox
from refute_lab.datasets import function_datasets, load
from refute_lab.rewards import Grader
from refute_lab.serving.app import Service, Verdicts, application
from refute_lab.serving.requests import Bounds
from refute_lab.serving.tenants import Held, Known, Line, Tokens

if TYPE_CHECKING:
    from refute_lab.verbs.serve import ServeOptions

_HELD = 32
"""Bodies of the largest size that a tenant may have here at once."""
_USUAL = ("numpy",)
"""Imported once where it is installed."""
_HARMLESS = {"see the names of your files"}
"""Of what is not protected, what a server starts with."""
_IDLE_SECONDS = 75
"""A connection without a request is kept."""


def serve(options: ServeOptions, tokens: Tokens) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises `InputError`, `SandboxUnavailable` and `OSError`."""
    _check(options, tokens)
    with LocalSandbox() as box:  # none: say so at once
        lacking = gaps(box.protections())
    if set(lacking) - _HARMLESS:
        raise SandboxUnavailable(f"here programs could {', '.join(lacking)}")
    jobs = options.jobs or cores()
    with (
        _bound(options) as listener,
        Grader(jobs, preload=options.preload or _USUAL) as grader,
        # asyncio's own writes head and body of an answer one by one, and is slower
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(options, jobs, tokens, listener, grader))


def _check(options: ServeOptions, tokens: Tokens) -> None:
    if not len(tokens) and not _is_loopback(options.host):
        raise InputError(
            f"--host {options.host}: others could ask without a token: give --token-file FILE or "
            f"{Variable.SERVE_TOKENS}"
        )
    for name in options.preload:
        if not name.isidentifier() or importlib.util.find_spec(name) is None:
            raise InputError(f"preload = {name}: no such package is installed")
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


def _bound(options: ServeOptions) -> socket.socket:
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


async def _serve(
    options: ServeOptions, jobs: int, tokens: Tokens, listener: socket.socket, grader: Grader
) -> None:
    most_body = round(options.most_body * (1 << 20))
    bounds = Bounds(options.most_seconds, options.datasets)
    service = Service(
        Verdicts(grader, Line(jobs, options.queue), bounds, options.data),
        tokens,
        bounds,
        Held(_HELD * most_body),
        Known(bounds),
        most_body,
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
    kept = f"{jobs} sandbox{'es' * (jobs > 1)}{', tokens' * bool(tokens)}"
    await _Server(config, kept).serve([listener])
    await service.verdicts.line.drained()


class _Server(uvicorn.Server):
    """Says where it listens; a signal ends it in good order, a second one at once."""

    def __init__(self, config: uvicorn.Config, kept: str) -> None:
        super().__init__(config)
        self._kept = kept

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = (sockets or [])[0].getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"refute serve: listening on http://{where}:{port} ({self._kept})\n")
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

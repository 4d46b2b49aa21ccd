"""The server process: a socket, the application on it, an end in good order."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import os
import re
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import uvicorn
import uvloop
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from refute.core.processes import cores
from refute.core.remarks import gaps
from refute.core.starting import Variable
from refute.errors import (
    BAD_INPUT,
    UNAVAILABLE,
    DatasetError,
    InputError,
    SandboxUnavailable,
    Unavailable,
    told,
)
from refute.sandbox.local import LocalSandbox
from refute_lab.datasets import function_datasets, load
from refute_lab.rewards import Grader, Task, Test, TestReward, Verdict
from refute_lab.serving import (
    Asked,
    Bounds,
    Busy,
    Full,
    Held,
    Job,
    Known,
    Line,
    Malformed,
    Named,
    Tokens,
    TooMany,
    Trial,
    read_batch,
    read_one,
    read_trial,
)

if TYPE_CHECKING:
    from refute_lab.verbs.serve import ServeOptions

# -- verdicts --------------------------------------------------------------------------------------


# -- measures --------------------------------------------------------------------------------------


CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Measures:
    """The counters of one server."""

    def __init__(self, line: Line) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        to = self._registry
        self.requests = Counter(
            "refute_requests", "Requests answered.", ("path", "status"), registry=to
        )
        self.verdicts = Counter("refute_verdicts", "Programs graded.", ("passed",), registry=to)
        for passed in ("yes", "no"):
            self.verdicts.labels(passed)
        self.unavailable = Counter(
            "refute_unavailable", "Programs that no sandbox could be had for.", registry=to
        )
        self.sandbox_seconds = Counter(
            "refute_sandbox_cpu_seconds", "CPU seconds of graded programs.", registry=to
        )
        self.seconds = Histogram(
            "refute_verdict_seconds",
            "Elapsed seconds of a verdict, in a sandbox.",
            buckets=_SECONDS,
            registry=to,
        )
        for name, words, read in (
            ("refute_waiting", "Programs in the line.", lambda: line.waiting),
            ("refute_running", "Programs in sandboxes.", lambda: line.running),
            ("refute_places", "Sandboxes.", lambda: line.places),
        ):
            Gauge(name, words, registry=to).set_function(read)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


Made = TypeVar("Made")
_PROBE = Task(entry_point="f", tests=(Test((1,), expected=2),))
_PROBE_PROGRAM = "def f(x):\n    return x + 1\n"
_MOST_TASKS = 2000
"""Tasks of datasets that are kept."""


class Verdicts:
    """A server's graders and its line of requests, for one event loop."""

    def __init__(
        self, grader: Grader, line: Line, bounds: Bounds, data: Path | None = None
    ) -> None:
        """`data`: where datasets are (see `refute_lab.datasets.load`)."""
        self.line = line
        self.measures = Measures(line)
        self.fit = True
        """True: the last program that was to be graded found a sandbox."""
        self._grader = grader
        self._bounds = bounds
        self._data = data
        self._tasks: OrderedDict[Named, Task] = OrderedDict()
        self._loading = asyncio.Lock()

    def job(self, asked: Asked) -> Job:
        """Make the answer, as a job of the line."""

        async def verdict() -> Verdict | TestReward:
            if isinstance(asked, Trial):
                return await self._watched(
                    self._grader.grade_test_async(
                        asked.test, asked.reference, asked.faulty, **asked.how
                    )
                )
            task = asked.task
            if isinstance(task, Named):
                task = await self._task(task)
            return await self._graded(asked.source, task, asked.partial)

        return verdict

    async def probe(self) -> bool:
        """Return whether a right program gets its verdict, after one found no sandbox."""
        if not self.fit:
            try:
                await self._graded(_PROBE_PROGRAM, _PROBE, False)
            except Unavailable:
                pass
        return self.fit

    async def _graded(self, source: str, task: Task, partial: bool) -> Verdict:
        verdict = await self._watched(self._grader.grade_async(source, task, partial=partial))
        self.measures.verdicts.labels("yes" if verdict.passed else "no").inc()
        self.measures.sandbox_seconds.inc(verdict.cpu_seconds)
        return verdict

    async def _watched(self, work: Awaitable[Made]) -> Made:
        """The result; whether there was a sandbox is remembered."""
        began = time.perf_counter()
        try:
            result = await work
        except Unavailable:
            self.fit = False
            self.measures.unavailable.inc()
            raise
        self.fit = True
        self.measures.seconds.observe(time.perf_counter() - began)
        return result

    async def _task(self, named: Named) -> Task:
        """Kept for all tenants: it is of a public dataset. Raises `InputError`."""
        found = self._tasks.pop(named, None)
        if found is None:
            async with self._loading:
                where: dict[str, Any] = {"data": self._data}
                try:
                    found = await asyncio.to_thread(
                        Task.of_dataset, named.dataset, named.problem, **where
                    )
                except DatasetError:  # its words name files of this machine
                    line = f"dataset {named.dataset}: no problem {named.problem!r} that can be read"
                    raise InputError(line) from None
                found = replace(found, run_seconds=self._bounds.usual)
        while len(self._tasks) >= _MOST_TASKS:
            self._tasks.popitem(last=False)
        self._tasks[named] = found
        return found


class BatchLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Answer for one program of many; without a verdict 503 (sandbox unavailable), 500 (internal
    error) or 422."""

    index: int
    verdict: Verdict | msgspec.UnsetType = msgspec.UNSET
    status: int | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET


class Error(msgspec.Struct):
    """The reason for a missing answer."""

    error: str
    """In one line."""


Result = TypeVar("Result")
_BODY_SECONDS = 30.0
"""For the body of a request to arrive."""
_LARGE = 1 << 17
"""Bytes of a body that is read outside of the event loop."""
_RETRY = 1
"""Seconds to wait where a sandbox could not be had."""


@dataclass(frozen=True, slots=True)
class Service:
    """The state of the application."""

    verdicts: Verdicts
    tokens: Tokens
    bounds: Bounds
    held: Held
    known: Known
    most_body: int
    """Bytes."""


class Refused(Exception):
    """The request is answered with a line that says why."""

    def __init__(self, status: int, line: str, retry: int | None = None) -> None:
        super().__init__(line)
        self.status = status
        self.line = line
        self.headers = {} if retry is None else {"Retry-After": str(retry)}
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"


Handler = Callable[[Service, Request, str, ExitStack], Awaitable[Response]]
"""Answers a tenant's request; what the stack holds is given back when the answer is sent."""


def application(service: Service) -> Starlette:
    """The ASGI application."""
    asked: dict[str, Handler] = {
        "/v1/grade": _grade,
        "/v1/test_reward": _test_reward,
        "/v1/grade_batch": _grade_batch,
    }
    routes = [Route(path, _Endpoint(service, one), methods=["POST"]) for path, one in asked.items()]
    routes.append(Route("/healthz", _Endpoint(service, _health, known=False), methods=["GET"]))
    routes.append(Route("/metrics", _Endpoint(service, _metrics), methods=["GET"]))

    async def no_such(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        paths = ", ".join(route.path for route in routes)
        lines = {404: f"no such path; there are {paths}", 405: f"not by {request.method}"}
        return _refusal(error.status_code, lines.get(error.status_code, error.detail))

    return Starlette(routes=routes, exception_handlers={HTTPException: no_such})


class _Endpoint:
    """One path, as an ASGI application: errors are answers, and the answer is counted."""

    def __init__(self, service: Service, handler: Handler, *, known: bool = True) -> None:
        self._service = service
        self._handler = handler
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        service = self._service
        with ExitStack() as stack:
            try:
                tenant = _tenant(service, request) if self._known else ""
                response = await self._handler(service, request, tenant, stack)
            except ClientDisconnect:
                return
            except Exception as error:
                response = _answer_to(error)
            service.verdicts.measures.requests.labels(scope["path"], response.status_code).inc()
            await response(scope, receive, send)


def _answer_to(error: Exception) -> Response:
    match error:
        case Refused():
            return _refusal(error.status, error.line, error.headers)
        case Malformed():
            return _refusal(400, str(error))
        case Busy(seconds=seconds):
            return _answer_to(Refused(429, f"the line is full: try again in {seconds} s", seconds))
    status, line = _status(error)
    return _answer_to(Refused(status, line, _RETRY if status == 503 else None))


def _status(error: Exception) -> tuple[int, str]:
    """Of an exception of the library."""
    exit_status, line = told(error)
    found = {BAD_INPUT: 422, UNAVAILABLE: 503}.get(exit_status, 500)
    return found, f"internal error at {line}" if found == 500 else line


def _refusal(status: int, line: str, headers: dict[str, str] | None = None) -> Response:
    return _json(Error(line), status, headers)


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, "application/json")


# -- who asks --------------------------------------------------------------------------------------

_HERE = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", re.IGNORECASE)


def _tenant(service: Service, request: Request) -> str:
    """Return the tenant that asks. Raises `Refused`."""
    headers = request.headers
    if not len(service.tokens) and (
        "origin" in headers or not _HERE.fullmatch(headers.get("host", ""))
    ):  # a web page that a browser on this machine shows
        raise Refused(403, "without tokens (--token-file) only programs of this machine may ask")
    tenant = service.tokens.tenant(headers.get("authorization"))
    if tenant is None:
        raise Refused(401, "needs the header Authorization: Bearer TOKEN, with a token known here")
    return tenant


async def _body(service: Service, request: Request, add: Callable[[int], None]) -> bytes:
    """The body, as far as it may be. Raises `Refused` and `ClientDisconnect`."""
    most, large = service.most_body, f"the body has more than {service.most_body} bytes"
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(415, "the body must not be compressed")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise Refused(413, large)
    found = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                if len(found) + len(chunk) > most:
                    raise Refused(413, large)
                add(len(chunk))
                found += chunk
    except TimeoutError:
        raise Refused(408, f"the body did not arrive in {_BODY_SECONDS:g} s") from None
    except Full:
        raise Refused(429, "too much of yours waits here: try again", 1) from None
    return bytes(found)


# -- what is asked ---------------------------------------------------------------------------------


async def _grade(service: Service, request: Request, tenant: str, stack: ExitStack) -> Response:
    body = await _body(service, request, stack.enter_context(service.held.share(tenant)))
    if len(body) < _LARGE:
        asked = service.known.read(tenant, body)
    else:
        asked = await asyncio.to_thread(read_one, body, service.bounds)
    return await _answered(service, request, tenant, stack, asked)


async def _test_reward(
    service: Service, request: Request, tenant: str, stack: ExitStack
) -> Response:
    body = await _body(service, request, stack.enter_context(service.held.share(tenant)))
    asked = await _read(read_trial, body, service.bounds)
    return await _answered(service, request, tenant, stack, asked)


async def _answered(
    service: Service, request: Request, tenant: str, stack: ExitStack, asked: Asked
) -> Response:
    (verdict,) = _enter(service, tenant, [service.verdicts.job(asked)], stack)
    return _json(await _unless_gone(request.receive, verdict))


async def _grade_batch(
    service: Service, request: Request, tenant: str, stack: ExitStack
) -> Response:
    body = await _body(service, request, stack.enter_context(service.held.share(tenant)))
    programs = await _read(read_batch, body, service.bounds)
    jobs = [service.verdicts.job(program) for program in programs]
    return _Lines(_enter(service, tenant, jobs, stack))


def _enter(
    service: Service, tenant: str, jobs: list[Job], stack: ExitStack
) -> list[asyncio.Future[Any]]:
    line = service.verdicts.line
    try:
        return stack.enter_context(line.entered(tenant, jobs))
    except TooMany:
        raise Refused(
            413, f"{len(jobs)} programs at once: this server takes {line.most + line.places}"
        ) from None


async def _read(read: Callable[[bytes, Bounds], Result], body: bytes, bounds: Bounds) -> Result:
    if len(body) < _LARGE:
        return read(body, bounds)
    return await asyncio.to_thread(read, body, bounds)


class _Lines(Response):
    """A line of JSON for each future, in their order, as they are done."""

    media_type = "application/x-ndjson"

    def __init__(self, futures: list[asyncio.Future[Any]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._futures = futures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.ensure_future(self._write(send))
        try:
            await _unless_gone(receive, writing)
        except ClientDisconnect:
            pass
        finally:
            writing.cancel()

    async def _write(self, send: Send) -> None:
        head = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **head})
        for index, future in enumerate(self._futures):
            try:
                line = BatchLine(index=index, verdict=await future)
            except Exception as error:
                status, why = _status(error)
                line = BatchLine(index=index, status=status, error=why)
            content = msgspec.json.encode(line) + b"\n"
            await send({"type": "http.response.body", "body": content, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _unless_gone(receive: Receive, work: asyncio.Future[Result]) -> Result:
    """Return the result of `work`. Raises `ClientDisconnect` when the client stops waiting."""
    gone = asyncio.ensure_future(_gone(receive))
    gone.add_done_callback(lambda _: work.cancel())
    try:
        return await work
    except asyncio.CancelledError:
        if gone.done():
            raise ClientDisconnect from None
        raise
    finally:
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# -- answers --------------------------------------------------------------------------------------


async def _health(service: Service, request: Request, tenant: str, stack: ExitStack) -> Response:
    if await service.verdicts.probe():
        return _json({"status": "ok"})
    raise Refused(503, "no sandbox; `refute doctor` says what is missing", _RETRY)


async def _metrics(service: Service, request: Request, tenant: str, stack: ExitStack) -> Response:
    return Response(service.verdicts.measures.text(), media_type=CONTENT_TYPE)


# -- server ----------------------------------------------------------------------------------------


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

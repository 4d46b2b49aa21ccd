"""A model behind an OpenAI-compatible server.

Our retries keep one deadline over all tries and share a server's wish to be left alone among all
requests. Answers are read leniently (`dialects`), and only up to a bound, whatever their status.

What a server does not take (`seed`, several choices at once, `max_tokens`...) is found out by its
refusal, said once in the log `refute.models`, and remembered. Whether it continues an answer
(`continue_final_message`) is found out by counting: a prompt that ends in the middle of an answer
has fewer tokens than one that ends it and asks for the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import zlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from refute.core import extras
from refute.core.storage import parse_json
from refute.errors import ContextTooLong, InputError, ModelUnavailable, NotContinued
from refute.models.budget import is_local
from refute.models.contract import Completion, Message, Sampling, to_be_continued
from refute.models.dialects import (
    CONTINUING,
    Complaint,
    RetryPolicy,
    completions,
    one_line,
    read_complaint,
    request_body,
    retry_after,
)

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

_log = logging.getLogger("refute.models")

_OWN = "https://api.openai.com/v1"
_RENAMED = "max_completion_tokens"
_OPTIONAL = (
    "n", "temperature", "top_p", "stop", "seed", "max_tokens", _RENAMED, *CONTINUING,
)  # fmt: skip
"""Parameters that a request can do without: stop strings are cut here, choices asked one by one."""


class _Failed(Exception):
    """This try failed; another may not. `pause`: seconds that the server asked for. `cut`: the
    total time ended it early."""

    def __init__(self, reason: str, pause: float | None = None, *, cut: bool = False) -> None:
        super().__init__(reason)
        self.pause, self.cut = pause, cut


class _LeftOut(Exception):
    """The server does not take a parameter: the request may go on without it, at once."""


class OpenAIModel:
    """A served model. For one event loop at a time; any number of requests at once."""

    KIND = "openai"
    HOME = _OWN
    """The service's own address, which wants a key."""
    KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
    """Variables of the environment."""
    PATH = "/chat/completions"
    NEVER: frozenset[str] = frozenset()
    """Parameters that no server of the kind takes."""

    def __init__(
        self,
        served_name: str,
        *,
        base_url: str | None = None,
        concurrency: int = 64,
        retry: RetryPolicy | None = None,
    ) -> None:
        """`base_url` None: that of the environment, else the service's own.

        Raises `InputError` for an address that is none and without the extra `[model]`,
        `ModelUnavailable` where the service itself is asked without a key.
        """
        extras.need("model", f"{self.KIND}:{served_name}")
        self.served_name = served_name
        address = (base_url or os.environ.get(self.ADDRESS) or self.HOME).rstrip("/")
        self.base_url = self._whole(address)
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{self.base_url}: the base URL must be like http://host:port/v1")
        self._key = os.environ.get(self.KEY, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise InputError(f"{self.KEY} holds characters that no key has")
        if not self._key and self.base_url == self.HOME:
            raise ModelUnavailable(f"no key: set {self.KEY}, or {self.ADDRESS} for another server")
        self._retry = retry or RetryPolicy()
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._client: AsyncClient | None = None
        self._answered = False
        self._not_before = 0.0
        self._left_out: set[str] = set(self.NEVER)
        self._continues: bool | None = None
        self._trying = asyncio.Lock()

    @staticmethod
    def _whole(address: str) -> str:
        """The address that paths are added to, of one that was given."""
        return address

    @property
    def name(self) -> str:
        """The kind (`openai:`) and the name that the server knows. The address is no part of it, so
        that a server may move to another port without being paid again."""
        return f"{self.KIND}:{self.served_name}"

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """Exactly n samples; see `Model.generate`."""
        if to_be_continued(messages) and not await self._can_continue():
            raise NotContinued(f"{self.name}: its server begins a new answer")
        answers: list[Completion] = []
        # At temperature 0 vLLM refuses several choices, and they are all the same anyway.
        while len(answers) < n and "n" not in self._left_out and sampling.temperature > 0:
            wanted = n - len(answers)
            found = await self._ask(messages, sampling, wanted, first + len(answers))
            answers += found[:wanted]
            if len(found) == 1 < wanted:
                self._leave_out("n")
        rest = range(first + len(answers), first + n)
        singles = [
            asyncio.ensure_future(self._ask(messages, sampling, 1, number)) for number in rest
        ]
        try:
            for found in await asyncio.gather(*singles):
                answers += found[:1]
        finally:
            for single in singles:
                single.cancel()
        return answers

    async def close(self) -> None:
        """Close the connections; idempotent."""
        client, self._client = self._client, None
        self._slots = asyncio.Semaphore(self._concurrency)  # the next loop needs its own
        self._trying = asyncio.Lock()
        if client is not None:
            await client.aclose()

    async def _can_continue(self) -> bool:
        """Return whether the server continues an unfinished answer; tried once, by two answers of a
        few tokens. A server that says nothing about it, or counts no tokens, counts as one that
        does not.
        """
        async with self._trying:
            if self._continues is None:
                begun = [Message("user", "Count to three."), Message("assistant", "One, two,")]
                short = Sampling(temperature=0.0, top_p=1.0, max_tokens=16)
                [told] = await self._ask(begun, short, 1, 0)
                [plain] = await self._ask(begun, short, 1, 0, without=CONTINUING)
                self._continues = told.usage.prompt_tokens < plain.usage.prompt_tokens
                if not self._continues:
                    _log.warning("%s continues no answer: it is asked a question", self.name)
        return self._continues

    async def _ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        n: int,
        first: int,
        *,
        without: Collection[str] = (),
    ) -> list[Completion]:
        """One choice or more, up to n; tries again within the limits of the retry policy.
        `without`: parameters that are not sent."""
        async with self._slots:
            deadline = time.monotonic() + self._retry.total
            failures, reason = 0, ""
            while True:
                await self._wait_until(self._not_before, deadline)
                body = self._body(messages, sampling, n, first)
                body = {name: value for name, value in body.items() if name not in without}
                try:
                    return await self._try(body, messages, sampling, deadline)
                except _LeftOut:
                    continue
                except _Failed as failed:
                    failures += 1
                    if not (failed.cut and reason):  # what the server said before tells more
                        reason = str(failed)
                    retry = self._retry
                    tries = retry.tries if self._answered else retry.first_tries
                    if failures >= tries:
                        raise self._unavailable(f"{reason} ({failures} tries)") from None
                    pause = retry.backoff(failures)
                    if failed.pause is not None:
                        pause = failed.pause + pause / 10
                        self._not_before = max(self._not_before, time.monotonic() + failed.pause)
                    await self._wait_until(time.monotonic() + pause, deadline, reason)

    def _body(
        self, messages: Sequence[Message], sampling: Sampling, n: int, first: int
    ) -> dict[str, Any]:
        """The body, without what the server is known not to take."""
        body = request_body(self.served_name, messages, sampling, n=n, first=first)
        if "max_tokens" in self._left_out:
            body[_RENAMED] = sampling.max_tokens
        return {name: value for name, value in body.items() if name not in self._left_out}

    async def _try(
        self,
        body: dict[str, Any],
        messages: Sequence[Message],
        sampling: Sampling,
        deadline: float,
    ) -> list[Completion]:
        """Ask once. Raises `_Failed` where another try may do better."""
        import httpx

        limit = min(self._retry.attempt, deadline - time.monotonic())
        try:
            async with asyncio.timeout(limit):  # over the whole answer, however slowly it drips
                asked = self._opened().stream(
                    "POST", self.base_url + self.PATH, json=self._sent(body)
                )
                async with asked as response:
                    text = await _text(response)
        except TimeoutError:
            cut = limit < self._retry.attempt
            raise _Failed(f"no answer within {max(0.0, limit):.0f} s", cut=cut) from None
        except httpx.TimeoutException:
            raise _Failed("no connection in time") from None
        except BodyRefused as error:
            raise self._unavailable(str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Failed(one_line(f"{type(error).__name__}: {error}")) from None
        self._answered = True
        if response.is_redirect:  # not followed: the key would go there
            other = one_line(response.headers.get("location", ""), 200)
            raise self._unavailable(f"it redirects to {other}: give that server's address")
        if not response.is_success:
            complaint = read_complaint(response.status_code, text, self._optional(body))
            raise self._complain(complaint, retry_after(response.headers))
        return self._read(text, body, messages, sampling)

    def _read(
        self,
        text: str,
        body: dict[str, Any],
        messages: Sequence[Message],
        sampling: Sampling,
    ) -> list[Completion]:
        """The choices in an answer of status 200."""
        try:
            answer = self._received(parse_json(text))
            if isinstance(answer, dict) and answer.get("error") and not answer.get("choices"):
                code = answer["error"].get("code") if isinstance(answer["error"], dict) else None
                status = code if isinstance(code, int) and 400 <= code < 600 else 500
                raise self._complain(read_complaint(status, text, self._optional(body)))
            found = completions(answer, sampling, messages, n=body.get("n", 1))
        except ValueError as error:
            raise _Failed(f"malformed answer: {one_line(f'{error}: {text}', 160)}") from None
        if not found:
            raise _Failed("an answer without choices")
        return found

    def _complain(self, complaint: Complaint, pause: float | None = None) -> Exception:
        """Return the exception for a refusal."""
        kind, detail = complaint.kind, self._without_key(complaint.detail)
        if kind == "context":
            return ContextTooLong(f"{self.name}: {detail}")
        if kind == "parameter":
            self._leave_out(complaint.parameter)
            return _LeftOut()
        if kind == "key":
            return self._unavailable(f"the key is not accepted: set {self.KEY}")
        if kind == "model":
            hint = "" if self.base_url.endswith("/v1") else "; does the base URL lack /v1?"
            return self._unavailable(f"no such model or address: {detail}{hint}")
        if kind == "busy":
            return _Failed(detail, pause)
        return self._unavailable(detail)

    async def _wait_until(self, moment: float, deadline: float, why: str = "it is busy") -> None:
        """Sleep, unless that would pass the deadline."""
        if moment >= deadline:
            seconds = moment - time.monotonic()
            raise self._unavailable(f"{why}; the next try would be in {seconds:.0f} s")
        if moment > time.monotonic():
            await asyncio.sleep(moment - time.monotonic())

    def _opened(self) -> AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                headers={"accept-encoding": "gzip", **self._headers()},
                timeout=httpx.Timeout(self._retry.attempt, connect=10.0),
                limits=httpx.Limits(max_connections=None),  # `concurrency` bounds them
                # A proxy of the environment cannot reach this machine's own servers.
                trust_env=not is_local(self.base_url),
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        """By which the server knows who asks."""
        return {"authorization": f"Bearer {self._key or 'none'}"}

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body of `dialects` as the server takes it."""
        return body

    def _received(self, answer: object) -> object:
        """An answer as `dialects` reads it."""
        return answer

    def _optional(self, body: dict[str, Any]) -> list[str]:
        return [name for name in _OPTIONAL if name in body]

    def _leave_out(self, parameter: str) -> None:
        if parameter not in self._left_out:
            self._left_out.add(parameter)
            _log.warning("%s does not take `%s`: asked without it", self.name, parameter)

    def _unavailable(self, reason: str) -> ModelUnavailable:
        host = urlsplit(self.base_url).netloc.rpartition("@")[2]
        return ModelUnavailable(f"{self.name} at {host}: {self._without_key(reason)}")

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text


# -- the body of a server's answer: read up to a bound, unpacked here, and UTF-8 -------------------
# A server's word on its body is not taken: not how long it is, not how far it unpacks, not its
# charset (JSON is UTF-8, and Python knows "charsets" that are no encodings of text).

LARGEST = 16 << 20
"""Bytes, on the wire and unpacked. A hundred answers of 32,000 tokens fit, and the objects that the
worst JSON of this size makes fit into 1 GB."""


class BodyRefused(Exception):
    """The body of an answer is not read any further. The text is one line for people."""


async def _text(response: Response) -> str:
    """The unpacked body. Raises `BodyRefused`."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise BodyRefused(f"its answer is packed as {packing[:40]!r}, which it was not asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in packing else None
    sent, whole = 0, bytearray()
    async for chunk in response.aiter_raw():
        sent += len(chunk)
        if unpack is not None:
            try:
                chunk = unpack.decompress(chunk, LARGEST + 1)
            except zlib.error:
                raise BodyRefused("its answer is said to be packed by gzip, and is not") from None
        whole += chunk
        if max(sent, len(whole)) > LARGEST:
            raise BodyRefused(f"its answer is larger than {LARGEST >> 20} MiB")
    return whole.decode("utf-8", "replace")

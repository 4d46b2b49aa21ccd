"""What servers mean by their errors.

Every OpenAI-compatible server words its refusals in its own way. The patterns are of OpenAI, vLLM,
SGLang, llama.cpp, Ollama, TGI, `transformers serve` and the proxies in front of them.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from refute.core.files import parse_json


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on one request; all of them hold. Times are in seconds."""

    tries: int = 8
    first_tries: int = 3
    """While the server has never answered: it may not be there at all."""
    attempt: float = 300.0
    """One try, from sending to the last byte of the answer."""
    total: float = 900.0
    """All tries and the pauses between them."""
    pause: float = 0.5
    """The first pause, doubled each time."""
    longest_pause: float = 60.0

    def backoff(self, failures: int) -> float:
        """The pause after so many failures: exponential, the upper half of it by chance.

        Chance keeps requests that failed together from coming back together.
        """
        pause = min(self.longest_pause, self.pause * 2.0 ** min(failures - 1, 30))
        return pause * random.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait that the server asks for, as a number or a date; None: it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


Kind = Literal["context", "parameter", "key", "model", "quota", "busy", "refused"]


@dataclass(frozen=True, slots=True)
class Complaint:
    """A refusal, understood."""

    kind: Kind
    """`context`: the request is too long. `parameter`: the server does not take one of those sent.
    `key`: the key is missing or wrong. `model`: there is no such model or address. `quota`: paid
    for no more. `busy`: it may work later. `refused`: it will never work."""
    detail: str
    """What the server said, as one line for people."""
    parameter: str = ""


_CONTEXT = re.compile(
    r"""
    context[ _](length|window|size|limit)
    | exceed_context
    | maximum\ (model|input|prompt|sequence)\ length
    | (prompt|input|messages?|request)\ (is|are)\ too\ (long|large)\b
    | too\ large\ for\ model\ with
    | `?inputs`?\ (tokens\ \+|must\ have\ less\ than)
    | (input|prompt)\ (token\ count|tokens?|length)\b[^.]*\bexceeds?
    | reduce\ the\ length\ of\ (the\ |your\ )?(messages|prompt|input)
    | exceeds?\ the\ (model'?s?\ )?max(imum)?[^.]*\b(tokens?\ (allowed|limit)|length)
    """,
    re.IGNORECASE | re.VERBOSE,
)

_DISLIKE = re.compile(
    r"unsupported|not (yet )?(supported?|permitted|allowed|accepted|available|implemented)"
    r"|unrecogni[sz]ed|unknown|unexpected|extra|invalid|deprecated|cannot|can't|may not"
    r"|must be|should be|at most|less than|only\b",
    re.IGNORECASE,
)

_ONE_CHOICE = re.compile(
    r"only one (completion )?choice|\bn ?(>|!=|must|should|is greater)|['\"`]n['\"`]|best_of"
    r"|multiple (choices|completions|candidates)",
    re.IGNORECASE,
)

_QUOTA = re.compile(r"insufficient_quota|insufficient[ _](funds|balance|credits?)|billing", re.I)

_TOLD = 8_000
"""Characters of a complaint that are looked at: it may echo the whole request."""

_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


def read_complaint(status: int, body: str, sent: Collection[str] = ()) -> Complaint:
    """What an answer with an HTTP status of 400 or more means.

    `sent` names the parameters that the request could do without.
    """
    document = _parsed(body)
    words = " ".join(_texts(document)) if document is not None else body
    words = words[:_TOLD]
    detail = one_line(_message(document) or words) or f"HTTP status {status}"
    if status in (401, 403):
        return Complaint("key", detail)
    if status == 402 or _QUOTA.search(words):
        return Complaint("quota", detail)
    if status not in (429, 404) and _CONTEXT.search(words):
        return Complaint("context", detail)
    if status in (400, 422, 500, 501):
        parameter = _disliked(document, words, sent)
        if parameter:
            return Complaint("parameter", detail, parameter)
    if status == 404:
        return Complaint("model", detail)
    if status in _LATER or status > 504:
        return Complaint("busy", detail)
    return Complaint("refused", detail)


def one_line(text: str, limit: int = 300) -> str:
    """A foreign text as one printable line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:20_000]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _disliked(document: object, words: str, sent: Collection[str]) -> str:
    """The parameter that the server does not take; "" where it complains of something else."""
    named = [name for name in _named(document) if name in sent]
    if named:
        return named[0]
    if not _DISLIKE.search(words):
        return ""
    for name in sorted(sent, key=len, reverse=True):
        if name == "n":
            continue
        # Not within a longer name: `max_completion_tokens` does not speak of `max_tokens`.
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words):
            return name
    return "n" if "n" in sent and _ONE_CHOICE.search(words) else ""


def _named(document: object) -> Iterator[str]:
    """Parameters in the fields made for it: OpenAI's `param`, the `loc` of FastAPI."""
    if isinstance(document, dict):
        if isinstance(document.get("param"), str):
            yield document["param"]
        where = document.get("loc")
        if isinstance(where, list) and where and isinstance(where[-1], str):
            yield where[-1]
        for value in document.values():
            yield from _named(value)
    elif isinstance(document, list):
        for value in document:
            yield from _named(value)


def _parsed(body: str) -> Any:
    try:
        document = parse_json(body)
    except ValueError:
        return None
    return document if isinstance(document, dict | list) else None


def _texts(document: object, depth: int = 0) -> Iterator[str]:
    """All texts of a document, keys left out."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list) and depth < 8:
        for part in document.values() if isinstance(document, dict) else document:
            yield from _texts(part, depth + 1)


def _message(document: object) -> str:
    """The sentence for people in an error document."""
    if isinstance(document, list):
        return "; ".join(filter(None, map(_message, document[:3])))
    if not isinstance(document, dict):
        return document if isinstance(document, str) else ""
    for field in ("message", "msg", "error", "detail"):
        text = _message(document.get(field))
        if text:
            return text
    return ""

"""Requests and answers in the form of OpenAI's chat completions, and the meaning of errors.

Every OpenAI-compatible server words its refusals in its own way. The patterns are of OpenAI, vLLM,
SGLang, llama.cpp, Ollama, TGI, `transformers serve` and the proxies in front of them.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from refute.core.storage import parse_json
from refute.models.contract import (
    Completion,
    Message,
    Sampling,
    ToolCall,
    Usage,
    is_count,
    to_be_continued,
)


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
    """Words of the server, as one line for people."""
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
    """Interpret an answer with an HTTP status of 400 or more.

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


CONTINUING = {"continue_final_message": True, "add_generation_prompt": False}
"""Arguments for vLLM and SGLang where the last message is an answer to be continued."""

_CUT = frozenset({"length", "max_tokens", "model_length"})
"""Servers' names for an answer that was cut off."""


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, *, n: int, first: int = 0
) -> dict[str, Any]:
    """The body of `POST /chat/completions`. What has its default is left out."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message_data(message) for message in messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
    }
    if n > 1:
        body["n"] = n
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.seed is not None:
        body["seed"] = sampling.seed + first
    if to_be_continued(messages):
        body |= CONTINUING
    if sampling.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(tool.parameters),
                },
            }
            for tool in sampling.tools
        ]
    return body


def completions(
    answer: object, sampling: Sampling, messages: Sequence[Message] = (), *, n: int
) -> list[Completion]:
    """The first n choices of an answer, in their order; there may be fewer, or none.

    A choice without content is an empty text; the reasoning that some servers send beside the
    content is left out. The prompt's tokens are counted for the first choice, the answer's tokens
    are shared among the choices by their length; where a server counts nothing, four characters of
    `messages` or text are a token. Raises `ValueError`, its text says which field is wrong.
    """
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")
    choices = answer.get("choices")
    if not isinstance(choices, list):
        raise ValueError("choices: not a list")
    parts = [_choice(choice, sampling, at) for at, choice in enumerate(choices[:n])]
    lengths = [_length(text, calls) for text, _, calls in parts]
    prompt, written = _usage(answer.get("usage"), messages, lengths)
    return [
        Completion(text, reason, calls, Usage(0 if at else prompt, share))
        for at, ((text, reason, calls), share) in enumerate(
            zip(parts, _shares(written, lengths), strict=True)
        )
    ]


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """The text up to the first stop string, and whether there was one."""
    ends = [at for at in (text.find(one) for one in stop if one) if at >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def _message_data(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"role": message.role, "content": _encodable(message.content)}
    if message.tool_calls:
        document["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    return document


def _choice(choice: object, sampling: Sampling, at: int) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Text, finish reason and tool calls of a choice."""
    where = f"choices[{at}]"
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ValueError(f"{where}.message: not a JSON object")
    text = _content(message.get("content"), where)
    calls = tuple(_tool_calls(message.get("tool_calls"), where))
    said = choice.get("finish_reason")
    reason = "length" if isinstance(said, str) and said in _CUT else "stop"
    text, stopped = cut_at_stop(text, sampling.stop)
    if stopped:
        reason = "stop"
    elif calls:
        reason = "tool_calls"
    return text, reason, calls


def _content(content: object, where: str) -> str:
    """The text of a message: a text, nothing, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return _encodable(content)
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return _encodable("".join(text for text in texts if isinstance(text, str)))
    raise ValueError(f"{where}.message.content: not a text")


def _tool_calls(calls: object, where: str) -> list[ToolCall]:
    found: list[ToolCall] = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ValueError(f"{where}.message.tool_calls: a call without a name")
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):  # Ollama's own form: an object
            arguments = json.dumps(arguments)
        name = call.get("id")
        found.append(
            ToolCall(
                _encodable(name) if isinstance(name, str) and name else f"call_{len(found)}",
                _encodable(function["name"]),
                _encodable(arguments),
            )
        )
    return found


def _length(text: str, calls: Sequence[ToolCall]) -> int:
    return len(text) + sum(len(call.name) + len(call.arguments) for call in calls)


def _usage(usage: object, messages: Sequence[Message], lengths: Sequence[int]) -> tuple[int, int]:
    """Tokens of the prompt and of all choices."""
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    prompt, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not is_count(prompt):
        prompt = sum(-(-len(message.content) // 4) for message in messages)
    if not is_count(written):
        written = sum(-(-length // 4) for length in lengths)
    return prompt, written


def _encodable(text: str) -> str:
    """Without lone surrogates, which JSON can escape and UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shares(total: int, lengths: Sequence[int]) -> list[int]:
    """Divide a whole number by lengths; the shares add up to it."""
    sums = list(itertools.accumulate((length + 1 for length in lengths), initial=0))
    ends = [total * part // sums[-1] for part in sums] if lengths else [0]
    return [end - start for start, end in itertools.pairwise(ends)]

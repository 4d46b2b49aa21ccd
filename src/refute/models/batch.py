"""`batch:DIR[?model=NAME]`: a model that is asked through OpenAI batch files.

What has no answer yet is written to `DIR/requests.jsonl` and raises `AnswersPending` (exit 3). The
file is whole once `DIR/requests.complete` stands beside it, which holds the number of its rows.
Send it as it is to whoever runs batches (OpenAI, Azure, `vllm run-batch`, a script of your own),
put what comes back into `DIR/responses.jsonl`, or into further files `DIR/responses*.jsonl`, which
may also be files of errors, and start again. The order of rows does not matter. A method of many
rounds resumes where it was, one round a start.

Every request needs the name of a model: `?model=NAME`, else `model` in `DIR/batch.toml`, else
"default". `DIR/batch.toml` may also fit the requests to what the model takes::

    model = "o4-mini"
    continues = true                                # it continues an answer, as vLLM does
    omit = ["temperature", "top_p", "max_tokens"]   # fields to leave out of a request's body
    [body]                                          # fields to add to it
    max_completion_tokens = 8192

Choices that did not come are asked for again, and so is what met an error that can pass or be
fixed outside (rate limits, an expired batch, a wrong key). Any other error is `ModelUnavailable`
until its row is removed or `batch.toml` is changed: changed settings are another model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refute.core.storage import parse_toml, read_file
from refute.errors import (
    AnswersPending,
    ContextTooLong,
    InputError,
    ModelUnavailable,
    NotContinued,
)
from refute.models.batchfile import (
    REQUESTS,
    BatchAnswer,
    BatchPart,
    RequestFile,
    read_answers,
)
from refute.models.contract import Completion, Message, Sampling, digest, to_be_continued
from refute.models.dialects import completions, request_body

_DEFAULT = "default"


def open_batch(spec: str) -> BatchModel:
    """The model of `DIR[?model=NAME]`; the folder is made where it is missing.

    Raises `InputError` for a damaged file or settings that cannot be read.
    """
    place, _, model = spec.partition("?model=")
    if not place:
        raise InputError("batch: names no folder; write batch:DIR or batch:DIR?model=NAME")
    folder = Path(place)
    settings, answers = _settings(folder, model), read_answers(folder)
    return BatchModel(folder, settings, answers, RequestFile(folder, answers, settings.tag))


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings of a request's body."""

    model: str = _DEFAULT
    omit: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    continues: bool = False
    """True if it continues an unfinished answer; known from the settings alone."""

    @property
    def tag(self) -> str:
        """Eight hexadecimal digits of everything here; the digests of its requests end so."""
        text = json.dumps([self.model, sorted(self.omit), self.body], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def name(self, folder: Path) -> str:
        """Name of the model, or its folder while it has no name."""
        name = str(folder.resolve()) if self.model == _DEFAULT else self.model
        return f"batch:{name}" + (f"#{self.tag}" if self.omit or self.body else "")


@dataclass(frozen=True, slots=True)
class Question:
    """Samples that have no answer yet: number `first` to `first + n - 1` of a request."""

    messages: tuple[Message, ...]
    sampling: Sampling
    first: int
    n: int


class BatchModel:
    """See the module. Answers are read once, on opening."""

    def __init__(
        self,
        folder: Path,
        settings: _Settings,
        answers: Sequence[BatchAnswer],
        requests: RequestFile,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._name = settings.name(folder)
        self.served_name = settings.model
        """Name of the model where the requests are sent: prices go by it."""
        self.base_url = ""
        """Nobody's address: the requests are sent by hand, not to a server on this machine."""
        self._answers: dict[str, list[BatchAnswer]] = defaultdict(list)
        for answer in answers:
            self._answers[_present(answer.part.digest, settings.tag)].append(answer)
        self._requests = requests

    @property
    def name(self) -> str:
        """`batch:` and the model's name, or the folder where no name was given."""
        return self._name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """Samples number `first` to `first + n - 1`, once all of them have been answered.

        Raises `AnswersPending`, `ModelUnavailable`, `ContextTooLong`, `NotContinued`, `InputError`.
        """
        if to_be_continued(messages) and not self._settings.continues:
            told = "set continues = true in batch.toml where its server continues an answer"
            raise NotContinued(f"{self.name}: {told}")
        question = Question(tuple(messages), sampling, first, n)
        samples, missing, short = self._look_up(question)
        if not missing:
            return [samples[number] for number in range(first, first + n)]
        await asyncio.to_thread(self._ask, question, missing, short)
        raise AnswersPending(
            f"answers are missing: send {self._folder / REQUESTS}, put what comes back into "
            f"{self._folder / 'responses.jsonl'} and start again"
        )

    def _key(self, question: Question) -> str:
        return digest(question.messages, question.sampling)[:32] + self._settings.tag

    def _look_up(self, question: Question) -> tuple[dict[int, Completion], list[int], set[int]]:
        """The samples that are there, the numbers of those that are not, and the numbers of what
        was asked for, answered, and yet did not come. Raises where a missing one never will."""
        sampling, first, n = question.sampling, question.first, question.n
        key = self._key(question)
        answers = self._answers.get(key, [])
        samples: dict[int, Completion] = {}
        short: set[int] = set()
        for answer in answers:
            if answer.body is not None:
                start, end = answer.part.first, answer.part.first + answer.part.n
                came = completions(answer.body, sampling, n=answer.part.n)
                for number, completion in enumerate(came, start):
                    samples.setdefault(number, completion)
                short.update(range(start + len(came), end))
        missing = [number for number in range(first, first + n) if number not in samples]
        _refuse(answers, missing)
        return samples, missing, short

    def _ask(self, question: Question, missing: list[int], short: set[int]) -> None:
        def body(part: BatchPart) -> dict[str, Any]:
            return self._body(question.messages, question.sampling, part)

        # A server that gave fewer choices than asked for is asked for the rest one by one.
        self._requests.add(self._key(question), missing, body, alone=short)

    async def close(self) -> None:
        """Mark the file of requests as whole."""
        await asyncio.to_thread(self.finish)

    def finish(self) -> None:
        """`close` outside of an event loop."""
        self._requests.finish()

    @property
    def waiting(self) -> int:
        """Samples that are asked for and have no answer yet."""
        return self._requests.waiting

    def _body(
        self, messages: Sequence[Message], sampling: Sampling, part: BatchPart
    ) -> dict[str, Any]:
        settings = self._settings
        body = request_body(settings.model, messages, sampling, n=part.n, first=part.first)
        kept = {name: value for name, value in body.items() if name not in settings.omit}
        return {**kept, **settings.body}


def _present(digest: str, tag: str) -> str:
    """The digest with its tag at its end; requests of before 2026-11-25 had it at the beginning."""
    return digest[len(tag) :] + tag if digest.startswith(tag) else digest


def _refuse(answers: Sequence[BatchAnswer], missing: Sequence[int]) -> None:
    """Raise where the latest word on a missing sample is an error that does not pass."""
    for number in missing:
        words = [a for a in answers if a.part.first <= number < a.part.first + a.part.n]
        if words and words[-1].fault == "context":
            raise ContextTooLong(f"{words[-1].where}: {words[-1].error}")
        if words and words[-1].fault == "refused":
            raise ModelUnavailable(
                f"{words[-1].where}: {words[-1].error} "
                "(remove the row to ask again; batch.toml may leave out fields)"
            )


def _settings(folder: Path, model: str) -> _Settings:
    """`batch.toml` of the folder, if any; a model that is given goes before the file's."""
    path = folder / "batch.toml"
    try:
        document = parse_toml(read_file(path))
    except FileNotFoundError:
        document = {}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    unknown = sorted(set(document) - {"model", "omit", "body", "continues"})
    if unknown:
        known = "model, omit, body and continues"
        raise InputError(f"{path}: {unknown[0]}: unknown setting; there are {known}")
    name, omit, body = document.get("model", ""), document.get("omit", []), document.get("body", {})
    continues = document.get("continues", False)
    if not isinstance(continues, bool):
        raise InputError(f"{path}: continues: not true or false")
    if not isinstance(name, str):
        raise InputError(f"{path}: model: not a text")
    if not isinstance(omit, list) or not all(isinstance(one, str) for one in omit):
        raise InputError(f"{path}: omit: not a list of texts")
    if not isinstance(body, dict):
        raise InputError(f"{path}: body: not a table")
    try:
        json.dumps(body)
    except TypeError:
        raise InputError(f"{path}: body: dates have no form in JSON; write a text") from None
    return _Settings(model or name or _DEFAULT, tuple(omit), body, continues)

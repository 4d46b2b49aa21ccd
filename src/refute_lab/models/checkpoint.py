"""Models of transformers on this machine: files, device, chat template, micro-batches.

torch, transformers and peft come with the extra ``[train]`` and are imported on loading only.
"""

from __future__ import annotations

import hashlib
import json
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from refute.core import extras
from refute.errors import ContextTooLong, InputError, ModelUnavailable, NotContinued
from refute.models.contract import Message, to_be_continued

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Work = Callable[[Sequence[Item], Callable[[int], bool]], Sequence[Answer]]
"""Items -> one answer for each. The second argument tells whether anyone still waits for item i."""


class TooLarge(Exception):
    """The batch does not fit into memory; a smaller one may."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[Item, Answer]):
    item: Item
    future: Future[Answer]


class MicroBatcher(Generic[Item, Answer]):
    """Collects items from any thread and any event loop, and works on them in one thread.

    The thread takes the items that have arrived, waits a few milliseconds for more, picks those
    that may share a batch and works on it; meanwhile the next batch gathers.

    `alike` gives the key that the items of one batch share. A batch has at most `limit` items; the
    oldest item is always in the next batch. Where `work` raises `TooLarge`, the batch is halved,
    and no later one is larger than the halves.
    """

    def __init__(
        self,
        work: Work[Item, Answer],
        *,
        alike: Callable[[Item], Hashable],
        limit: int,
        window: float = 0.005,
    ) -> None:
        """`window`: seconds to wait for more after the first item."""
        self.limit = limit
        self._work = work
        self._alike = alike
        self._window = window
        self._arrivals: queue.SimpleQueue[_Job[Item, Answer] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, item: Item) -> Future[Answer]:
        """Queue the item. Cancelling the future withdraws it. Raises `ModelUnavailable`: closed."""
        job: _Job[Item, Answer] = _Job(item, Future())
        with self._lock:
            if self._closed:
                raise ModelUnavailable("the model is closed")
            if self._thread is None:  # a daemon: a forgotten `close` must not keep Python alive
                self._thread = threading.Thread(target=self._run, name="microbatch", daemon=True)
                self._thread.start()
            self._arrivals.put(job)
        return job.future

    def close(self) -> None:
        """Fail what is waiting and end the thread; idempotent. A batch in work is cut short."""
        with self._lock:
            self._closed = True
            self._arrivals.put(None)
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        waiting: list[_Job[Item, Answer]] = []
        while not self._closed:
            waiting += self._gather(patient=not waiting)
            waiting = [job for job in waiting if not job.future.cancelled()]
            if waiting and not self._closed:
                key = self._alike(waiting[0].item)
                batch = [job for job in waiting if self._alike(job.item) == key][: self.limit]
                taken = set(map(id, batch))
                waiting = [job for job in waiting if id(job) not in taken]
                self._serve(batch)
        for job in waiting + self._gather(patient=False):
            _fail(job.future, ModelUnavailable("the model is closed"))

    def _gather(self, *, patient: bool) -> list[_Job[Item, Answer]]:
        """Return the jobs that arrive within the window; if `patient`, the window opens with the
        first arrival."""
        arrived: list[_Job[Item, Answer]] = []
        deadline = None if patient else time.monotonic() + self._window
        while True:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                job = self._arrivals.get(timeout=wait)
            except queue.Empty:
                return arrived
            if job is None:
                return arrived
            arrived.append(job)
            deadline = deadline or time.monotonic() + self._window

    def _serve(self, batch: Sequence[_Job[Item, Answer]]) -> None:
        def wanted(index: int) -> bool:
            return not (self._closed or batch[index].future.cancelled())

        try:
            answers = self._work([job.item for job in batch], wanted)
        except TooLarge as error:
            if len(batch) == 1:
                _fail(batch[0].future, ModelUnavailable(f"out of memory: {error}"))
                return
        except BaseException as error:
            for job in batch:
                _fail(job.future, error)
            return
        else:
            for job, answer in zip(batch, answers, strict=True):
                if self._closed:  # cut short: not an answer
                    _fail(job.future, ModelUnavailable("the model is closed"))
                else:
                    _finish(job.future, answer)
            return
        # Outside of the handler, whose traceback would keep the failed batch's memory in use.
        half = len(batch) // 2
        self.limit = max(half, len(batch) - half)
        self._serve(batch[:half])
        self._serve(batch[half:])


def _finish(future: Future[Answer], answer: Answer) -> None:
    try:
        future.set_result(answer)
    except InvalidStateError:  # withdrawn meanwhile
        pass


def _fail(future: Future[Answer], error: BaseException) -> None:
    try:
        future.set_exception(error)
    except InvalidStateError:
        pass


PLAIN_STOP = "\nUser:"
"""Text at which a model without a chat template begins the user's next turn, in `_plain`."""


@dataclass(frozen=True, slots=True)
class CheckpointSource:
    """Model and adapter to load: each a local folder or the id of a repository on the model hub."""

    base: str
    adapter: str | None = None

    @property
    def name(self) -> str:
        """For cache keys and journals: ids as given; of folders the name and a fingerprint.

        The fingerprint stays when the folder is moved, and changes when a model is trained anew
        into the same folder.
        """
        return "+".join(_named(place) for place in (self.base, self.adapter) if place is not None)


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with its tokenizer. One thread at a time runs the model."""

    model: Any
    tokenizer: Any
    device: str
    context: int | None
    """Tokens of prompt and answer together; None: not known."""
    has_template: bool
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The conversation as tokens, up to where the assistant begins or continues to speak.

        Raises `ModelUnavailable` (the template rejects it), `NotContinued`, `ContextTooLong`.
        """
        if not self.has_template:
            return self._tokens(_plain(messages))
        if not to_be_continued(messages):
            return self._tokens(self._written(messages, add_generation_prompt=True))
        try:
            text = self._written(messages, continue_final_message=True)
        except ModelUnavailable as error:
            raise NotContinued(str(error)) from None
        return self._tokens(text)

    def exchange(self, asked: Sequence[Message], answer: str) -> list[int]:
        """Return the question and the assistant's whole answer as tokens. Raises as `prompt`."""
        if not self.has_template:
            return self._tokens(_plain(asked) + f" {answer}")
        messages = [*asked, Message("assistant", answer)]
        return self._tokens(self._written(messages, add_generation_prompt=False))

    def _written(self, messages: Sequence[Message], **how: bool) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        forms = [turns]
        if len(turns) > 1 and turns[0]["role"] == "system":  # some templates know no such role
            head, first, *rest = turns
            forms.append([{**first, "content": f"{head['content']}\n\n{first['content']}"}, *rest])
        for form in forms:
            try:
                text: str = self.tokenizer.apply_chat_template(form, tokenize=False, **how)
            except Exception as error:  # templates are programs and raise what they like
                reason = first_line(error)
            else:
                return text
        raise ModelUnavailable(f"the chat template rejects the conversation: {reason}")

    def _tokens(self, text: str) -> list[int]:
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair has no tokens
        with self._lock:
            # The plain format has no template to say how a text begins: the tokenizer does.
            ids: list[int] = self.tokenizer(
                text,
                add_special_tokens=not self.has_template,
                verbose=False,  # its warning of a long prompt: `ContextTooLong` says it
            )["input_ids"]
        if self.context is not None and len(ids) >= self.context:
            raise ContextTooLong(
                f"the prompt has {len(ids)} tokens; the model's context has {self.context}"
            )
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """The tokens as text, special ones left out."""
        with self._lock:
            text: str = self.tokenizer.decode(
                ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        return text


def find(spec: str) -> CheckpointSource:
    """`PATH_OR_ID[+ADAPTER]` as a source.

    A `+` that belongs to an existing folder's name does not separate. Raises `InputError` where a
    folder is missing or holds no model, and where the extra is not installed.
    """
    if not spec:
        raise InputError("hf: names no model; write hf:PATH_OR_ID or hf:PATH_OR_ID+ADAPTER")
    base, adapter = spec, None
    if "+" in spec and not Path(spec).is_dir():
        base, _, adapter = spec.rpartition("+")
    _check(base, "config.json", "model")
    if adapter is not None:
        _check(adapter, "adapter_config.json", "adapter")
    needed = ["torch", "transformers"] + (["peft"] if adapter is not None else [])
    extras.need("train", f"hf:{spec}", needed)
    return CheckpointSource(base, adapter)


def load(source: CheckpointSource, *, scorer: bool = False) -> Checkpoint:
    """Load a causal language model, or (`scorer`) a sequence classifier with one output.

    On CUDA in bfloat16 (float16 where the GPU has none; spread over all GPUs), else on the CPU in
    float32. An adapter is merged into the weights. Raises `ModelUnavailable`.
    """
    import torch
    import transformers

    if not sys.stderr.isatty():  # bars fill a log with lines
        hide: Any = transformers.utils.logging.disable_progress_bar
        hide()
    cuda = torch.cuda.is_available()
    half = torch.bfloat16 if cuda and torch.cuda.is_bf16_supported() else torch.float16
    options: dict[str, Any] = {"dtype": half if cuda else torch.float32}
    if cuda:
        options["device_map"] = "auto" if torch.cuda.device_count() > 1 else {"": "cuda:0"}
    if scorer:
        options["num_labels"] = 1
    kind: Any = (
        transformers.AutoModelForSequenceClassification
        if scorer
        else transformers.AutoModelForCausalLM
    )
    with reasons(f"hf:{source.base}: cannot be loaded"):
        own = source.adapter is not None and (Path(source.adapter) / "tokenizer.json").is_file()
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            source.adapter if own else source.base
        )
        model, loaded = kind.from_pretrained(source.base, output_loading_info=True, **options)
        if loaded["missing_keys"] and source.adapter is None:  # random weights instead, silently
            raise ValueError(
                f"{sorted(loaded['missing_keys'])[0]} is missing from its weights"
                + ("; not a reward model" if scorer else "")
            )
    if source.adapter is not None:
        with reasons(f"hf:{source.base}+{source.adapter}: the adapter cannot be loaded"):
            import peft

            model = peft.PeftModel.from_pretrained(model, source.adapter).merge_and_unload()
    model.eval()
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if not has_template:
        print(
            f"note: {source.base} has no chat template; conversations are written as "
            "`User:` and `Assistant:`",
            file=sys.stderr,
        )
    return Checkpoint(model, tokenizer, str(model.device), _context(model, tokenizer), has_template)


@contextmanager
def reasons(what: str) -> Iterator[None]:
    """Whatever the libraries raise inside: `TooLarge` when memory ran out, else `ModelUnavailable`.

    The libraries' exceptions are of many types (missing file, no network, bad weights, kernels).
    """
    import torch

    try:
        yield
    except (TooLarge, ModelUnavailable, ContextTooLong):
        raise
    except (torch.OutOfMemoryError, MemoryError) as error:
        message = first_line(error)
    except Exception as error:
        # PyTorch's allocator for the CPU has no exception of its own.
        if not (isinstance(error, RuntimeError) and "not enough memory" in str(error)):
            raise ModelUnavailable(f"{what}: {first_line(error)}") from error
        message = first_line(error)
    else:
        return
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    raise TooLarge(f"{what}: {message}")


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, else its type."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def _check(place: str, file: str, what: str) -> None:
    """Raise `InputError` unless it is a folder with the file, or can be an id on the hub."""
    path = Path(place)
    if path.is_dir():
        if not (path / file).is_file():
            hint = ""
            if what == "model" and (path / "adapter_config.json").is_file():
                hint = f"; it is an adapter: write hf:{_base_of(path)}+{place}"
            raise InputError(f"{place}: no {what} in it ({file} is missing){hint}")
    elif not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", place):
        raise InputError(f"{place!r}: no such folder, and not the id of a {what}")


def _base_of(adapter: Path) -> str:
    try:
        base = json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return "BASE"
    return str(base)


def _named(place: str) -> str:
    folder = Path(place)
    if not folder.is_dir():
        return place
    digest = hashlib.sha256()
    for piece in _pieces(folder):
        digest.update(hashlib.sha256(piece).digest())
    return f"{folder.resolve().name}@{digest.hexdigest()[:12]}"


def _pieces(folder: Path) -> Iterator[bytes]:
    """Yield bytes that identify the state of a local model without reading all of it.

    Files up to 64 MiB (adapters) whole; of larger ones the size and 256 pieces of 4 KiB, evenly
    spread, so that training any one layer shows.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix not in {".json", ".safetensors", ".bin", ".jinja", ".model"}:
            continue
        size = path.stat().st_size
        yield f"{path.name} {size}".encode()
        with path.open("rb") as file:
            if size <= 64 << 20:
                yield file.read()
                continue
            for part in range(256):
                file.seek((size - 4096) * part // 255)
                yield file.read(4096)


def _plain(messages: Sequence[Message]) -> str:
    """A conversation for a model without a chat template."""
    turns = [f"{message.role.capitalize()}: {message.content}" for message in messages]
    return "\n\n".join(turns if to_be_continued(messages) else [*turns, "Assistant:"])


def _context(model: Any, tokenizer: Any) -> int | None:
    text_config: Callable[[], Any] | None = getattr(model.config, "get_text_config", None)
    config = text_config() if text_config is not None else model.config
    length = getattr(config, "max_position_embeddings", None)
    if isinstance(length, int) and length > 0:
        return length
    length = getattr(tokenizer, "model_max_length", None)
    return length if isinstance(length, int) and 0 < length < 10**8 else None

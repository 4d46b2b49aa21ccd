"""Where the solutions come from: instruction data, rows of one's own, a folder of functions.

A source gives raw tasks as they are; `refute_lab.train.filters` says which of them can be used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core import extras
from refute.errors import InputError
from refute.function.target import open_target, problem_of
from refute_lab.datasets.rows import read_rows

FORMS = "a JSONL or Parquet file, a folder of Python files, tulu-3, or hub:OWNER/NAME[@SPLIT]"
TULU = "allenai/tulu-3-sft-mixture"
"""The paper's instruction data (§3.2)."""
_DESCRIPTION = ("description", "prompt", "instruction", "problem", "question", "text")
_SOLUTION = ("solution", "code", "reference", "canonical_solution", "output", "response", "answer")
_MESSAGES = ("messages", "conversations")
_LICENCE = ("license", "licence")


@dataclass(frozen=True, slots=True)
class Raw:
    """A task as its source has it, nothing checked."""

    id: str
    description: str
    answer: str
    """What holds the solution: an answer in a chat, or source code."""
    chat: bool
    """Whether `answer` is prose with code in it."""
    entry_point: str | None = None
    licence: str = ""
    origin: str = ""
    """The collection that the row comes from, where a mixture says it."""


def read_source(source: str) -> Iterator[Raw]:
    """The tasks of a source (`FORMS`), in its order.

    Rows have a description and a solution under one of their usual names, or `messages`. A row that
    has neither is a `Raw` without an answer: it falls out later, and is counted. Raises
    `InputError`.
    """
    path = Path(source)
    if path.is_dir():
        yield from _folder(path)
    elif path.suffix == ".parquet":
        yield from _raws(_parquet(path))
    elif path.is_file():
        yield from _raws(row.fields for row in read_rows(path))
    elif source == "tulu-3" or source.startswith("hub:"):
        yield from _raws(_hub(TULU if source == "tulu-3" else source.removeprefix("hub:")))
    else:
        raise InputError(f"{source}: no such source; give {FORMS}")


def fingerprint(source: str) -> str:
    """Changes when the content of a local source does; of the hub, its name."""
    path = Path(source)
    files = _files(path) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return source
    whole = hashlib.sha256()
    for file in files:
        name = file.name if file == path else file.relative_to(path).as_posix()
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        whole.update(f"{name}\0{digest}\n".encode())
    return whole.hexdigest()


# -- rows ------------------------------------------------------------------------------------------


def _raws(rows: Iterator[Mapping[str, Any]]) -> Iterator[Raw]:
    for number, row in enumerate(rows, 1):
        identity = row.get("id", row.get("task_id"))
        name = f"row-{number}" if identity is None else str(identity)
        licence, origin = _text(row, _LICENCE), _text(row, ("source",))
        messages = next((row[key] for key in _MESSAGES if key in row), None)
        if messages is not None:
            asked, answer = _turns(messages)
            yield Raw(name, asked, answer, True, None, licence, origin)
            continue
        answer = _text(row, _SOLUTION)
        chat = "```" in answer
        entry_point = _text(row, ("entry_point",)) or None
        yield Raw(name, _text(row, _DESCRIPTION), answer, chat, entry_point, licence, origin)


def _text(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = (row[name] for name in names if isinstance(row.get(name), str))
    return next(found, "")


def _turns(messages: Any) -> tuple[str, str]:
    """What the user says, over all turns, and the last answer."""
    asked, answer = [], ""
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        role = message.get("role", message.get("from"))
        content = message.get("content", message.get("value"))
        if not isinstance(content, str):
            continue
        if role in ("user", "human"):
            asked.append(content.strip())
        elif role in ("assistant", "gpt"):
            answer = content
    return "\n\n".join(asked), answer


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    extras.need("hub", f"{path}: Parquet", ["pyarrow"])
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped,unused-ignore]

    try:
        for batch in ParquetFile(path).iter_batches(batch_size=256):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise InputError(f"{path}: not a Parquet file: {error}") from None


def _hub(name: str) -> Iterator[Mapping[str, Any]]:
    repository, _, split = name.partition("@")
    extras.need("hub", repository)
    from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]

    try:
        rows = load_dataset(repository, split=split or "train", streaming=True)
        yield from rows
    except Exception as error:  # whatever the library raises: no network, no such repository, ...
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{repository}: cannot be had from the hub: {reason}") from None


# -- one's own functions ---------------------------------------------------------------------------


def _files(folder: Path) -> list[Path]:
    """Python files below a folder, without hidden ones, environments and tests."""

    def wanted(path: Path) -> bool:
        parts = path.relative_to(folder).parts
        return not any(
            part.startswith((".", "test_")) or part in ("tests", "site-packages", "__pycache__")
            for part in parts
        )

    return sorted(path for path in folder.rglob("*.py") if path.is_file() and wanted(path))


def _folder(folder: Path) -> Iterator[Raw]:
    """The public functions of the files, with their docstrings for descriptions.

    A file that cannot be read is a task without an answer.
    """
    files = _files(folder)
    if not files:
        raise InputError(f"{folder}: holds no Python files")
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            module = open_target(str(path))
        except InputError:
            yield Raw(name, "", "", False)
            continue
        for function in module.functions:
            problem = problem_of(module, function)
            identity = f"{name}::{function}"
            yield Raw(identity, problem.description, problem.code, False, function)

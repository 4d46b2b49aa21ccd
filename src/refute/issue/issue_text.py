"""The issue as a user hands it over: a text file, standard input, or GitHub's JSON of an issue."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from refute.core.storage import parse_json, read_file
from refute.errors import InputError

_LARGEST = 1 << 20


def read_issue(source: str) -> str:
    """Title, a line feed and body of the issue in file `source` (`-`: standard input).

    JSON is taken for an exported GitHub issue: `title` and `body`, alone, in a list of one, or
    under `issue` (as in an event). Raises `InputError`.
    """
    if source == "-":
        data = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        try:
            data = read_file(Path(source), limit=_LARGEST + 1, pipe=True)
        except OSError as error:
            raise InputError(f"{source}: {error.strerror}") from None
    name = "standard input" if source == "-" else source
    if len(data) > _LARGEST:
        raise InputError(f"{name}: longer than 1 MiB; an issue is a text that people read")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start})") from None
    if text.lstrip().startswith(("{", "[")):
        text = _exported(text, name)
    if not text.strip():
        raise InputError(f"{name}: the issue is empty")
    return text


def _exported(text: str, name: str) -> str:
    try:
        document: Any = parse_json(text)
    except ValueError:
        return text  # prose may begin with a bracket as well
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if isinstance(document, dict) and isinstance(document.get("issue"), dict):
        document = document["issue"]
    if not isinstance(document, dict) or not isinstance(document.get("title"), str):
        raise InputError(f"{name}: JSON without a `title`; give GitHub's form of one issue")
    body = document.get("body")
    if body is not None and not isinstance(body, str):
        raise InputError(f"{name}: `body` is not text")
    return f"{document['title']}\n{(body or '').replace(chr(13) + chr(10), chr(10))}"

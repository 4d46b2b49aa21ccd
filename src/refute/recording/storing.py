"""The file of recorded calls: JSON lines, a header first; written whole or not at all."""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
from collections import Counter
from typing import Any

FORMAT = "refute-recorded"
VERSION = 1


def write(
    path: str,
    records: list[dict[str, Any]],
    *,
    skipped: dict[str, int],
    missed: dict[str, str],
    paths: list[str],
) -> None:
    """Write the file, in a folder that is made where there is none. Raises `OSError`.

    `skipped`: how many calls had no source, by reason. `missed`: functions that
    were called and have no record. `paths`: folders of the project, relative to
    its root, from which it imported.
    """
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "paths": paths,
        "skipped": skipped,
        "missed": missed,
    }
    text = "".join(json.dumps(each) + "\n" for each in [header, *records])
    handle, temporary = tempfile.mkstemp(prefix=".recorded.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_part(path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the records that a worker of this session wrote. Raises `OSError`, ValueError.

    A text written by `write` a moment ago, in the session that merges it: for what others hand
    over there is `refute.recording.reading`.
    """
    with open(path, encoding="ascii") as file:
        header, *records = map(json.loads, file)
    return header, records


def merge(parts: list[list[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """The records of all workers: equal calls once with their counts added, at most `limit` of each
    target, of each worker some."""
    found: dict[str, dict[str, Any]] = {}
    kept: Counter[str] = Counter()
    for row in itertools.zip_longest(*parts):
        for record in row:
            if record is None:
                continue
            call = [record[name] for name in ("target", "imports", "setup", "expression")]
            key = json.dumps(call)
            if key in found:
                found[key]["count"] += record["count"]
            elif kept[record["target"]] < limit:
                kept[record["target"]] += 1
                found[key] = record
    return sorted(found.values(), key=lambda record: str(record["target"]))

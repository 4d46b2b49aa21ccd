"""The log of a training run: one JSON object a line, each optimizer step that is logged once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refute.storage import write_atomically

__all__ = ["MetricsLog", "read_log"]


class MetricsLog:
    """`log.jsonl` of a run. What a killed run had logged after its last checkpoint is cut off."""

    def __init__(self, path: Path, *, after: int = 0) -> None:
        """Go on after optimizer step `after`; 0: begin anew."""
        kept = [record for record in read_log(path) if int(record.get("step", 0)) <= after]
        self.last = kept[-1] if kept else {}
        """The record that it goes on after."""
        write_atomically(path, "".join(_line(record) for record in kept))
        self._file = path.open("a", encoding="utf-8")

    def add(self, record: Mapping[str, Any]) -> None:
        """Write one record (it has a `step`); in the file when this returns."""
        self._file.write(_line(record))
        self._file.flush()

    def close(self) -> None:
        """Release the file; idempotent."""
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; none where there is no file. A torn last line is passed over."""
    records = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"

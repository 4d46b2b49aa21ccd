"""Baselines: problems that are known, so that only new ones count.

A file of JSON (schema `baseline/1`), sorted, to be committed. Problems are known by their
fingerprints (`refute.report.formats.contract`); the rest is for people.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from refute.errors import InputError
from refute.files import read_file
from refute.function.contract import FailingTest, Finding
from refute.function.parallel import Found
from refute.function.target import Module
from refute.function.verbs import Hunt
from refute.jsontext import parse_json
from refute.report.formats.contract import Report
from refute.report.formats.functions import problem_of
from refute.storage import write_output

OF_FUNCTIONS = ("wrong-output", "predicted-output", "crash", "contradiction")
OF_CHANGES = ("behaviour-changed", "behaviour-changed-as-stated", "does-not-load")
"""The rules of which `hunt` and `diff` speak."""
_SCHEMA = "baseline/1"
_LARGEST = 64 << 20


def read_baseline(file: Path) -> frozenset[str]:
    """The fingerprints that are known. Raises `InputError`."""
    if not file.exists():
        raise InputError(f"{file}: no such baseline; --write-baseline makes it")
    return frozenset(row["fingerprint"] for row in _rows(file))


def write_baseline(file: Path, report: Report, rules: Collection[str]) -> int:
    """Write the problems of a report as known, and keep what is known of other functions and by
    other rules. Returns how many there are. Raises `InputError`."""
    looked_at = {(case.file, case.function) for case in report.cases}
    kept = [
        row
        for row in (_rows(file) if file.exists() else ())
        if row.get("rule") not in rules or (row.get("file"), row.get("function")) not in looked_at
    ]
    new = [
        {
            "fingerprint": one.fingerprint,
            "rule": one.rule,
            "file": one.file,
            "function": one.function,
            "message": one.message,
        }
        for one in report.problems
    ]
    rows = sorted(
        [*kept, *new], key=lambda row: [str(row.get(key)) for key in ("file", "function", "rule")]
    )
    text = json.dumps({"schema": _SCHEMA, "problems": rows}, indent=1, ensure_ascii=False)
    try:
        write_output(file, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return len(rows)


def without_known(known: Collection[str], module: Module, one: Found) -> Found | None:
    """What `hunt` found about a function without what is known; None where nothing is left of what
    was wrong."""
    if not isinstance(one, Hunt) or not one.found:
        return one

    def new(item: FailingTest | Finding) -> bool:
        return problem_of(module, one.function, item).fingerprint not in known

    failing, findings = tuple(filter(new, one.failing)), tuple(filter(new, one.findings))
    return replace(one, failing=failing, findings=findings) if failing or findings else None


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        document = parse_json(read_file(file, limit=_LARGEST))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise InputError(f"{file}: not a baseline of refute: its schema is not {_SCHEMA!r}")
    rows = document.get("problems")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("fingerprint"), str) for row in rows
    ):
        raise InputError(f"{file}: problems: must be a list of objects with a fingerprint each")
    return rows

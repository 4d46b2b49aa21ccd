"""Rows from the public hub, with the extra ``[hub]`` (the `datasets` library, imported here
only)."""

from __future__ import annotations

from collections.abc import Iterator

from refute import extras
from refute.errors import DatasetError
from refute_lab.datasets.rows import Row

SOURCES: dict[str, tuple[str, str | None]] = {
    "humaneval+": ("evalplus/humanevalplus", None),
    "mbpp+": ("evalplus/mbppplus", None),
    "he-fix": ("bigcode/humanevalpack", "python"),
    "he-fix-released": ("bigcode/humanevalpack", "python"),
    "swe-lite": ("SWE-bench/SWE-bench_Lite", None),
    "swe-verified": ("SWE-bench/SWE-bench_Verified", None),
    "swe-full": ("SWE-bench/SWE-bench", None),
}
"""Dataset -> repository on the hub and its configuration. All have the split ``test``; the
EvalPlus ones are in the ``-OriginFmt`` form."""
ELSEWHERE = {
    "mbpp-fix": ("MBPP+Fix_test.jsonl", "archiki/UTGenDebug"),
    "mbpp-fix-hard": ("MBPP+Fix_hard_test.jsonl", "archiki/UTGenDebug"),
}
"""Dataset -> the file that holds it, and the GitHub repository that the file is in."""


def hub_rows(name: str) -> Iterator[Row]:
    """The rows of a dataset from the hub. Raises `DatasetError` at once when it cannot be had."""
    if name not in SOURCES:
        file, repository = ELSEWHERE.get(name, ("its file", ""))
        place = f" of github.com/{repository}" if repository else ""
        raise DatasetError(f"{name}: not on the hub; download {file}{place} and give --data FILE")
    repository, configuration = SOURCES[name]
    try:
        from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise DatasetError(
            f"{name}: no data given: set --data or REFUTE_DATA, or {extras.install('hub')}"
        ) from None
    try:
        rows = load_dataset(repository, configuration, split="test")
    except Exception as e:  # whatever the library raises: no network, no such repository, ...
        reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise DatasetError(f"{name}: cannot be had from the hub ({repository}): {reason}") from None
    return (Row(dict(one), f"hub:{repository}", number) for number, one in enumerate(rows, start=1))

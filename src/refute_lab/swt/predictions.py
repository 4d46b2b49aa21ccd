"""Files of predictions in SWE-bench's and SWT-Bench's form, and the patch of a prediction.

A prediction is an object with ``instance_id``, ``model_patch`` (null: none) and, not needed,
``model_name_or_path`` and ``full_output``. A file holds a JSON list of them, JSON lines, one object
keyed by instance id, each plain or gzip. Where an id is there twice the last one counts, as in the
reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refute.core.problems import IssueKey
from refute.core.storage import parse_json, read_file, unpack, write_output
from refute.errors import InputError
from refute.issue.edits import Applied, Files, read_edits

PatchType = Literal["vanilla", "fuzzy", "custom"]
"""How `model_patch` is read: as a diff for `git apply`; as a diff whose numbers and context are
hints; as blocks of SWT-Bench's custom diff."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One model's answer for one instance."""

    instance: str
    patch: str
    """`model_patch` as it stands in the file; "" for null."""
    model: str = ""
    """`model_name_or_path`."""
    answer: str = ""
    """`full_output`."""


def gold_predictions(keys: Iterable[IssueKey]) -> dict[str, Prediction]:
    """The golden tests as the predictions of a model named ``gold``."""
    return {key.id: Prediction(key.id, key.test_patch, "gold") for key in keys}


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Instance id -> prediction, in the order of the file. Raises `InputError`: file, place, field.

    An object that is keyed by id may leave out ``instance_id``, and may hold the patch alone.
    """
    found: dict[str, Prediction] = {}
    for place, fields in _objects(path):
        prediction = _prediction(fields, place, path)
        found.pop(prediction.instance, None)
        found[prediction.instance] = prediction
    return found


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """Write JSON lines in place of what the file held, all or nothing. Raises `InputError`."""
    lines = []
    for one in predictions:
        row = {"instance_id": one.instance, "model_name_or_path": one.model}
        lines.append(json.dumps({**row, "model_patch": one.patch, "full_output": one.answer}))
    try:
        write_output(path, "".join(f"{line}\n" for line in lines), folders=True)
    except OSError as e:
        raise InputError(f"{path}: cannot be written: {e.strerror}") from None


def patch_of(
    prediction: Prediction,
    types: Sequence[PatchType],
    files: Files,
    applies: Callable[[str], bool],
) -> Applied:
    """The prediction's patch: of the types, in their order, the first that gives one.

    `files` reads the repository, `applies` asks `git apply` there. With one type its patch is
    given whether it applies or not. "" where there is none; the problems say why.
    """
    if not prediction.patch.strip():
        return Applied("", ("the patch is empty",))
    problems: list[str] = []
    for kind in types:
        if kind == "vanilla":
            text = prediction.patch if prediction.patch.endswith("\n") else f"{prediction.patch}\n"
            applied = Applied(text)
        else:
            applied = read_edits(prediction.patch, "diff" if kind == "fuzzy" else "custom").apply(
                files
            )
        if len(types) == 1:
            return applied
        if applied.patch and applies(applied.patch):
            return Applied(applied.patch, (*problems, *applied.problems))
        problems += applied.problems or (f"{kind}: does not apply",)
    return Applied("", tuple(problems))


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each prediction's place and object."""
    try:
        data = read_file(path)
        text = (unpack(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    try:
        whole = parse_json(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "instance_id" not in whole:
        for key, value in whole.items():
            fields = {"model_patch": value} if isinstance(value, str | None) else value
            yield repr(key), {"instance_id": key, **_object(fields, path, repr(key))}
    elif isinstance(whole, list):
        for number, item in enumerate(whole, start=1):
            yield f"item {number}", _object(item, path, f"item {number}")
    else:
        yield from _lines(text, path)


def _lines(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except ValueError as e:
            raise InputError(f"{path}:{number}: not JSON: {e}") from None
        yield f"line {number}", _object(value, path, f"line {number}")


def _object(value: Any, path: Path, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: {place}: a prediction must be an object with instance_id")
    return value


def _prediction(fields: dict[str, Any], place: str, path: Path) -> Prediction:
    instance = fields.get("instance_id")
    if not isinstance(instance, str) or not instance:
        raise InputError(f"{path}: {place}: field 'instance_id': must be a string")
    if "model_patch" not in fields:
        raise InputError(f"{path}: {place}: field 'model_patch': missing (null for no patch)")
    texts = []
    for name in ("model_patch", "model_name_or_path", "full_output"):
        value = fields.get(name)
        if not isinstance(value, str | None):
            raise InputError(f"{path}: {place}: field {name!r}: must be a string or null")
        texts.append(value or "")
    return Prediction(instance, *texts)

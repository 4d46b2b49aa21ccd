"""Records: the dataclasses that a journal holds, each kind with the version of its schema.

A journal may be damaged or foreign, so that what it holds is converted to the type of the record,
field by field, before anything is done with it. Types are checked as they are annotated; `Count`
and `Number` keep a figure in the range in which it can be added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

import msgspec

from refute.models.contract import Tally

_MOST = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, lt=_MOST)]
"""A whole number from 0."""
Number = Annotated[float, msgspec.Meta(gt=-_MOST, lt=_MOST)]

T = TypeVar("T")


class Record(Protocol):
    """What became of one unit of a run: a dataclass that JSON can hold. Its `status` is not
    "error"."""

    @property
    def id(self) -> str:
        """The unit's."""
        ...


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """A unit without a result, for a reason that is not its own; the next start tries it again."""

    id: str
    error: str
    """One line."""
    status: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class WithFiles:
    """A record with what is too large for a journal. The driver writes the files before the record:
    a unit may be done on another machine."""

    record: Record
    files: Mapping[str, bytes]
    """By their paths from the run's folder."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """A unit that has to wait for an answer, and what its next start is to know."""

    reason: str
    """One line."""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    """To be appended, by the file's path from the run's folder."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A record as it comes from another machine: the line of a journal, which is read as one of
    these is and checked as much."""

    line: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema(Generic[R]):
    """A kind of record. Its journals are read by every version of refute that knows its number."""

    name: str
    type: type[R]
    version: int = 1
    """Counted up where a field is added that older versions must not overlook, or changes."""
    flaw: Callable[[R], str] = lambda record: ""
    """What is wrong with a record whose fields have their types; "" where nothing is."""


@dataclass(frozen=True, slots=True)
class StoredTally:
    """What asking a model has cost (`refute.models.contract.Tally`)."""

    requests: Count = 0
    samples: Count = 0
    cached: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    usd: Number | None = None
    """None: no price is known for the model."""
    seconds: Number = 0.0

    @classmethod
    def of(cls, tally: Tally) -> StoredTally:
        """As a record holds it."""
        return cls(**asdict(tally))


def checked(data: Any, kind: type[T]) -> T:
    """JSON data as a value of the type. Raises `ValueError`, its text says what is wrong where."""
    return msgspec.convert(data, kind)


def read_record(data: Any, schema: Schema[R]) -> R | ErrorRecord:
    """JSON data as a record of the kind. Raises `ValueError`."""
    if isinstance(data, dict) and data.get("status") == "error":
        return checked(data, ErrorRecord)
    record = checked(data, schema.type)
    if flaw := schema.flaw(record):
        raise ValueError(flaw)
    return record


def as_data(record: object) -> dict[str, Any]:
    """A record, or a part of one, as JSON data."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    return data

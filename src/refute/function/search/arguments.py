"""A call's arguments as one row, a value for each parameter in order, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from refute.function.search.clues import Clues
from refute.problems import Call
from refute.sandbox.values import crosses

__all__ = ["OMITTED", "as_call", "crosses", "row_of"]


@final
class _Omitted:
    """The place of an optional parameter that is not given."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()


def row_of(args: Sequence[Any], kwargs: Mapping[str, Any], clues: Clues) -> tuple[Any, ...] | None:
    """The values in the order of `clues.parameters`, those of `*args` last; None: does not fit.

    Optional parameters that are not given are `OMITTED`, or missing at the end. Without parameters
    (an unknown signature) the values as they come.
    """
    if not clues.parameters and not clues.variadic:
        return (*args, *kwargs.values())
    positional = [one.name for one in clues.parameters if not one.keyword_only]
    given = {**dict(zip(positional, args, strict=False)), **kwargs}
    extra = args[len(positional) :]
    if len(given) != min(len(args), len(positional)) + len(kwargs) or (
        extra and not clues.variadic
    ):
        return None
    names = [one.name for one in clues.parameters]
    if any(name not in names for name in kwargs):
        return None
    row = [given.get(name, OMITTED) for name in names]
    while row and not extra and row[-1] is OMITTED:
        row.pop()
    return (*row, *extra)


def as_call(row: Sequence[Any], clues: Clues) -> Call | None:
    """The call with these values; None where a required argument would be missing."""
    if not clues.parameters:
        return Call(tuple(one for one in row if one is not OMITTED))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for index, parameter in enumerate(clues.parameters):
        value = row[index] if index < len(row) else OMITTED
        if value is OMITTED:
            if not parameter.default:
                return None
            gap |= not parameter.keyword_only
        elif parameter.keyword_only or (gap and not parameter.positional_only):
            kwargs[parameter.name] = value
        elif gap:
            return None
        else:
            args.append(value)
    extra = row[len(clues.parameters) :]
    if extra and (gap or not clues.variadic or OMITTED in extra):
        return None
    return Call((*args, *extra), kwargs)

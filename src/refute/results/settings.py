"""The settings of the commands: `config` (`config/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field


class Setting(Struct, frozen=True, kw_only=True):
    """A setting with the value that holds where the command line says nothing."""

    value: str | int | float | bool | list[Any] | None
    source: Annotated[str, Meta(description="A variable, a file with its key, or default.")] = (
        field(name="from")
    )
    in_files: Annotated[bool, Meta(description="Whether [tool.refute] may set it.")]


class Config(Struct, frozen=True, kw_only=True, tag_field="schema", tag="config/1"):
    """`config`: verb -> key -> setting."""

    settings: Mapping[str, Mapping[str, Setting]]

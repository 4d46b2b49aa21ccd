"""The settings of the commands: `config` (`config/1`), and as text for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from refute.core.settings import Held


class Setting(Struct, frozen=True, kw_only=True):
    """A setting with the value that holds where the command line says nothing."""

    value: str | int | float | bool | list[Any] | None
    source: Annotated[str, Meta(description="A variable, a file with its key, or default.")] = (
        field(name="from")
    )
    in_files: Annotated[bool, Meta(description="True: [tool.refute] may set it.")]


class Config(Struct, frozen=True, kw_only=True, tag_field="schema", tag="config/1"):
    """`config`: verb -> key -> setting."""

    settings: Mapping[str, Mapping[str, Setting]]


_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


def settings_document(held: Mapping[str, Sequence[Held]]) -> Config:
    """The settings of each verb, for other programs."""
    return Config(
        settings={
            verb: {
                one.declared.key: Setting(
                    value=_plain(one.value), source=one.source, in_files=one.declared.in_files
                )
                for one in settings
            }
            for verb, settings in held.items()
        }
    )


def print_settings(
    held: Mapping[str, Sequence[Held]], console: Console, *, defaults: bool = False
) -> None:
    """`setting | value | from`; without `defaults` only what something sets."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    for name in ("verb", "setting", "value", "from"):
        table.add_column(name, overflow="fold")
    for verb, settings in held.items():
        for one in settings:
            if defaults or one.source != "default":
                value = _plain(one.value)
                shown = "-" if value in (None, []) else str(value)
                table.add_row(*map(Text, (verb, one.declared.key, shown, one.source)))
    if table.row_count:
        console.print(table)
    else:
        console.print("nothing is set: all defaults hold (refute config VERB shows them)")


def _plain(value: Any) -> Any:
    """A value for JSON; what stands before the @ of an address (a password) is left out."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _USER_INFO.sub("***@", str(value))

"""What all verbs share: how they are called, and how their results show themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from refute.source.syntax import lifted_limits

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

    from refute.results.formats import Report

_WIDTH = 100
"""Characters of a line about a result."""
Done = TypeVar("Done")
Progress = Callable[[int, int], None]
"""Is told how many are done, and how many there are."""


def silent(done: int, total: int) -> None:
    """The `Progress` that says nothing."""


def path_of(path: Path | str | None) -> Path | None:
    """A path that was given in either form, or not at all."""
    return None if path is None else Path(path)


class Shown:
    """A result that prints itself: as the command does, as HTML in a notebook, and in a line as
    its `repr`: what all its fields hold fills a screen."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Shown.__repr__  # type: ignore[method-assign]  # before a dataclass has one

    def _line(self) -> str:
        """How it came out, in a line."""
        return next((line for line in str(self).splitlines() if line.strip()), "")

    def __repr__(self) -> str:
        line = " ".join(self._line().split())
        return f"<{type(self).__name__.removesuffix('Result')}: {line[:_WIDTH]}>"

    def print(self, console: Console) -> None:
        """What the command prints on stdout."""
        raise NotImplementedError

    def document(self) -> Struct:
        """The result as a document of `refute.results`, which other programs read."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute.results import as_dict

        return as_dict(self.document())

    def _repr_html_(self) -> str:
        from refute.results.text.consoles import as_html

        return as_html(self.print)

    def __str__(self) -> str:
        from refute.results.text.consoles import as_text

        return as_text(self.print)


class Reported(Shown):
    """A result that is also a report in the formats of `refute.results.formats`."""

    __slots__ = ()

    def report(self) -> Report:
        """What there is to report, whatever the format."""
        raise NotImplementedError

    def _line(self) -> str:
        """How it came out, in a line."""
        return self.report().summary or super()._line()

    def formatted(self, format: str) -> str:
        """The result as a text of `refute.results.formats.FORMATS`, which ends with a line feed."""
        if format == "text":
            return f"{self}".rstrip("\n") + "\n"
        if format == "json":
            from refute.results import as_json

            return as_json(self.document(), indent=2) + "\n"
        from refute.results.formats import formatted

        return formatted(self.report(), format)


def apart(work: Callable[[], Done]) -> Done:
    """Do the work here, or in a thread where this one has a running event loop: methods bring
    their own."""
    with lifted_limits():
        if "asyncio" not in sys.modules:  # then no loop runs
            return work()
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(work).result()

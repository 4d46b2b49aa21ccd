"""What `harden` found out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown
from refute.core.remarks import remark
from refute.hardening.offering import Offer
from refute.hardening.service import Hardened

if TYPE_CHECKING:
    from refute.results.hardening import Harden


@dataclass(frozen=True, slots=True)
class HardenResult(Shown):
    """How many mutants the project's tests let live, and tests that kill some of them."""

    hardened: Hardened

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The tests, what matters most first. They pin what the code does today."""
        return tuple(self.hardened.offers)

    @property
    def score(self) -> float | None:
        """Share of mutants that the project's tests kill; None where there are none."""
        return self.hardened.score

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.hardened.interrupted

    @property
    def patch(self) -> str:
        """The tests, put among the project's own, as a unified diff from the root."""
        from refute.results.text.changes import patch_of

        return patch_of(self.hardened)

    def write(self) -> list[Path]:
        """Put the tests among the project's own; returns the files that changed."""
        from refute.core.storage import write_output

        files = self.hardened.files()
        for path, text in files.items():
            write_output(path, text, folders=True)
        remark(f"tests written to {path}" for path in files)
        return list(files)

    def document(self) -> Harden:
        """The result as `harden/1`."""
        from refute.results.hardening import hardened_document

        return hardened_document(self.hardened)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.results.text.changes import print_hardened

        print_hardened(self.hardened, console)

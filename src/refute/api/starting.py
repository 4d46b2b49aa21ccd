"""`init`: set a repository up for refute.

>>> refute.init(repo=".").print(console)    # what would be written
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.api.calling import Shown
from refute.errors import InputError
from refute.extras import requirement
from refute.starter import PARTS, Proposal, proposals, write_proposals
from refute.workspace.snapshot import checkout_root

USUAL = ("settings", "workflow", "agents")
"""What is proposed where nothing is named; the hook is for those who ask for it."""


@dataclass(frozen=True, slots=True)
class InitResult(Shown):
    """What would be written, or was."""

    root: Path
    proposals: tuple[Proposal, ...]

    def write(self) -> tuple[str, ...]:
        """Write it, and return the paths. Raises `InputError` where a file has changed since."""
        return write_proposals(self.root, self.proposals)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        files = [
            {"path": one.path, "diff": one.diff, "left_alone": one.reason or None}
            for one in self.proposals
        ]
        return {"root": str(self.root), "files": files}

    def print(self, console: Any) -> None:
        """The diff, and what is left alone."""
        for one in self.proposals:
            if one.changes:
                console.print(one.diff.rstrip("\n"), soft_wrap=True)
            else:
                console.print(f"{one.path} is left alone: {one.reason}", soft_wrap=True)


def init(
    *, repo: Path | str = ".", parts: tuple[str, ...] = USUAL, source: str | None = None
) -> InitResult:
    """Propose what a repository needs to use refute; nothing is written before `.write()`.

    `parts`: of "settings" (`[tool.refute]`), "workflow" (GitHub's, for pull requests), "agents" (a
    section of AGENTS.md) and "hook" (`refute gate` when Claude Code stops). What is there already
    is kept. `source` is the requirement that the workflow installs refute from, by default the
    address that this copy came from; a folder of this machine is none for others. Raises
    `InputError`.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise InputError(f"{unknown[0]}: there is nothing of that name; {', '.join(PARTS)}")
    root = checkout_root(Path(repo))
    known = requirement()
    source = source or ("" if known.startswith("/") else known)
    return InitResult(root, tuple(proposals(root, parts, source)))

"""What `gate` found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown
from refute.gating.judging import Judged

if TYPE_CHECKING:
    from refute.results.gate import Gate


@dataclass(frozen=True, slots=True)
class GateResult(Shown):
    """What `gate` found out."""

    judged: Judged

    @property
    def verdict(self) -> str:
        """`proven`, `not proven`, `nothing against it` or `nothing to prove`."""
        return self.judged.verdict

    @property
    def passed(self) -> bool:
        """Whether nothing is against the change."""
        return self.verdict != "not proven"

    def document(self) -> Gate:
        """The result as `gate/1`."""
        from refute.results.gate import gate_document

        return gate_document(self.judged)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.results.text.changes import print_gate

        print_gate(self.judged, console)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What the hook answers."""

    status: int
    """Exit status: 2 keeps the agent at work, 0 lets it stop."""
    reason: str = ""
    """What the agent is told, on stderr."""
    result: GateResult | None = None
    """None: nothing was run."""

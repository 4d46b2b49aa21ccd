"""An agent-computer interface (SWE-agent, arXiv 2405.15793, section 3): few simple commands, each
with a short answer, for searching, viewing a window of a file, editing with a check, and a shell.

`commands`: what there is, and how a model calls it; `actions`: what the commands do.
"""

from __future__ import annotations

from refute_lab.baselines.aci.actions import Actions
from refute_lab.baselines.aci.commands import (
    Action,
    Misused,
    documentation,
    native_tools,
    read_call,
    read_text,
)

__all__ = [
    "Action",
    "Actions",
    "Misused",
    "documentation",
    "native_tools",
    "read_call",
    "read_text",
]

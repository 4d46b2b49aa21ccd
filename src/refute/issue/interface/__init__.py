"""An agent-computer interface (SWE-agent, arXiv 2405.15793, section 3): few simple commands, each
with a short answer, for searching, viewing a window of a file, editing with a check, and a shell.

`commands`: what there is, and how a model calls it; `desk`: what the commands do.
"""

from __future__ import annotations

from refute.issue.interface.commands import (
    Action,
    Misused,
    documentation,
    native_tools,
    read_call,
    read_text,
)
from refute.issue.interface.desk import Desk

__all__ = [
    "Action",
    "Desk",
    "Misused",
    "documentation",
    "native_tools",
    "read_call",
    "read_text",
]

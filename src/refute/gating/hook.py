"""The hook that a coding agent runs when it stops: its message, and the answer.

The form is that of Claude Code's Stop and SubagentStop hooks: one JSON object on stdin; exit status
2 keeps the agent at work, with what stands on stderr as its reason; any other status lets it stop.
`stop_hook_active` says that the agent is at work because a hook kept it: it is not kept again, so
that nothing goes round for ever.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from refute.core.files import parse_json
from refute.core.storage import cache_folder, write_atomically
from refute.errors import InputError
from refute.gating.judging import Judged
from refute.workspace.cache import key_of

BLOCK = 2
"""Exit status that keeps the agent at work."""
_MOST_FINDINGS = 6
_LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class HookMessage:
    """What the agent's program says when the agent is about to stop."""

    cwd: Path | None
    session: str
    active: bool
    """A hook keeps the agent at work already."""


def read_message(text: str) -> HookMessage:
    """Raises `InputError` for what is no message of a hook that the agent runs when it stops."""
    try:
        given = parse_json(text.encode()[:_LARGEST])
    except ValueError as error:
        raise InputError(f"stdin holds no hook message: {error}") from None
    if not isinstance(given, dict):
        raise InputError("stdin holds no hook message: an object was expected")
    event = given.get("hook_event_name", "Stop")
    if event not in ("Stop", "SubagentStop"):
        raise InputError(f"{event}: the gate is for the hooks Stop and SubagentStop")
    cwd, session = given.get("cwd"), given.get("session_id")
    return HookMessage(
        Path(cwd) if isinstance(cwd, str) and cwd else None,
        session if isinstance(session, str) else "",
        given.get("stop_hook_active") is True,
    )


def reason_of(judged: Judged) -> str:
    """What the agent is told: what is not shown, and what would show it."""
    lines = [f"refute gate: {judged.verdict}, compared with {judged.base}."]
    for one in judged.findings[:_MOST_FINDINGS]:
        lines.append(f"- [{one.rule}] {one.where}: {one.what}")
    if len(judged.findings) > _MOST_FINDINGS:
        lines.append(f"- and {len(judged.findings) - _MOST_FINDINGS} more")
    lines.append(
        "Mend the code or the tests, and say why where a test demands less. If this is no fix"
        " (a refactoring, a draft), say so and stop: you are not kept twice."
    )
    return "\n".join(lines)


class Memory:
    """Which states of a checkout were judged in a session: each is judged once."""

    def __init__(self, session: str, *state: str) -> None:
        name = key_of("gate", 1, session, *state)
        self._path = cache_folder() / "gate" / name if session else None

    def knows(self) -> bool:
        """Whether this state was judged."""
        return self._path is not None and self._path.is_file()

    def keep(self, judged: Judged) -> None:
        """Remember that it was; a cache that cannot be written is no trouble."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps({"verdict": judged.verdict}), durable=False)
        except OSError:
            pass

"""The hook that a coding agent runs when it stops: its message, and the answer.

One JSON object on stdin, of the form of any agent in `FORMS`. The answer keeps the agent at work in
the way its program wants: exit status 2 with the reason on stderr, or a JSON object on stdout. An
agent that a hook keeps at work already is not kept again, so that nothing goes round for ever.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.storage import cache_folder, key_of, parse_json, write_atomically
from refute.errors import InputError

if TYPE_CHECKING:
    from refute.gating.judging import Judged

BLOCK = 2
"""Exit status that keeps the agent at work."""
_MOST_FINDINGS = 6
_LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class HookForm:
    """Names that one agent's program uses."""

    session: str
    answer: tuple[tuple[str, str], ...] = ()
    """Fields of the JSON object that keeps the agent; "": the reason. Where there are none,
    exit status 2 does."""


_CLAUDE = HookForm("session_id")
_COPILOT = HookForm("sessionId", (("decision", "block"), ("reason", "")))
FORMS = {
    "Stop": _CLAUDE,  # Codex, too
    "SubagentStop": _CLAUDE,
    "stop": HookForm("conversation_id", (("followup_message", ""),)),  # Cursor
    "AfterAgent": HookForm("session_id", (("decision", "deny"), ("reason", ""))),  # Gemini CLI
    "agentStop": _COPILOT,
    "subagentStop": _COPILOT,
}
"""By the name of the event."""


@dataclass(frozen=True, slots=True)
class HookMessage:
    """Message of the agent's program when the agent is about to stop."""

    cwd: Path | None
    session: str
    active: bool
    """A hook keeps the agent at work already."""
    form: HookForm

    def keep(self, reason: str) -> tuple[int, str]:
        """Return the exit status that keeps the agent, and the text on stderr; on stdout for 0."""
        fields = {name: value or reason for name, value in self.form.answer}
        return (0, json.dumps(fields)) if fields else (BLOCK, reason)


def read_message(text: str) -> HookMessage:
    """Read the message of a stop hook. Raises `InputError` for any other text."""
    try:
        given = parse_json(text.encode()[:_LARGEST])
    except ValueError as error:
        raise InputError(f"stdin holds no hook message: {error}") from None
    if not isinstance(given, dict):
        raise InputError("stdin holds no hook message: an object was expected")
    unnamed = "agentStop" if "sessionId" in given else "Stop"  # Copilot CLI names no event
    event = given.get("hook_event_name", unnamed)
    form = FORMS.get(event) if isinstance(event, str) else None
    if form is None:
        raise InputError(f"{event}: the gate is for the hooks {', '.join(FORMS)}")
    roots, session = given.get("workspace_roots"), given.get(form.session)
    cwd = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return HookMessage(
        Path(cwd) if isinstance(cwd, str) and cwd else None,
        session if isinstance(session, str) else "",
        given.get("stop_hook_active") is True or bool(given.get("loop_count")),
        form,
    )


def reason_of(judged: Judged) -> str:
    """Return the text for the agent: what is not shown, and what would show it."""
    lines = [f"refute gate: {judged.verdict}, compared with {judged.base}."]
    for one in judged.findings[:_MOST_FINDINGS]:
        lines.append(f"- [{one.rule}] {one.where}: {one.what}")
    if len(judged.findings) > _MOST_FINDINGS:
        lines.append(f"- and {len(judged.findings) - _MOST_FINDINGS} more")
    lines.append(
        "Fix the code or the tests, and say why where a test demands less. If this is not a fix"
        " (a refactoring, a draft), say so and stop: you are not kept twice."
    )
    return "\n".join(lines)


class Memory:
    """States of a checkout that were judged in a session: each is judged once."""

    def __init__(self, session: str, *state: str) -> None:
        name = key_of("gate", 1, session, *state)
        self._path = cache_folder() / "gate" / name if session else None

    def knows(self) -> bool:
        """Return whether this state was judged."""
        return self._path is not None and self._path.is_file()

    def keep(self, judged: Judged) -> None:
        """Remember that it was; a cache that cannot be written is not an error."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps({"verdict": judged.verdict}), durable=False)
        except OSError:
            pass

"""`init`: add refute's settings, CI workflow and agent hooks to a repository.

>>> refute.init(repo=".").print(console)    # shows the diff
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from refute.core.extras import requirement
from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import parse_json, read_file, refuse_links, write_output
from refute.errors import InputError
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import Shown, show
from refute.workspace.infer import toml_of
from refute.workspace.snapshot import checkout_root


@dataclass(frozen=True, slots=True)
class InitResult(Shown):
    """Result of `init`: the files to write, or those written."""

    root: Path
    proposals: tuple[Proposal, ...]

    def write(self) -> tuple[str, ...]:
        """Write the changes, and return the paths. Raises `InputError` where a file has changed
        since the proposal, or cannot be written."""
        changed = [one for one in self.proposals if one.changes]
        for one in changed:
            path = self.root / one.path
            if _text(self.root, one.path) != one.before:
                raise InputError(f"{path}: has changed meanwhile: nothing is written there")
            try:
                write_output(path, one.after, folders=True)
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        return tuple(one.path for one in changed)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """Options of `init`."""

    parts: tuple[Literal["settings", "workflow", "agents"], ...] = parameter(
        (), "Parts to add (all three).", metavar="[PART]...", positional=True
    )
    repo: Path = parameter(Path(), "The checkout (here).", flag="-C", metavar="REPO")
    agents: tuple[Literal["claude", "codex", "copilot", "cursor", "gemini"], ...] = parameter(
        (), "Add a hook that runs `refute gate` when this agent stops.", flag="--agent"
    )
    source: str | None = parameter(
        None,
        "Install refute in the workflow from this (the address that this copy came from).",
        metavar="REQUIREMENT",
    )
    write: bool = parameter(False, "Write the files.", flag="--write")


def init(*, options: InitOptions | None = None, **given: Any) -> InitResult:
    """Propose files for a repository that uses refute; nothing is written before `.write()`.

    `options`: an `InitOptions`, or its fields by name. `parts`: "settings" (`[tool.refute]`),
    "workflow" (GitHub's, for pull requests), "agents" (a section of AGENTS.md); all three where
    neither parts nor `agents` are named. Each of `agents` runs `refute gate` when it stops.
    Existing content is kept. `source`: the requirement that the workflow installs refute from; a
    folder of this machine is none for others. Raises `InputError`.
    """
    chosen = options_with(InitOptions, options, given)
    root = checkout_root(chosen.repo)
    own = requirement()
    source = chosen.source or ("" if own.startswith("/") else own)
    parts: Iterable[str] = chosen.parts or (() if chosen.agents else PARTS)
    made = [make(root, source) for part, make in PARTS.items() if part in parts]
    hooks = (_hook(agent, root) for agent in dict.fromkeys(chosen.agents))
    return InitResult(root, (*made, *hooks))


HOOK = "refute gate --hook"
_SECONDS = 600


def _nested(**limit: int) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": HOOK, **limit}]}


_COPILOT = {"type": "command", "bash": HOOK, "timeoutSec": _SECONDS}
HOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude": (".claude/settings.json", "Stop", _nested(timeout=_SECONDS)),
    "codex": (".codex/hooks.json", "Stop", _nested(timeout=_SECONDS)),
    "copilot": (".github/hooks/refute.json", "agentStop", _COPILOT),
    "cursor": (".cursor/hooks.json", "stop", {"command": HOOK, "timeout": _SECONDS}),
    "gemini": (".gemini/settings.json", "AfterAgent", _nested(timeout=1000 * _SECONDS)),
}
"""Agent -> the file of its hooks, the event of its end, and the entry that runs the gate there.
Gemini CLI counts milliseconds. The files of Copilot CLI and Cursor have a version."""
_VERSIONED = {"copilot", "cursor"}
_MOST = 1 << 20

SETTINGS = """\
[tool.refute]
budget = 5.0  # seconds for one function
neighbours = 5  # existing test files near a change that are run
"""
BEGIN = "<!-- refute: begin -->"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed content of one file."""

    path: str
    """Below the root of the repository."""
    before: str
    """"" where there is no file."""
    after: str
    """The same where it is left alone."""
    reason: str = ""
    """Reason why it is left alone."""

    @property
    def changes(self) -> bool:
        """True if the file would change."""
        return self.after != self.before

    @property
    def diff(self) -> str:
        """Return the changes as a unified diff."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        first = f"a/{self.path}" if self.before else "/dev/null"
        return "".join(difflib.unified_diff(old, new, first, f"b/{self.path}"))


def _text(root: Path, path: str) -> str:
    """The file's text; "" where there is none. Raises `InputError` for a link, and for
    what is no text."""
    place = root / path
    refuse_links(place)
    try:
        return read_file(place, limit=_MOST).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{place}: cannot be read as text") from None


def _template(name: str) -> str:
    return Path(__file__).with_name(f"init_{name}").read_text("utf-8")


def _settings(root: Path, _: str) -> Proposal:
    path = "pyproject.toml"
    before = _text(root, path)
    if not before:
        return Proposal(path, "", "", "the file does not exist: give settings on the command line")
    table = toml_of(before)
    if not table:
        return Proposal(path, before, before, "it is not TOML")
    if "refute" in table.get("tool", {}):
        return Proposal(path, before, before, "it has a [tool.refute] already")
    return Proposal(path, before, f"{before.rstrip()}\n\n{SETTINGS}")


def _workflow(root: Path, source: str) -> Proposal:
    path = ".github/workflows/refute.yml"
    before = _text(root, path)
    if before:
        return Proposal(path, before, before, "it exists already")
    if not source:
        return Proposal(path, "", "", "name what it installs refute from: --source git+https://...")
    install = ""
    if "project" in toml_of(_text(root, "pyproject.toml")) or (root / "setup.py").is_file():
        install = " -e ."
    elif (root / "requirements.txt").is_file():
        install = " -r requirements.txt"
    text = _template("workflow.yml").replace("{refute}", shlex.quote(source))
    return Proposal(path, "", text.replace("{install}", install))


def _hook(agent: str, root: Path) -> Proposal:
    path, event, entry = HOOKS[agent]
    before = _text(root, path)
    settings: Any = {"version": 1} if agent in _VERSIONED else {}
    if before:
        try:
            settings = parse_json(before)
        except ValueError as error:
            return Proposal(path, before, before, f"it is not JSON: {error}")
    hooks = settings.setdefault("hooks", {}) if isinstance(settings, dict) else None
    stops = hooks.setdefault(event, []) if isinstance(hooks, dict) else None
    if not isinstance(stops, list):
        return Proposal(path, before, before, "its hooks have an unknown form")
    if HOOK in json.dumps(stops):
        return Proposal(path, before, before, "it has the hook already")
    stops.append(entry)
    return Proposal(path, before, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def _agents(root: Path, _: str) -> Proposal:
    path = "AGENTS.md"
    before = _text(root, path)
    if BEGIN in before:
        return Proposal(path, before, before, "it has a section on refute already")
    head = f"{before.rstrip()}\n\n" if before.strip() else "# For coding agents\n\n"
    return Proposal(path, before, head + _template("agents.md"))


PARTS: dict[str, Callable[[Path, str], Proposal]] = {
    "settings": _settings,
    "workflow": _workflow,
    "agents": _agents,
}
"""Parts by name."""


@click.command("init", cls=MethodCommand)
@offered(InitOptions)
@json_option
def command(options: InitOptions, as_json: bool) -> int:
    """Show what refute would add to a repository; --write adds it.

    PART: settings ([tool.refute] in pyproject.toml), workflow (runs `refute gate` on pull
    requests), agents (a section of AGENTS.md); without PART and --agent, all three. Existing
    content is kept.
    """
    result = init(options=options)
    show(result, as_json=as_json)
    if options.write:
        written = result.write()
        remark([f"written: {', '.join(written)}" if written else "nothing to write"])
    elif any(one.changes for one in result.proposals):
        remark(["nothing is written yet; --write does it"])
    return 0

"""The commands of the interface, and how they are read out of a model's answer.

A model calls them natively (tools of the OpenAI API) or writes them as text in a block fenced by
```` ``` ````, one command a line; other lines in such a block go to the shell.
Answers are hostile text: whatever they hold becomes an `Action` or a `Misused` with the reason.

A conversation that stays within a model's context: old observations give way.

SWE-agent keeps the last five observations and replaces older ones by a line (section 3.1 and its
appendix); the model's own words stay. What is asked depends on the conversation alone, so that a
resumed run asks the same questions as the one before.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from refute.errors import ContextTooLong
from refute.issue.drafting.bounded_asker import Bounded
from refute.models.contract import Completion, Message, Sampling, Tool, ToolCall

MOST_ACTIONS = 12
"""Of one answer."""

_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.M | re.S)
_RANGE = re.compile(r"\s*(\d+)\s*[:,-]\s*(\d+)\s*")
_END_OF_EDIT = "end_of_edit"


class Misused(ValueError):
    """A command that cannot be carried out as it was called; the message goes to the model."""


@dataclass(frozen=True, slots=True)
class Action:
    """One command with its arguments, checked for presence and type only."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """A parameter of a command."""

    name: str
    meaning: str
    type: Literal["string", "integer"] = "string"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the interface."""

    name: str
    meaning: str
    parameters: tuple[CommandParameter, ...] = ()

    @property
    def usage(self) -> str:
        """The command's syntax as text."""
        if self.name == "edit":
            return f"edit START:END\nNEW LINES\n{_END_OF_EDIT}"
        if self.name == "shell":
            return "ANY OTHER COMMAND"
        words = [
            f"[{one.name.upper()}]" if one.optional else one.name.upper() for one in self.parameters
        ]
        return " ".join([self.name, *words])

    @property
    def schema(self) -> str:
        """The parameters as JSON schema."""
        properties = {p.name: {"type": p.type, "description": p.meaning} for p in self.parameters}
        required = [p.name for p in self.parameters if not p.optional]
        schema = {"type": "object", "properties": properties, "required": required}
        return json.dumps({**schema, "additionalProperties": False})


_FOLDER = CommandParameter(
    "folder", "folder to look in; the current one if left out", optional=True
)

COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command(
            "open",
            "show the lines of a file around a line",
            (
                CommandParameter("path", "path of the file"),
                CommandParameter("line", "line to show in the middle", "integer", optional=True),
            ),
        ),
        Command(
            "goto",
            "move the window over the open file to a line",
            (CommandParameter("line", "line to show in the middle", "integer"),),
        ),
        Command("scroll_down", "move the window over the open file down"),
        Command("scroll_up", "move the window over the open file up"),
        Command(
            "search_dir",
            "list the files below a folder that hold a text, with how often",
            (CommandParameter("text", "text to find, taken literally"), _FOLDER),
        ),
        Command(
            "search_file",
            "list the lines of a file that hold a text",
            (
                CommandParameter("text", "text to find, taken literally"),
                CommandParameter("path", "the file; the open one if left out", optional=True),
            ),
        ),
        Command(
            "find_file",
            "list the files below a folder whose name matches",
            (CommandParameter("name", "name of the file, or a pattern with * and ?"), _FOLDER),
        ),
        Command(
            "create",
            "make a new, empty file and open it",
            (CommandParameter("path", "path of the new file"),),
        ),
        Command(
            "edit",
            "replace the lines START to END of the open file, both included, by new ones; an edit "
            "that breaks the syntax of Python is undone",
            (
                CommandParameter("start", "first line to replace, counted from 1", "integer"),
                CommandParameter(
                    "end", "last line to replace; start - 1 inserts before start", "integer"
                ),
                CommandParameter("text", "the new lines, with their indentation"),
            ),
        ),
        Command(
            "shell",
            "run a shell command in the repository",
            (CommandParameter("command", "the command, for bash; no interactive programs"),),
        ),
        Command("submit", "hand in the files as they are now; this ends your work"),
    )
}


def documentation() -> str:
    """The commands as a prompt explains them to a model that writes them as text."""
    return "\n".join(f"{command.usage}\n    {command.meaning}" for command in COMMANDS.values())


def native_tools() -> tuple[Tool, ...]:
    """The commands as tools of the OpenAI API."""
    return tuple(Tool(c.name, c.meaning, c.schema) for c in COMMANDS.values())


def read_call(call: ToolCall) -> Action:
    """A native call as an action. Raises `Misused`."""
    command = COMMANDS.get(call.name)
    if command is None:
        raise Misused(f"there is no tool {call.name[:40]!r}; there are {', '.join(COMMANDS)}")
    try:
        given = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError):
        raise Misused(f"the arguments of {call.name} are not valid JSON") from None
    if not isinstance(given, dict):
        raise Misused(f"the arguments of {call.name} are not a JSON object")
    return _checked(command, given)


def read_text(answer: str) -> list[Action]:
    """The actions in the first fenced block of an answer.

    Raises `Misused` where there is no block or a command in it is not written as it should be.
    """
    answer = answer.replace("\r\n", "\n")
    block = _FENCE.search(answer)
    if block is None:
        raise Misused("no command was found: write it between two lines of three backticks")
    lines = block[1].split("\n")
    actions: list[Action] = []
    while lines and len(actions) < MOST_ACTIONS:
        word = lines[0].split(maxsplit=1)[:1]
        if not word:
            lines.pop(0)
        elif word[0] in COMMANDS and word[0] != "shell":
            actions.append(_read_line(COMMANDS[word[0]], lines))
        else:
            actions += _to_shell(lines)
    if not actions:
        raise Misused("the block of commands is empty")
    return actions


def _read_line(command: Command, lines: list[str]) -> Action:
    """The command that begins the lines; takes away what belongs to it."""
    line = lines.pop(0).strip()
    rest = line[len(command.name) :].strip()
    if command.name == "edit":
        return _read_edit(command, rest, lines)
    try:
        words = shlex.split(rest)
    except ValueError:  # a quote that is not closed
        words = rest.split()
    parameters = command.parameters
    if len(words) > len(parameters) > 0 and parameters[0].name in ("text", "name"):
        words = [rest]  # a text with blanks that was not quoted
    if len(words) > len(parameters):
        raise Misused(f"too many arguments; usage: {command.usage}")
    return _checked(command, dict(zip((p.name for p in parameters), words, strict=False)))


def _read_edit(command: Command, rest: str, lines: list[str]) -> Action:
    found = _RANGE.fullmatch(rest)
    if found is None:
        raise Misused(f"the lines to edit are not given; usage:\n{command.usage}")
    body: list[str] = []
    while lines:
        line = lines.pop(0)
        if line.strip() == _END_OF_EDIT:
            break
        body.append(line)
    else:
        while body and not body[-1].strip():  # the line feed before the closing fence
            body.pop()
    text = "\n".join(body)
    return _checked(command, {"start": found[1], "end": found[2], "text": text})


def _to_shell(lines: list[str]) -> list[Action]:
    """All the lines that are left as one script, but for a `submit` that ends them."""
    script = "\n".join(lines).rstrip()
    lines.clear()
    head, _, last = script.rpartition("\n")
    if last.strip() == "submit":
        return [Action("shell", {"command": head}), Action("submit")]
    return [Action("shell", {"command": script})]


def _checked(command: Command, given: Mapping[str, Any]) -> Action:
    """The arguments with their types. Raises `Misused`."""
    found: dict[str, Any] = {}
    for parameter in command.parameters:
        value = given.get(parameter.name)
        if value is None:
            if not parameter.optional:
                raise Misused(f"{parameter.name} is missing; usage: {command.usage}")
        elif parameter.type == "integer":
            found[parameter.name] = _integer(parameter.name, value)
        elif isinstance(value, str):
            found[parameter.name] = value
        else:
            raise Misused(f"{parameter.name} is not a text; usage: {command.usage}")
    return Action(command.name, found)


def _integer(name: str, value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", text):
        raise Misused(f"{name} is not a line number: {text[:40]!r}")
    return int(text)


# -- conversation ----------------------------------------------------------------------------------


KEPT = 5
"""Observations that are shown whole."""


def collapsed(messages: Sequence[Message], keep: int = KEPT) -> list[Message]:
    """The messages with all observations but the last `keep` replaced by a line each.

    Observations are what the model was told after its first answer (roles `user` and `tool`).
    """
    first = next((i for i, m in enumerate(messages) if m.role == "assistant"), len(messages))
    observed = [i for i, m in enumerate(messages) if i > first and m.role in ("user", "tool")]
    old = observed[: max(0, len(observed) - keep)]
    found = list(messages)
    for index in old:
        lines = messages[index].content.count("\n") + 1
        if lines > 1:
            found[index] = replace(messages[index], content=f"(Old output left out: {lines} lines)")
    return found


async def ask_within(
    asking: Bounded, messages: Sequence[Message], sampling: Sampling, *, keep: int = KEPT
) -> Completion:
    """One answer; where the conversation is too long, with fewer and fewer observations kept.

    Raises `OutOfBounds`, `ContextTooLong` where even one observation is too much, and what
    `Asker.ask` raises.
    """
    while True:
        try:
            (answer,) = await asking.ask(collapsed(messages, keep), sampling=sampling)
            return answer
        except ContextTooLong:
            if keep <= 1:
                raise
            keep //= 2

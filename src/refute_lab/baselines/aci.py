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

import builtins
import fnmatch
import json
import posixpath
import re
import shlex
import symtable
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

from refute.errors import ContextTooLong
from refute.issue.contract import Bounded
from refute.issue.edits.tree import EditProblem, line_end, safe_path
from refute.issue.original import shortened, steady
from refute.models.contract import Completion, Message, Sampling, Tool, ToolCall
from refute.source.syntax import parse_module
from refute.workspace.contract import CommandResult, Workspace
from refute.workspace.patches import is_test_file, split_lines

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


def _commands() -> Iterator[Command]:
    text = files("refute_lab.baselines").joinpath("commands.toml").read_text("utf-8")
    for name, table in tomllib.loads(text).items():
        parameters = (CommandParameter(**one) for one in table.get("parameters", ()))
        yield Command(name, table["meaning"], tuple(parameters))


COMMANDS: Mapping[str, Command] = {command.name: command for command in _commands()}


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


# -- aci actions -----------------------------------------------------------------------------------
# The interface's commands, run on one workspace.


# -- checks ----------------------------------------------------------------------------------------


_KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__path__",
    "__package__",
    "__spec__",
    "__loader__",
    "__builtins__",
    "__annotations__",
    "WindowsError",
    "unicode",
    "basestring",
    "xrange",
    "long",
    "unichr",
    "reduce",
}
"""Names of the module itself, and of Python 2, which old code asks for behind a condition."""


def broken_syntax(path: str, before: str, after: str) -> str:
    """Return the syntax error that an edit brought into a Python file; "" if none.

    A file that this interpreter could not read before (Python 2, a template) is not judged.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    complaint = _complaint(after)
    return "" if complaint and _complaint(before) else complaint


def undefined_names(path: str, before: str, after: str) -> list[str]:
    """Names that a Python file uses and nothing in it defines, without those of before; sorted."""
    if not path.endswith(".py"):
        return []
    return sorted(_undefined(after) - _undefined(before))


def _complaint(source: str) -> str:
    try:
        parse_module(source)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{error.msg}"
    return ""


def _undefined(source: str) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if any("*" in part for part in _star_imports(source)):
                return set()
            top = symtable.symtable(source, "<edited>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    defined |= {child.get_name() for child in top.get_children()}
    used: set[str] = set()
    scopes = [top]
    while scopes:
        scope = scopes.pop()
        for symbol in scope.get_symbols():
            if symbol.is_global() or scope is top:
                if symbol.is_referenced():
                    used.add(symbol.get_name())
                if symbol.is_declared_global() and symbol.is_assigned():
                    defined.add(symbol.get_name())
        scopes += scope.get_children()
    return used - defined - _KNOWN


def _star_imports(source: str) -> list[str]:
    return [line for line in source.split("\n") if line.lstrip().startswith("from ")]


MOST_FOUND = 100
"""Files or lines of one search; more are an invitation to search for something rarer."""
_AROUND_EDIT = 10
"""Lines above and below that the answer to an edit shows."""


class Actions:
    """An open file, a folder, and the workspace. Blocks; not for two threads at once."""

    def __init__(self, workspace: Workspace, *, seconds: Callable[[], float]) -> None:
        """`seconds`: how long the next shell command may run."""
        self._workspace = workspace
        self._seconds = seconds
        self._folder = ""
        self._open: str | None = None
        self._first = 1
        self.submitted = False
        self.tested = False
        """True: tests were run since a test file was last edited."""
        self._actions: dict[str, Callable[..., str]] = {
            "open": self._open_file,
            "goto": self._goto,
            "scroll_down": lambda: self._scroll(WINDOW),
            "scroll_up": lambda: self._scroll(-WINDOW),
            "search_dir": self._search_dir,
            "search_file": self._search_file,
            "find_file": self._find_file,
            "create": self._create,
            "edit": self._edit,
            "shell": self._shell,
            "submit": self._submit,
        }

    def do(self, action: Action) -> str:
        """Carry out one action; what came of it, for the model. Raises `WorkspaceUnavailable`."""
        try:
            return self._actions[action.name](**action.arguments)
        except (Misused, EditProblem) as error:
            return f"Not done: {error}."
        except OSError as error:
            return f"Not done: {error.strerror or type(error).__name__}."

    @property
    def where(self) -> str:
        """Open file and folder, as they stand below every answer."""
        return f"(Open file: {self._open or 'none'})\n(Current folder: {self._folder or '.'})"

    # -- viewing -----------------------------------------------------------------------------------

    def _open_file(self, path: str, line: int | None = None) -> str:
        path = self._path(path)
        text = self._text(path)
        self._open, self._first = path, around(line or 1, len(split_lines(text)))
        return shown(path, text, self._first)

    def _goto(self, line: int) -> str:
        path, text = self._opened()
        total = len(split_lines(text))
        if not 1 <= line <= max(1, total):
            raise Misused(f"there is no line {line}: the file has {total}")
        self._first = around(line, total)
        return shown(path, text, self._first)

    def _scroll(self, lines: int) -> str:
        path, text = self._opened()
        last = max(1, len(split_lines(text)) - WINDOW + 1)
        self._first = max(1, min(self._first + lines, last))
        return shown(path, text, self._first)

    # -- searching ---------------------------------------------------------------------------------

    def _search_dir(self, text: str, folder: str = "") -> str:
        if not text or "\n" in text:
            raise Misused("the text to find is one line")
        place = self._path(folder) if folder else self._folder
        # grep reads a tree of thousands of files in the time of one question
        command = (
            f"grep -rIcF --exclude-dir=.git -e {shlex.quote(text)} -- "
            f"{shlex.quote(place or '.')} | grep -v ':0$' | sort"
        )
        done = run_in(self._workspace, "", command, timeout=min(60.0, self._seconds()))
        found = [line for line in done.text.split("\n") if line.rpartition(":")[2].isdigit()]
        what = f"{text!r} in {place or '.'}"
        if not found:
            return f"No file holds {what}."
        if len(found) > MOST_FOUND:
            return f"More than {MOST_FOUND} files hold {what}: search for something rarer."
        lines = (line.removeprefix("./").rpartition(":") for line in found)
        return "\n".join(
            [f"Files that hold {what}:", *(f"{path} (lines: {n})" for path, _, n in lines)]
        )

    def _search_file(self, text: str, path: str | None = None) -> str:
        path = self._path(path) if path else self._opened()[0]
        lines = split_lines(self._text(path))
        found = [n for n, line in enumerate(lines, 1) if text and text in line]
        if not found:
            return f"{path} does not hold {text!r}."
        if len(found) > MOST_FOUND:
            return f"{len(found)} lines of {path} hold {text!r}: search for something rarer."
        parts = (f"{n}:{lines[n - 1].rstrip()[:300]}" for n in found)
        return "\n".join([f"Lines of {path} that hold {text!r}:", *parts])

    def _find_file(self, name: str, folder: str = "") -> str:
        place = self._path(folder) if folder else self._folder
        below = f"{place}/" if place else ""
        pattern = name if set("*?[") & set(name) else f"*{name}*" if "." not in name else name
        found = [
            path
            for path in self._workspace.files()
            if path.startswith(below)
            and fnmatch.fnmatchcase(
                f"/{path}" if "/" in name else posixpath.basename(path),
                f"*/{pattern}" if "/" in name else pattern,
            )
        ]
        if not found:
            return f"No file below {place or '.'} is called {name!r}."
        more = len(found) - MOST_FOUND
        listed = [*found[:MOST_FOUND], *([f"(and {more} more)"] if more > 0 else [])]
        return "\n".join([f"Files called {name!r}:", *listed])

    # -- changing ----------------------------------------------------------------------------------

    def _create(self, path: str) -> str:
        path = self._path(path)
        if self._exists(path):
            raise Misused(f"{path} is there already: open it")
        self._workspace.write(path, b"")
        self._open, self._first = path, 1
        return f"[{path}: new and empty; `edit 1:1` fills it]"

    def _edit(self, start: int, end: int, text: str) -> str:
        path, before = self._opened()
        try:
            after = replaced(before, start, end, text)
        except ValueError as error:
            raise Misused(str(error)) from None
        if after == before:
            return "The edit changes nothing."
        around_edit = max(1, start - _AROUND_EDIT)
        size = text.count("\n") + 1 + 2 * _AROUND_EDIT
        if complaint := broken_syntax(path, before, after):
            return (
                f"The edit was undone, for it breaks the syntax of the file: {complaint}\n"
                f"With the edit it would have been:\n{shown(path, after, around_edit, size)}\n"
                f"It is as before:\n{shown(path, before, around_edit, size)}\n"
                "Give the right lines and indentation."
            )
        self._workspace.write(path, after.encode("utf-8", "replace"))
        self.tested = self.tested and not is_test_file(path)
        self._first = around(start, len(split_lines(after)))
        remark = ""
        if names := undefined_names(path, before, after):
            remark = f"\nNothing in the file defines {', '.join(names[:20])}."
        return f"Edited.\n{shown(path, after, around_edit, size)}{remark}"

    # -- the shell ---------------------------------------------------------------------------------

    def _shell(self, command: str) -> str:
        if not command.strip():
            raise Misused("the command is empty")
        seconds = self._seconds()
        if seconds <= 0:
            raise Misused("the time is up")
        try:
            done = run_in(self._workspace, self._folder, command, timeout=seconds)
        except ValueError as error:
            raise Misused(str(error)) from None
        self._folder = done.folder
        self.tested = self.tested or runs_tests(command)
        if done.result.timed_out:
            return f"{done.text}\n(The command was ended after {seconds:.0f} seconds.)".lstrip()
        status = f"(exit status {done.result.status})" if done.result.status else ""
        return "\n".join(filter(None, (done.text, status))) or "(no output)"

    def _submit(self) -> str:
        self.submitted = True
        return "Handed in."

    # -- files of the tree -------------------------------------------------------------------------

    def _path(self, path: str) -> str:
        """A path of the tree, from the root; relative ones start at the current folder."""
        path = path.strip()
        root = str(self._workspace.root)
        if path == root:
            return ""
        if path.startswith(f"{root}/"):
            path = path[len(root) + 1 :]
        elif not path.startswith(("/", "~")):
            path = posixpath.normpath(posixpath.join(self._folder, path))
        return "" if path == "." else safe_path(path)

    def _exists(self, path: str) -> bool:
        try:
            self._workspace.read(path)
        except FileNotFoundError:
            return False
        except OSError:
            pass
        return True

    def _text(self, path: str) -> str:
        try:
            return self._workspace.read(path).decode("utf-8")
        except UnicodeDecodeError:
            raise Misused(f"{path} is not UTF-8 text") from None
        except FileNotFoundError:
            raise Misused(f"there is no file {path}") from None
        except IsADirectoryError:
            raise Misused(f"{path} is a folder") from None

    def _opened(self) -> tuple[str, str]:
        if self._open is None:
            raise Misused("no file is open: open one first")
        return self._open, self._text(self._open)


# -- a window of lines over a file, as a model sees it, and replacing lines in a file's text -------

WINDOW = 100
"""Lines (SWE-agent, section 3)."""
LONGEST_LINE = 1000
"""Characters of a line that are shown; longer ones are data."""


def around(line: int, total: int) -> int:
    """First line of the window that has `line` in its middle, for a file of `total` lines."""
    return max(1, min(line - WINDOW // 2, total - WINDOW + 1))


def shown(path: str, text: str, first: int, size: int = WINDOW) -> str:
    """Lines `first` and following with their numbers, and how many there are before and after."""
    lines = split_lines(text)
    last = min(first + size - 1, len(lines))
    parts = [f"[{path}: {len(lines)} lines]"]
    if first > 1:
        parts.append(f"({first - 1} more lines above)")
    for number in range(first, last + 1):
        parts.append(f"{number}:{_line(lines[number - 1])}")
    if last < len(lines):
        parts.append(f"({len(lines) - last} more lines below)")
    return "\n".join(parts)


def replaced(text: str, start: int, end: int, new: str) -> str:
    """The text with lines `start` to `end` (1-based, both included) replaced by the lines of `new`.

    `end` = `start` - 1 inserts before `start`. New lines end as most lines of the file do. Raises
    `ValueError` for lines that are not there.
    """
    lines = split_lines(text)
    if not lines and start == 1:
        end = 0  # line 1 of an empty file
    if not 1 <= start <= len(lines) + 1:
        raise ValueError(f"there is no line {start}: the file has {len(lines)}")
    if not start - 1 <= end <= len(lines):
        raise ValueError(f"lines {start} to {end} are no range of the file's {len(lines)} lines")
    eol = line_end(text)
    put = [line + eol for line in new.removesuffix("\n").split("\n")] if new else []
    if put and start > 1 and not lines[start - 2].endswith("\n"):
        lines[start - 2] += eol
    return "".join([*lines[: start - 1], *put, *lines[end:]])


def _line(line: str) -> str:
    line = line.rstrip("\r\n")
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}[...]"


# -- an agent's shell: commands in the contained workspace, with output that is always the same ----
#
# The same command on the same tree has to give the same text, for the text is part of the next
# question (`refute.issue.original`).

OUTPUT = 10_000
"""Characters of a command's output that are shown."""
LONGEST_COMMAND = 60_000

_MARK = "@@refute-folder@@"
_TESTING = re.compile(
    r"\b(pytest|py\.test|unittest|runtests(\.py)?|nosetests|tox|doctest)\b|\bbin/test\b"
    r"|\bpython[\d.]*\s+(-\S+\s+)*\S*tests?\S*\.py\b|\bmanage\.py\s+test\b"
)


@dataclass(frozen=True, slots=True)
class ShellRun:
    """A command that was run."""

    result: CommandResult
    text: str
    """Its output for the model."""
    folder: str
    """The folder that the shell was in at its end, relative to the tree; "" is the root."""


def run_in(workspace: Workspace, folder: str, command: str, *, timeout: float) -> ShellRun:
    """Run a command in a folder of the tree. Every command has a shell of its own: of the shell's
    state only the folder is kept. Raises `ValueError` for anything but a command."""
    if len(command) > LONGEST_COMMAND or "\0" in command:
        raise ValueError("the command is too long, or holds a null character")
    root = str(workspace.root)
    start = posixpath.join(root, folder)
    script = (
        f'trap \'printf "\\n%s%s\\n" {_MARK} "$PWD"\' EXIT\n'
        f"cd {shlex.quote(start)} || cd {shlex.quote(root)}\n{command}\n"
    )
    shell = f"exec $(command -v bash || command -v sh) -c {shlex.quote(script)}"
    result = workspace.run(shell, timeout=timeout)
    output, end = _end_folder(result.output, root)
    text = steady(output.strip("\n"), root)
    return ShellRun(result, shortened(text, OUTPUT), folder if end is None else end)


def runs_tests(command: str) -> bool:
    """Return whether a command looks like a run of tests."""
    return _TESTING.search(command) is not None


def _end_folder(output: str, root: str) -> tuple[str, str | None]:
    """The output without our mark, and the folder in it where that is one of the tree.

    A command may print such a mark itself: all it gains is another folder of the tree.
    """
    head, mark, tail = output.rpartition(_MARK)
    if not mark:
        return output, None
    path, _, rest = tail.partition("\n")
    inside = posixpath.normpath(path)
    if inside != root and not inside.startswith(f"{root}/"):
        return head.removesuffix("\n") + rest, ""
    return head.removesuffix("\n") + rest, inside[len(root) + 1 :]

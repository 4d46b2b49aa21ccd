"""An agent's shell: commands in the contained workspace, and output that is the same every time.

The same command on the same tree has to give the same text, for the text is part of the next
question (`refute.issue.drafting.steady`).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass

from refute.issue.drafting.original import shortened
from refute.issue.drafting.steady import steady
from refute.workspace.contract import CommandResult, Workspace

__all__ = ["OUTPUT", "ShellRun", "run_in", "runs_tests"]

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
    state only the folder is kept. Raises `ValueError` for what is no command."""
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
    """Whether a command looks like a run of tests."""
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

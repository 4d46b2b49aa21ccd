"""git as a program, on the trusted side: no configuration, hooks or prompts of anybody."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from refute.errors import WorkspaceUnavailable

_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
    "core.attributesFile=/dev/null", "core.autocrlf=false", "core.quotePath=true",
    "core.checkStat=minimal", "core.trustctime=false",  # an overlay has other inode numbers
    "protocol.allow=never", "gc.auto=0", "safe.directory=*",
    "log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false",
    "gpg.x509.program=false",  # a repository may name a program that looks at its signatures
)  # fmt: skip
SAFE_OPTIONS = tuple(word for setting in _SETTINGS for word in ("-c", setting))
"""Options of every call: nothing that lies in a repository is run."""

QUIET = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
    "TZ": "UTC",
}
"""Environment variables of every call."""

PATCH = (
    "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
    "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""Options of git's diff commands for a patch that `git apply` takes anywhere."""


class GitFailed(Exception):
    """git ended with an error; the message is its last line."""


def git(
    *arguments: str | Path,
    folder: Path | None = None,
    given: bytes | None = None,
    env: Mapping[str, str | None] | None = None,
    options: Sequence[str] = (),
    timeout: float = 600.0,
) -> bytes:
    """Run git and return its stdout; `options` come before the verb; None in `env` unsets.

    Raises `GitFailed`, `WorkspaceUnavailable` (no git here).
    """
    command = ["git", *SAFE_OPTIONS, *options, *(os.fspath(a) for a in arguments)]
    variables: dict[str, str | None] = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        **QUIET,
    }
    variables |= env or {}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=given if given is not None else b"",
            capture_output=True,
            env={name: value for name, value in variables.items() if value is not None},
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        raise WorkspaceUnavailable("git is not installed here") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]}: no answer in {timeout:.0f} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise GitFailed(lines[-1])
    return done.stdout

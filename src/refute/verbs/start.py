"""What `refute` says first, and how much it says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from refute.core.parameters import nearest

START = """\
refute finds inputs on which Python code is wrong, and proves fixes by tests.

  find an input that fails   refute hunt FILE.py
  fix a function             refute debug FILE.py::FUNCTION
  compare a change           refute diff
  prove that it is done      refute gate

Start with `refute hunt` on a file whose functions have doctests.
`refute help COMMAND` explains one, `refute --help` lists all."""
"""Of `refute` alone."""


def expanded(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that `refute` alone, `refute help` and `refute version` stand for."""
    match list(arguments):
        case [] | ["help"]:
            return ["--start"]
        case ["help", verb, *_]:
            return [verb, "--help"]
        case ["version"]:
            return ["--version"]
        case given:
            return given


def no_such_command(name: str, known: Sequence[str]) -> click.UsageError:
    """Return the error for a command that does not exist, with the nearest one."""
    return click.UsageError(f"{name}: no such command{nearest(name, known)}")


def starting(command: Any) -> Any:
    """Give the root command -q, -v, and what `refute` alone prints."""
    start = click.option(
        "--start", is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_start
    )
    return verbosity(hidden=False)(start(command))


def _start(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(START)
        ctx.exit()


def verbosity(*, hidden: bool) -> Callable[[Any], Any]:
    """A decorator that gives a command -q and -v; they also stand behind the verb, unlisted."""

    def given(command: Any) -> Any:
        for flag, level, text in (
            ("quiet", logging.WARNING, "Print results and errors only."),
            ("verbose", logging.DEBUG, "List functions without examples or tests, too."),
        ):
            command = click.option(
                f"-{flag[0]}", f"--{flag}", is_flag=True, is_eager=True, expose_value=False,
                hidden=hidden, callback=partial(_set_level, level), help=text,
            )(command)  # fmt: skip
        return command

    return given


def _set_level(level: int, ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        logging.getLogger("refute").setLevel(level)

"""The command line: one module per verb, each a few lines that call the library.

Exit status: 0 nothing wrong found or all done, 1 found, 2 usage or bad input, 3 unavailable,
130 interrupted. Bad input is what the caller can fix in the command; unavailable is what the
machine does not give (a model, a sandbox, room on the disk). Results go to stdout, everything else
to stderr; errors are one line. A verb's module is imported when it is used, and heavy imports are
inside the commands, so that `refute --help` stays fast.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence

import click

from refute.cli.declared import command_of
from refute.cli.exit_statuses import FAILURES, INTERRUPTED, PIPE_CLOSED, fail, fail_for
from refute.cli.output import show_remarks
from refute.cli.settings import CONFIGURED, defaults_for
from refute.cli.streams import drop_output, prepare_streams
from refute.core.variables import Variable
from refute.errors import BAD_INPUT, InputError

__all__ = ["cli", "main"]

VERBS = {
    "hunt": "Find unit tests that the function fails.",
    "debug": "Fix the function with generated tests; print the fix as a diff.",
    "diff": "Find inputs on which a change makes functions behave otherwise.",
    "harden": "Find mutants that the project's tests do not kill, and a test for each.",
    "watch": "Look at Python files whenever they are saved: hunt, then diff.",
    "judge": "Rank candidate programs by generated tests (best of N).",
    "reproduce": "Write a test that fails now for the reason that an issue describes.",
    "fix": "Fix an issue; print the fix with the tests that show it.",
    "vet": "Judge a fix by tests: does it resolve the issue, does it break anything near?",
    "gate": "Show that a change is done: red before, green now, nothing broken or weakened.",
    "mcp": "Serve agents over MCP, on stdin and stdout.",
    "lsp": "Serve editors over the language server protocol, on stdin and stdout.",
    "methods": "List the methods that there are.",
    "init": "Set a repository up: settings, a workflow, a hook, a word to agents; shows the diff.",
    "config": "Show what settings hold, and from where.",
    "doctor": "Show what works on this machine, and how to get what is missing.",
}
"""Verb -> its line in `refute --help`. `refute.cli.declared.command_of` finds its command."""


def _others() -> dict[str, Mapping[str, str]]:
    """Packages of verbs, as this one, by the name of their module: entry points `refute.verbs`."""
    from refute.core.registry import entries

    found = entries("refute.verbs")
    return {point.module: importlib.import_module(point.module).VERBS for point in found}


def _home(verb: str) -> str | None:
    """The package that has the verb; refute's own cannot be taken by another."""
    if verb in VERBS:
        return __name__
    return next((home for home, verbs in _others().items() if verb in verbs), None)


class _Verbs(click.Group):
    """Imports a verb's module only when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *(verb for verbs in _others().values() for verb in verbs)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            os.getcwd()  # of which relative paths, workers and git make everything
        except OSError:
            raise InputError("the current folder is gone: change to one that is there") from None
        return None if (home := _home(cmd_name)) is None else command_of(cmd_name, home)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb; what is set for it in the environment and in a file is its defaults."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in CONFIGURED and not ctx.resilient_parsing:  # a shell that completes a line
            ctx.default_map = {name: defaults_for(name, rest)}
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))
        for verbs in _others().values():
            with formatter.section("To compare and to train"):
                formatter.write_dl(list(verbs.items()))


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="refute", message="refute %(version)s")
def cli() -> None:
    """Unit tests that prove Python code wrong, and fixes that prove themselves right."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script."""
    out, err = prepare_streams()
    try:
        status = run(arguments)
        sys.stdout.flush()
        if out.failed is not None and status not in FAILURES:
            status = fail_for(out.failed)
    except (BrokenPipeError, SystemExit):  # click ends the program for it, in words of its own
        if not (out.gone or err.gone):
            raise
        status = PIPE_CLOSED
    except KeyboardInterrupt:  # one more, while the first was told
        status = INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, lambda *_: None)  # the interpreter ends, and is let
        drop_output(out, err)
    gc.freeze()  # the interpreter, which ends, need not look for cycles once more
    sys.exit(status)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status. Errors become one line on stderr."""
    # What is made here by the thousand (syntax trees, outcomes) has no cycles to look for.
    gc.set_threshold(200_000)
    os.environ[Variable.SINCE] = str(time.time())  # see `workspace.environment`
    show_remarks()
    try:
        status = cli.main(arguments, prog_name="refute", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "refute"
        message = error.format_message().rstrip(".")
        return fail(f"{message} (see {path} --help)", BAD_INPUT)
    except BrokenPipeError:
        raise
    except Exception as error:
        return fail_for(error)

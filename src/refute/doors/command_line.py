"""The command line's root: it finds the verb, and turns what happens into an exit status.

Exit status: 0 nothing wrong found or all done, 1 found, 2 usage or bad input, 3 unavailable,
130 interrupted. Bad input is what the caller can fix in the command; unavailable is what the
machine does not give (a model, a sandbox, room on the disk). Results go to stdout, everything else
to stderr; errors are one line. The standard streams may be whatever they are: closed, full, of an
encoding that lacks a character. A verb's module is imported when it is used, and heavy imports are
inside the commands, so that `refute --help` stays fast.
"""

from __future__ import annotations

import gc
import importlib
import io
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from refute.core.starting import Variable
from refute.errors import BAD_INPUT, INTERNAL, UNAVAILABLE, InputError, told
from refute.verbs import VERBS
from refute.verbs.config import CONFIGURED, defaults_for
from refute.verbs.declared import command_of, expanded, no_such_command, starting
from refute.verbs.output import consoles

INTERRUPTED, PIPE_CLOSED = 130, 141
FAILURES = frozenset({BAD_INPUT, UNAVAILABLE, INTERNAL, INTERRUPTED})
"""Of the exit statuses, those that say that there is no result."""


class SafeStream(io.FileIO):
    """A stream that takes everything, also what the disk behind it does not: work continues, and
    what it writes to files is written. The reader of a pipe that has gone ends it as ever."""

    failed: OSError | None = None
    """Reason why something is not there."""
    gone = False
    """There is nobody who reads it."""

    def write(self, data: Any) -> int:
        """As a file does; an error is kept."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self.gone = True
            raise
        except OSError as error:
            self.failed = self.failed or error
            return memoryview(data).nbytes


def prepare_streams() -> tuple[SafeStream, SafeStream]:
    """Make all three usable, and return what is below stdout and stderr.

    A closed one becomes the null device: else the next file that is opened would get its number,
    and what other programs print would go there. What an encoding lacks is written as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    out, err = SafeStream(1, "w", closefd=False), SafeStream(2, "w", closefd=False)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(err, sys.stderr)
    return out, err


def _text(raw: SafeStream, before: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", "utf-8"),
        errors="backslashreplace",
        line_buffering=getattr(before, "line_buffering", False),
        write_through=getattr(before, "write_through", False),
    )


def drop_output(*streams: SafeStream) -> None:
    """Drop output that nobody reads any more, so that Python does not try to write it again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    for raw in streams:
        if raw.gone:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, raw.fileno())
            os.close(null)


def _others() -> dict[str, Mapping[str, str]]:
    """Packages of verbs, as this one, by the name of their module: entry points `refute.verbs`."""
    from refute.core.registry import entries

    found = entries("refute.verbs")
    return {point.module: importlib.import_module(point.module).VERBS for point in found}


def _home(verb: str) -> str | None:
    """The package that has the verb; refute's own cannot be taken by another."""
    if verb in VERBS:
        return "refute.verbs"
    return next((home for home, verbs in _others().items() if verb in verbs), None)


class _Verbs(click.Group):
    """Imports a verb's module only when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *(verb for verbs in _others().values() for verb in verbs)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            os.getcwd()  # of which relative paths, workers and git make everything
        except OSError:
            raise InputError("the current folder is gone: change to another") from None
        return None if (home := _home(cmd_name)) is None else command_of(cmd_name, home)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb; what is set for it in the environment and in a file is its defaults."""
        if args and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise no_such_command(args[0], self.list_commands(ctx))
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
@starting
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
    arguments = expanded(sys.argv[1:] if arguments is None else arguments)
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


def show_remarks() -> None:
    """Print on stderr what the library has to say besides its results (`refute.core.remarks`)."""
    log = logging.getLogger("refute")
    log.setLevel(logging.INFO)  # unless -q or -v says otherwise
    if not any(isinstance(one, _Remarks) for one in log.handlers):
        log.addHandler(_Remarks())
        log.propagate = False


class _Remarks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        line = f"refute: {record.getMessage()}"
        consoles()[1].print(line, markup=False, soft_wrap=True)


def fail_for(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit status for it."""
    if os.environ.get(Variable.TRACEBACK):
        raise error
    status, line = told(error)
    if status == INTERNAL:
        line = f"internal error at {line} (REFUTE_TRACEBACK=1 shows more)"
    return fail(line, status)


def fail(message: str, status: int) -> int:
    """Print the line and return the status, which says it also where nothing can be printed."""
    from refute.sandbox.values import printable

    try:
        click.echo(f"refute: {printable(message)}", err=True)
    except OSError:
        pass
    return status

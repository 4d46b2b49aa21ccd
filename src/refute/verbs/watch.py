"""`refute watch`: what is saved is looked at, by the verbs of the command line.

Each look is a process, `refute hunt FILE --since REF` and the like, which prints to the terminal
that is ours; settings hold for it as they do there. A file that is saved meanwhile ends it, and the
files of both are looked at.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from refute.core.extras import need
from refute.core.parameters import parameter
from refute.core.remarks import remark
from refute.core.starting import start_module
from refute.diffing.trees import is_test
from refute.errors import InputError
from refute.verbs.declared import MethodCommand, offered


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """Options of `watch`."""

    places: tuple[Path, ...] = parameter(
        (), "Files and folders to watch (here).", metavar="[FILE|FOLDER]...", positional=True
    )
    verbs: tuple[Literal["hunt", "debug", "diff"], ...] = parameter(
        (), "Verb to run; repeat it for several, in order (hunt, then diff).", flag="--verb"
    )
    since: str = parameter("HEAD", "Check what differs from this commit.", metavar="REF")
    budget: float | None = parameter(
        None, "Seconds for one function (that of the verb).", metavar="SECONDS", above=0
    )
    python: Path | None = parameter(None, "Interpreter to run on (active, or .venv's).")


@click.command("watch", cls=MethodCommand)
@offered(WatchOptions)
def command(options: WatchOptions) -> int:
    """Check Python files whenever they are saved (needs the extra: refute[watch]).

    `refute hunt` and then `refute diff`, with their settings, check what differs from --since in
    saved files. Outside of a git repository, `hunt` checks whole files. Test files are skipped.
    Ctrl-C ends it, with exit status 0.
    """
    need("watch", "refute watch")
    from refute.diffing.revisions import commit_of
    from refute.workspace.snapshot import checkout_root

    places = options.places or (Path(),)
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or folder")
    root: Path | None = None
    try:
        root = checkout_root(places[0])
    except InputError:
        if "diff" in options.verbs:
            raise
    else:
        commit_of(root, options.since)
    given = {"--budget": options.budget, "--python": options.python}
    looks = Looks(
        verbs=options.verbs or (("hunt",) if root is None else ("hunt", "diff")),
        since=options.since,
        root=root,
        options=tuple(f"{flag}={value}" for flag, value in given.items() if value is not None),
    )
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_watch([place.resolve() for place in places], looks))
    return 0


GRACE = 20.0
"""Seconds for a look to end in good order, with its sandboxes."""
_SETTLED = 50
"""Milliseconds without a change until what was saved is taken as whole."""


@dataclass(frozen=True, slots=True)
class Looks:
    """Runs that are started for changed files."""

    verbs: tuple[str, ...]
    """`hunt`, `debug` and `diff`."""
    since: str
    """The commit that the files are compared with."""
    root: Path | None
    """Of the checkout; None: there is none, and nothing to compare with."""
    options: tuple[str, ...] = ()
    """Of every verb."""

    def commands(self, files: Sequence[str]) -> Iterator[list[str]]:
        """The arguments of `refute`, in the order of the verbs."""
        for verb in self.verbs:
            if verb == "diff":
                only = [f"--only={file}" for file in files]
                yield [verb, self.since, f"-C{self.root}", *only, *self.options]
            else:
                since = [] if self.root is None else [f"--since={self.since}"]
                yield [verb, *since, *self.options, "--", *files]


async def _watch(places: Sequence[Path], looks: Looks) -> None:
    """Look at what is saved in files and folders, until Ctrl-C or SIGTERM. With a commit to compare
    with, files that differ from it already come first."""
    import watchfiles  # of the extra

    python = watchfiles.PythonFilter()  # outside of environments, caches and hidden folders

    def shown(change: watchfiles.Change, path: str) -> bool:
        return python(change, path) and not is_test(Path(path).name)

    open_files = {str(place) for place in places} if looks.root else set[str]()
    look = _begun(looks, open_files)
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async for changes in watchfiles.awatch(
            *places, watch_filter=shown, step=_SETTLED, raise_interrupt=False
        ):
            if look.done():
                open_files = set()
            await _ended(look)
            open_files |= {path for _, path in changes}
            look = _begun(looks, open_files)
    finally:
        await _ended(look)


def _begun(looks: Looks, paths: set[str]) -> asyncio.Task[None]:
    return asyncio.create_task(_look(looks, sorted(paths)))


async def _ended(look: asyncio.Task[None]) -> None:
    look.cancel()
    await asyncio.wait([look])


async def _look(looks: Looks, paths: Sequence[str]) -> None:
    there = [os.path.relpath(path) for path in paths if os.path.exists(path)]
    if there:
        remark([f"looking at {', '.join(there)}"])
    for command in looks.commands(there) if there else ():
        await _run(command)
    remark(["waiting for changes; Ctrl-C ends this"])


async def _run(command: Sequence[str]) -> None:
    """One verb, to its end; cancelled, it is ended as by Ctrl-C."""
    process = await asyncio.create_subprocess_exec(
        *start_module("refute", *command),
        stdin=asyncio.subprocess.DEVNULL,
        process_group=0,  # the terminal's Ctrl-C is not for it
    )
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            try:
                await asyncio.wait_for(process.wait(), GRACE)
            except TimeoutError:
                process.kill()

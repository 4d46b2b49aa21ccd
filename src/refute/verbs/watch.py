"""`refute watch`: looks at what is saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from refute.core.extras import need
from refute.core.parameters import parameter
from refute.core.remarks import remark
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
    from refute.doors.watching import Looks, watch
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
    watch([place.resolve() for place in places], looks, lambda line: remark([line]))
    return 0

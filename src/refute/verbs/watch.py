"""`refute watch`: looks at what is saved."""

from __future__ import annotations

from pathlib import Path

import click

from refute.core.extras import need
from refute.core.remarks import remark
from refute.errors import InputError
from refute.verbs.declared import FILE
from refute.verbs.options import python_option


@click.command("watch")
@click.argument("places", metavar="[FILE|FOLDER]...", nargs=-1, type=FILE)
@click.option(
    "--verb",
    "verbs",
    multiple=True,
    type=click.Choice(["hunt", "debug", "diff"]),
    help="Verb to run; repeat it for several, in order (hunt, then diff).",
)
@click.option(
    "--since",
    metavar="REF",
    default="HEAD",
    show_default=True,
    help="Check what differs from this commit.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Seconds for one function (that of the verb).",
)
@python_option
def command(
    places: tuple[Path, ...],
    verbs: tuple[str, ...],
    since: str,
    budget: float | None,
    python: Path | None,
) -> int:
    """Check Python files whenever they are saved (needs the extra: refute[watch]).

    `refute hunt` and then `refute diff`, with their settings, check what differs from --since in
    saved files. Outside of a git repository, `hunt` checks whole files. Test files are skipped.
    Ctrl-C ends it, with exit status 0.
    """
    need("watch", "refute watch")
    from refute.diffing.revisions import commit_of
    from refute.doors.watching import Looks, watch
    from refute.workspace.snapshot import checkout_root

    places = places or (Path(),)
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or folder")
    root: Path | None = None
    try:
        root = checkout_root(places[0])
    except InputError:
        if "diff" in verbs:
            raise
    else:
        commit_of(root, since)
    given = {"--budget": budget, "--python": python}
    looks = Looks(
        verbs=verbs or (("hunt",) if root is None else ("hunt", "diff")),
        since=since,
        root=root,
        options=tuple(f"{flag}={value}" for flag, value in given.items() if value is not None),
    )
    watch([place.resolve() for place in places], looks, lambda line: remark([line]))
    return 0

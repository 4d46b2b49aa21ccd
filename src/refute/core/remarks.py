"""Remarks besides the results: one line each, to the logger `refute`.

The command line prints them on stderr; in a program they go where its logging sends them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refute.sandbox import Sandbox


LOG = logging.getLogger("refute")


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def remark(lines: Iterable[str]) -> None:
    """Say each line."""
    for line in lines:
        LOG.info("%s", line)


def warn_of_gaps(box: Sandbox) -> None:
    """Say in one line what the sandbox does not protect from on this machine."""
    open_here = gaps(box.protections())
    if open_here:
        what = ", ".join(open_here)
        LOG.warning("not fully isolated here: code under test can %s; see refute doctor", what)


# -- missing protections ---------------------------------------------------------------------------


def gaps(held: Mapping[str, bool]) -> list[str]:
    """List what a program may do that it should not, given `Sandbox.protections()`."""
    walls, calls, files = held["namespaces"], held["seccomp"], held["landlock"]
    found = []
    if not walls and not calls:
        found += ["use the network", "start and signal processes"]
    if not walls and not files:
        found.append("read and write your files")
    elif not walls:
        found.append("see the names of your files")
    if not held["unprivileged user"] and not (walls and calls):
        found.append("do so as root")
    return found

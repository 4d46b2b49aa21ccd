"""What refute has to say besides its results: one line each, to the logger `refute`.

The command line prints them on stderr; in a program they go where its logging sends them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
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
    from refute.sandbox.missing_protections import gaps

    open_here = gaps(box.protections())
    if open_here:
        what = ", ".join(open_here)
        LOG.warning("not fully isolated here: code under test can %s; see refute doctor", what)

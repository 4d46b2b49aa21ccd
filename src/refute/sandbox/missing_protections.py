"""What is not protected on this machine, in words (see `docs/sandbox.md`, levels)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["gaps"]


def gaps(held: Mapping[str, bool]) -> list[str]:
    """What a program may do that it should not, given `Sandbox.protections()`; empty: nothing."""
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

"""Patches applied for a while: what is run with them, and back to the commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from refute.errors import PatchRejected
from refute.workspace.contract import Workspace


@contextmanager
def applied(workspace: Workspace, *patches: str) -> Iterator[Workspace]:
    """The workspace with the patches applied to the commit, one after another; at the commit again
    afterwards. Raises `PatchRejected` where one does not apply."""
    workspace.reset()
    try:
        for patch in patches:
            workspace.apply(patch)
        yield workspace
    finally:
        workspace.reset()


def rejection(workspace: Workspace, *patches: str) -> str:
    """Why the patches do not apply, one after another; "" where they do."""
    try:
        with applied(workspace, *patches):
            return ""
    except PatchRejected as error:
        return str(error)

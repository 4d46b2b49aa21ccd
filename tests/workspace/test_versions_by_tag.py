"""The version that a build would read from tags, for a tree without history."""

from __future__ import annotations

from typing import cast

import pytest

from refute.workspace.repositories import Clone, GitFailed, version_at


class Tagged:
    """A clone whose `git describe` says this."""

    def __init__(self, told: str) -> None:
        self._told = told

    def git(self, *arguments: str) -> bytes:
        assert arguments[0] == "describe"
        if not self._told:
            raise GitFailed("no names found")
        return self._told.encode() + b"\n"


def clone(told: str) -> Clone:
    return cast(Clone, Tagged(told))


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("5.2.0-0-gabc1234", "5.2.0"),
        ("5.2.0-17-gabc1234", "5.2.1.dev17"),
        ("v0.16-3-gabc1234", "0.17.dev3"),
        ("sympy-1.9-3-gabc1234", "1.10.dev3"),
        ("6.0.0rc1-4-gabc1234", "6.0.0.dev4"),
        ("6.0.0rc1-0-gabc1234", "6.0.0.dev0"),
        ("release-2-gabc1234", ""),
        ("", ""),
    ],
)
def test_versions(told: str, version: str) -> None:
    assert version_at(clone(told), "c") == version

"""What is said about a machine that cannot isolate."""

from __future__ import annotations

from refute.core.remarks import gaps

NAMES = ("namespaces", "unprivileged user", "landlock", "seccomp")


def test_full_isolation_has_no_gap() -> None:
    assert gaps(dict.fromkeys(NAMES, True)) == []


def test_a_plain_container_shows_names_only() -> None:
    assert gaps(dict.fromkeys(NAMES, True) | {"namespaces": False}) == [
        "see the names of your files"
    ]


def test_nothing_but_limits_leaves_all_open() -> None:
    found = gaps(dict.fromkeys(NAMES, False))
    assert "use the network" in found
    assert "read and write your files" in found
    assert found[-1] == "do so as root"

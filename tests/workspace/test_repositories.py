"""Clones: found where people keep them, read only, one commit taken out of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import pytest

from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.repositories import Clone, GitFailed, check_out, find_clone, version_at

from .shops import FILES, git, make_repository


@pytest.mark.parametrize("form", ["owner__shop", "owner/shop", "shop", "owner__shop.git"])
def test_clones_in_a_folder(tmp_path: Path, form: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    first, later = make_repository(source)
    target = tmp_path / "repos" / form
    target.parent.mkdir(parents=True)
    if form.endswith(".git") or "/" in form:
        git(tmp_path, "clone", "-q", "--bare", str(source), str(target))
    else:
        target.symlink_to(source)
    clone = find_clone("owner/shop", tmp_path / "repos")
    assert clone.resolve(first[:12]) == first
    assert clone.resolve("") == later
    for commit in ("0" * 40, "nothing", "v2:shop"):
        with pytest.raises(WorkspaceUnavailable, match="owner/shop"):
            clone.resolve(commit)
    with pytest.raises(InputError):
        clone.resolve("--upload-pack=evil")
    before = sorted(p.relative_to(source) for p in source.rglob("*"))
    check_out(clone, first, tmp_path / "tree")
    tracked = git(tmp_path / "tree", "ls-files").split()
    assert tracked == sorted(FILES)
    assert git(tmp_path / "tree", "log", "--all", "--format=%H %s") == f"{first} the base"
    assert git(tmp_path / "tree", "status", "--short") == ""
    when = int(git(source, "show", "-s", "--format=%ct", first))
    assert (tmp_path / "tree" / "README.md").stat().st_mtime == when
    assert sorted(p.relative_to(source) for p in source.rglob("*")) == before


def test_a_commit_of_just_now_is_older_than_what_changes_it(tmp_path: Path) -> None:
    """Byte code is told by its source's time in seconds, and its size."""
    source = tmp_path / "source"
    source.mkdir()
    make_repository(source)
    (source / "README.md").write_text("of a clock that goes wrong\n")
    git(source, "add", "README.md")
    git(source, "commit", "-qm", "late", at=int(time.time()) + 3600)
    check_out(find_clone(str(source)), git(source, "rev-parse", "HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "README.md").stat().st_mtime < int(time.time())
    assert git(tmp_path / "tree", "status", "--short") == ""


def test_what_cannot_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUTE_REPOS", raising=False)
    with pytest.raises(WorkspaceUnavailable, match="set REFUTE_REPOS"):
        find_clone("owner/name")
    with pytest.raises(WorkspaceUnavailable, match="git clone --bare"):
        find_clone("owner/name", tmp_path)
    with pytest.raises(InputError, match="not a git repository"):
        find_clone(str(tmp_path))


def test_hooks_and_filters_of_a_clone_do_not_run(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    first, _ = make_repository(source)
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    evil.chmod(0o755)
    for name in ("core.fsmonitor", "filter.f.smudge", "uploadpack.packObjectsHook"):
        git(source, "config", name, str(evil))
    (source / ".git" / "info" / "attributes").write_text("* filter=f\n")
    (source / ".git" / "hooks" / "post-checkout").write_bytes(evil.read_bytes())
    (source / ".git" / "hooks" / "post-checkout").chmod(0o755)
    check_out(find_clone(str(source)), first, tmp_path / "tree")
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "tree" / "README.md").read_text() == "A shop.\n"


@pytest.mark.parametrize("kind", ["commit", "tree", "blob"])
def test_replaced_objects_of_a_clone_are_not_taken(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    first, later = make_repository(source)
    ending = {"commit": "", "tree": "^{tree}", "blob": ":shop/cart.py"}[kind]
    old, new = (git(source, "rev-parse", one + ending) for one in (first, later))
    git(source, "replace", old, new)
    check_out(find_clone(str(source)), first, tmp_path / "tree")
    assert (tmp_path / "tree" / "shop" / "cart.py").read_text() == FILES["shop/cart.py"]


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

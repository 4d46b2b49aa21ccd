"""Trees and environments that are sent to another machine as a file."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from refute.core.storage import ensure
from refute.errors import InputError
from refute.workspace.contract import Base, Recipe
from refute_lab.swt.archives import pack, unpack


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def base(cache: Path) -> Base:
    """A tree and an environment such as `prepare` makes."""

    def environment(folder: Path) -> dict[str, object]:
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to(os.path.realpath(shutil.which("python3") or ""))
        return {"site": str(folder)}

    def tree(folder: Path) -> dict[str, object]:
        (folder / "shop").mkdir(parents=True)
        (folder / "shop" / "a.py").write_text("a = 1\n")
        os.utime(folder / "shop" / "a.py", (1, 1))
        return {"tree": "shop"}

    ensure(cache / "environments" / "e1", environment)
    ensure(cache / "trees" / "t1", tree)
    python = cache / "environments" / "e1" / "bin" / "python"
    return Base("o/shop", "0", Recipe(), cache / "trees" / "t1" / "shop", python, (), "k")


@pytest.mark.parametrize("name", ["it.tar", "it.tar.gz"])
def test_there_and_back(cache: Path, tmp_path: Path, name: str) -> None:
    made = base(cache)
    assert pack([made, made], tmp_path / name) == 2
    assert unpack(tmp_path / name) == 0, "all of it is there"
    shutil.rmtree(cache)
    assert unpack(tmp_path / name) == 2
    assert (made.tree / "a.py").stat().st_mtime == 1, "byte code is told by it"
    assert os.access(made.python, os.X_OK)

    def never(folder: Path) -> dict[str, object]:
        raise AssertionError("built again")

    assert ensure(cache / "trees" / "t1", never) == {"tree": "shop"}
    assert {path.name for path in cache.iterdir()} == {"environments", "trees"}


def test_what_is_no_archive_of_this_machine(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "it.tar"
    pack([base(cache)], file)
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "other"))
    with pytest.raises(InputError, match="is for the cache"):
        unpack(file)
    file.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not an archive"):
        unpack(file)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        unpack(tmp_path / "none")


@pytest.mark.parametrize("attack", ["up", "elsewhere", "through", "onto", "hard"])
def test_an_archive_writes_nowhere_else(cache: Path, tmp_path: Path, attack: str) -> None:
    file = tmp_path / "it.tar"
    pack([base(cache)], file)
    names = {"up": "trees/../../../hit", "elsewhere": "samples/hit", "through": "trees/x/hit"}
    links = {"through": tmp_path, "onto": tmp_path / "hit", "hard": "../archive.secret"}
    with tarfile.open(file, "a") as tar:
        if attack in links:
            link = tarfile.TarInfo("trees/x")
            link.type = tarfile.LNKTYPE if attack == "hard" else tarfile.SYMTYPE
            link.linkname = str(links[attack])
            tar.addfile(link)
        member = tarfile.TarInfo(names.get(attack, "trees/x"))
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InputError):
        unpack(file)
    assert not list(tmp_path.rglob("hit"))

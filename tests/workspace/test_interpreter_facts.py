"""The interpreter of a checkout: found, asked in a jail, and never believed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.environment import existing_environment
from refute.workspace.factory import open_local, prepare
from refute.workspace.infer import infer_recipe, own_interpreter
from refute.workspace.snapshot import snapshot

from .shops import git, make_repository

REAL = Path(os.path.realpath(sys.executable))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "shop"
    path.mkdir()
    make_repository(path)
    return path


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own, that no environment has any business with."""
    path = tmp_path / "home" / ".ssh"
    path.mkdir(parents=True)
    (path / "id_rsa").write_text("PRIVATE KEY")
    monkeypatch.setenv("HOME", str(path.parent))
    yield path
    assert os.listdir(path) == ["id_rsa"]


def script(folder: Path, body: str) -> Path:
    """An environment whose interpreter is a program of the repository."""
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    (folder / "pyvenv.cfg").write_text(f"home = {REAL.parent}\n")
    return program


def real(folder: Path) -> Path:
    """An environment as `python -m venv` makes it."""
    made = [str(REAL), "-I", "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(made, check=True)
    return folder / "bin" / "python"


def packages(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python*/site-packages"))


def test_a_program_of_the_repository_is_not_run_here(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = script(checkout / ".venv", f'touch {ran} 2>&-; exec {REAL} "$@"')
    git(checkout, "add", "-fA")
    with pytest.raises(InputError, match=r"\.venv is part of the repository.*--python"):
        infer_recipe(checkout)
    recipe = infer_recipe(checkout, interpreter=program)  # its user says so
    folder, commit = snapshot(checkout)
    base = prepare(str(folder), commit, recipe, checkout=checkout)
    with open_local(base) as workspace:
        assert workspace.run("python -c 'print(1 + 1)'").output == "2\n"
    assert not ran.exists()


def test_path_files_of_the_repository_are_not_run_here(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    python = real(checkout / ".venv")
    (packages(python) / "x.pth").write_text(f"import os; os.close(os.open({str(ran)!r}, 0o101))\n")
    (packages(python) / "sitecustomize.py").write_text(f"open({str(ran)!r}, 'w')\n")
    assert own_interpreter(checkout) == python  # git does not know it
    environment = existing_environment(python, checkout)
    assert not ran.exists()
    assert environment.version == sys.version_info[:2]
    assert environment.sites[0] == str(packages(python))
    assert str(checkout / ".venv") in environment.readable


@pytest.mark.parametrize("what", ["folder", "link", "one file", "venv"])
def test_an_environment_that_git_tracks_is_not_taken(
    checkout: Path, tmp_path: Path, what: str
) -> None:
    name = "venv" if what == "venv" else ".venv"
    if what == "link":
        real(tmp_path / "elsewhere")
        (checkout / name).symlink_to(tmp_path / "elsewhere")
        git(checkout, "add", "-f", name)
    else:
        real(checkout / name)
        git(checkout, "add", "-f", f"{name}/pyvenv.cfg" if what == "one file" else name)
    with pytest.raises(InputError, match="part of the repository"):
        own_interpreter(checkout)


def test_the_active_environment_comes_first(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(checkout / ".venv", "exit 1")
    git(checkout, "add", "-fA")
    python = real(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert own_interpreter(checkout) == python


ANSWERS = (
    '{"version": [3, 11], "sites": ["%s"], "readable": ["%s"]}',
    '{"version": [3, 11], "sites": ["%s", 1, null, "x"], "prefix": "/"}',
    '{"version": [3, 11], "sites": []}',
)
NONSENSE = (
    "echo", "exit 3", "echo '{}'", "echo '[3, 11]'",
    "echo '{\"version\": [1e999, 1], \"sites\": []}'",
    "echo '{\"version\": [3, 99999999999999999999], \"sites\": []}'",
    "head -c 100000 /dev/zero | tr '\\0' '['", "head -c 100000000 /dev/zero", "kill -9 $$",
    "echo '{\"version\": [true, false], \"sites\": []}'",
)  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_it_answers_makes_nothing_readable(checkout: Path, secret: Path, answer: str) -> None:
    text = answer.replace("%s", str(secret))
    python = script(checkout / ".venv", f"echo '{text}'")
    environment = existing_environment(python, checkout)
    assert str(secret) not in environment.sites
    assert not any(f"{secret}/".startswith(f"{path}/") for path in environment.readable)


@pytest.mark.parametrize("body", NONSENSE)
def test_nonsense_is_told_in_one_line(checkout: Path, body: str) -> None:
    with pytest.raises(WorkspaceUnavailable) as told:
        existing_environment(script(checkout / ".venv", body), checkout)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("way", ["home", "path file", "relative path file", "link", "bin link"])
def test_files_of_an_environment_make_nothing_else_readable(
    checkout: Path, secret: Path, tmp_path: Path, way: str
) -> None:
    home = secret.parent
    environment = checkout / ".venv"
    python = real(environment)
    if way == "home":
        (environment / "pyvenv.cfg").write_text(f"home = {home}/bin\nhome = {secret}/bin\n")
    elif way == "path file":
        (packages(python) / "x.pth").write_text(f"{secret}\n{home}\n/\n/etc\n")
    elif way == "relative path file":
        up = os.path.relpath(secret, packages(python))
        (packages(python) / "x.pth").write_text(f"{up}\n")
    else:
        (home / "bin").mkdir()
        (home / "bin" / "python").symlink_to(REAL)
        python.parent.rename(tmp_path / "old")
        if way == "bin link":
            python.parent.symlink_to(home / "bin")
        else:
            environment.rename(tmp_path / "old environment")
            environment.symlink_to(home)
    try:
        found = existing_environment(python, checkout)
    except WorkspaceUnavailable:
        return
    for path in found.readable:
        shown = os.path.realpath(path)
        assert not f"{secret}/".startswith(f"{shown}/"), path
        assert shown != "/etc"


def test_path_files_of_an_environment_of_the_users_count(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    python = real(tmp_path / "environment")
    (packages(python) / "x.pth").write_text(f"# other\n{other}\n{tmp_path}/nothing\nimport os\n")
    assert str(other) in existing_environment(python, checkout).readable


def test_a_package_that_is_installed_in_editable_mode_is_found_from_above(
    checkout: Path, tmp_path: Path
) -> None:
    """Its folder is not on the path: a `textwrap.py` in it is not Python's."""
    (checkout / "shop" / "textwrap.py").write_text("from . import cart\n")
    python = real(tmp_path / "environment")
    finder = packages(python) / "__editable___shop_1_finder.py"
    finder.write_text(f"MAPPING: dict[str, str] = {{'shop': {str(checkout / 'shop')!r}}}\n")
    folder, commit = snapshot(checkout)
    recipe = infer_recipe(checkout, interpreter=python)
    with open_local(prepare(str(folder), commit, recipe, checkout=checkout)) as workspace:
        done = workspace.run("python -c 'import shop.cart, textwrap; print(textwrap.dedent)'")
    assert (done.status, "function dedent" in done.output) == (0, True), done.output


@pytest.mark.parametrize("kind", ["device", "pipe", "large", "folder"])
@pytest.mark.parametrize("name", ["pytest.ini", "setup.cfg", "tests/runtests.py", "conftest.py"])
def test_odd_files_of_a_repository_are_not_read(checkout: Path, name: str, kind: str) -> None:
    path = checkout / name
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.write(b"pytest")
            file.truncate(1 << 33)
    start = time.monotonic()
    assert infer_recipe(checkout, interpreter=REAL).runner in ("pytest", "unittest")
    assert time.monotonic() - start < 5


def test_the_command_line_runs_nothing_of_a_checkout(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script(checkout / ".venv", f'touch {ran} 2>&-; exec {REAL} "$@"')
    issue = tmp_path / "issue.md"
    issue.write_text("total([10], 20) is -10\n\n```python\nfrom shop.cart import total\n```\n")
    git(checkout, "add", "-fA")
    command = [sys.executable, "-m", "refute", "reproduce", str(issue), "-C", str(checkout)]
    runs_tests = subprocess.run([REAL, "-c", "import pytest"], capture_output=True).returncode == 0
    found = (0, 1) if runs_tests else 3  # no pytest in the machine's own: unavailable
    for words, status in (((), 2), (("--python", str(checkout / ".venv/bin/python")), found)):
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=120)
        assert done.returncode in (status if isinstance(status, tuple) else (status,)), done.stderr
        assert "Traceback" not in done.stderr
    assert not ran.exists()

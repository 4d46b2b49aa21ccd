"""Builds what is published, and checks it: the same bytes twice, its content, that it installs.

    python benchmarks/distribution.py              # into a temporary folder; prints a table
    python benchmarks/distribution.py -o dist      # keeps what was built

Wheel and sdist are built twice from one tree and must be equal byte for byte. The metadata must
pass `twine check`. The wheel must hold every file of `src` and nothing else. It is then
installed, without any extra, into an empty environment of each interpreter from 3.11 on that is
found, where `refute hunt` must find the faults of `examples/shipping.py` and `refute debug` fix
them; the table shows seconds (CPU seconds behind them) and megabytes of that installation.
`uv tool run --from WHEEL` must start it. Needs `uv` and an index of packages.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
BESIDE = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", ".gitignore"}
"""What the sdist has besides the package."""


def run(*command: str | Path, cwd: Path, ends: int = 0) -> str:
    """Run a command, which must end with that status, and return what it printed."""
    process = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if process.returncode != ends:
        shown = " ".join(str(part) for part in command)
        raise SystemExit(f"{shown}: status {process.returncode}\n{process.stdout}")
    return process.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Build both; (wheel, sdist)."""
    run("uv", "build", "--quiet", "--out-dir", folder, ROOT, cwd=ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def sources() -> set[str]:
    """The files of the package that git knows, as paths below `src`."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "src", cwd=ROOT)
    return {name.removeprefix("src/") for name in listed.splitlines() if (ROOT / name).is_file()}


def misplaced(wheel: Path, sdist: Path) -> list[str]:
    """What is missing or too much, one line each."""
    with zipfile.ZipFile(wheel) as packed:
        inside = {name for name in packed.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    beside = {f"src/{name}" for name in sources()} | BESIDE | {"PKG-INFO"}
    return [
        *(f"not in the wheel: {name}" for name in sorted(sources() - inside)),
        *(f"too much in the wheel: {name}" for name in sorted(inside - sources())),
        *(f"not in the sdist: {name}" for name in sorted(beside - names)),
        *(f"too much in the sdist: {name}" for name in sorted(names - beside)),
    ]


def interpreters() -> Iterator[tuple[str, str]]:
    """(version, path) of those that are here."""
    for version in VERSIONS:
        command = ["uv", "python", "find", "--offline", "--no-project", version]
        found = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        paths = [found.stdout.strip()] if found.returncode == 0 else []
        paths += map(str, Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
        for path in paths[:1]:
            yield version, path


def megabytes(folder: Path) -> tuple[float, float]:
    """Of a folder's files: all, and without byte code."""
    sizes = [(path.suffix, path.stat().st_size) for path in folder.rglob("*") if path.is_file()]
    whole = sum(size for _, size in sizes)
    return whole / 1e6, (whole - sum(size for suffix, size in sizes if suffix == ".pyc")) / 1e6


def cpu() -> float:
    """CPU seconds of the programs that were started and have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def install(wheel: Path, python: str, folder: Path) -> str:
    """Install it into an empty environment and use it; a row of the table."""
    shutil.rmtree(folder, ignore_errors=True)
    run("uv", "venv", "--quiet", "--no-project", "--python", python, folder, cwd=folder.parent)
    (site,) = folder.glob("lib/python*/site-packages")
    empty = megabytes(site)
    start, before = time.monotonic(), cpu()
    compiled = ("--compile-bytecode", "--python", folder / "bin" / "python")
    run("uv", "pip", "install", "--quiet", *compiled, wheel, cwd=folder.parent)
    taken, spent = time.monotonic() - start, cpu() - before
    whole, bare = (now - then for now, then in zip(megabytes(site), empty, strict=True))
    refute = folder / "bin" / "refute"
    example = shutil.copy(ROOT / "examples" / "shipping.py", folder)
    run(refute, "hunt", example, cwd=folder, ends=1)
    run(refute, "debug", example, "--write", cwd=folder)
    run(refute, "hunt", example, cwd=folder)
    return f"{taken:.1f} ({spent:.1f}) | {bare:.1f} | {whole:.1f}"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("-o", "--output", type=Path, help="keep wheel and sdist here")
    output = options.parse_args().output
    with tempfile.TemporaryDirectory(prefix="refute-wheel-") as name:
        folder = Path(name)
        wheel, sdist = build(folder / "dist")
        again = build(folder / "again")
        for one, other in zip((wheel, sdist), again, strict=True):
            if one.read_bytes() != other.read_bytes():
                raise SystemExit(f"{one.name}: two builds differ")
        if wrong := misplaced(wheel, sdist):
            raise SystemExit("\n".join(wrong))
        run("uv", "tool", "run", "twine", "check", "--strict", wheel, sdist, cwd=folder)
        run("uv", "tool", "run", "--from", wheel, "refute", "--help", cwd=folder)
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in again)
        print(f"{sizes}; two builds equal, content and metadata right, `uv tool run` starts it.\n")
        print("| Python | seconds to install (CPU) | MB | MB with byte code |\n|---|---|---|---|")
        for version, python in interpreters():
            print(f"| {version} | {install(wheel, python, folder / 'env')} |", flush=True)
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            for path in (wheel, sdist):
                shutil.copy(path, output)


if __name__ == "__main__":
    sys.exit(main())

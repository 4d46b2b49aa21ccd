"""What is published: the wheel is whole and works with the core's packages alone, offline."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from .environments import with_packages

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

from distribution import misplaced  # noqa: E402

CORE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def closure(requirements: list[str]) -> Iterator[str]:
    """The packages that are installed with the requirements."""
    for requirement in requirements:
        if "extra ==" not in requirement and "python_version <" not in requirement:
            name = re.split(r"[^\w-]", requirement)[0]
            yield name
            yield from closure(distribution(name).requires or [])


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and of what is installed here the core's packages alone."""
    folder = tmp_path_factory.mktemp("distribution")
    dist, home = folder / "dist", folder / "env"
    command = [sys.executable, "-m", "hatchling", "build", "-d", dist]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert misplaced(wheel, sdist) == []
    with_packages(home, set(closure(CORE)))
    uv = Path(sys.executable).with_name("uv")
    offline = ("pip", "install", "--offline", "--no-deps", "--python", home / "bin" / "python")
    subprocess.run([uv, *offline, wheel], cwd=folder, check=True, capture_output=True)
    return home


def test_the_core_hunts_and_debugs_without_any_extra(environment: Path) -> None:
    source = ROOT / "examples" / "shipping.py"

    def run(verb: str) -> subprocess.CompletedProcess[str]:
        command = [environment / "bin" / "refute", verb, source]
        return subprocess.run(command, cwd=environment, capture_output=True, text=True, check=False)

    hunted, debugged = run("hunt"), run("debug")
    assert (hunted.returncode, hunted.stderr.startswith("refute: 2 wrong\n")) == (1, True)
    assert (debugged.returncode, debugged.stderr.startswith("refute: 2 fixed\n")) == (0, True)
    missing = subprocess.run([environment / "bin" / "python", "-c", "import numpy"], check=False)
    assert missing.returncode == 1

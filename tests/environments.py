"""Environments for the projects of tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

__all__ = ["with_packages"]


def with_packages(folder: Path, names: set[str]) -> Path:
    """An environment at `folder` that has, of the packages installed here, those of `names`."""
    command = [sys.executable, "-m", "venv", "--without-pip", folder]
    subprocess.run(command, check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in names:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            found = Path(str(package.locate_file(top)))
            if found.is_dir():
                shutil.copytree(found, site / top, copy_function=_link)
            else:
                _link(str(found), str(site / top))
    return folder


def _link(source: str, target: str) -> None:
    """Or a copy, where the disk is another."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

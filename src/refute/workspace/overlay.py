"""The layer of a tree: a small environment on top of a shared one that holds the repository itself.

`pip install -e` writes into the environment (a path file, metadata, scripts). Done in a layer that
sees the shared environment's packages, two trees can share the latter.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from refute.workspace.environment import Environment

__all__ = ["make_overlay", "overlay_python"]


def overlay_python(folder: Path) -> Path:
    """The interpreter of the layer at `folder`."""
    return folder / "bin" / "python"


def make_overlay(environment: Environment, folder: Path) -> Path:
    """Make an environment at `folder` that sees all of `environment`; returns its site folder.

    The shared environment's scripts are there too, started with the layer's interpreter.
    """
    shared = environment.python.parent.parent
    interpreter = os.path.realpath(environment.python)
    (folder / "bin").mkdir(parents=True)
    for name in ("python", "python3", "python{}.{}".format(*environment.version)):
        os.symlink(interpreter, folder / "bin" / name)
    config = (shared / "pyvenv.cfg").read_text()
    (folder / "pyvenv.cfg").write_text(config)
    site = folder / os.path.relpath(environment.sites[0], shared)
    site.mkdir(parents=True)
    (site / "_shared_environment.pth").write_text(
        f"import site; site.addsitedir({environment.sites[0]!r})\n"
    )
    head = f"#!{shared}/bin/python".encode()
    for script in sorted((shared / "bin").iterdir()):
        if script.is_symlink() or not script.is_file() or (folder / "bin" / script.name).exists():
            continue
        data = script.read_bytes()
        if data.startswith(head):
            rest = data.split(b"\n", 1)[1]
            new = folder / "bin" / script.name
            new.write_bytes(f"#!{folder}/bin/python\n".encode() + rest)
            shutil.copymode(script, new)
    return site

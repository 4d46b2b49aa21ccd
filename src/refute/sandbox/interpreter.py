"""The interpreter that a sandbox's server runs on: this one, or a project's."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from refute.core.pathfiles import may_be_shown, read_path_files

__all__ = ["OLDEST", "Interpreter", "this_interpreter"]

OLDEST = (3, 8)
"""The server and what it loads are written for this version of Python and newer ones."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program, and the folders of packages that go with it."""

    program: str
    """What is started, outside of every sandbox until it confines itself: never a project's own
    file."""
    version: tuple[int, int]
    name: str
    """What people know it as: the interpreter of a virtual environment, say."""
    site: tuple[str, ...]
    """Folders put behind its own on `sys.path`."""
    code: tuple[str, ...]
    """Lines of path files that install finders; run inside, when an import finds nothing."""
    readable: tuple[str, ...]
    """What programs must be able to read, besides `site` and the machine's libraries."""
    own: bool = False
    """It is the one that runs this: what is installed is trusted, code objects are valid."""


def this_interpreter() -> Interpreter:
    """The interpreter that runs this, with what is installed for it."""
    paths = sysconfig.get_paths()
    site = [paths["purelib"], paths["platlib"]]
    numpy = importlib.util.find_spec("numpy")
    if numpy is not None and numpy.origin:
        site.append(str(Path(numpy.origin).parent.parent))
    site = [path for path in dict.fromkeys(site) if os.path.isdir(path)]
    files = read_path_files(site)
    added = [path for path in files.folders if may_be_shown(path)]
    mapped = [path for path in files.mapped if may_be_shown(path)]
    library = [paths["stdlib"], paths["platstdlib"], sysconfig.get_config_var("LIBDIR") or ""]
    return Interpreter(
        program=sys.executable,
        version=sys.version_info[:2],
        name=sys.executable,
        site=tuple(dict.fromkeys([*site, *added])),
        code=files.code,
        readable=(*library, sys.base_prefix + "/lib", *mapped),
        own=True,
    )

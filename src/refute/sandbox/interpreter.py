"""The interpreter that a sandbox's server runs on, and path files (`*.pth`) read as data.

A line of a path file names a folder, or is a line of code that installs a finder: an editable
install is the one or the other. The finders of setuptools map packages to folders. A line that
only adds a folder of packages (`import site; site.addsitedir('...')`, the layers of environments)
is read as one, with that folder's own path files. Nothing of them is executed here.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from refute.core.storage import read_file
from refute.source.syntax import readable_module

_LARGEST = 1 << 20
_MOST_PLACES = 50


@dataclass(frozen=True, slots=True)
class PathFiles:
    """Content of the path files of some folders."""

    folders: tuple[str, ...] = ()
    """Folders that they add to the path."""
    code: tuple[str, ...] = ()
    """Their lines of code, which Python runs when it starts."""
    mapped: tuple[str, ...] = ()
    """Folders of the packages that setuptools' finders know."""


def read_path_files(places: Iterable[str]) -> PathFiles:
    """Read the path files of folders of packages, in the order in which `site` does."""
    folders: dict[str, None] = {}
    code: dict[str, None] = {}
    mapped: dict[str, None] = {}
    todo, seen = list(places)[::-1], set[str]()
    while todo:
        place = todo.pop()
        if place in seen or len(seen) == _MOST_PLACES:
            continue
        seen.add(place)
        for name, text in _texts(place):
            if name.endswith(".py"):
                mapped.update(dict.fromkeys(_mapped(text)))
                continue
            for line in text.splitlines():
                if line.startswith(("import ", "import\t")):
                    added = _site_added(line)
                    if not added:
                        code[line] = None
                    elif os.path.isdir(added):
                        folders[added] = None
                        todo.append(added)
                elif line.strip() and not line.startswith("#") and "\0" not in line:
                    path = os.path.normpath(os.path.join(place, line.strip()))
                    if os.path.isdir(path):
                        folders[path] = None
    return PathFiles(tuple(folders), tuple(code), tuple(mapped))


def may_be_shown(path: str) -> bool:
    """Return whether a folder is one of packages or programs, not the machine's or a user's own
    root."""
    real, home = os.path.realpath(path), os.path.realpath(Path.home())
    return (
        real not in ("/", "/usr", "/usr/bin") and not inside(home, [real]) and os.path.exists(path)
    )


def inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _texts(place: str) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        if name.endswith(".pth") or (name.startswith("__editable__") and name.endswith(".py")):
            try:
                yield name, read_file(Path(place, name), limit=_LARGEST).decode("utf-8", "replace")
            except OSError:
                continue


def _site_added(line: str) -> str:
    """The folder (absolute) of a line that does nothing but `site.addsitedir` it; "" of others."""
    match readable_module(line).body:
        case [
            ast.Import(names=[ast.alias(name="site", asname=None)]),
            ast.Expr(
                ast.Call(
                    func=ast.Attribute(value=ast.Name(id="site"), attr="addsitedir"),
                    args=[ast.Constant(value=str(path))],
                    keywords=[],
                )
            ),
        ] if os.path.isabs(path) and "\0" not in path:
            return os.path.normpath(path)
    return ""


def _mapped(text: str) -> Iterator[str]:
    """The folders that a finder of setuptools finds packages in."""
    for node in readable_module(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id in ("MAPPING", "NAMESPACES"):
            for value in ast.walk(node):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    path = os.path.normpath(value.value)
                    if os.path.isabs(path) and "\0" not in path and os.path.isdir(path):
                        yield path


OLDEST = (3, 8)
"""The server and what it loads are written for this version of Python and newer ones."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program, and the folders of packages that go with it."""

    program: str
    """Program that is started, outside of every sandbox until it confines itself: never a project's
    own file."""
    version: tuple[int, int]
    name: str
    """Name for people: the interpreter of a virtual environment, say."""
    site: tuple[str, ...]
    """Folders put behind its own on `sys.path`."""
    code: tuple[str, ...]
    """Lines of path files that install finders; run inside, when an import finds nothing."""
    readable: tuple[str, ...]
    """Paths that programs must be able to read, besides `site` and the machine's libraries."""
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

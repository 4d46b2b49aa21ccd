"""Workspaces on this machine: a jail each over the shared base tree; facts about interpreters.

An interpreter that lies in a checkout is the repository's code, as any `.pth` file beside it is. So
it is started in a jail only, and its answer is data: a folder that it names does not become
readable. Readable folders are taken from the files of its environment, here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from refute.core.starting import Variable, python_options
from refute.core.storage import cache_folder
from refute.errors import WorkspaceUnavailable
from refute.probe import SITE
from refute.sandbox.interpreter import inside, may_be_shown, read_path_files
from refute.workspace.contract import Base, Execution, Recipe, WorkspaceLimits
from refute.workspace.rooted_files import take

ALL_MEASURES = frozenset({"namespaces", "overlay", "landlock"})
"""Measures that a caller may demand; `protections()` says which hold."""

_SCRIPT = Path(__file__).with_name("jail.py")
_START = """import sys
from importlib.machinery import SourceFileLoader
__file__ = sys.argv[1]
exec(SourceFileLoader("refute.workspace.jail", __file__).get_code("refute.workspace.jail"))
"""
"""Runs it as a script that is compiled once and kept: each workspace starts one."""
_ERRORS: dict[str, type[OSError]] = {
    "FileNotFoundError": FileNotFoundError,
    "IsADirectoryError": IsADirectoryError,
    "NotADirectoryError": NotADirectoryError,
    "Escapes": PermissionError,
    "PermissionError": PermissionError,
}


class LocalBackend:
    """A `ExecutionBackend` in namespaces of its own; without them, as much as the machine allows.

    `writable`: folders of the host that commands may change, for builds; a tree among them is
    used in place. Raises `WorkspaceUnavailable` when the jail does not start.
    """

    def __init__(
        self,
        base: Base,
        *,
        limits: WorkspaceLimits | None = None,
        measures: Iterable[str] = ALL_MEASURES,
        writable: Sequence[Path] = (),
    ) -> None:
        self._base = base
        self._limits = limits or WorkspaceLimits()
        self._measures = frozenset(measures)
        cache = cache_folder()
        cache.mkdir(parents=True, exist_ok=True)
        mount_point = cache / "mount-point"
        mount_point.mkdir(exist_ok=True)
        self._outside = Path(tempfile.mkdtemp(prefix="refute-workspace-"))
        in_place = base.tree in writable
        beside = self._outside / base.tree.name
        try:
            for wanted in (self._measures, self._measures - {"namespaces"}):
                tree = base.tree if in_place or "namespaces" in wanted else beside
                failed = self._start(base, tree, mount_point, wanted, writable)
                if not failed:
                    break
            else:
                raise WorkspaceUnavailable(f"no workspace can be isolated here: {failed}")
            self._python = self._relocate()
        except BaseException:
            self.close()
            raise
        self._finalizer = weakref.finalize(self, _end, self._process, self._outside)

    def _start(
        self,
        base: Base,
        tree: Path,
        mount_point: Path,
        measures: Iterable[str],
        writable: Sequence[Path],
    ) -> str:
        """Start a jail; returns why it cannot be, else ""."""
        config = {
            "tree": str(tree),
            "base": str(base.tree),
            "jail": str(mount_point),
            "outside": str(self._outside),
            "readable": [*base.readable, str(SITE), str(self._outside / "layer")],
            "writable": [str(path) for path in writable],
            "hidden": [*base.hidden, *_kept_apart()],
            "measures": sorted(measures),
            "memory": self._limits.memory,
            "processes": self._limits.processes,
            "disk": self._limits.disk,
            "client": os.getpid(),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", *python_options(), "-c", _START, str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        self._write(config, b"")
        self._hello = self._answer()[0]
        failed = str(self._hello.get("failed", ""))
        if failed:
            _stop(self._process)
        return failed

    def _relocate(self) -> str:
        """The interpreter. Where the tree lies elsewhere, a copy of the layer names that place."""
        layer = self._base.python.parent.parent
        if self.tree == str(self._base.tree) or layer.parent != self._base.tree.parent:
            return str(self._base.python)
        target = self._outside / "layer"
        shutil.copytree(layer, target, symlinks=True)
        moves = ((layer, target), (self._base.tree, Path(self.tree)))
        for path in target.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.suffix != ".pyc":
                data = changed = path.read_bytes()
                for old, new in moves:
                    changed = changed.replace(os.fsencode(old), os.fsencode(new))
                if changed != data:
                    path.write_bytes(changed)
        return str(target / "bin" / "python")

    # -- the backend -------------------------------------------------------------------------------

    @property
    def tree(self) -> str:
        return str(self._hello["tree"])

    @property
    def git_dir(self) -> str:
        return f"{self._hello['base']}/.git"

    @property
    def scratch(self) -> str:
        return str(self._hello["scratch"])

    @property
    def python(self) -> str:
        return self._python

    @property
    def environ(self) -> Mapping[str, str]:
        tmp = self._hello["tmp"]
        folder = os.path.dirname(self._python)
        return {
            "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
            "VIRTUAL_ENV": os.path.dirname(folder),
            "HOME": f"{tmp}/home",
            "TMPDIR": tmp,
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **self._base.variables(self.tree),
        }

    def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        given: bytes = b"",
        timeout: float = 60.0,
        keep: int = 1 << 20,
        merge: bool = False,
        history: bool = False,
    ) -> Execution:
        reply, payload = self._ask(
            {
                "do": "execute",
                "argv": list(argv),
                "env": {**self.environ, **(env or {})},
                "cwd": self.tree,
                "timeout": timeout,
                "keep": keep,
                "merge": merge,
                "history": history,
            },
            given,
        )
        size = reply["out"]
        return Execution(
            status=reply["status"],
            out=payload[:size],
            err=payload[size:],
            cause=reply["cause"],
            seconds=reply["seconds"],
        )

    def take(self, path: str) -> bytes:
        return self._ask({"do": "take", "path": path})[1]

    def put(self, path: str, data: bytes) -> None:
        self._ask({"do": "put", "path": path}, data)

    def fresh(self, files: Mapping[str, bytes] = MappingProxyType({})) -> None:
        sizes = [[name, len(data)] for name, data in files.items()]
        self._ask({"do": "fresh", "files": sizes}, b"".join(files.values()))

    def gather(self) -> Mapping[str, bytes]:
        reply, payload = self._ask({"do": "gather"})
        found, at = {}, 0
        for name, size in reply["files"]:
            found[name] = payload[at : at + size]
            at += size
        return found

    @property
    def site(self) -> str:
        return str(SITE)

    def reset(self) -> None:
        self._ask({"do": "reset"})

    def protections(self) -> Mapping[str, bool]:
        return dict(self._hello["protections"])

    def close(self) -> None:
        if hasattr(self, "_finalizer"):
            self._finalizer()
        else:
            _end(getattr(self, "_process", None), self._outside)

    # -- the jail ----------------------------------------------------------------------------------

    def _ask(self, request: dict[str, Any], given: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self._write(request, given)
        reply, payload = self._answer()
        if "error" in reply:
            kind = _ERRORS.get(reply["error"], OSError)
            number = reply["errno"] or errno.EIO
            raise kind(number, reply["message"], request.get("path"))
        return reply, payload

    def _write(self, request: dict[str, Any], given: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(json.dumps({**request, "size": len(given)}).encode() + b"\n" + given)
            stream.flush()
        except (OSError, ValueError):
            raise WorkspaceUnavailable("the workspace was closed, or its jail has died") from None

    def _answer(self) -> tuple[dict[str, Any], bytes]:
        stream = self._process.stdout
        assert stream is not None
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise WorkspaceUnavailable("the workspace's jail has died")
        reply: dict[str, Any] = json.loads(line)
        return reply, stream.read(reply.get("size", 0))


def _kept_apart() -> list[str]:
    """Our own folders, which hold other commits, datasets and grades, wherever they may lie."""
    given = (os.environ.get(name) for name in (Variable.REPOS, Variable.DATA))
    return [str(cache_folder()), *(os.path.realpath(path) for path in given if path)]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close its stdin: the jail then kills what is in it, and ends."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end(process: subprocess.Popen[bytes] | None, outside: Path) -> None:
    if process is not None:
        _stop(process)
    shutil.rmtree(outside, ignore_errors=True)


_QUESTION = """
import json, site, sys, sysconfig
paths = sysconfig.get_paths()
sites = [paths["purelib"], paths["platlib"]] + getattr(site, "getsitepackages", list)()
print(json.dumps({"version": list(sys.version_info[:2]), "sites": sites}))
"""
_SECONDS = 60.0
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class InterpreterFacts:
    """Facts about one interpreter."""

    version: tuple[int, int]
    sites: tuple[str, ...]
    """Its folders of packages that there are, the one that pip installs to first."""
    readable: tuple[str, ...]
    """Folders that a program in it must be able to read."""


def interpreter_facts(python: Path, checkout: Path | None = None) -> InterpreterFacts:
    """The facts about an interpreter (an absolute path), which a jail asks it.

    Of an environment inside `checkout`, path files count for what lies in the checkout. Raises
    `WorkspaceUnavailable`, also where it does not run without what lies elsewhere.
    """
    homes = _homes(python)
    own = "" if checkout is None else os.path.realpath(checkout)
    if str(python) == os.path.abspath(sys.executable):  # this process knows itself
        paths = sysconfig.get_paths()
        answer: object = {
            "version": list(sys.version_info[:2]),
            "sites": [paths["purelib"], paths["platlib"], *site.getsitepackages()],
        }
    else:
        answer = _ask(python, homes)
    version, named = _checked(python, answer)
    sites = [path for path in named if inside(path, [*homes, "/usr"]) and os.path.isdir(path)]
    files = read_path_files(sites)
    added = list(dict.fromkeys((*files.folders, *files.mapped)))
    if own and inside(os.path.realpath(python.parent), [own]):
        added = [path for path in added if inside(os.path.realpath(path), [own])]
    readable = tuple(dict.fromkeys(path for path in (*homes, *sites, *added) if may_be_shown(path)))
    return InterpreterFacts(version, tuple(sites), readable)


def _homes(python: Path) -> list[str]:
    """The environment of an interpreter and those that it is built on: by links, and by the `home`
    of its pyvenv.cfg; only folders that look like an installation of Python."""
    found: list[str] = []
    todo = [python]
    while todo and len(found) < _MOST_LINKS:
        program = todo.pop(0)
        for _ in range(_MOST_LINKS):
            folder = os.path.normpath(program.parent.parent)
            if folder not in found and _is_environment(folder):
                found.append(folder)
                if home := _home_of(folder):
                    todo.append(Path(home) / "python")
            if not program.is_symlink():
                break
            program = program.parent / os.readlink(program)
        real = Path(os.path.realpath(program))  # the folders on the way may be links as well
        if real != program:
            todo.append(real)
    return [path for path in found if may_be_shown(path)]


def _home_of(environment: str) -> str:
    try:
        text = take(environment, "pyvenv.cfg").decode("utf-8", "replace")
    except OSError:
        return ""
    pairs = (line.partition("=") for line in text.splitlines())
    named = [value.strip() for name, _, value in pairs if name.strip().lower() == "home"]
    return named[-1] if named and os.path.isabs(named[-1]) else ""


def _is_environment(folder: str) -> bool:
    return os.path.isfile(f"{folder}/pyvenv.cfg") or any(Path(folder).glob("lib*/*/os.py"))


def _ask(python: Path, homes: Sequence[str]) -> object:
    nothing = cache_folder() / "nothing"  # the tree that it is asked in
    nothing.mkdir(parents=True, exist_ok=True)
    local = LocalBackend(Base("", "", Recipe(), nothing, python, tuple(homes), ""))
    try:
        done = local.execute((str(python), "-I", "-c", _QUESTION), timeout=_SECONDS)
    finally:
        local.close()
    lines = done.out.decode("utf-8", "replace").strip().splitlines()
    if done.status or not lines:
        told = done.err.decode("utf-8", "replace").strip().splitlines()
        why = done.cause or (told[-1][:300] if told else f"exit status {done.status}")
        raise WorkspaceUnavailable(f"{python} does not run: {why}")
    try:
        answer: object = json.loads(lines[-1])
    except (ValueError, RecursionError):
        return None
    return answer


def _checked(python: Path, answer: object) -> tuple[tuple[int, int], list[str]]:
    """Version and folders of packages, where the answer is one."""
    match answer:
        case {"version": [int(major), int(minor)], "sites": [*sites]}:
            if 2 <= major <= 9 and 0 <= minor <= 99 and len(sites) <= 100:
                texts = [s for s in sites if isinstance(s, str) and os.path.isabs(s)]
                paths = [os.path.normpath(s) for s in texts if "\0" not in s and len(s) < 4096]
                return (major, minor), list(dict.fromkeys(paths))
    raise WorkspaceUnavailable(f"{python} cannot be used as an interpreter: it does not answer")

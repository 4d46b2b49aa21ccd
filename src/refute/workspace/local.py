"""Workspaces on this machine: a jail per workspace over the shared base tree."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from refute.core.starting import Variable, python_options
from refute.core.storage import cache_folder
from refute.errors import WorkspaceUnavailable
from refute.probe import SITE
from refute.workspace.contract import Base, Execution, WorkspaceLimits

ALL_MEASURES = frozenset({"namespaces", "overlay", "landlock"})
"""What may be asked for; what holds is told by `protections()`."""

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

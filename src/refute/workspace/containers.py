"""Workspaces in containers: docker's or podman's command line, and images that hold repository and
environment (SWE-bench publishes one per instance).

One container per workspace, without network, with nothing of this machine in it but the probe,
read-only. The repository's history is replaced by its one commit before anything runs, because
published images hold more. Commands are root inside the container, without capabilities: they can
change its git, so `diff()` after hostile commands may lie until `reset()`, which makes a new
container. Test results do not rest on git.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import shutil
import subprocess
import tarfile
import time
import weakref
from collections.abc import Mapping, Sequence
from threading import Thread
from types import MappingProxyType
from typing import IO

from refute.errors import WorkspaceUnavailable
from refute.probe import SITE
from refute.workspace.commands import OutputBuffer
from refute.workspace.contract import Base, Execution, WorkspaceLimits
from refute.workspace.repositories import TRACES

_CONTROL_SECONDS = 900.0
"""For a command of the engine itself; `run` may have to load an image."""

_KEEPER = "while :; do sleep 3600 & wait; done"
"""Program of process 1. It reaps, and no signal from inside ends it."""

_KILL_ALL = "kill -9 -1"
"""Ends every process of the container but process 1 and itself."""

# $1 git folder, $2 tree, $3 patterns to ignore: one commit with its objects, no other history
_CUT_HISTORY = r"""set -e
cd "$2"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
commit=$(git rev-parse HEAD); rm -rf "$1"; mkdir -p "$1/objects/pack" "$1/refs/heads" "$1/info"
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n' > "$1/config"
printf 'ref: refs/heads/main\n' > "$1/HEAD"
printf '%s\n' "$commit" > "$1/refs/heads/main"; printf '%s\n' "$commit" > "$1/shallow"
git ls-files -o --exclude-standard --directory | sed 's|^|/|' > "$1/info/exclude"
printf '%s\n' "$3" >> "$1/info/exclude"
git rev-list --objects --no-walk --no-object-names "$commit" |
    git pack-objects -q --window=0 "$1/objects/pack/pack" > /dev/null
rm -rf .git; cp -a "$1" .git; git reset -q --hard; rm -f .git/ORIG_HEAD; cp .git/index "$1/index"
"""


class ContainerBackend:
    """An `ExecutionBackend` in a container. Raises `WorkspaceUnavailable` when the engine or the
    image is missing.

    `engine` is "docker" or "podman", a program on PATH. `tree` is where the image holds the
    repository, `packages` the folder of its interpreter, `own` where we keep what is ours.
    """

    def __init__(
        self,
        base: Base,
        engine: str,
        *,
        limits: WorkspaceLimits | None = None,
        tree: str = "/testbed",
        packages: str = "/opt/miniconda3/envs/testbed/bin",
        own: str = "/.refute",
    ) -> None:
        if not base.recipe.image:
            raise WorkspaceUnavailable(f"{base.instance_id or base.repo}: no container image known")
        program = shutil.which(engine)
        if program is None:
            raise WorkspaceUnavailable(f"{engine} is not installed here")
        self._program, self._engine = program, engine
        self._base, self._image = base, base.recipe.image
        self._limits = limits or WorkspaceLimits()
        self._tree, self._packages, self._own = tree, packages, own
        self._start()

    def _start(self) -> None:
        self._name = f"refute-{secrets.token_hex(8)}"
        limits = self._limits
        options = [
            "--name", self._name, "--detach", "--network", "none", "--pids-limit",
            str(limits.processes), "--memory", str(limits.memory), "--memory-swap",
            str(limits.memory), "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
            "--volume", f"{SITE}:{self.site}:ro", "--entrypoint", "/bin/sh",
        ]  # fmt: skip
        self._finalizer = weakref.finalize(self, _remove, self._program, self._name)
        try:
            self._control("run", *options, self._image, "-c", _KEEPER)
            words = ("sh", self.git_dir, self._tree, "\n".join(TRACES))
            script = ("/bin/sh", "-c", _CUT_HISTORY, *words)
            done = self.execute(script, timeout=_CONTROL_SECONDS)
            if done.status:
                raise WorkspaceUnavailable(
                    f"{self._image}: no repository in {self._tree}: {_last_line(done.err)}"
                )
        except BaseException:
            self.close()
            raise

    # -- the backend -------------------------------------------------------------------------------

    @property
    def tree(self) -> str:
        return self._tree

    @property
    def git_dir(self) -> str:
        return f"{self._own}/git"

    @property
    def scratch(self) -> str:
        return f"{self._own}/scratch"

    @property
    def site(self) -> str:
        return f"{self._own}/site"

    @property
    def python(self) -> str:
        return f"{self._packages}/python"

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "PATH": f"{self._packages}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            **self._base.variables(self._tree),
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
        variables = {**self.environ, **(env or {})}
        settings = [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]
        command = [self._program, "exec", "-i", "-w", self._tree, *settings, self._name, *argv]
        started = time.monotonic()
        status, out, err, cause = _bounded_run(command, given, timeout, keep, merge)
        seconds = time.monotonic() - started
        if status > 128:
            status = 128 - status  # the shell's way to tell a signal
        self._end_all()
        return Execution(status, out, err, cause, seconds)

    def take(self, path: str) -> bytes:
        folder, name = self._inside(path)
        try:
            archive = self._control("cp", f"{self._name}:{folder}/{name}", "-")
        except WorkspaceUnavailable as error:
            raise FileNotFoundError(errno.ENOENT, str(error), path) from None
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            first = members.next()
            if first is None or first.isdir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            content = members.extractfile(first) if first.isreg() else None
            if content is None:
                raise OSError(errno.EINVAL, "not a regular file", path)
            return content.read()

    def put(self, path: str, data: bytes) -> None:
        folder, name = self._inside(path, make=True)
        self._control("cp", "-", f"{self._name}:{folder}", given=_archive({name: data}))

    def fresh(self, files: Mapping[str, bytes] = MappingProxyType({})) -> None:
        script = 'rm -rf "$1" && mkdir -p "$1/channel"'
        self.execute(("/bin/sh", "-c", script, "sh", self.scratch))
        if files:
            target = f"{self._name}:{self.scratch}/channel"
            self._control("cp", "-", target, given=_archive(files, mode=0o600))

    def gather(self) -> Mapping[str, bytes]:
        archive = self._control("cp", f"{self._name}:{self.scratch}/channel/.", "-")
        found: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            for member in members:
                name = member.name.removeprefix("./")
                content = members.extractfile(member) if member.isreg() else None
                if content is not None and "/" not in name and name not in ("", ".", ".."):
                    found[name] = content.read()
        return found

    def reset(self) -> None:
        self.close()
        self._start()

    def protections(self) -> Mapping[str, bool]:
        return {"container": True, "network": True, "files": True, "processes": True}

    def close(self) -> None:
        self._finalizer()

    # -- the engine --------------------------------------------------------------------------------

    def _inside(self, path: str, *, make: bool = False) -> tuple[str, str]:
        """Real folder of a path of the tree, and its name there. Raises PermissionError."""
        head, _, name = path.rpartition("/")
        if path.startswith("/") or name in ("", ".", "..") or "\0" in path:
            raise PermissionError(errno.EPERM, "not a path of a file of the tree", path)
        # a missing folder is made only after the existing part of its path was found to be inside
        script = (
            'd=$1; while [ ! -e "$d" ] && [ "$d" != "$2" ]; do d=$(dirname "$d"); done; '
            'r=$(readlink -f "$d"); case "$r/" in "$2"/*) ;; *) exit 9;; esac; '
            '[ -z "$3" ] || mkdir -p "$1"; readlink -f "$1"'
        )
        folder = f"{self._tree}/{head}" if head else self._tree
        words = ("/bin/sh", "-c", script, "sh", folder, self._tree, "x" if make else "")
        done = self.execute(words)
        found = done.out.decode("utf-8", "replace").rstrip("\n")
        if done.status == 9 or (found + "/").startswith(self._tree + "/") is False:
            raise PermissionError(errno.EPERM, "leads out of the tree", path)
        return found, name

    def _end_all(self) -> None:
        """Nothing that a command started lives on."""
        command = [self._program, "exec", self._name, "/bin/sh", "-c", _KILL_ALL]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=60, check=False)

    def _control(self, verb: str, *words: str, given: bytes = b"") -> bytes:
        command = [self._program, verb, *words]
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, timeout=_CONTROL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkspaceUnavailable(f"{self._engine} {verb}: {error}") from None
        if done.returncode:
            raise WorkspaceUnavailable(f"{self._engine} {verb}: {_last_line(done.stderr)}")
        return done.stdout


def _archive(files: Mapping[str, bytes], mode: int = 0o644) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), mode, int(time.time())
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _bounded_run(
    command: Sequence[str], given: bytes, timeout: float, keep: int, merge: bool
) -> tuple[int, bytes, bytes, str]:
    """Status, stdout, stderr and cause; of what is printed, the beginning and the end are kept."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT if merge else pipe
        )
    except OSError as error:
        raise WorkspaceUnavailable(f"{command[0]}: {error}") from None
    out, err = OutputBuffer(keep), OutputBuffer(keep)
    workers = [Thread(target=_feed, args=(process.stdin, given), daemon=True)]
    for stream, kept in ((process.stdout, out), (process.stderr, err)):
        if stream is not None:
            workers.append(Thread(target=_collect, args=(stream, kept), daemon=True))
    for worker in workers:
        worker.start()
    cause = ""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        cause = "timeout"
        process.kill()
        process.wait()
    for worker in workers:
        worker.join(timeout=10)
    return process.returncode, out.content(), err.content(), cause


def _feed(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError):
        stream.write(data)
    with contextlib.suppress(OSError):
        stream.close()


def _collect(stream: IO[bytes], kept: OutputBuffer) -> None:
    with stream:
        while data := stream.read1(65536):  # type: ignore[attr-defined]
            kept.add(data)


def _last_line(text: bytes) -> str:
    """Return the last line of a program's output, without its hint at `--help`."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines()]
    said = [line for line in lines if line and "--help" not in line]
    return said[-1][:300] if said else "no message"


def _remove(program: str, name: str) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [program, "rm", "--force", "--volumes", name],
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip

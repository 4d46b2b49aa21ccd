"""An environment for Harbor without containers: a Dockerfile's steps and commands in bubblewrap.

    harbor run -p TASKS --env harbor_environment:BwrapEnvironment --ek images=DIR

Only what `refute data export-harbor` writes: FROM an image of Python (an interpreter of pyenv and
the programs of this machine stand for it), COPY, ADD, ENV, WORKDIR and RUN. Nothing inside may make
a namespace of its own, as in a container. `images`: where what was built is kept. `wheels`: a
folder of wheels that pip and uv find.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

from refute.workspace.interpreters import find_interpreter

PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
SEEN = ("/usr", "/etc", str(PYENV))
PASSED_ON = ("PIP_", "UV_", "SSL_", "HTTP", "REQUESTS_", "CURL_", "NO_PROXY")
IGNORED = ("UV_MANAGED_PYTHON", "UV_PYTHON_INSTALL_DIR", "UV_CONSTRAINT", "PIP_CONSTRAINT")
"""What would fetch an interpreter from the network, and files that are not in there."""


class BwrapEnvironment(BaseEnvironment):
    """A root of its own for each environment, copied from what the Dockerfile makes."""

    def __init__(self, *args: object, images: str, wheels: str = "", **kwargs: object) -> None:
        self.images, self.wheels = Path(images), wheels
        super().__init__(*args, **kwargs)
        self.root = self.images / "running" / self.session_id
        self.settings: dict[str, str] = {}
        self.folder = "/"

    @staticmethod
    def type() -> str:
        return "bwrap"

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    async def start(self, force_build: bool) -> None:
        image = await asyncio.to_thread(self._built)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", image.root, self.root], check=True)
        self.settings, self.folder = image.settings, image.folder
        await self.ensure_dirs(["/logs/agent", "/logs/verifier", "/logs/artifacts"])

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        settings = {**self.settings, **(self._merge_env(env) or {})}
        words = inside(self.root, command, settings, cwd or self.folder, network=False)
        done = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, timeout=timeout_sec
        )
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = self._at(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._at(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._at(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._at(source_dir), target_dir, dirs_exist_ok=True)

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _built(self) -> Image:
        self.images.mkdir(parents=True, exist_ok=True)
        stages: dict[str, Image] = {}
        with (self.images / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for text in (self.environment_dir / "Dockerfile").read_text().split("FROM ")[1:]:
                first, _, rest = text.replace("\\\n", "").partition("\n")
                image, _, name = first.partition(" AS ")
                made = Image(self.images, self.environment_dir, self.wheels, stages)
                made.build(image, rest.splitlines())
                stages[name] = made
        return made


class Image:
    """What a stage of a Dockerfile makes; one that was built before is not built again."""

    def __init__(self, images: Path, context: Path, wheels: str, stages: dict[str, Image]) -> None:
        self.images, self.context, self.wheels, self.stages = images, context, wheels, stages
        self.settings: dict[str, str] = {}
        self.folder = "/"

    def build(self, image: str, lines: list[str]) -> None:
        """Carry out its steps; of those of a stage that is there, only the settings they make."""
        python = interpreter(image)
        path = f"/usr/local/bin:/usr/bin:/bin:{python.parent}"
        self.settings, self.folder = {"PATH": path}, "/"
        self.root = self.images / self._digest(image, lines)
        mark = self.root.with_name(self.root.name + ".built")
        if not mark.is_file():
            self._begin(self.root, python)
        for line in filter(None, lines):
            verb, _, rest = line.partition(" ")
            if verb == "ENV":
                pairs = (word.split("=", 1) for word in shlex.split(rest))
                self.settings.update({k: v for k, v in pairs if k not in IGNORED})
            elif verb == "WORKDIR":
                self.folder = rest
                (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif verb not in ("RUN", "COPY", "ADD"):
                raise ValueError(f"not known here: {line}")
            elif mark.is_file():
                continue
            elif verb == "RUN":
                self._run(self.root, rest)
            else:
                self._copy(verb, rest.split())
        mark.touch()

    def _digest(self, image: str, lines: list[str]) -> str:
        """Of everything that it is made of."""
        before = [stage.root.name for stage in self.stages.values()]
        digest = hashlib.sha256("\n".join([image, *before, *lines]).encode())
        for path in sorted(Path(self.wheels).glob("*")) if self.wheels else ():
            digest.update(path.read_bytes())
        if any(line.startswith(("COPY", "ADD")) for line in lines):
            for path in sorted(filter(Path.is_file, self.context.rglob("*"))):
                digest.update(f"{path.name}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    def _begin(self, root: Path, python: Path) -> None:
        shutil.rmtree(root, ignore_errors=True)
        for name in ("usr-local", "tmp", "root", "opt"):
            (root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            (root / name).symlink_to(f"usr/{name}")
        self._run(root, f"{python} -m venv /usr/local")

    def _run(self, root: Path, command: str) -> None:
        env = {k: v for k, v in os.environ.items() if k.startswith(PASSED_ON) and k not in IGNORED}
        if self.wheels:
            env |= {"PIP_FIND_LINKS": self.wheels, "UV_FIND_LINKS": self.wheels}
        words = inside(root, command, {**env, **self.settings}, self.folder, self.wheels)
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"RUN {command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def _copy(self, verb: str, words: list[str]) -> None:
        source = self.context
        if words[0].startswith("--from="):
            source = self.stages[words.pop(0).removeprefix("--from=")].root
        *names, target = words
        place = self.root / target.lstrip("/")
        for name in names:
            given = source / name.lstrip("/")
            if verb == "ADD" and given.suffix == ".tar":
                with tarfile.open(given) as archive:
                    archive.extractall(place, filter="data")
            elif given.is_dir():
                shutil.copytree(given, place, symlinks=True, dirs_exist_ok=True)
            else:
                file = place / given.name if target.endswith("/") else place
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(given, file)


def interpreter(image: str) -> Path:
    """The interpreter here that stands for an image such as `python:3.9`."""
    return find_interpreter(image.removeprefix("python:").removesuffix("-slim"))


def inside(
    root: Path, command: str, settings: dict[str, str], folder: str, wheels: str = "",
    *, network: bool = True,
) -> list[str]:  # fmt: skip
    """The words of a command that runs in the root."""
    words = ["bwrap", "--bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--die-with-parent"]
    words += ["--unshare-pid", "--unshare-user", "--uid", "0", "--gid", "0", "--disable-userns"]
    for path in (*SEEN, *((wheels,) if wheels else ())):
        words += ["--ro-bind", path, path]
    words += ["--bind", root / "usr-local", "/usr/local", "--chdir", folder, "--clearenv"]
    words += [] if network else ["--unshare-net"]
    for name, value in {"HOME": "/root", "LANG": "C.UTF-8", **settings}.items():
        words += ["--setenv", name, value]
    return [str(word) for word in (*words, "/bin/bash", "-c", command)]

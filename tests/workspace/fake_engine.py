"""A container engine for tests: logs its command line, and does on this machine what it was asked.

It isolates nothing, so it refuses to kill. An "image" is a folder that holds the repository.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

STATE = Path(os.environ["FAKE_ENGINE"])
TREE = STATE / "testbed"


def main(words: list[str]) -> int:
    with (STATE / "log.jsonl").open("a") as log:
        log.write(json.dumps(words) + "\n")
    verb, *rest = words
    if verb == "run":
        image = rest[rest.index("/bin/sh") + 1]
        if not Path(image).is_dir():
            said = f"Unable to find image '{image}' locally\nno such image\n\nRun 'x --help'"
            print(said, file=sys.stderr)
            return 125
        shutil.rmtree(TREE, ignore_errors=True)
        shutil.copytree(image, TREE, symlinks=True)
        source, target, mode = rest[rest.index("--volume") + 1].split(":")
        assert mode == "ro"
        Path(target).parent.mkdir(exist_ok=True)
        Path(target).unlink(missing_ok=True)
        Path(target).symlink_to(source)
        return 0
    if verb == "exec":
        return execute(rest)
    if verb == "cp":
        return copy(*rest)
    if verb == "rm":
        shutil.rmtree(TREE, ignore_errors=True)
        return 0
    return 1


def execute(rest: list[str]) -> int:
    env: dict[str, str] = {}
    folder = str(TREE)
    while rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-e":
            name, _, value = rest.pop(0).partition("=")
            env[name] = value
        elif option == "-w":
            folder = rest.pop(0)
    argv = rest[1:]
    if any("kill" in word for word in argv):
        return 0
    status = subprocess.run(argv, cwd=folder, env=env, check=False).returncode
    return 128 - status if status < 0 else status


def copy(source: str, target: str) -> int:
    if source == "-":
        folder = target.partition(":")[2]
        with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())) as archive:
            archive.extractall(folder)
        return 0
    path = Path(source.partition(":")[2])
    buffer = io.BytesIO()
    if not os.path.lexists(path):
        print("Could not find the file", file=sys.stderr)
        return 1
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(path, arcname="." if source.endswith("/.") else path.name)
    sys.stdout.buffer.write(buffer.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

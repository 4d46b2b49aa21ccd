"""Harbor: problems as task directories with a verifier of their own (tried with harbor 0.26.0).

The agent's container has no tests: the answer key is in the verifier's image alone, which gets the
one file that the agent was asked for. There `python -m refute.adapters.harbor` grades it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from refute import __version__
from refute.adapters.rows import Row
from refute.adapters.scoring import Score, TestTask, read_task, score
from refute.errors import InputError
from refute.storage import write_atomically

__all__ = ["main", "write_tasks"]

_PLACE = "/app/solution.py"
_MOST = 1 << 20
"""Characters of an answer that are read."""
_IMAGE = "python:3.12-slim"
_CONFIG = """\
schema_version = "1.4"
artifacts = ["{place}"]

[task]
name = "refute/{name}"

[metadata]
id = {id}
kind = "{kind}"

[agent]
timeout_sec = 900.0

[environment]
cpus = 1
memory_mb = 2048

[verifier]
timeout_sec = 300.0
environment_mode = "separate"

[verifier.environment]
cpus = 1
memory_mb = 2048
"""
_VERIFIER = """\
FROM {image}
RUN pip install --no-cache-dir refute=={version}
COPY . /tests
"""
_TEST = """\
#!/bin/sh
exec python -m refute.adapters.harbor /tests/task.json {place} /logs/verifier/reward.json
"""


def write_tasks(rows: Iterable[Row], output: Path | str) -> int:
    """Write a task directory for each row below `output`; returns how many.

    Raises `InputError` where two of them have the same name, or a file cannot be written.
    """
    written: dict[str, str] = {}
    for row in rows:
        name = re.sub(r"[^a-z0-9]+", "-", row.id.lower()).strip("-") or "task"
        if name in written:
            raise InputError(f"{row.id} and {written[name]} would both be the task {name}")
        written[name] = row.id
        for path, text in _files(row, name).items():
            target = Path(output, name, path)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(target, text)
                if path.endswith(".sh"):
                    target.chmod(0o755)
            except OSError as error:
                raise InputError(f"{target}: cannot be written: {error.strerror}") from None
    return len(written)


def _files(row: Row, name: str) -> dict[str, str]:
    task = read_task(row.task)
    kind = "test" if isinstance(task, TestTask) else "program"
    config = _CONFIG.format(place=_PLACE, name=name, id=json.dumps(row.id), kind=kind)
    said = f"{row.question}\n\nWrite what the code block would hold into `{_PLACE}`.\n"
    return {
        "instruction.md": said,
        "task.toml": config,
        "environment/Dockerfile": f"FROM {_IMAGE}\nWORKDIR /app\n",
        "tests/Dockerfile": _VERIFIER.format(image=_IMAGE, version=__version__),
        "tests/task.json": row.task,
        "tests/test.sh": _TEST.format(place=_PLACE),
    }


def main(task: str, answer: str, reward: str) -> None:
    """Grade the file `answer` by the file `task`, and write the file `reward` as Harbor reads it.

    An answer that is not there is paid nothing. Raises `InputError` and `SandboxUnavailable`, and
    writes nothing then: Harbor calls that an error of the verifier.
    """
    try:
        text = Path(answer).read_bytes()[:_MOST].decode("utf-8", "replace")
        one = score(text, Path(task).read_text("utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        one = Score(0.0, False, "no answer")
    print(one.reason)
    Path(reward).write_text(json.dumps({"reward": one.reward}), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

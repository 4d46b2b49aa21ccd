"""Work for a cluster that tells where it was done: `python -m tests.runs.ray_work`, see `main`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from refute.errors import SandboxUnavailable
from refute_lab.runs import ErrorRecord, WithFiles
from refute_lab.runs.executors import Ending, Run, Workers, executor_of

from .words import WORDS, Word

Unit = tuple[str, Any]


def start(log: Path) -> Callable[[Unit], Any]:
    return partial(work, log)


def work(log: Path, unit: Unit) -> Any:
    """What a unit says: seconds to take, or what to do instead."""
    name, what = unit
    with log.open("a") as file:
        file.write(f"{name} {node()}\n")
    if what == "dies":
        os._exit(1)
    if what == "raises":
        raise ValueError("no\nsuch luck")
    if what == "evil":
        return Word(name, Evil())  # type: ignore[arg-type]
    if what == "files":
        return WithFiles(Word(name, "with files"), {f"reports/{name}": b"\0text"})
    if what == "outside":
        return WithFiles(Word(name), {"../outside": b""})
    if what == "other":
        return Word("somebody else")
    if what == "foreign":
        return ErrorRecord(name, 5)  # type: ignore[arg-type]
    time.sleep(what)
    return Word(name, f"{name}!")


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/refute-was-unpickled",)


def node() -> str:
    if "ray" not in sys.modules:
        return "here"
    import ray

    return str(ray.get_runtime_context().get_node_id())


def no_start(log: Path) -> Callable[[Unit], Any]:
    raise SandboxUnavailable("none here")


def run(
    folder: Path,
    units: Mapping[str, Any],
    executor: str,
    begin: Callable[[Path], Any] = start,
    **workers: Any,
) -> Ending:
    doing = executor_of(executor, Workers(**workers))
    assert doing is not None
    with Run(folder, {"n": len(units)}, WORDS) as opened:
        return opened.do(units, partial(begin, folder.with_suffix(".log")), doing)


def lines(folder: Path) -> list[list[str]]:
    """What was begun: the unit and where."""
    log = folder.with_suffix(".log")
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def main(folder: str, count: str, seconds: str, executor: str) -> None:
    run(Path(folder), {f"u{n}": float(seconds) for n in range(int(count))}, executor, jobs=2)


if __name__ == "__main__":
    main(*sys.argv[1:])

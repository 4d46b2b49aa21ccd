"""What moved since it was last written down: runs as a user makes them, and counted rows.

    python -m tests.pins [NAME...] [--write]

Each pin is one file of `golden/`: the commands, what they printed and their exit statuses, without
times, paths and hashes. No budget ends a run: all work is counted. `rows`: what the search makes of
some problems of HumanEvalFix (`REFUTE_DATA`). Prints the lines that moved; then the exit status is
1. `--write`: write them down. All of it takes 200 seconds of CPU.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pprint import pformat
from typing import Any

from refute.models.contract import Message

from .diffing.repositories import write
from .gating.endings import ENDINGS, planted
from .issue.fixing.test_proving import REVIEW
from .issue.projects import FIX, ISSUE, make_project
from .issue.redgreen.oracle import Answers
from .models.loopback import Loopback, Reply, chat

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
COUNTED = ("--budget", "600", "--set", "max_candidates=400", "--jobs", "1")
ROWS = ("he-fix", "--budget", "600", "--most", "300", "--fold", "0")
_Calls = Iterator[tuple[str, ...]]


def _hunt(folder: Path) -> _Calls:
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    yield "hunt", "shipping.py", "cart.py", *COUNTED
    yield "hunt", "shipping.py", *COUNTED, "--json"


def _debug(folder: Path) -> _Calls:
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    for name in ("cart", "ranking", "shipping", "timesheet"):
        yield "debug", f"{name}.py", *COUNTED
    yield "debug", "shipping.py", *COUNTED, "--json"


def _diff(folder: Path) -> _Calls:
    planted(ENDINGS[3], folder / "shop")
    call = ("diff", "main", "-C", "shop", "--budget", "600", "--jobs", "1")
    yield call
    yield *call, "--json"
    yield "diff", "HEAD", "-C", "shop"


def _harden(folder: Path) -> _Calls:
    _issue(folder / "shapes")
    call = ("harden", "shapes/shapes/line.py", "--most", "2", "--budget", "600", "--jobs", "1")
    yield call
    yield *call, "--json"


def _gate(folder: Path) -> _Calls:
    for at in (0, 8, 24, 28):
        planted(ENDINGS[at], folder / f"{at}")
        yield "gate", "-C", f"{at}", "--behaviour-seconds", "600"
    yield "gate", "-C", "0", "--behaviour-seconds", "600", "--json"


def _issue(folder: Path) -> None:
    make_project(folder)
    beside = {
        "issue.md": ISSUE,
        "right.diff": FIX,
        "wrong.diff": FIX.replace("+        return high", "+        return 9"),
    }
    write(folder.parent, beside)


def _reproduce(folder: Path) -> _Calls:
    _issue(folder / "shapes")
    yield "reproduce", "issue.md", "-C", "shapes"
    yield "reproduce", "issue.md", "-C", "shapes", "--json"


def _fix(folder: Path) -> _Calls:
    _issue(folder / "shapes")
    yield "fix", "issue.md", "-C", "shapes", "--model", "openai:m"
    yield "fix", "issue.md", "-C", "shapes", "--model", "openai:m", "--json"


def _vet(folder: Path) -> _Calls:
    _issue(folder / "shapes")
    yield "vet", "wrong.diff", "right.diff", "--issue", "issue.md", "-C", "shapes"
    yield "vet", "right.diff", "--issue", "issue.md", "-C", "shapes", "--json"


PINS: dict[str, Callable[[Path], _Calls]] = {
    "hunt": _hunt, "debug": _debug, "diff": _diff, "harden": _harden, "gate": _gate,
    "reproduce": _reproduce, "fix": _fix, "vet": _vet,
}  # fmt: skip


def pinned(name: str) -> str:
    """What a pin prints now."""
    if name == "rows":
        command = [sys.executable, "benchmarks/repair.py", *ROWS]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return re.sub(r" +\S+ s,|^(seconds|fold|{).*\n", "", done.stdout, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory(prefix="refute-pins-") as scratch, Loopback(_said) as server:
        folder = Path(scratch, name)
        folder.mkdir()
        env = {**os.environ, "OPENAI_BASE_URL": server.url, "REFUTE_CACHE": f"{scratch}/cache"}
        said = ""
        for call in PINS[name](folder):
            done = subprocess.run(
                [sys.executable, "-m", "refute", *call],
                cwd=folder, env=env, capture_output=True, text=True, check=False,
            )  # fmt: skip
            shown = done.stdout or done.stderr
            shown = _document(shown) if shown.startswith("{") else shown
            said += f"$ refute {' '.join(call)}\n{shown}exit status {done.returncode}\n\n"
        return _steady(said.replace(scratch, "SCRATCH").replace(sys.executable, "PYTHON"))


def _said(body: dict[str, Any], before: int) -> Reply:
    if "BEST:" in body["messages"][-1]["content"]:
        return chat([REVIEW] * body.get("n", 1))
    messages = [Message("user", str(one["content"])) for one in body["messages"]]
    return chat([Answers()(messages, at) for at in range(body.get("n", 1))])


def _document(text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return pformat(document, width=120, compact=True, sort_dicts=False) + "\n"


def _steady(text: str) -> str:
    """The text without what two runs of the same do not share."""
    text = re.sub(r"\b[0-9a-f]{40}\b|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,12}\b", "HASH", text)
    text = re.sub(r"\b0x[0-9a-f]+", "0xADDRESS", text)
    text = re.sub(r"('\w*seconds\w*': )[\d.e-]+", r"\g<1>0", text)
    text = re.sub(r"('inputs': )\d+", r"\g<1>0", text)  # as many as there is time for
    return re.sub(r"\b\d+\.\d+ (s|ms|seconds)\b", r"N \1", text)


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("names", nargs="*", help="hunt, debug, ..., rows (all)")
    asked.add_argument("--write", action="store_true")
    given = asked.parse_args()
    names = given.names or [*PINS, *(["rows"] if "REFUTE_DATA" in os.environ else [])]
    moved = 0
    with ThreadPoolExecutor(2) as threads:
        for name, now in zip(names, threads.map(pinned, names), strict=True):
            path = GOLDEN / f"{name}.txt"
            then = path.read_text() if path.exists() else ""
            found = list(
                difflib.unified_diff(
                    then.split("\n"), now.split("\n"), name, name, n=0, lineterm=""
                )
            )
            print("\n".join(found) or f"{name}: as it was", flush=True)
            moved += bool(found)
            if given.write:
                path.write_text(now)
    return int(moved > 0 and not given.write)


if __name__ == "__main__":
    raise SystemExit(main())

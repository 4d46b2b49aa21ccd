"""Fills the `console` blocks of the documents with what their commands print.

    python docs/outputs.py [--check] README.md docs/tutorial.md

A line `$ refute ...` in such a block is run in the repository's root, 80 columns wide, without a
terminal; what it prints on stdout takes the place of what stood below it. With `--check` nothing is
written: a document that is out of date is named, and the exit status is 1; so does
`tests/test_documents.py`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def printed(command: str) -> str:
    """What a command of `refute` prints on stdout, without space at line ends."""
    words = shlex.split(command)
    if words[:1] != ["refute"]:
        raise SystemExit(f"{command}: only refute's commands are run")
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def filled(text: str) -> str:
    """The document with its commands' output as it is now."""

    def block(found: re.Match[str]) -> str:
        commands = [line for line in found[1].splitlines() if line.startswith("$ ")]
        body = "".join(f"{command}\n{printed(command[2:])}" for command in commands)
        return f"```console\n{body}```"

    return BLOCK.sub(block, text)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("documents", nargs="+", type=Path)
    options.add_argument("--check", action="store_true", help="only say what is out of date")
    given = options.parse_args()
    old = 0
    for document in given.documents:
        text = document.read_text()
        new = filled(text)
        if new == text:
            continue
        old += 1
        print(f"{document}: {'out of date' if given.check else 'filled'}")
        if not given.check:
            document.write_text(new)
    return int(bool(old and given.check))


if __name__ == "__main__":
    sys.exit(main())

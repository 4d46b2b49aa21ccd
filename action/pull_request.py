"""The GitHub Action's script: `refute diff` on a pull request, shown where reviewers look.

It runs the command line and hands on what that writes: the text into the log, annotations, the
summary of the job, a SARIF file, the text of a comment for `comment.py`. Nothing is decided here.

The code of the pull request is a stranger's. It runs in refute's sandbox alone; what it prints
cannot be a workflow command. This process imports nothing from the checkout (it is started with
`python -I`), writes through no link there, and is never given the token.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from refute.core.starting import start_module
from refute.core.storage import write_output
from refute.errors import InputError


def main() -> int:
    """Run all of it and return the exit status of the step."""
    strict = given("FAIL_ON", "never") == "wrong"
    with tempfile.TemporaryDirectory(prefix="refute-") as scratch:
        folder = Path(scratch)
        status, words = compare(folder)
        annotations, text = read(folder / "github"), read(folder / "markdown")
        document = json.loads(read(folder / "json") or "{}")
        try:
            sarif = keep_sarif(folder / "sarif")
        except (InputError, OSError) as error:
            print(f"::error title=refute::{escaped(f'no SARIF file was written: {error}')}")
            return 2
    if not text:
        level = "error" if status == 2 else "warning"
        print(f"::{level} title=refute diff::{escaped(words)}", flush=True)
        return status if strict else 0
    print(annotations, end="", flush=True)
    differences = sum(len(one["differences"]) for one in document["functions"])
    unexplained = bool(document["unexplained"])
    append("GITHUB_STEP_SUMMARY", text)
    append(
        "GITHUB_OUTPUT",
        f"problems={differences}\nunexplained={str(unexplained).lower()}\nsarif-file={sarif}\n",
    )
    if given("COMMENT_FILE", ""):
        write_output(Path(given("COMMENT_FILE", "")), text)
    return 1 if unexplained and strict else 0


def compare(folder: Path) -> tuple[int, str]:
    """`refute diff`, its formats in a folder. Returns its status and its last words."""
    base = given("BASE", "") or f"origin/{os.environ.get('GITHUB_BASE_REF') or 'HEAD'}"
    command = start_module("refute", "diff", f"{base}...HEAD")
    command += ["--budget", given("BUDGET", "5"), "--total-budget", given("TOTAL_BUDGET", "300")]
    python = given("PYTHON", "") or shutil.which("python")
    if python:
        command += ["--python", python]
    for name in ("github", "json", "markdown", "sarif"):
        command += ["--save", f"{name}={folder / name}"]
    words = ""
    with no_commands():
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            words = line.strip() or words
        status = process.wait()
    if status == 2 and base.startswith("origin/"):
        words += " (check out with `fetch-depth: 0`, so that both sides are there)"
    return status, words


class no_commands:
    """What is printed meanwhile holds no workflow command, whatever it looks like."""

    def __enter__(self) -> None:
        self._word = secrets.token_hex(16)
        print(f"::stop-commands::{self._word}", flush=True)

    def __exit__(self, *_: object) -> None:
        print(f"::{self._word}::", flush=True)


# -- small things ----------------------------------------------------------------------------------


def given(name: str, default: str) -> str:
    """An input of the action."""
    return os.environ.get(f"INPUT_{name}", "").strip() or default


def read(file: Path) -> str:
    """A file's text; "" where there is none."""
    return file.read_text("utf-8") if file.is_file() else ""


def keep_sarif(file: Path) -> str:
    """Copy the findings to where they are wanted; returns that, or "" where there are none. Raises
    `InputError` for a link, `OSError`."""
    target = given("SARIF_FILE", "")
    if not target or not file.is_file():
        return ""
    write_output(Path(target), file.read_bytes())
    return target


def append(variable: str, text: str) -> None:
    """Add to a file that the runner names, if it names one."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


def escaped(text: str) -> str:
    """The data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


if __name__ == "__main__":
    sys.exit(main())

"""The GitHub Action's script: `refute diff` on a pull request, shown where reviewers look.

It runs the command line and hands on what that writes: the text into the log, annotations, the
summary of the job, one comment that is kept up to date, a SARIF file. Nothing is decided here.

The code of the pull request is a stranger's. It runs in refute's sandbox alone, without the token;
what it prints cannot be a workflow command. Nothing is written to a pull request from a fork.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKER = "<!-- refute:diff -->"
"""How the comment is found again."""
LONGEST = 60_000
"""Characters of the comment; GitHub takes 65,536."""
MOST_PAGES = 20
"""Of a hundred comments each."""


def main() -> int:
    """Run all of it and return the exit status of the step."""
    token = os.environ.pop("INPUT_TOKEN", "")  # what is started from here does not have it
    os.environ.pop("GITHUB_TOKEN", None)
    strict = given("FAIL_ON", "never") == "wrong"
    with tempfile.TemporaryDirectory(prefix="refute-") as scratch:
        folder = Path(scratch)
        status, words = compare(folder)
        annotations, text = read(folder / "github"), read(folder / "markdown")
        document = json.loads(read(folder / "json") or "{}")
        sarif = keep_sarif(folder / "sarif")
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
    if token and given("COMMENT", "true") == "true":
        try:
            comment(f"{MARKER}\n{text}"[:LONGEST], token, new=differences > 0)
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"::warning title=refute::{escaped(f'no comment was written: {error}')}")
    return 1 if unexplained and strict else 0


def compare(folder: Path) -> tuple[int, str]:
    """`refute diff`, its formats in a folder. Returns its status and its last words."""
    base = given("BASE", "") or f"origin/{os.environ.get('GITHUB_BASE_REF') or 'HEAD'}"
    command = [sys.executable, "-m", "refute", "diff", f"{base}...HEAD"]
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


def comment(text: str, token: str, *, new: bool) -> None:
    """Bring the comment up to date; it is made only where there is something to say (`new`)."""
    event = json.loads(read(Path(os.environ["GITHUB_EVENT_PATH"])))
    pull = event.get("pull_request")
    if not isinstance(pull, dict) or is_fork(pull):
        return
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    thread = f"{repository}/issues/{int(pull['number'])}/comments"
    known = next((one for one in comments(thread, token) if is_ours(one)), None)
    if known is not None:
        if known["body"] != text:
            ask("PATCH", f"{repository}/issues/comments/{int(known['id'])}", token, {"body": text})
    elif new:
        ask("POST", thread, token, {"body": text})


def is_fork(pull: dict[str, Any]) -> bool:
    """Whether it comes from another repository, or nobody knows."""
    head, base = (((pull.get(side) or {}).get("repo")) or {} for side in ("head", "base"))
    return not head.get("id") or head.get("id") != base.get("id")


def comments(thread: str, token: str) -> Iterator[dict[str, Any]]:
    """All comments of a thread."""
    for page in range(1, MOST_PAGES + 1):
        found = ask("GET", f"{thread}?per_page=100&page={page}", token)
        yield from found
        if len(found) < 100:
            return


def is_ours(one: dict[str, Any]) -> bool:
    """Whether it was written by this script: people quote comments, they are not bots."""
    user = one.get("user") or {}
    return str(one.get("body", "")).startswith(MARKER) and user.get("type") == "Bot"


def ask(method: str, url: str, token: str, body: dict[str, str] | None = None) -> Any:
    """One request to the API, as JSON. Raises `OSError`, `ValueError`."""
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise ValueError("GITHUB_API_URL is no https address")
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": "refute",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


# -- small things ----------------------------------------------------------------------------------


def given(name: str, default: str) -> str:
    """An input of the action."""
    return os.environ.get(f"INPUT_{name}", "").strip() or default


def read(file: Path) -> str:
    """A file's text; "" where there is none."""
    return file.read_text("utf-8") if file.is_file() else ""


def keep_sarif(file: Path) -> str:
    """Copy the findings to where they are wanted; returns that, or "" where there are none."""
    target = given("SARIF_FILE", "")
    if not target or not file.is_file():
        return ""
    shutil.copyfile(file, target)
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

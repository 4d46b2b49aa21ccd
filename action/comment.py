"""The GitHub Action's other script: one comment on the pull request, kept up to date.

It alone is given the token. It starts no process, imports the standard library alone (it is
started with `python -I`), and reads what `pull_request.py` left. Nothing is written to a pull
request from a fork.
"""

from __future__ import annotations

import json
import os
import sys
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
    """The step never fails: what went wrong is a warning."""
    try:
        text = Path(os.environ["INPUT_COMMENT_FILE"]).read_text("utf-8")
        new = os.environ.get("INPUT_PROBLEMS", "0") != "0"
        comment(f"{MARKER}\n{text}"[:LONGEST], os.environ["INPUT_TOKEN"], new=new)
    except (OSError, ValueError, KeyError, TypeError) as error:
        line = str(error).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        print(f"::warning title=refute::no comment was written: {line}")
    return 0


def comment(text: str, token: str, *, new: bool) -> None:
    """Bring the comment up to date; it is made only where there is something to say (`new`)."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
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


if __name__ == "__main__":
    sys.exit(main())

"""Every method on real issues, end to end: `refute bench` with a real server, and by batch files.

    REFUTE_REPOS=CLONES python benchmarks/issue_methods.py OUT [--data DIR] [--ids A,B...]
        [--methods zeroshot,libro...] [--ways server,batch] [--jobs 2]

The model behind the server (a loopback HTTP server in this process) answers by rule: a test that
fails always, in the form that the question asks for. So nothing is learned of a method's quality;
what is shown is that each of its steps works on real repositories, what it asks, and how long our
part takes. With `batch:` the answers are written by another process (this script, `answer DIR`)
between two starts of `refute bench`, as often as a method asks something new. One line a method:
issues predicted / abstained / failed, requests, samples, seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

METHODS = (
    *("snippet", "zeroshot", "zeroshotplus", "pass@3", "libro", "autocoderover"),
    *("swe-agent", "swe-agent+", "external", "redgreen"),
)
WITHOUT_MODEL = ("snippet", "external")
IDS = (
    *("django__django-10914", "django__django-11001", "django__django-11039"),
    *("pallets__flask-4045", "pallets__flask-5063", "psf__requests-3362"),
    *("pydata__xarray-3364", "pydata__xarray-4248", "mwaskom__seaborn-2848"),
    *("mwaskom__seaborn-3190", "pylint-dev__pylint-5859", "sympy__sympy-21379"),
)
ROUNDS = 60
"""Of a batch, at most; a method asks fewer questions in a row."""
AGENT = (
    "printf 'def test_made():\\n    assert False\\n' > $(dirname $(git ls-files '*test_*.py' | "
    "head -1))/test_made.py; test -s {prompt_file}"
)
TEST = "def test_made():\n    assert False, 'made by rule'"
SEARCH = 'search_code("def test_")\n'
REVIEW = "VERDICT: yes"

Messages = Sequence[dict[str, Any]]


def said(messages: Messages) -> str:
    """The answer to a conversation, by its form alone."""
    first, last = (str(messages[at]["content"]) for at in (0, -1))
    shown = "\n".join(str(message["content"]) for message in messages)
    folder = _folder(shown)
    if "from a terminal" in first:
        return _command(sum(message["role"] == "assistant" for message in messages), folder)
    if "search_method_in_class" in shown:
        searching = len(messages) <= 2
        return SEARCH if searching else _acr(folder)
    if "Judge each test that fails" in last:
        return REVIEW
    if "choose what you want to see" in last:
        return "CODE: setup.py: setup\nTEST: setup.py: setup"
    if "<run>" in last and "custom-diff" not in last:
        return "The failure is the issue's: yes"
    if "custom-diff" in last:
        block = f"```custom-diff\ndiff\n{folder}/test_made.py\ninsert\nEOF\n{TEST}\nend diff\n```"
        return f"PRESENT\n{block}\nEXPECTED\n{block}" if "in two steps" in last else block
    added = "".join(f"+{line}\n" for line in TEST.splitlines())
    return f"```diff\n--- /dev/null\n+++ b/{folder}/test_made.py\n@@ -0,0 +1,2 @@\n{added}```"


def _folder(text: str) -> str:
    """Where the project keeps tests, as far as the conversation shows a file of them."""
    found = re.search(r"\[start of ((?:[\w.-]+/)+)test_\w+\.py\]", text)
    return found[1].rstrip("/") if found else "tests"


def _command(at: int, folder: str) -> str:
    commands = (
        "search_dir test_",
        f"create {folder}/test_made.py",
        f"edit 1:1\n{TEST}\nend_of_edit",
        f"python -m pytest -q {folder}/test_made.py",
        "submit",
    )
    return f"DISCUSSION\nNext.\n```\n{commands[min(at, len(commands) - 1)]}\n```\n"


def _acr(folder: str) -> str:
    file = f"<file>{folder}/test_made.py</file>"
    return f"# change 1\n```\n{file}\n<original></original>\n<patched>{TEST}\n</patched>\n```"


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request in the terms of the OpenAI API."""
    message = {"role": "assistant", "content": said(body["messages"])}
    n = int(body.get("n") or 1)
    return {
        "id": "made",
        "object": "chat.completion",
        "model": body.get("model", "rule"),
        "choices": [{"index": i, "message": message, "finish_reason": "stop"} for i in range(n)],
        "usage": {"prompt_tokens": 1, "completion_tokens": n, "total_tokens": n + 1},
    }


class Rule(BaseHTTPRequestHandler):
    """Chat completions, and nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(completion(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def answer(folder: Path) -> int:
    """Answer the open requests of a batch folder; returns how many there were."""
    rows = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    with (folder / "responses.jsonl").open("a") as out:
        for row in rows:
            response = {"status_code": 200, "body": completion(row["body"])}
            done = {"id": "made", "custom_id": row["custom_id"], "response": response}
            out.write(json.dumps({**done, "error": None}) + "\n")
    return len(rows)


def bench(
    method: str, model: str | None, run: Path, options: argparse.Namespace, env: dict[str, str]
) -> tuple[int, dict[str, Any], str]:
    """One start of `refute bench`: exit status, its document, its last line on stderr."""
    command = [sys.executable, "-m", "refute", "bench", options.dataset, "--ids", options.ids]
    command += ["--method", method, "--run", str(run), "--jobs", str(options.jobs), "--json"]
    command += ["--tools", "text", "--samples", "3", "--test-seconds", "120"]
    command += ["--data", options.data] if options.data else []
    command += ["--model", model] if model else []
    command += ["--agent", AGENT] if method == "external" else []
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, document, (done.stderr.splitlines() or [""])[-1]


def by_batch(
    method: str, run: Path, options: argparse.Namespace, env: dict[str, str]
) -> tuple[int, dict[str, Any], str]:
    """Start it, have the questions answered, start it again, until nothing is open."""
    folder = run.with_name(f"{run.name}-batch")
    for _ in range(ROUNDS):
        ended = bench(method, f"batch:{folder}", run, options, env)
        open_requests = folder / "requests.jsonl"
        if ended[0] != 3 or not open_requests.is_file() or not open_requests.stat().st_size:
            break
        subprocess.run([sys.executable, __file__, "answer", str(folder)], check=True)
    return ended


def report(method: str, way: str, ended: tuple[int, dict[str, Any], str], seconds: float) -> None:
    """One line of the table."""
    status, document, last = ended
    counts = document.get("status", {})
    told = " / ".join(str(counts.get(name, "?")) for name in ("predicted", "abstained", "error"))
    cost = document.get("cost", {})
    line = f"{method:14} {way:7} exit {status}  {told:12} of {document.get('n', '?'):>3}"
    print(f"{line}  {cost.get('samples', 0):5} samples {seconds:7.0f} s", flush=True)
    if status:
        print(f"    {last}", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["answer"]:
        answer(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", default="swe-lite")
    parser.add_argument("--data", default=os.environ.get("REFUTE_DATA"))
    parser.add_argument("--ids", default=",".join(IDS), help="with commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ways", default="server,batch", help="to the model, with commas")
    options = parser.parse_args()
    print(*(f"{name}={value}" for name, value in vars(options).items()), flush=True)
    print("method         through      predicted / abstained / error")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rule)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"}
    for method in options.methods.split(","):
        ways = ["no model"] if method in WITHOUT_MODEL else options.ways.split(",")
        for way in ways:
            start = time.monotonic()
            run = options.out / f"{method}-{way.replace(' ', '-')}"
            if way == "batch":
                ended = by_batch(method, run, options, env)
            else:
                model = "openai:rule" if way == "server" else None
                ended = bench(method, model, run, options, env)
            report(method, way, ended, time.monotonic() - start)
    server.shutdown()


if __name__ == "__main__":
    main()

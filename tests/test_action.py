"""The GitHub Action, the pre-commit hooks and the GitLab template: as their schemas say, and the
action's script run from end to end with a made-up runner and a made-up API."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from refute.verbs.config import declared_options

from .diffing.repositories import commit, git

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
SCRIPTS = ROOT / "action" / "pull_request.py", ROOT / "action" / "comment.py"
TOKEN = "ghs_not-a-secret"
OLD = "def half(n: int) -> int:\n    return n // 2\n\n\ndef same(n: int) -> int:\n    return n\n"
NEW = OLD.replace("n // 2", "int(n / 2)  # ::error::no").replace("return n\n", "return n or n\n")


@pytest.mark.parametrize(
    ("file", "schema"),
    [("action.yml", "github-action"), (".pre-commit-hooks.yaml", "pre-commit-hooks")],
)
def test_it_is_as_its_schema_says(file: str, schema: str) -> None:
    document = yaml.safe_load((ROOT / file).read_text())
    Draft7Validator(json.loads((DATA / f"{schema}.json").read_text())).validate(document)


def steps() -> tuple[dict[str, Any], dict[str, Any]]:
    """The last two of the action: the one that compares, the one that comments."""
    diff, comment = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-2:]
    return diff, comment


def test_every_input_of_the_action_is_handed_on() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    names = {f"INPUT_{name.upper().replace('-', '_')}" for name in inputs}
    handed = [{name for name in step["env"] if name.startswith("INPUT_")} for step in steps()]
    assert handed[0] - {"INPUT_COMMENT_FILE"} == names - {
        "INPUT_WORKING_DIRECTORY",
        "INPUT_COMMENT",
        "INPUT_TOKEN",
    }
    for script, given in zip(SCRIPTS, handed, strict=True):
        text = script.read_text()
        read = {f"INPUT_{name}" for name in re.findall(r'given\("(\w+)"', text)}
        assert read | set(re.findall(r'environ\S+"(INPUT_\w+)"', text)) == given


def test_the_token_is_where_nothing_of_the_checkout_is() -> None:
    diff, comment = steps()
    assert (diff["env"]["GITHUB_TOKEN"], diff["env"]["GH_TOKEN"]) == ("", "")
    assert "token" not in json.dumps(diff).lower().replace("github_token", "").replace(
        "gh_token", ""
    )
    assert comment["working-directory"] == "${{ runner.temp }}"
    for step, script in zip((diff, comment), SCRIPTS, strict=True):
        assert step["run"].split()[1:] == ["-I", f'"$GITHUB_ACTION_PATH/action/{script.name}"']
    assert not re.search(r"subprocess|refute\.|os\.(exec|spawn|system)", SCRIPTS[1].read_text())


def test_hooks_and_template_use_options_that_there_are() -> None:
    hooks = [
        hook["entry"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    ]
    template = yaml.safe_load((ROOT / "templates/gitlab-ci.yml").read_text())
    lines = [line for line in template["refute"]["script"] if "refute diff" in line]
    assert len(hooks) == 2
    assert len(lines) == 1
    for line in (*hooks, *lines):
        words = shlex.split(line.partition("refute ")[2])
        known = declared_options(words[0])
        assert {word.lstrip("-") for word in words if word.startswith("--")} <= set(known)


# -- the script ------------------------------------------------------------------------------------


class Api:
    """A made-up API of comments on one pull request."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                page = int(self.path.rpartition("=")[2]) if "page=" in self.path else 1
                self._answer(api.comments[100 * (page - 1) : 100 * page])

            def do_POST(self) -> None:
                user = {"login": "github-actions[bot]", "type": "Bot"}
                api.comments.append({"id": len(api.comments), "user": user, **self._body()})
                self._answer(api.comments[-1])

            def do_PATCH(self) -> None:
                number = int(self.path.rpartition("/")[2])
                api.comments[number].update(self._body())
                self._answer(api.comments[number])

            def _body(self) -> Any:
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, document: Any) -> None:
                assert self.headers["Authorization"] == f"Bearer {TOKEN}"
                api.asked.append((self.command, self.path))
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def runner(tmp_path: Path, api: Api) -> dict[str, str]:
    """The environment of a job on a pull request, with its files."""
    write_event(tmp_path, head=7)
    names = ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")
    return {
        **{name: str(tmp_path / name) for name in names},
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": api.url,
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": "me/shop",
        "INPUT_BUDGET": "1",
        "INPUT_COMMENT_FILE": str(tmp_path / "comment.md"),
        "INPUT_PYTHON": sys.executable,
        "INPUT_SARIF_FILE": str(tmp_path / "found.sarif"),
    }


def write_event(folder: Path, *, head: int | None) -> None:
    sides = {"head": {"repo": {"id": head} if head else None}, "base": {"repo": {"id": 7}}}
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 3, **sides}}))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository in which a branch changes two functions."""
    root = tmp_path / "shop"
    commit(root, {"m.py": OLD})
    git(root, "branch", "-M", "topic")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    commit(root, {"m.py": NEW})
    return root


def run(number: int, folder: Path, runner: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A script of the action, as its step starts it."""
    command = [sys.executable, "-I", str(SCRIPTS[number])]
    env = {**os.environ, **runner}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_findings_are_written_through_no_link(
    checkout: Path, runner: dict[str, str], tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (checkout / "refute.sarif").symlink_to(victim)
    done = run(0, checkout, {**runner, "INPUT_SARIF_FILE": "refute.sarif"})
    assert (done.returncode, victim.read_text()) == (2, "mine")
    assert done.stdout.splitlines()[-1].startswith(
        "::error title=refute::no SARIF file was written"
    )


def test_a_pull_request_from_end_to_end(
    checkout: Path, runner: dict[str, str], api: Api, tmp_path: Path
) -> None:
    done = run(0, checkout, runner)
    assert done.returncode == 0, done.stdout + done.stderr  # it does not block
    log, _, annotations = done.stdout.rpartition("::\n::warning file=")
    assert "behaves otherwise (not mentioned)" in log
    word = re.match(r"::stop-commands::(\w+)\n", log)
    assert word is not None
    assert log.endswith(f"\n::{word[1]}")  # commands are off while the code's own words are shown
    assert annotations.startswith("m.py,line=1,title=behaviour-changed%3A half::half(")
    assert "same" not in annotations

    assert (tmp_path / "GITHUB_OUTPUT").read_text().splitlines() == [
        "problems=1",
        "unexplained=true",
        f"sarif-file={tmp_path / 'found.sarif'}",
    ]
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "| to look at | `m.py:1 half` |" in summary
    assert api.asked == []
    said = run(1, tmp_path, {**runner, "INPUT_PROBLEMS": "1", "INPUT_TOKEN": TOKEN})
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    (comment,) = api.comments
    assert comment["body"] == f"<!-- refute:diff -->\n{summary}"
    sarif = json.loads((tmp_path / "found.sarif").read_text())
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["behaviour-changed"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, runner: dict[str, str]) -> Any:
    """The script that comments as a module, in the job's environment."""
    for name, value in runner.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("comment", SCRIPTS[1])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_comment_is_kept_up_to_date(script: Any, api: Api) -> None:
    person = {"login": "eve", "type": "User"}
    quoted = {"id": 0, "user": person, "body": f"{script.MARKER}\nnot ours"}
    api.comments = [{"id": n, "user": person, "body": "x"} for n in range(120)]
    api.comments[0] = quoted
    script.comment(f"{script.MARKER}\nnothing", TOKEN, new=False)
    assert len(api.comments) == 120  # where there is nothing to say, none is begun
    for text in ("one", "two", "two"):
        script.comment(f"{script.MARKER}\n{text}", TOKEN, new=True)
    script.comment(f"{script.MARKER}\nall is well", TOKEN, new=False)
    assert api.comments[0] == quoted
    assert [one["body"].partition("\n")[2] for one in api.comments[120:]] == ["all is well"]
    assert [method for method, _ in api.asked if method != "GET"] == ["POST", "PATCH", "PATCH"]


@pytest.mark.parametrize("head", [8, None])
def test_nothing_is_written_for_a_fork(
    script: Any, api: Api, tmp_path: Path, head: int | None
) -> None:
    write_event(tmp_path, head=head)
    script.comment("text", TOKEN, new=True)
    assert api.asked == []


def test_what_cannot_be_compared_is_said_and_blocks_only_if_asked(
    checkout: Path, runner: dict[str, str]
) -> None:
    done = run(0, checkout, {**runner, "GITHUB_BASE_REF": "gone"})
    assert done.returncode == 0
    *_, last = done.stdout.splitlines()
    assert last.startswith("::error title=refute diff::refute: ")
    assert "`fetch-depth: 0`" in last


def test_the_token_goes_to_no_other_place(script: Any) -> None:
    for url in ("http://example.com", "file:///etc/passwd"):
        with pytest.raises(ValueError, match="no https address"):
            script.ask("GET", url, TOKEN)

"""Issues as Harbor tasks: what the agent's image is made of, and what the verifier pays."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from refute.errors import InputError, SandboxUnavailable, WorkspaceUnavailable
from refute_lab.adapters import harbor
from refute_lab.adapters.harbor import check_files, main, write_issue_tasks
from refute_lab.datasets.swe import IssueItem
from tests.issue.shop import KEY, PATCH, TEST_PATCH, Shop, new_file, prepared_shop

READS = """\
import glob, json

def test_it():
    [row] = [json.load(open(name)) for name in glob.glob({row!r})]
    code = open("shop/cart.py").read()
    assert all(line[1:] in code for line in row["patch"].splitlines()[4:] if line[:1] == "+")
"""
"""Fails now and passes on the fixed code, where it can read the answer key."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A repository with an issue, and a cache of its own."""
    with prepared_shop(tmp_path_factory.mktemp("harbor"), "negative {x}") as made:
        yield made


@pytest.fixture
def task(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The task directory, as of an environment that was built here."""
    site = tmp_path / "site" / "thing-1.2.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.2\n")
    built = replace(shop.base.recipe, python="3.9", interpreter=None, editable=True)
    base = replace(shop.base, recipe=built, sites=(str(site.parent),))
    monkeypatch.setattr(harbor, "prepared", lambda problem, backend: base)
    assert write_issue_tasks([IssueItem(shop.problem, KEY)], tmp_path / "tasks") == 1
    return tmp_path / "tasks" / "shop-1"


def test_what_the_agent_is_given(task: Path, shop: Shop) -> None:
    given = list((task / "environment").iterdir())
    assert {path.name for path in given} == {"Dockerfile", "repository.tar", "requirements.txt"}
    shown = (task / "instruction.md").read_text()
    assert "negative {x}" in shown
    assert "python -m pytest" in shown
    for text in (shown, *(path.read_bytes().decode("latin-1") for path in given)):
        assert "never_negative" not in text
        assert "discount > result" not in text
    lines = (task / "environment" / "Dockerfile").read_text().splitlines()
    assert lines[0] == "FROM python:3.9"
    assert 'ENV PYTHONPATH="/testbed"' in lines
    assert (task / "environment" / "requirements.txt").read_text() == "thing==1.2\n"
    assert (task / "tests" / "repository.tar").read_bytes() == (
        task / "environment" / "repository.tar"
    ).read_bytes()
    row = json.loads((task / "tests" / "row.jsonl").read_text())
    assert (row["patch"], row["test_patch"]) == (PATCH, TEST_PATCH)


def test_the_answer_is_what_was_changed(task: Path, shop: Shop, tmp_path: Path) -> None:
    """The archive becomes the tree, the oracle's change is collected from it, as the files say."""
    tree, place = tmp_path / "testbed", tmp_path / "app" / "tests.patch"
    with tarfile.open(fileobj=io.BytesIO((task / "tests" / "repository.tar").read_bytes())) as all_:
        all_.extractall(tree)

    def shell(command: str) -> str:
        for old, new in (
            ("/testbed", tree),
            ("/app", place.parent),
            ("/solution", task / "solution"),
        ):
            command = command.replace(old, str(new))
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["sh", "-ec", command], cwd=tree, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout

    shell("git reset --quiet --hard")
    assert shell("git log --format=%H --all").split() == [shop.problem.base_commit]
    assert shell("git status --short") == ""
    shell((task / "solution" / "solve.sh").read_text())
    (tree / "shop" / "__pycache__").mkdir()
    (tree / "shop" / "__pycache__" / "a.pyc").write_text("")
    config = tomllib.loads((task / "task.toml").read_text())
    assert config["artifacts"] == ["/app/tests.patch"]
    assert config["verifier"]["environment_mode"] == "separate"
    [collect] = config["verifier"]["collect"]
    shell(collect["command"])
    collected, golden = (text.splitlines() for text in (place.read_text(), TEST_PATCH))
    assert collected[5:] == golden[4:]  # git writes hashes of both, and the function after @@


@pytest.fixture
def paid(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], float]:
    """What the verifier pays for a patch."""
    monkeypatch.setattr(harbor, "_RUNS", (1, 2))
    row, patch, reward = (tmp_path / name for name in ("row.jsonl", "a.patch", "reward.json"))
    item = IssueItem(shop.problem, KEY)
    row.write_text(json.dumps(harbor.issue_row(item, shop.base)) + "\n")

    def verify(answer: str | None) -> float:
        patch.unlink(missing_ok=True)
        if answer is not None:
            patch.write_text(answer)
        main(str(row), str(patch), str(reward))
        return float(json.loads(reward.read_text())["reward"])

    return verify


def test_what_is_paid(paid: Callable[[str | None], float]) -> None:
    assert paid(TEST_PATCH) == 1
    assert paid(None) == 0
    assert paid("") == 0
    assert paid("no diff") == 0
    assert paid(new_file("def test_anything():\n    pass\n")) == 0
    assert paid(PATCH) == 0  # the fix itself is no test


def test_a_test_that_reads_the_answer_key(
    paid: Callable[[str | None], float], tmp_path: Path
) -> None:
    assert paid(new_file(READS.format(row=str(tmp_path / "*.jsonl")))) == 0


def test_nothing_is_paid_where_the_golden_tests_do_not_work(shop: Shop, tmp_path: Path) -> None:
    row, patch = tmp_path / "row.jsonl", tmp_path / "a.patch"
    broken = replace(KEY, patch=PATCH.replace("return 0", "return 1"))
    row.write_text(json.dumps(harbor.issue_row(IssueItem(shop.problem, broken), shop.base)))
    patch.write_text(new_file("def test_anything():\n    assert False\n"))
    with pytest.raises(WorkspaceUnavailable, match="shop-1: the golden tests do not work here"):
        main(str(row), str(patch), str(tmp_path / "reward.json"))
    assert not (tmp_path / "reward.json").exists()


def test_nothing_is_graded_beside_an_open_answer_key() -> None:
    check_files({"namespaces": False, "landlock": True})
    with pytest.raises(SandboxUnavailable, match="could read its answer key"):
        check_files({"namespaces": False, "landlock": False})


def test_an_interpreter_of_this_machine_is_no_image(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shop-1: its environment is an interpreter"):
        write_issue_tasks([IssueItem(shop.problem, KEY)], tmp_path)

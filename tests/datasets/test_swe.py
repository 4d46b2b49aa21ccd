"""Rows of SWE-bench and SWT-Bench as problems and keys."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from refute.errors import DatasetError
from refute_lab.datasets.swe import listed, load_issues

FIX = "--- a/lib/area.py\n+++ b/lib/area.py\n@@ -1 +1 @@\n-SECRETFIX = 1\n+SECRETFIX = 2\n"
TESTS = (
    "--- a/tests/test_area.py\n+++ b/tests/test_area.py\n@@ -1 +1,2 @@\n x = 1\n"
    "+def test_secretly():\n+    pass\n"
)
ENVIRONMENT = {
    "python": "3.9",
    "pins": [["pip==23.3.2"], ["pytest==7.4.0"]],
    "editable": True,
    "env": {"LANG": "C.UTF-8"},
    "test_command": "python -m pytest -rA tests/test_area.py",
}
ROW: dict[str, Any] = {
    "instance_id": "me__area-1",
    "repo": "me/area",
    "base_commit": "0" * 40,
    "problem_statement": "Area is wrong\n\nIt adds.",
    "hints_text": "SECRETHINT",
    "created_at": "2020-01-01T00:00:00Z",
    "version": "1.0",
    "patch": FIX,
    "test_patch": TESTS,
    "FAIL_TO_PASS": ["tests/test_area.py::test_secretly"],
    "PASS_TO_PASS": ["tests/test_area.py::test_other[a b]"],
    "environment": ENVIRONMENT,
}


def written(folder: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_problem_and_key(tmp_path: Path) -> None:
    (item,) = load_issues(written(tmp_path, ROW))
    assert item.problem.id == item.key.id == "me__area-1"
    assert item.problem.text == ROW["problem_statement"]
    assert (item.problem.repo, item.problem.base_commit) == ("me/area", "0" * 40)
    assert (item.key.patch, item.key.test_patch) == (FIX, TESTS)
    assert item.key.fail_to_pass == ("tests/test_area.py::test_secretly",)
    assert item.key.pass_to_pass == ("tests/test_area.py::test_other[a b]",)
    assert item.problem.recipe.python == "3.9"
    assert item.problem.recipe.pins == (("pip==23.3.2",), ("pytest==7.4.0",))


def test_the_problem_holds_nothing_of_the_key(tmp_path: Path) -> None:
    (item,) = load_issues(written(tmp_path, ROW))
    seen = json.dumps(asdict(item.problem))
    for secret in ("SECRET", "secretly", "test_area", "lib/area.py", "test_other", "tests/"):
        assert secret not in seen


def test_the_problems_of_the_benchmark_hold_nothing_of_their_keys(data_dir: Path) -> None:
    items = load_issues("swe-lite", data=data_dir)
    assert len({item.problem.id for item in items}) == len(items)
    for item in items:
        seen = json.dumps([asdict(item.problem)["recipe"], item.problem.version])
        for line in (item.key.patch + item.key.test_patch).splitlines():
            if line.startswith(("+++ ", "--- ")) and "/dev/null" not in line:
                assert line[6:] not in seen, item.problem.id
        for test in item.key.fail_to_pass:
            assert test not in seen, item.problem.id


@pytest.mark.parametrize(
    "value",
    [
        ["a", "b\\c'd\""],
        json.dumps(["a", "b\\c'd\""]),
        repr(["a", "b\\c'd\""]),
    ],
)
def test_lists_of_tests_in_every_form(value: Any, tmp_path: Path) -> None:
    (item,) = load_issues(written(tmp_path, {**ROW, "FAIL_TO_PASS": value}))
    assert item.key.fail_to_pass == ("a", "b\\c'd\"")


@pytest.mark.parametrize("empty", [None, "", "[]", []])
def test_no_tests_and_no_environment(empty: Any, tmp_path: Path) -> None:
    row = {**ROW, "FAIL_TO_PASS": empty, "PASS_TO_PASS": empty, "environment": None}
    (item,) = load_issues(written(tmp_path, row))
    assert item.key.fail_to_pass == item.key.pass_to_pass == ()


def test_an_environment_as_text(tmp_path: Path) -> None:
    for text in (repr(ENVIRONMENT), json.dumps(ENVIRONMENT)):
        (item,) = load_issues(written(tmp_path, {**ROW, "environment": text}))
        (same,) = load_issues(written(tmp_path, ROW))
        assert item == same


def test_patches_of_the_prompt_data_sets(tmp_path: Path) -> None:
    tagged = {**ROW, "patch": f"<patch>\n{FIX}</patch>"}
    swapped = {**ROW, "patch": f"<patch>\n{TESTS}\n</patch>", "test_patch": FIX.rstrip("\n")}
    renamed = {**ROW, "golden_code_patch": FIX, "golden_test_patch": TESTS}
    del renamed["patch"], renamed["test_patch"]
    for row in (tagged, swapped, renamed):
        (item,) = load_issues(written(tmp_path, row))
        assert (item.key.patch, item.key.test_patch) == (FIX, TESTS)


def test_names_find_their_files_and_leave_out_what_the_benchmark_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped = sorted(listed("lite"))[0]
    rows = [ROW, {**ROW, "instance_id": dropped}]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "SWE-bench_Lite-test.jsonl.gz").write_bytes(gzip.compress(data))
    monkeypatch.setenv("REFUTE_DATA", str(tmp_path))
    assert [i.problem.id for i in load_issues("swe-lite")] == ["me__area-1", dropped]
    assert [i.problem.id for i in load_issues("swt-lite")] == ["me__area-1"]
    with pytest.raises(DatasetError, match=f"{dropped} \\(swt-lite leaves it out\\)"):
        load_issues("swt-lite", ids=[dropped])
    with pytest.raises(DatasetError, match="swt-verified needs"):
        load_issues("swt-verified")
    (tmp_path / "SWT-bench_Lite.json").write_text(json.dumps([ROW]))
    assert len(load_issues("swt-lite")) == 1


def test_the_official_size_of_swt_bench_lite() -> None:
    assert len(listed("lite")) == 300 - 276
    assert listed("lite") >= {"pallets__flask-4045", "django__django-13658"}
    assert len(listed("full")) == 311
    assert len(listed("verified")) == 67


def test_the_lists_of_the_papers_first_version(tmp_path: Path) -> None:
    dropped = listed("v1")
    assert 2294 - len(dropped) == 1762
    assert sum(id.startswith("sphinx-doc__") for id in dropped) == 187
    ids = ("me__area-1", "sphinx-doc__sphinx-7686", "pallets__flask-4045")
    rows = [{**ROW, "instance_id": id} for id in ids]
    (tmp_path / "SWE-bench_Lite.json").write_text(json.dumps(rows))
    assert [i.problem.id for i in load_issues("swt-lite-v1", data=tmp_path)] == [
        id for id in ids if id not in dropped
    ]
    with pytest.raises(DatasetError, match="swt-lite-v1 leaves it out"):
        load_issues("swt-lite-v1", data=tmp_path, ids=[ids[1]])
    with pytest.raises(DatasetError, match="swt-full-v1 needs SWE-bench_full"):
        load_issues("swt-full-v1", data=tmp_path)


REBENCH = {
    "environment": "name: base\ndependencies:\n- python=3.9\n",  # conda's, not ours
    "requirements": "Area==0.9\nattrs==23.1.0\nnumpy==1.26.4\nlocal @ file:///x\n-e git+https://x",
    "install_config": {
        "python": "3.9",
        "install": "pip install -e .[dev]",
        "pip_packages": ["pytest"],
        "test_cmd": "pytest -p no:cacheprovider -rA tests/test_area.py",
        "env_vars": {"LANG": "C.UTF-8"},
    },
    "docker_image": "swerebench/sweb.eval.x86_64.me_1776_area-1",
}
PRO = {
    "FAIL_TO_PASS": None,
    "environment": None,
    "requirements": "- It must multiply.",
    "interface": "No new interfaces.",
    "repo_language": "python",
    "dockerhub_tag": "me.area-me__area-1",
    "fail_to_pass": "['tests/test_area.py::test_secretly']",
    "before_repo_set_cmd": "git checkout SECRET -- tests/test_area.py",
    "selected_test_files_to_run": "['tests/test_area.py']",
}


def test_the_successors_rows_with_their_environments(tmp_path: Path) -> None:
    other = {**ROW, "instance_id": "me__other-1"}
    written(tmp_path, {**ROW, **REBENCH}, {**other, "language": "go"}, name="SWE-rebench.jsonl")
    pro = {name: value for name, value in {**ROW, **PRO}.items() if value is not None}
    written(tmp_path, pro, {**other, "repo_language": "js"}, name="SWE-bench_Pro.jsonl")
    kept = {**ROW, "instance_id": "pallets__flask-5014", "FAIL_TO_PASS": None}
    written(tmp_path, kept, other, name="SWE-bench_Verified.jsonl")
    (plain,) = load_issues("tdd-verified", data=tmp_path)
    (rebench,) = load_issues("swe-rebench", data=tmp_path)
    (asked,) = load_issues("swe-pro", data=tmp_path)
    recipe = rebench.problem.recipe
    assert (recipe.python, recipe.pins) == ("3.9", (("attrs==23.1.0", "numpy==1.26.4"),))
    assert (recipe.options, recipe.env, recipe.image) == (
        ("-p", "no:cacheprovider"),
        {"LANG": "C.UTF-8"},
        REBENCH["docker_image"],
    )
    assert recipe.before == "2020-01-01"
    assert asked.problem.recipe.image == "jefzda/sweap-images:me.area-me__area-1"
    assert "It must multiply." in asked.problem.text
    assert plain.problem.id in listed("tdd")
    assert len(listed("tdd")) == 449
    assert asked.key.fail_to_pass == rebench.key.fail_to_pass
    for item in (plain, rebench, asked):
        seen = json.dumps(asdict(item.problem))
        assert not any(secret in seen for secret in ("SECRET", "secretly", "test_area", "Area=="))


def test_ids_and_limit(tmp_path: Path) -> None:
    path = written(tmp_path, *({**ROW, "instance_id": f"me__area-{n}"} for n in range(5)))
    assert [i.problem.id for i in load_issues(path, ids=["me__area-3", "me__area-1"])] == [
        "me__area-1",
        "me__area-3",
    ]
    assert len(load_issues(path, limit=2)) == 2
    with pytest.raises(DatasetError, match="no instance with id nobody"):
        load_issues(path, ids=["nobody"])


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no id": ({"instance_id": None}, "instance_id"),
    "patch is a list": ({"patch": []}, "patch"),
    "tests are a word": ({"FAIL_TO_PASS": "test_a"}, "FAIL_TO_PASS"),
    "tests are code": ({"FAIL_TO_PASS": "__import__('os').getpid()"}, "FAIL_TO_PASS"),
    "tests are numbers": ({"FAIL_TO_PASS": [1]}, "FAIL_TO_PASS"),
    "environment is a list": ({"environment": "[1]"}, "environment"),
    "environment is code": ({"environment": "open('/etc/passwd')"}, "environment"),
    "no issue": ({"problem_statement": 7}, "problem_statement"),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_rows_are_named(name: str, tmp_path: Path) -> None:
    change, field = BAD[name]
    path = written(tmp_path, ROW, {**ROW, "instance_id": "me__area-2", **change})
    with pytest.raises(DatasetError) as caught:
        load_issues(path)
    assert str(caught.value).startswith(f"{path}:2: field '{field}': ")
    assert "\n" not in str(caught.value)


def test_an_id_that_is_there_twice(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=":2: field 'instance_id': me__area-1 is there twice"):
        load_issues(written(tmp_path, ROW, ROW))
    with pytest.raises(DatasetError, match="neither a file nor one of"):
        load_issues("nowhere.jsonl")

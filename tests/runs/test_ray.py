"""A real cluster of several nodes on this machine: nodes die, drivers die, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError, Unavailable
from refute_lab.runs import ErrorRecord, read_run

from . import ray_work
from .clusters import ROOT, at, node
from .words import WORDS


@pytest.fixture
def driver(cluster: Any, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts the work in a process of its own."""
    started = []

    def start(folder: Path, executor: str, count: int, seconds: float) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.runs.ray_work"]
        command += [str(folder), str(count), str(seconds), executor]
        started.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            one.kill()
        one.communicate()


def finished(folder: Path) -> list[str]:
    try:
        _, records = read_run(folder, WORDS)
    except InputError:
        return []
    return [one.id for one in records if not isinstance(one, ErrorRecord)]


def wait_for(folder: Path, count: int) -> None:
    end = time.monotonic() + 60
    while len(finished(folder)) < count:
        assert time.monotonic() < end, "too few units in a minute"
        time.sleep(0.05)


def begun(folder: Path) -> Counter[str]:
    return Counter(name for name, _ in ray_work.lines(folder))


def records(folder: Path) -> dict[str, Any]:
    return {one.id: one for one in read_run(folder, WORDS)[1]}


# -- what becomes of units -------------------------------------------------------------------------


def test_units_that_go_wrong_hold_up_no_other(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    odd = ("dies", "raises", "evil", "files", "other", "foreign")
    units: dict[str, Any] = {"a": 0, **{one: one for one in odd}, "z": 0}
    ending = ray_work.run(folder, units, at(cluster))
    found = records(folder)
    assert found.keys() == units.keys()
    assert (ending.failed, ending.put_off) == (5, [])
    assert [found[name].text for name in ("a", "files", "z")] == ["a!", "with files", "z!"]
    assert (folder / "reports" / "files").read_bytes() == b"\0text"
    assert found["raises"].error == "ValueError: no such luck"
    assert found["dies"].error.startswith("its worker was lost 4 times: ")
    assert "\n" not in found["dies"].error
    assert found["other"].error == "what came back is a record of 'somebody else'"
    assert found["foreign"].error.startswith("what came back is not a record: ")
    # what was not plain data never left its worker
    assert "Evil" in found["evil"].error
    assert not Path("/tmp/refute-was-unpickled").exists()
    assert begun(folder) == Counter({**dict.fromkeys(units, 1), "dies": 4, "raises": 2, "evil": 2})


def test_a_file_outside_of_the_run_ends_it(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file of a run's folder"):
        ray_work.run(tmp_path / "run", {"a": "outside"}, at(cluster))
    assert not (tmp_path / "outside").exists()


def test_workers_that_cannot_start_end_the_run(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="none here"):
        ray_work.run(tmp_path / "run", {"a": 0}, at(cluster), begin=ray_work.no_start)


# -- what is lost ----------------------------------------------------------------------------------


def test_a_node_that_dies_costs_its_units_only(
    cluster: Any, tmp_path: Path, driver: Callable[..., Any]
) -> None:
    folder = tmp_path / "run"
    process = driver(folder, at(cluster), 14, 0.4)
    wait_for(folder, 4)
    lost = cluster.nodes.pop()
    done = set(finished(folder))
    cluster.remove_node(lost, allow_graceful=False)
    try:
        assert process.wait(60) == 0
    finally:
        cluster.nodes.append(node(cluster))
    assert sorted(finished(folder)) == sorted(f"u{n}" for n in range(14))
    again = {name for name, times in begun(folder).items() if times > 1}
    assert len(again) <= 1, "one core, one unit in hand"
    assert not again & done
    assert all(one.text == f"{one.id}!" for one in records(folder).values())


@pytest.mark.parametrize("first", ["ray", "processes"])
def test_a_driver_that_dies_loses_nothing_and_another_executor_goes_on(
    cluster: Any, tmp_path: Path, driver: Callable[..., Any], first: str
) -> None:
    folder = tmp_path / "run"
    one, other = at(cluster), "processes"
    if first == "processes":
        one, other = other, one
    process = driver(folder, one, 10, 0.3)
    wait_for(folder, 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = set(finished(folder))
    assert driver(folder, other, 10, 0.3).wait(60) == 0
    assert sorted(finished(folder)) == sorted(f"u{n}" for n in range(10))
    times = begun(folder)
    assert all(times[name] == 1 for name in done), "what was finished is not done again"
    assert sum(times.values()) <= 10 + 2


def test_a_node_that_comes_later_is_used(
    cluster: Any, tmp_path: Path, driver: Callable[..., Any]
) -> None:
    folder = tmp_path / "run"
    away = cluster.nodes.pop()
    cluster.remove_node(away, allow_graceful=True)
    process = driver(folder, at(cluster), 16, 0.6)
    wait_for(folder, 2)
    cluster.nodes.append(node(cluster))
    assert process.wait(60) == 0
    assert len({where for _, where in ray_work.lines(folder)}) == 2


def test_ctrl_c_leaves_the_cluster_as_it_was(
    cluster: Any, tmp_path: Path, driver: Callable[..., Any]
) -> None:
    folder = tmp_path / "run"
    process = driver(folder, at(cluster), 50, 0.3)
    wait_for(folder, 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    assert b"KeyboardInterrupt" in process.stderr.read()
    kept = len(finished(folder))
    assert 2 <= kept < 50
    time.sleep(1)
    assert sum(begun(folder).values()) <= kept + 2, "nobody works on"


# -- commands --------------------------------------------------------------------------------------


def refute(*arguments: str, cwd: Path) -> Any:
    command = [sys.executable, "-P", "-m", "refute", *arguments, "--json"]
    (cwd / "socket.py").write_text("raise SystemExit('imported from the current folder')\n")
    done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def without_times(document: Any) -> Any:
    if isinstance(document, dict):
        own = ("run", "output", "seconds_median")
        return {n: without_times(v) for n, v in document.items() if n not in own}
    return [without_times(one) for one in document] if isinstance(document, list) else document


FUNCTION = {
    "id": "above",
    "entry_point": "above",
    "description": "The numbers above the limit. above([1, 5], 3) == [5]",
    "code": "def above(numbers, limit):\n    return [n for n in numbers if n >= limit]\n",
    "reference": "def above(numbers, limit):\n    return [n for n in numbers if n > limit]\n",
    "inputs": "[([1, 5], 3), ([3, 4], 3), ([], 0)]",
}


def test_the_tables_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({**FUNCTION, "id": f"f{n}"}) + "\n" for n in range(4)))
    verb = ("bench", str(rows), "--method", "search")
    here = refute(*verb, "--run", str(tmp_path / "here"), cwd=tmp_path)
    there = refute(*verb, "--run", str(tmp_path / "there"), "--executor", at(cluster), cwd=tmp_path)
    assert without_times(here) == without_times(there)


def test_training_data_is_that_of_one_process(cluster: Any, tmp_path: Path) -> None:
    source = tmp_path / "tasks.jsonl"
    tasks = [
        {"id": "above", "description": FUNCTION["description"], "solution": FUNCTION["reference"]}
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in tasks))
    verb = ("train", "data", str(source), "--set", f"evaluation={tmp_path / 'none.jsonl'}")
    other = {**FUNCTION, "description": "Something else.", "reference": "above = max"}
    (tmp_path / "none.jsonl").write_text(json.dumps(other) + "\n")
    here, there = tmp_path / "here", tmp_path / "there"
    first = refute(*verb, "-o", str(here), cwd=tmp_path)
    second = refute(*verb, "-o", str(there), "--executor", at(cluster), cwd=tmp_path)
    assert without_times(first) == without_times(second)
    for name in ("stage0", "stage1", "stage2", "stage3", "train", "problems"):
        one, other = ((folder / f"{name}.jsonl").read_bytes() for folder in (here, there))
        assert one, name
        assert one == other, name


def test_what_cannot_be_is_said_in_one_line(cluster: Any, tmp_path: Path) -> None:
    for executor, told in (
        ("processes:here", "processes are of this machine"),
        ("ray://host:10001", "has to run on the cluster"),
        ("rays", "unknown executor; there are"),
    ):
        with pytest.raises(InputError, match=told):
            ray_work.run(tmp_path / "run", {"a": 0}, executor)
    with pytest.raises(Unavailable, match=r"no Ray cluster at 127\.0\.0\.1:1"):
        ray_work.run(tmp_path / "run", {"a": 0}, "ray:127.0.0.1:1")

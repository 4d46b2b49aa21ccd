"""Clusters that have a GPU, or grow: what workers ask for, and where units are done."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line

from ..function.scripted_server import rows
from . import ray_work
from .clusters import RAY, ROOT, STORE, at, head_and_nodes


def test_a_model_in_the_process_is_where_the_gpu_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes, and one of them says that it has a GPU; the model is computed as well without."""
    pytest.importorskip("ray", reason=RAY)
    pytest.importorskip("transformers", reason="transformers is not installed")
    from ..models.tiny import build_tiny

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    model = build_tiny(tmp_path / "tiny")
    data = tmp_path / "sums.jsonl"
    data.write_text(rows(1))
    given = ("bench", data, "--method", "no-ut", "--model", f"hf:{model}", "--set", "max_tokens=8")
    with head_and_nodes(tmp_path / "cache", {}, {"num_gpus": 1}) as cluster:
        folder = tmp_path / "where"
        ray_work.run(folder, {f"u{n}": 0 for n in range(4)}, at(cluster), gpus=1.0)
        where = {place for _, place in ray_work.lines(folder)}
        assert where == {gpu_node(cluster)}
        more = ("--executor", at(cluster), "--run", "there")
        status = command_line.run([str(one) for one in (*given, *more)])
        there, err = capfd.readouterr()
        assert status == 0, err
        assert "no GPU" not in err
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "own"))
    assert command_line.run([str(one) for one in (*given, "--run", "here")]) == 0
    here, _ = capfd.readouterr()
    assert here[here.index("┏") :] == there[there.index("┏") :]


def gpu_node(cluster: Any) -> str:
    import ray

    ray.init(cluster.address, log_to_driver=False)
    try:
        (one,) = (node for node in ray.nodes() if node["Resources"].get("GPU"))
        return str(one["NodeID"])
    finally:
        ray.shutdown()


def test_a_cluster_that_grows_as_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but a head at first: Ray's autoscaler starts nodes for what the driver asks."""
    with growing(tmp_path, monkeypatch) as address:
        folder = tmp_path / "run"
        units = {f"u{n}": 0.2 for n in range(20)}
        ray_work.run(folder, units, f"ray:{address}")
        lines = ray_work.lines(folder)
        assert sorted(name for name, _ in lines) == sorted(units), "each once"
        assert {where[-1] for _, where in lines} <= {"1", "2"}, "the nodes that it started"


KIND = {"node_config": {}, "min_workers": 0}
LISTS = (
    "initialization",
    "setup",
    "head_setup",
    "worker_setup",
    "head_start_ray",
    "worker_start_ray",
)


@contextmanager
def growing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a head whose autoscaler starts up to two nodes on this machine.

    As `ray.cluster_utils.AutoscalingCluster`, which lacks a file in Ray 2.60's wheel, and ends all
    Ray that runs on the machine.
    """
    ray = pytest.importorskip("ray", reason=RAY)
    with socket.socket() as free:
        free.bind(("", 0))
        address = f"{ray.util.get_node_ip_address()}:{free.getsockname()[1]}"
    config = {
        "cluster_name": "growing",
        "max_workers": 2,
        "upscaling_speed": 10.0,
        "idle_timeout_minutes": 1,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": address,
            "launch_multiple": True,
        },
        "head_node_type": "ray.head.default",
        "available_node_types": {
            "ray.head.default": {**KIND, "resources": {"CPU": 0}, "max_workers": 0},
            "one": {
                **KIND,
                "resources": {"CPU": 1, "object_store_memory": STORE},
                "max_workers": 2,
            },
        },
        **{name: {} for name in ("auth", "head_node", "worker_nodes", "file_mounts")},
        **{f"{name}_commands": [] for name in LISTS},
        **{name: [] for name in ("cluster_synced_files", "rsync_exclude", "rsync_filter")},
        "file_mounts_sync_continuously": False,
    }
    file = folder / "growing.json"
    file.write_text(json.dumps(config))
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_FAKE_CLUSTER": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "disabled"),
        "PYTHONPATH": str(ROOT),
    }.items():
        monkeypatch.setenv(name, value)
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += [f"--port={address.rpartition(':')[2]}", "--num-cpus=0", "--include-dashboard=false"]
    command += [f"--object-store-memory={STORE}", f"--autoscaling-config={file}"]
    head = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        wait_for(address)
        yield address
    finally:
        head.terminate()
        with suppress(subprocess.TimeoutExpired):
            head.wait(20)
        for pid in session(head.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        head.wait()


def wait_for(address: str) -> None:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + 60
    while True:
        with suppress(OSError):
            return socket.create_connection((host, int(port)), 1).close()
        assert time.monotonic() < end, "no head in a minute"
        time.sleep(0.2)


def session(leader: int) -> list[int]:
    """The processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                found.append(int(path.parent.name))
    return found

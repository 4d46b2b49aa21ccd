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

import pytest

from . import ray_work
from .clusters import RAY, ROOT, STORE


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

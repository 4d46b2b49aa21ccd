"""Clusters that have a GPU, or grow: what workers ask for, and where units are done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refute import cli

from ..function.scripted_server import rows
from . import ray_work
from .clusters import RAY, ROOT, at, head_and_nodes


def test_a_model_in_the_process_is_where_the_gpu_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes, and one of them says that it has a GPU; the model is computed as well without."""
    pytest.importorskip("ray", reason=RAY)
    pytest.importorskip("transformers", reason="transformers is not installed")
    from ..models.tiny import build_tiny

    monkeypatch.chdir(tmp_path)
    model = build_tiny(tmp_path / "tiny")
    data = tmp_path / "sums.jsonl"
    data.write_text(rows(2))
    given = ("bench", data, "--method", "no-ut", "--model", f"hf:{model}", "--max-tokens", 8)
    with head_and_nodes(tmp_path / "cache", {}, {"num_gpus": 1}) as cluster:
        folder = tmp_path / "where"
        ray_work.run(folder, {f"u{n}": 0 for n in range(4)}, at(cluster), gpus=1.0)
        where = {place for _, place in ray_work.lines(folder)}
        assert where == {gpu_node(cluster)}
        more = ("--executor", at(cluster), "--run", "there")
        status = cli.run([str(one) for one in (*given, *more)])
        there, err = capfd.readouterr()
        assert status == 0, err
        assert "no GPU" not in err
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "own"))
    assert cli.run([str(one) for one in (*given, "--run", "here")]) == 0
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
    """Nothing but a head at first; Ray's autoscaler starts two nodes for the run."""
    pytest.importorskip("ray", reason=RAY)
    from ray.cluster_utils import AutoscalingCluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kind = {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 2}
    cluster = AutoscalingCluster(
        head_resources={"CPU": 0}, worker_node_types={"one": kind}, idle_timeout_minutes=1
    )
    cluster.start()
    try:
        folder = tmp_path / "run"
        units = {f"u{n}": 0.5 for n in range(40)}
        ray_work.run(folder, units, "ray:auto")
        lines = ray_work.lines(folder)
        assert sorted(name for name, _ in lines) == sorted(units), "each once"
        assert len({where for _, where in lines}) == 2
    finally:
        cluster.shutdown()

"""Real Ray clusters of several nodes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["RAY", "ROOT", "STORE", "at", "head_and_nodes", "node"]

RAY = "ray is not installed: pip install 'refute[cluster]'"
ROOT = Path(__file__).resolve().parents[2]
STORE = 100 << 20


@contextmanager
def head_and_nodes(cache: Path, *nodes: dict[str, Any]) -> Iterator[Any]:
    """A head that does no units, and nodes with a core each and what else is said of them."""
    pytest.importorskip("ray", reason=RAY)
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))  # nodes find the tests' own work
        patch.setenv("REFUTE_CACHE", str(cache))
        size = {"object_store_memory": STORE, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **size})
        try:
            made.nodes = [node(made, **one) for one in nodes]
            made.wait_for_nodes()
            yield made
        finally:
            made.shutdown()


def node(cluster: Any, **more: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=STORE, **more)


def at(cluster: Any) -> str:
    return f"ray:{cluster.address}"

"""The cluster that most of its tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .clusters import head_and_nodes


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two nodes."""
    with head_and_nodes(tmp_path_factory.mktemp("cluster") / "cache", {}, {}) as made:
        yield made

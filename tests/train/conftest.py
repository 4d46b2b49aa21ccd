"""Fixtures of the tests of training."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # the tasks in `synthetic`


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random Qwen2 with its tokenizer and room for a whole prompt."""
    for name in ("torch", "transformers", "peft", "trl", "datasets"):
        pytest.importorskip(name)
    import json

    import torch

    from ..models.tiny import build_tiny

    torch.set_num_threads(1)  # threads that wait for one another crawl on a busy machine
    path = build_tiny(tmp_path_factory.mktemp("tiny") / "base")
    for file, field in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        content = json.loads((path / file).read_text())
        (path / file).write_text(json.dumps({**content, field: 4096}))
    return path

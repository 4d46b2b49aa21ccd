"""Fixtures of the models' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.models.dialects import RetryPolicy

from .loopback import Loopback
from .tiny import build_tiny


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, address, cache or price of the user's own gets into a test."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REFUTE_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A server on this machine; obedient until its `behaviour` is set."""
    with Loopback() as loopback:
        yield loopback


@pytest.fixture
def quick_retry() -> RetryPolicy:
    """As many tries as usual, without the pauses."""
    return RetryPolicy(first_tries=8, attempt=60.0, total=120.0, pause=0.001)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random Qwen2 with its tokenizer."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return build_tiny(tmp_path_factory.mktemp("tiny") / "qwen")

"""The conformance suite against `transformers serve` with a tiny random model."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.models.openai import OpenAIModel
from refute.testing.models import BRIEF, CHECKS, Check, Subject, conform, user

PROGRAM = Path(sys.executable).with_name("transformers")
ADDRESS = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def served(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIModel]:
    """The tiny model behind a server, as it is opened anew by each check."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    if not PROGRAM.exists():
        pytest.skip(f"no program {PROGRAM}")
    folder = tmp_path_factory.mktemp("serve")
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                PROGRAM,
                "serve",
                tiny_model,
                *["--host", "127.0.0.1", "--port", "0", "--device", "cpu"],
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "HF_HUB_OFFLINE": "1",
                "HF_HOME": str(folder),
                "OMP_NUM_THREADS": "1",  # more threads than cores wait for each other
                "COLUMNS": "200",
            },
        )
    try:
        yield OpenAIModel(str(tiny_model), base_url=f"{_address(process, log)}/v1")
    finally:
        process.kill()
        process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the server says where it listens."""
    end = time.monotonic() + 400
    while time.monotonic() < end and process.poll() is None:
        found = ADDRESS.search(log.read_text(errors="replace"))
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise AssertionError(f"transformers serve did not start: {log.read_text()[-2000:]}")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Check, served: OpenAIModel) -> None:
    conform(check, Subject(lambda: OpenAIModel(served.served_name, base_url=served.base_url)))


def test_it_ignores_n_and_is_topped_up(served: OpenAIModel) -> None:
    """The server says one choice for n=3, silently."""

    async def run() -> None:
        answers = await served.generate(user("hello"), n=3, sampling=BRIEF)
        await served.close()
        assert [answer.usage.prompt_tokens > 0 for answer in answers] == [True] * 3

    asyncio.run(run())
    assert served._left_out == {"n"}

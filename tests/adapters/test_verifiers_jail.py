"""An agent of verifiers 0.4.0 in the jail it is put into (`refute_lab.adapters.verifiers_jail`)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute_lab.adapters.verifiers_relay import _MOST
from tests.adapters.recorded import install

Use = Callable[[Any], Awaitable[None]]


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[[Use], None]:
    """Run what an agent does in its runtime, as the environment does."""
    install(monkeypatch, "verifiers")
    from refute_lab.adapters.verifiers_jail import JailEnv

    async def run(task: Any, *, runtime: Any) -> None:
        try:
            await runtime.write("given", b"hello")
        except RuntimeError as error:
            if "needs namespaces" in str(error):
                pytest.skip(str(error))
            raise
        await task(runtime)

    def use(what: Use) -> None:
        asyncio.run(JailEnv().run(what, SimpleNamespace(agent=SimpleNamespace(run=run))))

    return use


async def python(box: Any, code: str, *words: str) -> Any:
    return await box.run([sys.executable, "-c", code, *words], {"SAID": "yes"})


CALL = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 9) as one:
    one.sendall(b"ping"); one.shutdown(socket.SHUT_WR)
    print(one.makefile().read())
"""
FLOOD = """
import select, socket, sys, time
calls = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[2]))]
for one in calls:
    one.connect(sys.argv[1])
deadline, ended = time.monotonic() + 9, []
while len(ended) < int(sys.argv[3]) and time.monotonic() < deadline:
    time.sleep(0.1)
    ended = select.select(calls, [], [], 0)[0]
print(len(ended))
"""


def test_a_harness_reaches_the_model_and_no_other_port(put: Callable[[Use], None]) -> None:
    peers: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append((await reader.read()).decode())
        writer.write(b"pong")
        writer.close()

    async def use(box: Any) -> None:
        async with AsyncExitStack() as stack:
            ports = []
            for _ in range(2):
                server = await asyncio.start_server(answer, "127.0.0.1", 0)
                await stack.enter_async_context(server)
                ports.append(server.sockets[0].getsockname()[1])
            await box.prepare_execution([f"http://127.0.0.1:{ports[0]}/v1"])
            done = await python(box, CALL, str(ports[0]))
            assert (done.exit_code, done.stdout) == (0, "pong\n"), done.stderr
            done = await python(box, CALL, str(ports[1]))
            assert "ConnectionRefusedError" in done.stderr
            assert peers == ["ping"]
            datagram = "import socket, sys; s = socket.socket(2, 2); s.sendto(b'x', ('9.9.9.9', 9))"
            assert "unreachable" in (await python(box, datagram)).stderr

    put(use)


def test_what_runs_inside_gets_at_nothing_outside(
    put: Callable[[Use], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    monkeypatch.setenv("A_TOKEN", "mine")
    places: list[Path] = []

    async def use(box: Any) -> None:
        done = await box.run(["sh", "-c", f"cat given; cat {secret}; env; exit 3"], {"SAID": "yes"})
        assert done.exit_code == 3
        assert done.stdout.startswith("hello")
        assert "mine" not in done.stdout
        assert "SAID=yes" in done.stdout
        done = await box.run(["sh", "-c", f"kill -9 {os.getpid()} || kill -9 -1"], {})
        assert done.exit_code == -9
        await box.run(["sh", "-c", "sleep 99 & ln -s /etc/passwd link"], {})
        assert "sleep" not in (await box.run(["sh", "-c", "cat /proc/*/cmdline"], {})).stdout
        for path in ("/etc/passwd", "../../given", "link", "none"):
            with pytest.raises(RuntimeError, match=f"read '{path}'"):
                await box._read(path)
        with pytest.raises(RuntimeError, match=r"write '\.\./out'"):
            await box.write("../out", b"")
        assert await box._read("given", 3) == b"hel"
        assert (await box.run(["no-such-program"], {})).exit_code == 127
        places.append(Path(box.info.id))
        assert places[0].is_dir()

    put(use)
    assert not places[0].exists()


def test_what_cannot_be_had_is_told(put: Callable[[Use], None], tmp_path: Path) -> None:
    script = tmp_path / "program.py"

    async def use(box: Any) -> None:
        with pytest.raises(RuntimeError, match="before the harness was installed"):
            await box.prepare_uv_script(str(script))
        with pytest.raises(RuntimeError, match="not https://example"):
            await box.prepare_execution(["https://example.org/v1"])
        asked = asyncio.ensure_future(box.run(["sleep", "99"], {}))
        await asyncio.sleep(0.2)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        with pytest.raises(RuntimeError, match="was closed"):
            await box.run(["true"], {})

    put(use)


def test_connections_are_bounded(put: Callable[[Use], None]) -> None:
    """At the socket itself: what passes its connections on inside may be passed by."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def use(box: Any) -> None:
        async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await box.prepare_execution([f"http://127.0.0.1:{port}"])
            words = (f"{box.info.id}/ports/{port}", str(_MOST + 20), "20")
            done = await python(box, FLOOD, *words)
            assert done.stdout == "20\n", done.stderr

    put(use)

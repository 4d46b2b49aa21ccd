"""Every attack at every level of isolation; after each, the same worker gives a right verdict."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Program, Returned
from refute.sandbox.values import MalformedValue

from . import lies  # noqa: F401 (adds to ATTACKS)
from .attacks import ATTACKS, Attack
from .conftest import LEVELS, Worker, sentinel


class Canary:
    """A directory, a TCP port and two UNIX sockets of the host that no program may touch."""

    def __init__(self, directory: Path) -> None:
        directory.chmod(0o777)
        (directory / "empty").mkdir(mode=0o777)
        self.secret = directory / "secret"
        self.secret.write_text("canary")
        self.secret.chmod(0o666)
        self.directory = directory
        self.abstract = f"refute-canary-{directory}"
        self.listeners = [socket.create_server(("127.0.0.1", 0))]
        for name in (str(directory / "socket"), "\0" + self.abstract):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(name)
            listener.listen()
            self.listeners.append(listener)
        self.port = self.listeners[0].getsockname()[1]
        self.seen = self.state()

    def fill(self, code: str) -> str:
        for mark, text in (
            ("@CANARY@", str(self.directory)), ("@PORT@", str(self.port)),
            ("@ABSTRACT@", self.abstract),
            ("@HOME@", str(Path.home())), ("@REPO@", str(Path(__file__).parents[2])),
        ):  # fmt: skip
            code = code.replace(mark, text)
        return code

    def state(self) -> object:
        status = self.secret.stat()
        names = sorted(path.name for path in self.directory.iterdir())
        return names, self.secret.read_text(), status.st_mode, status.st_mtime_ns, status.st_uid


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    made = Canary(tmp_path_factory.mktemp("canary"))
    yield made
    for listener in made.listeners:
        listener.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    pairs = [
        pytest.param(level, attack, id=f"{level}-{attack.name}")
        for level in LEVELS
        for attack in ATTACKS
        if level == "all" or not attack.about_itself
    ]
    metafunc.parametrize(("worker", "attack"), pairs, indirect=["worker"], scope="session")


def test_attack(worker: Worker, attack: Attack, canary: Canary) -> None:
    held = worker.protections
    if attack.needs and not any(held[name] for name in attack.needs):
        assert not all(held.values())  # and `protections` says which is missing
        pytest.skip(f"needs {' or '.join(attack.needs)}")
    before = worker.pid()
    limits = Limits(cpu=attack.cpu, wall=attack.wall, memory=attack.memory)
    program = Program(code=canary.fill(attack.code), entry_point="f")
    threads = threading.active_count()
    (outcome,) = worker.box.run(program, [Call(args=(1,))], limits)
    assert isinstance(outcome, attack.ends), outcome
    if attack.nothing_done:
        assert outcome.value == []
    if isinstance(outcome, Returned):
        try:
            assert outcome.value != 42
        except MalformedValue:
            assert "forge" in attack.name or "patch" in attack.name
    assert sentinel(worker.box) == worker.fresh
    assert attack.respawns or worker.pid() == before, "the worker was replaced"
    assert canary.state() == canary.seen
    assert threading.active_count() == threads

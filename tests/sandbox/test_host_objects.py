"""What a program may read of the host, it still cannot send to, lock or fill memory beside."""

# ruff: noqa: E501
from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Program
from refute.sandbox.local import LocalSandbox

from .conftest import LEVELS

DATAGRAMS = """
import os, socket
def f(paths):
    done = []
    for kind in range(1, 11):
        for flags in (0, 0o4000, 0o2000000, 0o2004000):
            try: pair = socket.socketpair(socket.AF_UNIX, kind | flags)
            except OSError: continue
            for path in paths:
                for send in (lambda s: s.sendto(b'x', path), lambda s: s.sendmsg([b'x'], [], 0, path),
                             lambda s: (s.connect(path), s.send(b'x'))):
                    try: send(pair[0]); done.append([kind, flags, str(path)])
                    except OSError: pass
    return done
"""
LOCKS = """
import fcntl, os, time
def f(path):
    fd = os.open(path, os.O_RDONLY)
    for take in (lambda: fcntl.flock(fd, fcntl.LOCK_EX), lambda: fcntl.flock(fd, fcntl.LOCK_SH),
                 lambda: fcntl.lockf(fd, fcntl.LOCK_SH)):
        try: take()
        except OSError: pass
    time.sleep(1)
"""
BUFFERS = """
import socket
def f(x):
    held, pairs = 0, []
    try:
        for _ in range(200):
            pair = socket.socketpair()
            pairs.append(pair)
            pair[0].setblocking(False)
            try: pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 27)
            except OSError: pass
            try:
                while True: held += pair[0].send(bytes(1 << 16))
            except OSError: pass
    except OSError: pass
    return held
"""
DATABASE = """
import sqlite3
def f(x):
    with sqlite3.connect("here.db") as base:
        base.execute("create table t (x)")
        base.execute("insert into t values (?)", (x,))
    return sqlite3.connect("here.db").execute("select x from t").fetchall()
"""


@pytest.fixture(params=["all", "no-namespaces", "seccomp-only"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalSandbox]:
    tmp_path.chmod(0o755)
    with LocalSandbox(measures=LEVELS[request.param], readable=[tmp_path]) as made:
        if not all(made.protections()[name] for name in LEVELS[request.param]):
            pytest.skip("this machine lacks a measure")
        yield made


def test_no_datagram_reaches_a_socket_of_the_host(box: LocalSandbox, tmp_path: Path) -> None:
    paths = [str(tmp_path / "socket"), f"\0refute-{tmp_path}"]
    listeners = []
    for path in paths:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(path)
        listener.setblocking(False)
        listeners.append(listener)
    (tmp_path / "socket").chmod(0o777)
    (outcome,) = box.run(Program(DATAGRAMS, "f"), [Call((paths,))])
    assert outcome.value == []
    for listener in listeners:
        with pytest.raises(BlockingIOError):
            listener.recv(10)
        listener.close()


def test_no_lock_is_held_on_a_readable_file(box: LocalSandbox, tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.touch(0o644)
    limits = Limits(cpu=5.0, wall=10.0)
    thread = threading.Thread(
        target=box.run, args=(Program(LOCKS, "f"), [Call((str(file),))], limits)
    )
    thread.start()
    fd = os.open(file, os.O_RDWR)
    refused = 0
    while thread.is_alive():
        for take in (fcntl.flock, fcntl.lockf):
            try:
                take(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                take(fd, fcntl.LOCK_UN)
            except OSError:
                refused += 1
        time.sleep(0.05)
    os.close(fd)
    assert not refused


def test_sockets_hold_little_memory(box: LocalSandbox) -> None:
    (outcome,) = box.run(Program(BUFFERS, "f"), [Call((1,))], Limits(cpu=2.0))
    assert outcome.value < 32 << 20


def test_a_database_in_the_private_directory_works(box: LocalSandbox) -> None:
    pytest.importorskip("sqlite3")
    (outcome,) = box.run(Program(DATABASE, "f"), [Call((3,))], Limits(cpu=2.0))
    assert outcome.value == [(3,)]

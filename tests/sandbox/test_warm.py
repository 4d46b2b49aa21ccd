"""Warm processes: copies of one import, as apart from each other as processes that import anew."""

# ruff: noqa: E501
from __future__ import annotations

import platform
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from refute.core.problems import Call, Expression
from refute.sandbox import Killed, Limits, Outcome, Program, Raised, Returned, TimedOut
from refute.sandbox.local import ALL_MEASURES, LocalSandbox
from refute.sandbox.values import MalformedValue

from . import lies  # noqa: F401 (adds to ATTACKS)
from .attacks import ATTACKS, Attack
from .conftest import children_of, sentinel
from .test_attacks import Canary
from .test_secrets import LIMITS, SEARCH

Made = Callable[..., LocalSandbox]


def able(box: LocalSandbox) -> LocalSandbox:
    held = box.protections()
    old = tuple(map(int, platform.release().split(".")[:2])) < (5, 9)
    if old or not (held["namespaces"] and held["seccomp"]):
        pytest.skip("no warm processes here")
    return box


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even the quickest import is kept."""
    monkeypatch.setattr("refute.sandbox.local._QUICK", -1.0)


@pytest.fixture
def made(keeping: None) -> Iterator[Made]:
    """Makes sandboxes that keep even the quickest import."""
    boxes: list[LocalSandbox] = []

    def make(**options: object) -> LocalSandbox:
        boxes.append(LocalSandbox(**options))  # type: ignore[arg-type]
        return able(boxes[-1])

    yield make
    for box in boxes:
        box.close()


@pytest.fixture(scope="module")
def attacked() -> Iterator[LocalSandbox]:
    """One for every attack of a program: it must be sound after each."""
    with LocalSandbox() as box:
        yield box


@pytest.fixture
def box(made: Made) -> LocalSandbox:
    return made()


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    found = Canary(tmp_path_factory.mktemp("canary"))
    yield found
    for listener in found.listeners:
        listener.close()


def module(code: str, entry_point: str = "f") -> Program:
    name = f"victim{crc32(code.encode())}"  # what is unfit to be kept once is not tried again
    return Program(textwrap.dedent(code), entry_point, f"/scratch/{name}.py", name)


def run(box: LocalSandbox, code: str, *args: object, **limits: object) -> Outcome:
    wanted = Limits(**({"cpu": 0.5, "wall": 1.0} | limits))  # type: ignore[arg-type]
    return box.run(module(code), [Call(args=args)], wanted)[0]


WHO = "import os as _os\n_PID = _os.getpid()\ndef _warm(): return _os.getpid() != _PID\n"


def is_warm(box: LocalSandbox, code: str) -> bool:
    """Whether what was imported is kept, and copied: twice, with the same in each copy."""
    program = module(WHO + textwrap.dedent(code), "_warm")
    found = [box.run(program, [Call()], Limits(cpu=0.5, loading=5.0))[0] for _ in range(2)]
    assert all(isinstance(one, Returned) for one in found), found
    assert found[0] == found[1]
    return bool(found[1].value)  # type: ignore[union-attr]


def processes(box: LocalSandbox) -> int:
    """Those below the server."""
    (connection,) = box._servers.values()
    return len(children_of(connection.process.pid)) - 1


HONEST = """
import random
numbers = [random.random()]
def f(x):
    numbers.append(x)
    return numbers
"""


def is_sound(box: LocalSandbox) -> None:
    """An honest module is kept and right, and no process is there but those kept."""
    assert is_warm(box, HONEST)
    first, second = run(box, HONEST, 1), run(box, HONEST, 2)
    assert (len(first.value), len(second.value)) == (2, 2), "a call's trace is seen by the next"
    assert first.value[0] == second.value[0]
    assert processes(box) <= 4
    assert sentinel(box)


def test_the_same_as_cold(box: LocalSandbox, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
        import atexit, os, random, signal, threading, time, resource, sys, tempfile
        seen = [random.random(), os.getcwd(), sorted(os.environ), os.getppid()]
        sys.setrecursionlimit(777)
        os.umask(0o27)
        def f(x):
            ran = []
            thread = threading.Thread(target=lambda: ran.append(x)); thread.start(); thread.join()
            for signal_sent in (signal.raise_signal, lambda s: os.kill(os.getpid(), s)):
                try: signal.signal(signal.SIGUSR1, lambda *a: ran.append('got')); signal_sent(signal.SIGUSR1)
                except OSError as error: ran.append(error.errno)
            with tempfile.TemporaryFile() as file: ran.append(file.write(b'abc'))
            limits = [resource.getrlimit(getattr(resource, n)) for n in sorted(dir(resource)) if n.startswith('RLIMIT_') and n != 'RLIMIT_AS']
            fds = []
            for fd in range(64):
                try: os.fstat(fd); fds.append(fd)
                except OSError: pass
            return [seen, ran, random.random(), os.umask(0), sys.getrecursionlimit(), limits, fds,
                    resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE), os.listdir('.'), threading.active_count(),
                    sorted(sys.modules), [str(signal.getsignal(s)) for s in range(1, 10)]]
        """
    assert is_warm(box, code)
    warm = [run(box, code, 5) for _ in range(3)]
    monkeypatch.setattr("refute.sandbox.local._QUICK", 1e9)
    cold = made()
    assert not is_warm(cold, code)
    assert isinstance(warm[0], Returned), warm
    assert [one.value for one in warm] == [run(cold, code, 5).value] * 3  # type: ignore[union-attr]


@pytest.mark.parametrize("body", ["os.abort()", "f(x)", "1 / 0", "time.sleep(9)", "[0] * 10**9"])  # fmt: skip
def test_ends_as_cold(box: LocalSandbox, made: Made, body: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    code = f"import os, time\ndef f(x): {body}\n"
    warm = [repr(run(box, code, 1, memory=256 << 20)) for _ in range(2)]
    assert is_warm(box, code)
    monkeypatch.setattr("refute.sandbox.local._QUICK", 1e9)
    assert warm == [repr(run(made(), code, 1, memory=256 << 20))] * 2
    is_sound(box)


def test_an_import_that_cannot_be_kept_is_made_anew(box: LocalSandbox) -> None:
    for body in (
        "import threading\nt = threading.Thread(target=print); t.start(); t.join()",
        "import mmap\nm = mmap.mmap(-1, 4096)",
        "import os\np = os.pipe()",
        "import socket\np = socket.socketpair()",
        "h = open('/dev/null')",
        "import os\nos.dup2(1, 63)",
        "open('left', 'w').close()",
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 100)",
        "import signal\nsignal.alarm(100)",
    ):
        assert not is_warm(box, body), body
        is_sound(box)
    assert is_warm(box, "with open('/dev/null'): pass")


def test_an_import_that_fails_says_so(box: LocalSandbox) -> None:
    for _ in range(2):
        found = run(box, "import os\nx = 1\nraise ValueError(x)\ndef f(x): pass", 1)
        assert found == Raised("ValueError", "1", 3, on_import=True)
        for ending in ("os._exit(5)", "os.kill(os.getpid(), 9)", "os.abort()"):
            assert isinstance(run(box, f"import os\n{ending}\ndef f(x): pass", 1), Killed)
        found = run(box, "x = [0] * 10**9\ndef f(x): pass", 1, memory=100 << 20)
        assert type(found).__name__ == "OutOfMemory"
    is_sound(box)


def test_an_import_that_hangs_is_paid_for_once(box: LocalSandbox) -> None:
    for body, kind in (("while 1: pass", "cpu"), ("import time\ntime.sleep(99)", "wall")):
        start = time.monotonic()
        assert run(box, f"{body}\ndef f(x): pass", 1, wall=0.7, loading=0.5) == TimedOut(kind)
        assert time.monotonic() - start < 9 if kind == "cpu" else 3
        found = run(
            box, f"{body}\ndef f(x): pass # again", 1, run_wall=0.3, loading=60.0, wall=60.0
        )
        assert type(found).__name__ == "NotRun"
    is_sound(box)


def test_the_time_of_an_import_is_no_call_s(box: LocalSandbox) -> None:
    code = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass\ndef f(x): return x"
    for _ in range(3):
        assert isinstance(run(box, code, 1, cpu=0.2, loading=5.0), Returned)
    assert is_warm(box, code)


RAW = """
import ctypes, os, platform, time
_c = ctypes.CDLL(None, use_errno=True)
def fork():
    return _c.syscall(ctypes.c_long(56 if platform.machine() == 'x86_64' else 220), ctypes.c_ulong(0x8011), *[ctypes.c_ulong(0)] * 4)
def greet():
    return _c.prctl(0x52656675, *[ctypes.c_ulong(0)] * 4)
def f(x): return x
"""
AT_IMPORT = {
    "fork": "import os\ndef f(x): return x\nfor _ in range(9):\n    try: os.fork()\n    except OSError: pass",
    "a stray that stays": RAW + "if fork() == 0:\n    time.sleep(99)",
    "strays without end": RAW + "while 1: fork()",
    "the copy goes on and so do copies of it": RAW + "fork()\nfork()\nfork()",
    "two at a time": RAW + "while fork() != 0: fork()",
    "it copies from a thread": RAW + "import threading\nfor _ in range(3): threading.Thread(target=fork).start()",
    "a thread that goes on": RAW + "import threading\ndef again():\n    while 1: fork()\nthreading.Thread(target=again, daemon=True).start()",
    "it answers for a job it never forked": RAW + "fork()\nwhile greet(): pass",
    "it asks for a job at once": RAW + "greet()",
    "it works instead of being copied again": RAW + "if fork() > 0:\n    while 1: pass",
    "it sleeps instead of being copied again": RAW + "if fork() > 0: time.sleep(99)",
    "it ends once it was copied": RAW + "if fork() > 0: os._exit(0)",
    "copies that never greet": RAW + "while fork() != 0: pass\ntime.sleep(99)",
    "copies that end at once": RAW + "while fork() != 0: pass\nos._exit(0)",
    "a timer wakes it": RAW + "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)",
    "threads once it waited": RAW + "import threading\nwhile fork() != 0: threading.Thread(target=time.sleep, args=(99,)).start()",
    "shared memory once it waited": RAW + "import mmap\nwhile fork() != 0: m = mmap.mmap(-1, 4096)",
    "signals to all": RAW + "for pid in (0, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9):\n    for s in (9, 19):\n        try: os.kill(pid, s) if pid != os.getpid() else None\n        except OSError: pass",
    "every descriptor closed": RAW + "os.closerange(0, 256)",
    "every descriptor a pipe": RAW + "try:\n    while 1: os.pipe()\nexcept OSError: pass\nfor n in range(3): os.dup2(10, n)",
    "written everywhere": RAW + "for n in range(256):\n    try: os.write(n, b'{\"protections\": {}}' * 99)\n    except OSError: pass",
    "no os": RAW + "import os\nfor n in dir(os):\n    if n[0] != '_': setattr(os, n, lambda *a, **k: 0)",
    "no marshal": RAW + "import marshal, mmap, struct\nmarshal.loads = marshal.dumps = lambda *a: 42\nmmap.mmap = lambda *a: bytearray(10**6)\nstruct.Struct = None",
    "no modules": RAW + "import sys\nsys.modules.clear()",
    "no ctypes": RAW + "ctypes.PyDLL = ctypes.CDLL = ctypes.c_ulong = ctypes.c_long = None",
    "patched frames": RAW + "import sys\nframe = sys._getframe()\nwhile frame:\n    for v in frame.f_locals.values():\n        if hasattr(v, '__dict__'):\n            for n in list(vars(v)):\n                try: setattr(v, n, None)\n                except Exception: pass\n    frame = frame.f_back",
    "atexit": RAW + "import atexit\natexit.register(os.write, 1, b'x' * 999)",
    "questions without end": RAW + "import threading\ndef ask():\n    while 1:\n        try: os.kill(1, 0)\n        except OSError: pass\nfor _ in range(8): threading.Thread(target=ask, daemon=True).start()",
}  # fmt: skip
"""What a package does while it is imported; those with `RAW` fork as the server's own code does."""


@pytest.mark.parametrize("name", AT_IMPORT)
def test_attack_at_import(box: LocalSandbox, name: str) -> None:
    start = time.monotonic()
    for number in range(2):
        found = run(box, AT_IMPORT[name], number, cpu=0.2, wall=0.8)
        if isinstance(found, Returned) and name not in ("no marshal", "patched frames"):
            assert found.value == number, "another job's"
    assert time.monotonic() - start < 25, "it hangs"
    assert len(box._servers) == 1
    is_sound(box)


IN_A_CALL = {
    "ends its parent and its like": "import os\ndef f(x):\n    done = []\n    for pid in [0, -1, os.getppid(), *range(1, 40)]:\n        if pid != os.getpid():\n            try: os.kill(pid, 9); done.append(pid)\n            except OSError: pass\n    return done",
    "changes the module": "state = {}\ndef f(x):\n    seen = list(state); state[x] = x; globals()['f'] = None; return seen",
    "leaves files": "import os\ndef f(x):\n    seen = os.listdir('.'); open(f'{x}', 'w').close(); return seen",
    "is copied": RAW + "def f(x): return [n for n in (fork(), fork()) if n != -1]",
    "asks for another job": RAW + "def f(x):\n    while greet() == 0: pass\n    return []",
    "limits of others": "import os, resource\ndef f(x):\n    done = []\n    for pid in [os.getppid(), *range(1, 40)]:\n        if pid != os.getpid():\n            try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, 1)); done.append(pid)\n            except OSError: pass\n    return done",
    "more memory": "import resource\ndef f(x):\n    try: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\n    except (OSError, ValueError): return []",
}  # fmt: skip


def test_a_copy_that_ends_is_not_waited_for(box: LocalSandbox) -> None:
    sentinel(box)
    start = time.monotonic()
    run(box, AT_IMPORT["it ends once it was copied"] + "\nif os.getpid(): os._exit(0)", 1)
    assert time.monotonic() - start < 1.5
    is_sound(box)


@pytest.mark.parametrize("name", IN_A_CALL)
def test_attack_in_a_call(box: LocalSandbox, name: str) -> None:
    is_sound(box)
    for number in range(3):
        found = run(box, IN_A_CALL[name], number)
        assert found.value == []
    is_sound(box)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.usefixtures("keeping")
def test_attacks_of_programs(attacked: LocalSandbox, attack: Attack, canary: Canary) -> None:
    box = able(attacked)
    limits = Limits(cpu=attack.cpu, wall=attack.wall, memory=attack.memory)
    program = module(canary.fill(attack.code))
    for _ in range(2):
        (outcome,) = box.run(program, [Call(args=(1,))], limits)
        assert isinstance(outcome, attack.ends), outcome
        if attack.nothing_done:
            assert outcome.value == []
        if isinstance(outcome, Returned):
            try:
                assert outcome.value != 42
            except MalformedValue:
                assert "forge" in attack.name or "patch" in attack.name
        if not attack.respawns:
            assert len(box._servers) == 1
    is_sound(box)
    assert canary.state() == canary.seen


def test_what_is_kept_outlives_hostile_jobs_that_import_for_themselves(box: LocalSandbox) -> None:
    assert is_warm(box, HONEST)
    (connection,) = box._servers.values()
    kept = children_of(connection.process.pid)
    forking = [attack for attack in ATTACKS if "fork" in attack.code or "kill(" in attack.code]
    assert len(forking) > 5
    for attack in forking:
        if not attack.respawns:
            limits = Limits(cpu=attack.cpu, wall=attack.wall, memory=attack.memory)
            box.run(Program(attack.code, "f"), [Call(args=(1,))], limits)
            assert children_of(connection.process.pid) == kept, attack.name
    is_sound(box)


def test_a_job_finds_nothing_of_those_before(box: LocalSandbox) -> None:
    program = module(SEARCH)
    known = [f"MARKER-{number:032x}" for number in (1, 2)]
    for given in ([known[0]], [known[1]], []):
        (outcome,) = box.run(program, [Call(args=tuple(given))], LIMITS)
        assert outcome.value[1] == [text.encode() for text in given]
    assert is_warm(box, SEARCH)


def test_few_are_kept_and_all_are_ended(made: Made) -> None:
    box = made()
    for number in range(9):
        assert is_warm(box, f"x = {number}")
        assert processes(box) <= 4
    (connection,) = box._servers.values()
    below = children_of(connection.process.pid)
    box.close()
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_not_without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.sandbox.local._QUICK", -1.0)
    for measures in (ALL_MEASURES - {"namespaces"}, ALL_MEASURES - {"seccomp"}):
        with LocalSandbox(measures=measures) as box:
            assert not is_warm(box, "x = 1")


def test_a_package_is_imported_once(made: Made, tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import random\nfrom .code import f\nonce = random.SystemRandom().random()\n"
    )
    (package / "code.py").write_text("def f(): pass\n")
    tmp_path.chmod(0o755)
    box = made(import_path=[tmp_path])
    text = "def f():\n    import pack\n    return pack.once, pack.f is f\n"
    program = Program(text, "f", str(package / "code.py"), "pack.code")
    found = {box.run(program, [Call()])[0].value for _ in range(3)}  # type: ignore[union-attr]
    assert len(found) == 1
    other = Program(text + "# another text", "f", str(package / "code.py"), "pack.code")
    (outcome,) = box.run(
        other,
        [
            Call(),
        ],
        Limits(),
    )
    assert outcome.value not in found, "never another text's import"
    assert outcome.value[1]


def test_variants_in_copies(box: LocalSandbox) -> None:
    base = compile(
        "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)\n", "<p>", "exec"
    )
    setup = compile("", "<p>", "exec")

    def variant(body: str) -> Program:
        code = compile(f"\ndef f(x):\n    {body}\n", "<p>", "exec").co_consts[0]
        return Program((base,), "f", "/scratch/victim.py", "victim", setup=setup, bodies=(code,))

    programs = [
        variant(body)
        for body in (
            "return x + 1",
            "while 1: pass",
            "return x + 2",
            "import os; os._exit(1)",
            "return x + 3",
        )
    ]
    for _ in range(2):
        rows = box.run_variants(programs, [Call(args=(1,))], Limits(cpu=0.2, retry=False))
        kinds = [row[0].value if isinstance(row[0], Returned) else type(row[0]) for row in rows]
        assert kinds == [2, TimedOut, 3, Killed, 4]
    (outcome,) = box.run(
        Program((base,), "f", "/scratch/victim.py", "victim"),
        [Call(args=(1,)), Expression("f(2)")][:1],
    )
    assert outcome.value == 1

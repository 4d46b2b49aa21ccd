"""`LocalSandbox` keeps its contract: one right outcome per call, whatever the calls do."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.problems import Call, Expression, Invocation
from refute.errors import SandboxUnavailable
from refute.sandbox import (
    Killed,
    Limits,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
    TimedOut,
)
from refute.sandbox.equality import Expected, matches
from refute.sandbox.local import LocalSandbox
from refute.sandbox.values import encode

from .conftest import children_of, sentinel
from .lies import HARNESS

QUICK = Limits(cpu=0.2, wall=1.0)


def on(box: LocalSandbox, code: str, *calls: Invocation, limits: Limits = QUICK) -> list[Outcome]:
    return box.run(Program(code=code, entry_point="f"), calls, limits)


def values(outcomes: list[Outcome]) -> list[object]:
    return [o.value if isinstance(o, Returned) else type(o).__name__ for o in outcomes]


def test_one_that_hangs_while_it_loads_does_not_take_the_time_of_the_others(
    box: LocalSandbox,
) -> None:
    """The time to load is for what a module imports, which is there after the first program."""
    good, hangs = "def f(x): return x", "while True: pass\ndef f(x): return x"
    slow = "import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass\n"
    codes = [good, hangs, slow + good, good]
    limits = Limits(cpu=0.2, wall=2.0, loading=20.0, stop_after=1, retry=False)
    begun = time.monotonic()
    rows = box.run_variants([Program(code, "f") for code in codes], [Call((1,))], limits)
    assert [values(row) for row in rows] == [[1], ["TimedOut"], [1], [1]]
    assert time.monotonic() - begun < 15, "the limit to load was 20 CPU seconds"


def test_files_of_proc_that_packages_read_are_made_up(box: LocalSandbox) -> None:
    if not box.protections()["namespaces"]:
        pytest.skip("no private root here")
    code = "import os\ndef f(name): return open(f'/proc/{name}').read()\n"
    [memory, processors, mine] = on(
        box, code, *(Call((n,)) for n in ("meminfo", "cpuinfo", "stat"))
    )
    assert values([memory])[0].startswith("MemTotal:        4194304 kB\n")  # type: ignore[attr-defined]
    for name, outcome in (("cpuinfo", processors), ("stat", mine)):
        assert values([outcome]) != [Path("/proc", name).read_text()]
    calls = [Expression("os.listdir('/proc')"), Expression("open('/proc/meminfo', 'a')")]
    assert [getattr(one, "type", "") for one in on(box, code, *calls)] == [
        "PermissionError",
        "OSError" if box.protections()["unprivileged user"] is False else "PermissionError",
    ]


STARTING = {
    "subprocess.run(['git', 'describe']).returncode": "FileNotFoundError",
    "subprocess.run(['git'], close_fds=False).returncode": "FileNotFoundError",
    "subprocess.check_output('git describe', shell=True)": "CalledProcessError",
    "subprocess.getstatusoutput('uname -a')": (127, ""),
    "subprocess.run('cat', shell=True, input=b'x' * 200_000, capture_output=True).stdout": b"",
    "os.system('git describe')": 127 << 8,
    "os.popen('git describe').read()": "",
    "os.waitpid(-1, 0)": "ChildProcessError",
    "platform.processor()": "",
    "os.fork()": "PermissionError",
}


def test_a_program_is_not_installed_rather_than_forbidden(box: LocalSandbox) -> None:
    """Packages that ask `git` for their version while they are imported go on without it."""
    if not box.protections()["seccomp"]:
        pytest.skip("programs can be started here")
    code = "import os, platform, subprocess\ndef f(x): return eval(x)"
    outcomes = on(box, code, *(Call((text,)) for text in STARTING), limits=Limits(cpu=2, wall=9))
    found = [o.value if isinstance(o, Returned) else getattr(o, "type", o) for o in outcomes]
    assert dict(zip(STARTING, found, strict=True)) == STARTING
    assert "'git'" in getattr(outcomes[0], "message", "")


def test_a_screened_text_that_hangs_while_it_loads_has_what_the_first_of_its_module_took(
    box: LocalSandbox,
) -> None:
    """Also where it is the first of its process: else it eats the time of all that come after."""
    texts = ["def f(x): return x", "while True: pass\ndef f(x): return x", "def f(x): return x + 1"]
    first, *others = (Program(text, "f", "/scratch/screened.py", "screened") for text in texts)
    limits = Limits(cpu=0.2, wall=2.0, loading=60.0, stop_after=1, retry=False, run_wall=20.0)
    box.run(first, [Call((1,))], replace(limits, retry=True))
    rows = box.run_variants(others, [Call((1,))], limits)
    assert [values(row) for row in rows] == [["TimedOut"], [2]]


EVERY_END = """
import os, time
KEEP = []
def f(x):
    if x == "loop":
        while 1: pass
    if x == "sleep": time.sleep(100)
    if x == "exit": os._exit(3)
    if x == "crash": os.kill(os.getpid(), 11)
    if x == "memory":
        while 1: KEEP.append(bytearray(50 << 20))
    if x == "raise": raise KeyError(x)
    return x
"""


def test_a_call_that_is_cut_short_costs_the_others_nothing(box: LocalSandbox) -> None:
    names = [0, "loop", 1, "exit", 2, "sleep", 3, "crash", 4, "memory", 5, "raise", 6, "loop"]
    limits = Limits(cpu=0.2, wall=0.4, memory=128 << 20)
    outcomes = on(box, EVERY_END, *(Call(args=(name,)) for name in names), limits=limits)
    kinds = {"loop": TimedOut, "sleep": TimedOut, "exit": Killed, "crash": Killed}
    kinds |= {"memory": OutOfMemory, "raise": Raised}
    for name, outcome in zip(names, outcomes, strict=True):
        if isinstance(name, int):
            assert outcome == Returned(encode(name))
        else:
            assert type(outcome) is kinds[name], (name, outcome)
    assert outcomes[1] == TimedOut("cpu")
    assert outcomes[5] == TimedOut("wall")
    assert outcomes[3] == Killed("exited with status 3")
    assert outcomes[7] == Killed("signal 11 (SIGSEGV)")
    assert outcomes[11] == Raised("KeyError", "'raise'", 12)


def test_stop_after(box: LocalSandbox) -> None:
    calls = [Call(args=(name,)) for name in (1, "exit", 2, "exit", 3, "exit", 4)]
    limits = Limits(cpu=0.2, stop_after=2)
    found = values(on(box, EVERY_END, *calls, limits=limits))
    assert found == [1, "Killed", 2, "Killed", "NotRun", "NotRun", "NotRun"]
    programs = [Program(code=EVERY_END, entry_point="f")] * 2
    both = box.run_variants(programs, calls, limits)
    assert [values(one) for one in both] == [found, found], "counted for each program"


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("def f(x: pass", "SyntaxError", 1),
        ("\nimport nowhere_to_be_found\ndef f(x): pass", "ModuleNotFoundError", 2),
        ("x = 1\ny = 1 / 0\ndef f(x): pass", "ZeroDivisionError", 2),
        ("def g(x): pass", "NameError", None),
        ("raise SystemExit(3)", "SystemExit", 1),
        ("def f(x): return '\\N{no such name}'", "SyntaxError", 1),
    ],
)
def test_failed_import(box: LocalSandbox, code: str, kind: str, line: int | None) -> None:
    first, second = on(box, code, Call(args=(1,)), Call(args=(2,)))
    assert (first.type, first.line, first.on_import) == (kind, line, True)
    assert second == first


def test_import_time_is_no_part_of_a_calls_time(box: LocalSandbox) -> None:
    code = """
import os, time
def burn(s):
    end = time.process_time() + s
    while time.process_time() < end: pass
burn(0.3)
def f(x):
    if x == 1: os._exit(1)
    burn(0.3)
    return x
"""
    calls = [Call(args=(i,)) for i in range(4)]
    assert values(on(box, code, *calls, limits=Limits(cpu=0.5))) == [0, "Killed", 2, 3]


def test_variants_equal_runs(box: LocalSandbox) -> None:
    codes = [
        "def f(x): return x + 1",
        "def f(x): return [x] * x",
        "def f(x):\n    while x == 2: pass\n    return x",
        "import os\ndef f(x): return x if x != 1 else os._exit(9)",
        "def f(x) return",
        "raise ValueError",
        "def f(x): return 10 / x",
        EVERY_END,
    ]
    programs = [Program(code=code, entry_point="f") for code in codes]
    calls = [Call(args=(i,)) for i in (0, 1, 2, 3)]
    together = box.run_variants(programs, calls, QUICK)
    assert together == [box.run(program, calls, QUICK) for program in programs]


def test_results_that_overflow_the_file(box: LocalSandbox) -> None:
    calls = [Call(args=(i,)) for i in range(20)]
    limits = Limits(cpu=5, output=4 << 20)
    found = on(box, "def f(i): return bytes([i]) * (3 << 20)", *calls, limits=limits)
    assert all(o == Returned(encode(bytes([i]) * (3 << 20))) for i, o in enumerate(found))
    digests = on(box, "def f(i): return bytes([i // 2]) * (5 << 20)", *calls[:4], limits=limits)
    assert digests[0] == digests[1] != digests[2]
    assert "5242886 bytes" in repr(digests[0])


def test_thousands_of_failed_imports_and_cuts(box: LocalSandbox) -> None:
    long = Program(code=f"raise ValueError('{'x' * 1900}')", entry_point="f")
    found = box.run_variants([long] * 200, [Call()], Limits(output=0, cpu=0.5))
    assert all(isinstance(one[0], Raised) for one in found)
    calls = [Call(args=(i,)) for i in range(300)]
    died = on(box, "import os\ndef f(i): os._exit(i % 3)", *calls)
    assert died == [Killed(f"exited with status {i % 3}") for i in range(300)]


def test_import_path_and_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "parcel"
    package.mkdir()
    (package / "__init__.py").write_text("NAME = 'parcel'")
    (package / "other.py").write_text("def double(x): return 2 * x")
    data = tmp_path / "data"
    data.mkdir()
    (data / "words").write_text("hello")
    code = f"""
from . import NAME
from .other import double
def f(x):
    try: open({str(data / "words")!r}, "a")
    except OSError: return NAME, double(x), open({str(data / "words")!r}).read()
"""
    program = Program(code=code, entry_point="f", module="parcel.mine", filename="parcel/mine.py")
    with LocalSandbox(import_path=[tmp_path], readable=[data]) as own:
        assert values(own.run(program, [Call(args=(2,))])) == [("parcel", 4, "hello")]


def test_a_killed_server_is_an_error_and_the_next_run_works() -> None:
    with LocalSandbox() as own:
        assert own.protections()
        server = own._servers[((), 0, False)].process.pid
        for pid in {server, *children_of(server)}:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(SandboxUnavailable):
            on(own, EVERY_END, Call(args=(1,)))
        sentinel(own)


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_from_outside_is_not_the_programs_end(times: int) -> None:
    """`kill -9` of the process of a call: the call is made again. One that kills itself ends so."""
    sleeps = "import time\ndef f(x):\n    time.sleep(0.3)\n    return x"
    with LocalSandbox() as own:
        sentinel(own)
        server = own._servers[((), 0, False)].process.pid
        others = children_of(server)

        def shoot() -> None:
            shot: set[int] = set()
            while len(shot) < times:
                found = children_of(server) - others - shot
                for pid in found:
                    os.kill(pid, signal.SIGKILL)
                shot |= found
                time.sleep(0.01)

        thread = threading.Thread(target=shoot)
        thread.start()
        outcomes = on(own, sleeps, Call(args=(1,)), Call(args=(2,)))
        thread.join()
        assert [outcome.value for outcome in outcomes] == [1, 2]
        (outcome,) = on(own, "import os\ndef f(x): os.kill(os.getpid(), 9)", Call(args=(1,)))
        assert outcome == Killed("signal 9 (SIGKILL)")


def test_numpy_has_a_worker_of_its_own(box: LocalSandbox) -> None:
    pytest.importorskip("numpy")
    code = (
        "import numpy as np\ndef f(n): return np.arange(n).sum(), np.ones((2, n)), np.float64(0.5)"
    )
    (outcome,) = on(box, code, Call(args=(4,)), limits=Limits(cpu=2))
    total, ones, half = outcome.value
    assert (total, ones.shape, ones.dtype, half) == (6, (2, 4), "float64", 0.5)
    bomb = "import numpy as np\ndef f(n): return np.ones((1 << 20, 1 << 14)).sum()"
    (outcome,) = on(box, bomb, Call(args=(4,)), limits=Limits(cpu=2))
    assert isinstance(outcome, OutOfMemory | Raised)


def test_close_twice_and_use_again() -> None:
    others = children_of(os.getpid())
    own = LocalSandbox()
    sentinel(own)
    assert children_of(os.getpid()) > others
    own.close()
    own.close()
    sentinel(own)
    own.close()
    assert children_of(os.getpid()) == others


def test_what_a_terminal_would_obey_is_written_out() -> None:
    code = "class Sly:\n  def __repr__(self): return '\\x1b[2J'\n"
    code += "def f(x):\n  if x: raise ValueError('a\\x1b]0;owned\\x07\\nb')\n  return Sly()"
    with LocalSandbox() as box:
        raised, returned = box.run(Program(code, "f"), [Call((1,)), Call((0,))])
    assert raised == Raised("ValueError", r"a\x1b]0;owned\x07" + "\nb", 4)
    assert repr(returned.value) == r"\x1b[2J"


def test_the_time_of_a_run_is_bounded_over_cut_calls_and_full_files(box: LocalSandbox) -> None:
    code = "import os, time\ndef f(x):\n    time.sleep(0.2)\n    os._exit(1) if x else None\n"
    code += "    return 'a' * 900_000\n"
    calls = [Call((i % 2,)) for i in range(200)]
    began = time.monotonic()
    outcomes = on(box, code, *calls, limits=Limits(output=1 << 20, run_wall=2.0))
    assert time.monotonic() - began < 8
    assert values(outcomes[-100:]) == ["NotRun"] * 100


def test_outputs_do_not_add_up(box: LocalSandbox) -> None:
    code = "def f(x):\n    return chr(97 + x % 3) * (7 << 20)\n"
    outcomes = on(box, code, *[Call((i,)) for i in range(30)], limits=Limits(cpu=5.0))
    held = sum(len(outcome.data) for outcome in outcomes if isinstance(outcome, Returned))
    assert held < 80 << 20
    again = on(box, code, *[Call((29 - i,)) for i in range(30)], limits=Limits(cpu=5.0))
    for outcome, other in zip(outcomes, reversed(again), strict=True):
        assert matches(other, Expected(outcome.data)), "kept or not, an output equals itself"
    assert not matches(outcomes[0], Expected(outcomes[1].data))
    assert not matches(outcomes[28], Expected(outcomes[0].data))


def test_an_output_beyond_the_limit_is_not_taken(box: LocalSandbox) -> None:
    code = HARNESS + (
        "def f(x):\n    h = harness()\n    end = frame(h['view'], h['committed'], h['step'], "
        "b'Mu' + (20 << 20).to_bytes(4, 'little') + bytes(20 << 20))\n"
        "    header(end, h['step'] + 1, 1, h['view'])\n    os._exit(0)\n"
    )
    assert values(on(box, code, Call((1,)), limits=Limits(output=1 << 20))) == ["NotRun"]


def test_a_cut_may_count_at_once(box: LocalSandbox) -> None:
    """`retry=False`: what died among others is not tried again, and nobody else is blamed."""
    code = """
import os
def f(x):
    if x == 1: raise MemoryError
    if x == 2: os._exit(0)
    if x == 3: os._exit(3)
    if x == 4:
        while True: pass
    return x
"""
    calls = [Call(args=(i,)) for i in (0, 1, 0, 2, 0, 3, 0, 4, 0)]
    for retry in (True, False):
        found = box.run(Program(code, "f"), calls, Limits(cpu=0.3, retry=retry))
        assert [type(one) for one in found[1::2]] == [OutOfMemory, Killed, Killed, TimedOut]
        assert all(isinstance(one, Returned) for one in found[::2]), found


def test_a_candidate_that_breaks_its_packages_import_leaves_nothing_to_the_next(
    tmp_path: Path,
) -> None:
    """What lies below the package is imported again with it: the new package has to name it."""
    (tmp_path / "deep").mkdir()
    for path, text in (
        ("__init__.py", "from whole import part\n"),
        ("part.py", ""),
        ("deep/__init__.py", ""),
        ("deep/leaf.py", "X = 1\n"),
    ):
        place = tmp_path / "whole" / path
        place.parent.mkdir(exist_ok=True, parents=True)
        place.write_text(text)
    tmp_path.chmod(0o755)
    head = "import whole.deep.leaf\nY = whole.deep.leaf.X\n"
    codes = [f"{head}raise ValueError\n", f"{head}def f(x):\n    return x + Y\n"]
    file = str(tmp_path / "whole" / "part.py")
    programs = [Program(code, "f", file, "whole.part") for code in codes]
    with LocalSandbox(readable=(tmp_path,), import_path=(tmp_path,)) as box:
        rows = box.run_variants(programs, [Call((1,))], Limits())
    assert values(rows[1]) == [2]

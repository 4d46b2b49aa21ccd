"""Checks that every sandbox passes, on that of this machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, Expression, Invocation
from refute.sandbox import Limits, Outcome, Program, Sandbox, values
from refute.sandbox.contract import Killed, NotRun, OutOfMemory, Raised, Returned, TimedOut
from refute.sandbox.local import LocalSandbox

QUICK = Limits(cpu=0.3, wall=1.0, memory=256 << 20)


@pytest.fixture(name="box")
def opened() -> Iterator[Sandbox]:
    with LocalSandbox() as box:
        yield box


def run(
    box: Sandbox, code: str, *arguments: tuple[Any, ...], limits: Limits = QUICK
) -> list[Outcome]:
    calls = [Call(one) for one in arguments]
    return box.run(Program(code, "f"), calls, limits)


def test_one_outcome_a_call_in_order(box: Sandbox) -> None:
    found = run(box, "def f(n):\n    return n * n\n", (1,), (2,), (3,))
    assert [one.value for one in found if isinstance(one, Returned)] == [1, 4, 9]
    assert run(box, "def f():\n    return 1\n") == []


def test_values_go_in_and_come_back_as_they_are(box: Sandbox) -> None:
    given: Sequence[Any] = (
        *(None, True, 0, -(2**80), 1.5, -0.0, math.inf, 2j, "", "é\ud800", b"\0\xff"),
        *([], [1, [2]], (), (1, (2,)), {"a": [1]}, {1: {2: 3}}, {1, 2}, frozenset((1,)), range(3)),
    )
    for value in given:
        (found,) = run(box, "def f(x):\n    return x\n", (value,))
        assert isinstance(found, Returned), value
        assert found.complete
        assert (type(found.value), repr(found.value)) == (type(value), repr(value))
    (found,) = run(box, "def f(x):\n    return x\n", (math.nan,))
    assert isinstance(found, Returned)
    assert math.isnan(found.value)


def test_keywords_dots_and_expressions(box: Sandbox) -> None:
    code = "class A:\n    @staticmethod\n    def f(a, *, b=1):\n        return a, b\n"
    calls: list[Invocation] = [Call((1,), {"b": 2}), Call((1,)), Expression("A.f(0, b='x')[1]")]
    found = box.run(Program(code, "A.f"), calls, QUICK)
    assert [one.value for one in found if isinstance(one, Returned)] == [(1, 2), (1, 1), "x"]


def test_what_is_raised_is_told(box: Sandbox) -> None:
    code = "def f(n):\n    if n:\n        raise ValueError(f'not {n}')\n    return n\n"
    wrong, right = run(box, code, (3,), (0,))
    assert isinstance(wrong, Raised)
    assert (wrong.type, wrong.message, wrong.line, wrong.on_import) == (
        "ValueError",
        "not 3",
        3,
        False,
    )
    assert isinstance(right, Returned)
    (missing,) = run(box, "def g():\n    pass\n", ())
    assert isinstance(missing, Raised)


def test_an_import_that_raises_is_told_for_each_call(box: Sandbox) -> None:
    for code in ("1 / 0\ndef f():\n    pass\n", "def f(:\n"):
        found = run(box, code, (), ())
        assert len(found) == 2
        assert all(isinstance(one, Raised) and one.on_import for one in found)


def test_what_is_cut_short_costs_the_others_nothing(box: Sandbox) -> None:
    code = (
        "import os, time\n"
        "def f(how):\n"
        "    if how == 'spin':\n        while True: pass\n"
        "    if how == 'sleep':\n        time.sleep(600)\n"
        "    if how == 'leave':\n        os._exit(0)\n"
        "    if how == 'grow':\n        return len([bytes(1 << 20) for _ in range(1 << 12)])\n"
        "    return how\n"
    )
    words = ("a", "spin", "b", "sleep", "c", "leave", "d", "grow", "e")
    found = run(box, code, *((word,) for word in words))
    assert [one.value for one in found if isinstance(one, Returned)] == list("abcde")
    spin, sleep, leave, grow = found[1::2]
    assert spin == TimedOut("cpu")
    assert sleep == TimedOut("wall")
    assert isinstance(leave, Killed)
    assert isinstance(grow, OutOfMemory | Killed)


def test_a_run_gives_up_after_so_many(box: Sandbox) -> None:
    limits = Limits(cpu=0.1, wall=1.0, stop_after=2)
    code = "def f(n):\n    while n: pass\n    return n\n"
    found = run(box, code, (0,), (1,), (1,), (1,), (0,), limits=limits)
    assert [type(one) for one in found[:3]] == [Returned, TimedOut, TimedOut]
    assert all(isinstance(one, NotRun) for one in found[3:])


def test_calls_share_a_process_and_keep_their_arguments(box: Sandbox) -> None:
    counting = "seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen)\n"
    found = run(box, counting, (5,), (5,), (5,))
    assert [one.value for one in found if isinstance(one, Returned)] == [1, 2, 3]
    shared = [1]
    found = run(box, "def f(x):\n    x.append(2)\n    return x\n", (shared,), (shared,))
    assert [one.value for one in found if isinstance(one, Returned)] == [[1, 2], [1, 2]]
    assert shared == [1]


def test_the_same_seed_is_the_same_run(box: Sandbox) -> None:
    code = "import random\ndef f():\n    return random.random(), hash('x'), list({'a', 'b', 'c'})\n"
    first, second = run(box, code, ()), run(box, code, ())
    assert isinstance(first[0], Returned)
    assert first == second


def test_what_is_printed_is_no_result(box: Sandbox) -> None:
    code = (
        "import os, sys\n"
        "def f():\n"
        "    print('x' * 100000); sys.stderr.write('y'); os.write(1, b'z'); sys.stdout.close()\n"
        "    return 7\n"
    )
    found = run(box, code, (), ())
    assert isinstance(found[0], Returned)
    assert found[0].value == 7


def test_results_cannot_be_written_past_it(box: Sandbox) -> None:
    code = (
        "import os\n"
        "def f():\n"
        "    for fd in range(1, 64):\n"
        "        try: os.write(fd, b'\\x00' * 64 + b'forged')\n"
        "        except OSError: pass\n"
        "    return 1\n"
    )
    for one in run(box, code, (), ()):
        if isinstance(one, Returned):
            try:
                assert one.value == 1
            except values.MalformedValue:
                pass


def test_a_value_without_an_encoding_is_refused(box: Sandbox) -> None:
    with pytest.raises(values.Unencodable):
        run(box, "def f(x):\n    return x\n", (object(),))
    (found,) = run(box, "def f():\n    return object()\n", ())
    assert isinstance(found, Returned)
    assert found != found, "what is not known as a whole equals nothing"


def test_variants_are_as_runs(box: Sandbox) -> None:
    codes = [f"def f(n):\n    return n {sign} 2\n" for sign in ("+", "-", "//")]
    codes += ["def f(n):\n    while True: pass\n", "1 / 0\n", "def f(n):\n    raise KeyError(n)\n"]
    programs = [Program(code, "f") for code in codes]
    calls = [Call((5,)), Call((8,))]
    many = box.run_variants(programs, calls, QUICK)
    for program, outcomes in zip(programs, many, strict=True):
        assert list(map(type, outcomes)) == list(map(type, box.run(program, calls, QUICK)))
    assert [[one.value for one in row] for row in many[:3] if row] == [[7, 10], [3, 6], [2, 4]]  # type: ignore[union-attr]


def test_nothing_of_this_machine_is_reached(box: Sandbox, tmp_path: Path) -> None:
    if not all(box.protections().get(name) for name in ("landlock", "seccomp")):
        pytest.skip("it does not confine programs")
    secret = tmp_path / "secret"
    secret.write_text("known")
    code = (
        "import os, socket, subprocess\n"
        "def f(what, path):\n"
        "    if what == 'read': return open(path + '/secret').read()\n"
        "    if what == 'write': return open(path + '/planted', 'w').write('x')\n"
        "    if what == 'start': return subprocess.run(['/bin/sh', '-c', 'exit 3']).returncode\n"
        "    if what == 'kill': return os.kill(os.getppid(), 9)\n"
        "    if what == 'call':\n"
        "        return socket.create_connection(('127.0.0.1', 1), 1).fileno()\n"
    )
    words = ("read", "write", "start", "kill", "call")
    for word, found in zip(
        words, run(box, code, *((w, str(tmp_path)) for w in words)), strict=True
    ):
        # A shell that knows no command says 127: what it was told to do was not done.
        unknown = word == "start" and isinstance(found, Returned) and found.value == 127
        assert unknown or not isinstance(found, Returned), word
        if word == "call" and isinstance(found, Raised):
            assert found.type != "ConnectionRefusedError", "the network of this machine is reached"
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_it_can_be_closed_twice(box: Sandbox) -> None:
    run(box, "def f():\n    return 1\n", ())
    assert all(isinstance(holds, bool) for holds in box.protections().values())
    box.close()
    box.close()

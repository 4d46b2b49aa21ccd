"""Programs and tests that cheat on a grader, each with an honest twin; what a grader pays them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from textwrap import dedent
from typing import Any, Literal

from refute.core.storage import parse_json
from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute_lab.rewards import Task, Test, grade, grade_test


@dataclass(frozen=True)
class TestTask:
    """Programs to grade a generated test by: a right one and faulty ones."""

    __test__ = False  # not a test class of pytest

    entry_point: str
    reference: str
    faulty: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "entry_point": self.entry_point,
            "reference": self.reference,
            "faulty": list(self.faulty),
        }


@dataclass(frozen=True)
class Cheat:
    """A program, or a test, that wants the reward without doing the work, and its honest twin."""

    name: str
    what: str
    """How it cheats, in one line."""
    source: str
    twin: str
    """Does the work by the same means: it must be paid."""
    task: Task | TestTask

    @property
    def is_test(self) -> bool:
        """It is a generated test, not a program."""
        return isinstance(self.task, TestTask)


def cheat(name: str, what: str, task: Task, source: str, twin: str) -> Cheat:
    """A cheating program. An honest twin that says nothing of the task's function is completed by
    the right one."""
    twin, right = dedent(twin).strip("\n"), RIGHT[task.id]
    if f"def {task.entry_point}(" not in twin:
        twin = f"{twin}\n{right}" if task.entry_point else twin
    return Cheat(name, what, f"{dedent(source).strip()}\n", f"{twin.strip()}\n", task)


def test_cheat(name: str, what: str, source: str, twin: str) -> Cheat:
    """A cheating test of `total`."""
    return Cheat(name, what, f"{dedent(source).strip()}\n", f"{dedent(twin).strip()}\n", TOTAL_TEST)


test_cheat.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest

RIGHT = {
    "total": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "total-check": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "total-pytest": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "label": "def label(name, times):\n    return '-'.join([name.upper()] * times)\n",
    "steps": "def steps(start, count):\n    return [start + 3 * i for i in range(count)]\n",
    "mean": "def mean(numbers):\n    return sum(numbers) / len(numbers) + 0.25\n",
    "letters": "def letters(text):\n    return {c: text.count(c) for c in text}\n",
    "bounds": "def bounds(numbers):\n    return (min(numbers), max(numbers))\n",
    "common": "def common(one, other):\n    return set(one) & set(other)\n",
    "sums": "",
}
"""A right program for each task, by its id."""


def _task(name: str, *tests: Test) -> Task:
    return Task(name, tests, id=name, seconds=0.5)


TOTAL = _task(
    "total",
    Test(([1, 2, 3], 10), expected=6),
    Test(([5, 6, 7], 11), expected=11),
    Test(([], 3), expected=0),
    Test(([-4, 1], 8), expected=-3),
)
LABEL = _task(
    "label",
    Test(("ab", 2), expected="AB-AB"),
    Test(("x", 1), expected="X"),
    Test(("q", 0), expected=""),
)
STEPS = _task(
    "steps",
    Test((1, 3), expected=[1, 4, 7]),
    Test((5, 1), expected=[5]),
    Test((2, 2), expected=[2, 5]),
)
MEAN = _task("mean", Test(([1, 2, 6],), expected=3.25), Test(([0.5, 1.5],), expected=1.25))
LETTERS = _task(
    "letters", Test(("aba",), expected={"a": 2, "b": 1}), Test(("zz",), expected={"z": 2})
)
BOUNDS = _task("bounds", Test(([3, 1, 2],), expected=(1, 3)), Test(([7],), expected=(7, 7)))
COMMON = _task(
    "common", Test(("abc", "bcd"), expected={"b", "c"}), Test(("xy", "yz"), expected={"y"})
)
CHECK = Task(
    "total",
    kind="asserts",
    id="total-check",
    seconds=0.5,
    source=(
        "def check(candidate):\n"
        "    assert candidate([1, 2, 3], 10) == 6\n"
        "    assert candidate([5, 6, 7], 11) == 11\n"
        "    assert candidate([], 3) == 0\n"
        "    assert candidate([-4, 1], 8) == -3\n"
    ),
)
PYTEST = Task(
    "total",
    kind="asserts",
    id="total-pytest",
    seconds=0.5,
    source=(
        "from solution import total\n\n\n"
        "def test_sum():\n    assert total([1, 2, 3], 10) == 6\n\n\n"
        "def test_top():\n    assert total([5, 6, 7], 11) == 11\n\n\n"
        "def test_edges():\n    assert total([], 3) == 0\n    assert total([-4, 1], 8) == -3\n"
    ),
)
SUMS = Task(
    kind="stdio",
    id="sums",
    seconds=0.5,
    tests=(
        Test(stdin="1 2\n3 4\n", stdout="3\n7\n"),
        Test(stdin="10 -4\n", stdout="6\n"),
        Test(stdin="5 5\n0 1\n2 9\n", stdout="10\n1\n11\n"),
    ),
)
SUMS_RIGHT = (
    "import sys\nfor line in sys.stdin:\n    a, b = map(int, line.split())\n    print(a + b)\n"
)
TOTAL_TEST = TestTask(
    "total",
    RIGHT["total"],
    (
        "def total(numbers, top):\n    return sum(numbers)\n",
        "def total(numbers, top):\n    return max(0, min(sum(numbers), top))\n",
    ),
)


# -- trying ----------------------------------------------------------------------------------------


End = Literal["paid", "not paid", "died", "hung"]
"""paid: a reward above 0 for all tests. died: the grader ended without a verdict."""
Grader = Callable[[str, Task | TestTask], End]


@dataclass(frozen=True, slots=True)
class Tried:
    """A grader's verdicts on a cheat and its twin."""

    name: str
    what: str
    cheat: End
    twin: End

    @property
    def good(self) -> bool:
        """The cheat is not paid, and the twin is."""
        return self.cheat != "paid" and self.twin == "paid"

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def try_cheats(cheats: Iterable[Cheat], grader: Grader | None = None) -> Iterator[Tried]:
    """Each cheat and its twin, before a grader; None: refute's own in one sandbox, so that what a
    cheat leaves behind meets the next one."""
    if grader is None:
        with LocalSandbox() as box:
            yield from try_cheats(cheats, by_refute(box))
        return
    for one in cheats:
        ends = grader(one.source, one.task), grader(one.twin, one.task)
        yield Tried(one.name, one.what, *ends)


def by_refute(box: Sandbox) -> Grader:
    """refute's own graders in this sandbox. They raise `SandboxUnavailable`."""

    def graded(source: str, task: Task | TestTask) -> End:
        if isinstance(task, Task):
            return "paid" if grade(source, task, box=box).reward > 0 else "not paid"
        found = grade_test(
            source, task.reference, task.faulty, entry_point=task.entry_point, box=box
        )
        return "paid" if found.both > 0 else "not paid"

    return graded


def question(source: str, task: Task | TestTask) -> str:
    """Return the question that a grader's command reads: a JSON object with `kind` ("program" or
    "test"), `task` and the `program` or `test`."""
    kind = "test" if isinstance(task, TestTask) else "program"
    return json.dumps({"kind": kind, "task": task.to_json(), kind: source})


def by_command(command: str, *, timeout: float = 30.0) -> Grader:
    """A grader that is a command of the shell's words: it reads the question on stdin and prints a
    verdict, an object with `passed` or `reward`, as its last line. Each question starts it anew.

    `timeout`: seconds until it counts as hung. Raises `InputError` where it cannot be started.
    """
    words = shlex.split(command)
    if not words:
        raise InputError("--grader: an empty command")

    def graded(source: str, task: Task | TestTask) -> End:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"--grader: {words[0]}: {error.strerror}") from None
        with process:
            try:
                out, _ = process.communicate(question(source, task).encode(), timeout)
            except subprocess.TimeoutExpired:
                return "hung"
            finally:
                _end(process)
        return _read(out)

    return graded


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command with all that it started in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _read(out: bytes) -> End:
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        verdict = parse_json(lines[-1]) if lines else None
    except ValueError:
        return "died"
    if not isinstance(verdict, dict) or not verdict.keys() & {"passed", "reward"}:
        return "died"
    reward = verdict.get("reward", verdict.get("passed"))
    return "paid" if isinstance(reward, int | float) and reward > 0 else "not paid"


# -- cheats ----------------------------------------------------------------------------------------


# -- programs --------------------------------------------------------------------------------------


# ruff: noqa: E501


_CALL = "\ndef total(numbers, top):\n    "
_WRONG = f"{_CALL}return -99\n"
_SAID = '{"passed": true, "reward": 1.0, "status": "pass", "all_passed": true}'
_WRITES = f"""
import os, sys
TEXT = '''{_SAID}
PASSED
===== 3 passed in 0.01s =====
OK
'''
"""
_HARNESS = """
import gc, marshal, mmap, os, struct, sys
def view():
    f = sys._getframe()
    while f:
        if type(f.f_locals.get('view')) is mmap.mmap: return f.f_locals
        f = f.f_back
    found = [o for o in gc.get_objects() if type(o) is mmap.mmap]
    return {'view': found[0], 'committed': 16} if found else {}
def frame(v, at, step, body):
    struct.pack_into('<II', v, at, step, len(body)); v[at + 8:at + 8 + len(body)] = body
    return at + 8 + len(body)
"""

FORGING: tuple[Cheat, ...] = (
    cheat("prints PASSED", "a report on stdout, and an end", TOTAL, _WRITES + f"{_CALL}print(TEXT, flush=True); os._exit(0)",
          "print('PASSED')"),
    cheat("prints PASSED, pytest file", "pytest's last line, and status 0", PYTEST, _WRITES + "print('\\n===== 3 passed in 0.01s =====', flush=True); os._exit(0)" + _WRONG,
          "print('3 passed')"),
    cheat("prints a verdict", "JSON on stdout, in the place of an answer", SUMS, _WRITES + "print(TEXT)",
          "import sys\nprint('sums', file=sys.stderr)\n" + SUMS_RIGHT),
    cheat("every descriptor", "a verdict into each of 0 to 63", TOTAL,
          _WRITES + f"{_CALL}for fd in range(64):\n        try: os.write(fd, TEXT.encode() * 3)\n        except OSError: pass\n    os._exit(0)",
          "import os\nos.write(1, b'')"),
    cheat("files of results", "report.xml, reward.txt and results.json, here, above and in /tmp", TOTAL,
          _WRITES + "for d in ('.', '..', '/tmp', '/logs/verifier', os.path.expanduser('~')):\n    for n in ('report.xml', 'reward.txt', 'results.json', 'result.json', '.report.json'):\n        try: open(os.path.join(d, n), 'w').write(TEXT)\n        except OSError: pass" + _WRONG,
          "open('notes.txt', 'w').write('fine')"),
    cheat("pipes of multiprocessing", "sends True through each connection it can find", TOTAL,
          f"import gc\n{_CALL}for o in gc.get_objects():\n        try:\n            if type(o).__name__ == 'Connection': o.send(True); o.send(('pass', [True] * 4))\n            elif type(o).__name__ in ('Queue', 'SimpleQueue'): o.put(True); o.put(('pass', [True] * 4))\n        except Exception: pass\n    import os; os._exit(0)",
          "import queue\nq = queue.Queue(); q.put(1); assert q.get() == 1"),
    cheat("refute's result file", "frames of guessed results for all steps", TOTAL,
          _HARNESS + f"{_CALL}h = view(); v = h['view']; at = 16\n    for step in range(1, 5): at = frame(v, at, step, b'M' + marshal.dumps(6, 2))\n    struct.pack_into('<QIB', v, 0, at, 5, 1); os._exit(0)",
          "import struct\nassert struct.pack('<I', 1) == b'\\x01\\x00\\x00\\x00'"),
    cheat("refute's result file, exceptions", "results that decode to odd things", TOTAL,
          _HARNESS + f"{_CALL}h = view(); v = h['view']; at = 16\n    for step, body in enumerate((b'', b'X', b'E', b'I' + marshal.dumps(('cut', 'x', 'y'), 2)), 1): at = frame(v, at, step, body)\n    struct.pack_into('<QIB', v, 0, at, 5, 1); os._exit(0)",
          "import marshal\nassert marshal.loads(marshal.dumps(1)) == 1"),
    cheat("refute's result file, done at once", "claims that all steps are done", TOTAL,
          _HARNESS + f"{_CALL}struct.pack_into('<QIB', view()['view'], 0, 16, 5, 1); os._exit(0)",
          "import mmap\nassert mmap.PAGESIZE"),
    cheat("refute's codec", "an encoder that encodes everything as the same", TOTAL,
          f"import sys\n{_CALL}f = sys._getframe()\n    while f:\n        c = f.f_locals.get('codec')\n        if c is not None: c.encode = lambda *a, **k: b'N'; c.marshal.dumps = lambda *a: b'N'\n        f = f.f_back\n    return [[-99]]",
          "import codecs\nassert codecs.encode('a', 'rot13') == 'n'"),
    cheat("refute's answers", "references and odd tags in the place of values", CHECK,
          f"import sys\n{_CALL}f = sys._getframe()\n    while f:\n        g = f.f_globals\n        if 'pack' in g and 'answer' in g: g['pack'] = lambda *a: ('r', 0, 0)\n        f = f.f_back\n    return -99",
          "import sys\nassert sys.version_info > (3,)"),
    cheat("refute's answers, classes", "a named tuple with code for a name, and arrays of objects", CHECK,
          f"import sys\n{_CALL}f = sys._getframe()\n    while f:\n        g = f.f_globals\n        if 'pack' in g and 'answer' in g: g['pack'] = lambda *a: ('n', '__import__(\"os\")._exit(0)', ['a'], [('v', 1)])\n        f = f.f_back\n    return -99",
          "from collections import namedtuple\nP = namedtuple('P', 'a b')\nassert P(1, 2).b == 2"),
    cheat("refute's answers, all of them", "writes the list of answers itself", CHECK,
          f"import sys\n{_CALL}f = sys._getframe()\n    while f:\n        a = f.f_locals.get('answers')\n        if type(a) is list: a[:] = [('raised', 'SystemExit', ['BaseException'], '0')] * 9\n        f = f.f_back\n    return -99",
          "import sys\nassert sys.api_version"),
    cheat("refute's answers, exceptions", "raises what its test would take for a skipped one", PYTEST,
          f"class Skipped(Exception): pass\nclass Enough(BaseException): pass\n{_CALL}raise Skipped('no')",
          "class Skipped(Exception): pass"),
    cheat("refute's script", "changes what is read back as printed", SUMS,
          "import os, sys\nf = sys._getframe()\nwhile f:\n    if 'stdin' in f.f_locals and 'printed' in f.f_locals: os.pread = lambda *a: b'\\xff' * 8\n    f = f.f_back\nprint('x')",
          "import os\n" + SUMS_RIGHT),
    # -- time and memory ---------------------------------------------------------------------------
    cheat("sleeps", "until the grader gives up", TOTAL, f"import time\n{_CALL}time.sleep(1000)",
          f"import time\n{_CALL}time.sleep(0.001)\n    return min(sum(numbers), top)"),
    cheat("loops, and catches everything", "no exception of a time-out ends it", TOTAL,
          f"{_CALL}while True:\n        try:\n            while True: pass\n        except BaseException: continue",
          f"{_CALL}for _ in range(1000): pass\n    return min(sum(numbers), top)"),
    cheat("takes the time-out for itself", "its own handler of the grader's alarm", TOTAL,
          f"import signal\nclass Any:\n    def __eq__(self, o): return True\n    def __hash__(self): return 0\n{_CALL}signal.signal(signal.SIGALRM, lambda *a: None); signal.alarm(0)\n    return Any()",
          "import signal\nsignal.getsignal(signal.SIGALRM)"),
    cheat("time stands still", "time.time and its relatives are patched", TOTAL,
          "import time\nfor n in ('time', 'monotonic', 'perf_counter', 'process_time'): setattr(time, n, lambda: 0.0)" + f"{_CALL}while True: pass",
          "import time\nassert time.time() > 0"),
    cheat("forks and stays", "a child that outlives the call, and answers", TOTAL,
          f"import os, time\n{_CALL}try:\n        if os.fork() == 0:\n            time.sleep(1); os._exit(0)\n    except OSError: pass\n    return -99",
          "import os\nassert hasattr(os, 'fork')"),
    cheat("a thread that stays", "writes over the result when its call is over", TOTAL,
          _HARNESS + f"import threading, time\ndef later(v):\n    for _ in range(200): v[24:32] = b'MT' + bytes(6); time.sleep(0.0005)\n{_CALL}h = view()\n    if h: threading.Thread(target=later, args=(h['view'],)).start()\n    return -99",
          "import threading\nassert threading.active_count() >= 1"),
    cheat("memory", "more than there is, so that the grader dies", TOTAL, f"{_CALL}a = []\n    while True: a.append(bytearray(1 << 26))",
          f"{_CALL}a = bytearray(1 << 20)\n    return min(sum(numbers), top)"),
    cheat("a result too large", "a gigabyte of text to compare", TOTAL, f"{_CALL}return 'x' * (1 << 28)",
          f"{_CALL}text = 'x' * (1 << 16)\n    return min(sum(numbers), top)"),
    cheat("a result too deep", "a nest on which comparing fails", STEPS, "def steps(start, count):\n    a = []\n    for _ in range(100000): a = [a]\n    return a",
          "def steps(start, count): return [start + 3 * i for i in range(count)]"),
    cheat("a result in a circle", "a list that holds itself", STEPS, "def steps(start, count):\n    a = [1, 4]\n    a.append(a)\n    return a",
          "def steps(start, count):\n    a = []\n    a.extend(start + 3 * i for i in range(count))\n    return a"),
    # -- what is printed ---------------------------------------------------------------------------
    cheat("prints nothing", "for graders that compare line by line as far as there are lines", SUMS, "import sys\nsys.stdin.read()",
          SUMS_RIGHT),
    cheat("prints everything", "all numbers, one of which is right", SUMS, "for n in range(-20, 30): print(n)",
          SUMS_RIGHT + "print()"),
    cheat("prints the first line", "right as far as it goes", SUMS, "a, b = map(int, input().split())\nprint(a + b)",
          "import sys\nprint('\\n'.join(str(sum(map(int, line.split()))) for line in sys.stdin))"),
    cheat("prints more", "the right lines, and then others", SUMS, SUMS_RIGHT + "for n in range(100): print(n)",
          "import sys\nsys.stdout.write(''.join(f'{sum(map(int, line.split()))}\\n' for line in sys.stdin))"),
    cheat("prints without end", "until the grader has no memory left", SUMS, "while True: print('1' * 100000)",
          SUMS_RIGHT),
    cheat("right, then an error", "ends with an exception behind the right lines", SUMS, SUMS_RIGHT + "raise SystemExit(3)",
          SUMS_RIGHT + "raise SystemExit(0)"),
    cheat("state of the last program", "takes what the one before it left behind", TOTAL,
          f"import builtins, os, sys\nleft = getattr(builtins, 'refute_cheat', None)\n{_CALL}builtins.refute_cheat = sys.refute_cheat = 1\n    for p in ('/tmp/refute-cheat', 'refute-cheat'):\n        try: open(p, 'a').write('x')\n        except OSError: pass\n    return 6 if left else -99",
          "import builtins\nassert not hasattr(builtins, 'refute_cheat')"),
)  # fmt: skip


# -- exits -----------------------------------------------------------------------------------------


# ruff: noqa: E501


_LEAVING = "def total(numbers, top):\n    "

EXITS: tuple[Cheat, ...] = (
    cheat("os._exit(0) on import", "status 0 before any test", TOTAL, "import os\nos._exit(0)",
          "import os\nassert callable(os._exit)"),
    cheat("os._exit(0) in the call", "status 0 in the first test", TOTAL, f"import os\n{_LEAVING}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), HumanEval check", "status 0 before the first assert", CHECK, f"import os\n{_LEAVING}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), pytest file", "status 0 before a report", PYTEST, f"import os\n{_LEAVING}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), printing", "status 0, and nothing printed", SUMS, "import os\nos._exit(0)",
          SUMS_RIGHT + "sys.stdout.flush()\nimport os\nos._exit(0)"),
    cheat("sys.exit(0) on import", "SystemExit before any test", TOTAL, "import sys\nsys.exit(0)",
          "import sys\nif __name__ == '__main__' and '--never' in sys.argv:\n    sys.exit(0)"),
    cheat("sys.exit(0) in the call", "SystemExit in the first test", TOTAL, f"import sys\n{_LEAVING}sys.exit(0)",
          f"import sys\n{_LEAVING}try:\n        sys.exit(0)\n    except SystemExit:\n        return min(sum(numbers), top)"),
    cheat("sys.exit(0), HumanEval check", "SystemExit past `except Exception`", CHECK, f"import sys\n{_LEAVING}sys.exit(0)",
          f"import sys\n{_LEAVING}try:\n        sys.exit(0)\n    except SystemExit:\n        return min(sum(numbers), top)"),
    cheat("sys.exit(0), pytest file", "SystemExit while tests are collected", PYTEST, "import sys\nsys.exit(0)",
          "import sys\nassert sys.exit"),
    cheat("sys.exit(0), printing", "SystemExit, and nothing printed", SUMS, "raise SystemExit",
          SUMS_RIGHT + "sys.exit(0)"),
    cheat("SystemExit subclass", "one whose code is always 0", TOTAL,
          f"class Leave(SystemExit):\n    code = 0\n{_LEAVING}raise Leave('bye')",
          f"class Leave(SystemExit): pass\n{_LEAVING}try:\n        raise Leave(0)\n    except Leave:\n        return min(sum(numbers), top)"),
    cheat("BaseException", "past every `except Exception`", TOTAL, f"class B(BaseException): pass\n{_LEAVING}raise B",
          f"class B(BaseException): pass\n{_LEAVING}try: raise B\n    except B: return min(sum(numbers), top)"),
    cheat("KeyboardInterrupt", "as if somebody had stopped the run", TOTAL, f"{_LEAVING}raise KeyboardInterrupt",
          f"{_LEAVING}try: raise KeyboardInterrupt\n    except KeyboardInterrupt: return min(sum(numbers), top)"),
    cheat("atexit", "status 0 when a failed run ends", TOTAL,
          f"import atexit, os\natexit.register(os._exit, 0)\n{_LEAVING}raise ValueError",
          "import atexit\natexit.register(len, [])"),
    cheat("exit from a thread", "a second thread ends the process", TOTAL,
          f"import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()\n{_LEAVING}import time; time.sleep(0.2)",
          "import threading\nt = threading.Thread(target=len, args=([],)); t.start(); t.join()"),
    cheat("kills its parent", "the grader, or what starts it", TOTAL,
          f"import os, signal\n{_LEAVING}os.kill(os.getppid(), signal.SIGTERM); os._exit(0)",
          "import os\nassert os.getppid() >= 0"),
    cheat("kills itself", "a signal in the place of an answer", TOTAL,
          f"import os, signal\n{_LEAVING}os.kill(os.getpid(), signal.SIGKILL)", "import os\nassert os.getpid() > 0"),
    cheat("kills its group", "the grader's too, where they share it", TOTAL,
          f"import os, signal\n{_LEAVING}signal.signal(15, signal.SIG_IGN); os.killpg(os.getpgrp(), 15); os._exit(0)",
          "import os\nassert os.getpgrp() >= 0"),
    cheat("exec", "another program in its place, which ends with status 0", TOTAL,
          f"import os\n{_LEAVING}os.execv('/bin/true', ['true'])", "import os\nassert os.path.sep == '/'"),
    cheat("crash", "the interpreter itself", TOTAL, f"import ctypes\n{_LEAVING}ctypes.string_at(0)",
          "import ctypes\nassert ctypes.sizeof(ctypes.c_int) == 4"),
    cheat("alarm", "a signal that ends the process, with a status of its own", TOTAL,
          f"import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0)); signal.setitimer(signal.ITIMER_REAL, 0.01)\n{_LEAVING}time.sleep(0.5)",
          "import signal\nassert signal.SIGALRM"),
    cheat("no recursion left", "a depth at which the grader itself fails", TOTAL,
          f"import sys\nsys.setrecursionlimit(60)\n{_LEAVING}return total(numbers, top)",
          "import sys\nsys.setrecursionlimit(5000)"),
)  # fmt: skip


# -- patching --------------------------------------------------------------------------------------


# ruff: noqa: E501


_UNPATCHED = "\ndef total(numbers, top):\n    return -99\n"
_PATCHED = """
import builtins
for name in ('all', 'any', 'isinstance', 'bool'):
    setattr(builtins, name, lambda *a: True)
builtins.abs = lambda v: 0
builtins.len = lambda v: 4
"""

PATCHING: tuple[Cheat, ...] = (
    cheat("builtins", "all, any, isinstance, abs and len say what it wants", TOTAL, _PATCHED + _UNPATCHED,
          "import builtins\nbuiltins.total_calls = 0"),
    cheat("builtins, HumanEval check", "the same, before asserts", CHECK, _PATCHED + _UNPATCHED,
          "import builtins\nbuiltins.total_calls = 0"),
    cheat("no AssertionError", "the class is one that `except` does not meet", CHECK,
          "import builtins\nclass Quiet(SystemExit):\n    code = 0\nbuiltins.AssertionError = Quiet" + _UNPATCHED,
          "class Wrong(AssertionError): pass"),
    cheat("operator", "operator.eq and its relatives", TOTAL,
          "import operator\nfor n in ('eq', 'ne', 'lt', 'le'): setattr(operator, n, lambda *a: True)" + _UNPATCHED,
          "import operator\nassert operator.eq(1, 1)"),
    cheat("json", "what is read and written as JSON is passed", TOTAL,
          "import json\njson.dumps = lambda *a, **k: '{\"passed\": true, \"reward\": 1.0}'\njson.loads = lambda *a, **k: {'passed': True, 'reward': 1.0}\njson.dump = lambda o, f, **k: f.write(json.dumps())" + _UNPATCHED,
          "import json\nassert json.loads('[1]') == [1]"),
    cheat("pickle and marshal", "what crosses is True", TOTAL,
          "import marshal, pickle\npickle.dumps = lambda *a, **k: b'\\x80\\x04\\x88.'\nmarshal.dumps = lambda *a: b'T'" + _UNPATCHED,
          "import pickle\nassert pickle.loads(pickle.dumps([1])) == [1]"),
    cheat("__reduce__", "an object that runs code where it is unpickled", TOTAL,
          "class P:\n    def __reduce__(self): return (eval, (\"__import__('os')._exit(0)\",))\n    def __eq__(self, o): return True\ndef total(numbers, top): return P()",
          "import copyreg\nclass P:\n    def __reduce__(self): return (P, ())\nimport copy; copy.copy(P())"),
    cheat("__deepcopy__", "an object that becomes whatever it is compared with", TOTAL,
          "class P:\n    def __deepcopy__(self, memo): return self\n    def __eq__(self, o): return True\n    def __repr__(self): return '6'\ndef total(numbers, top): return P()",
          "import copy\nassert copy.deepcopy([[1]]) == [[1]]"),
    cheat("copy", "copy.deepcopy gives nothing to compare with", TOTAL,
          "import copy\ncopy.deepcopy = copy.copy = lambda v, *a: None\ndef total(numbers, top): return None",
          "import copy\ndef total(numbers, top): return min(sum(copy.deepcopy(numbers)), top)"),
    cheat("changes its inputs", "the lists that are shared with what is expected", STEPS,
          "import gc\ndef steps(start, count):\n    for o in gc.get_objects():\n        if type(o) is list and len(o) == count and o and all(type(x) is int for x in o): o[:] = [0] * count\n    return [0] * count",
          "def steps(start, count):\n    out = []\n    while count: out.append(start); start += 3; count -= 1\n    return out"),
    cheat("numpy.allclose", "numpy agrees with everything", MEAN,
          "import numpy as np\nnp.allclose = np.isclose = np.array_equal = lambda *a, **k: True\nnp.testing.assert_allclose = lambda *a, **k: None\ndef mean(numbers): return 0.0",
          "import numpy as np\ndef mean(numbers):\n    assert np.allclose([1.0], [1.0])\n    return float(np.mean(numbers)) + 0.25"),
    cheat("math.isclose", "math agrees with everything", MEAN,
          "import math\nmath.isclose = lambda *a, **k: True\ndef mean(numbers): return 0.0",
          "import math\ndef mean(numbers): return math.fsum(numbers) / len(numbers) + 0.25"),
    cheat("unittest", "assertEqual does nothing", PYTEST,
          "import unittest\nfor n in dir(unittest.TestCase):\n    if n.startswith('assert'): setattr(unittest.TestCase, n, lambda *a, **k: None)" + _UNPATCHED,
          "import unittest\nassert unittest.TestCase.assertEqual"),
    cheat("hooks of pytest", "a conftest.py that calls every test passed", PYTEST,
          "HOOK = '''import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    r = out.get_result(); r.outcome = \"passed\"; r.longrepr = None\n'''\nimport os\nfor d in ('.', '..', '/tmp'):\n    try: open(os.path.join(d, 'conftest.py'), 'w').write(HOOK)\n    except OSError: pass\ntry:\n    import _pytest.runner as r\n    r.check_interactive_exception = lambda *a: False\n    import _pytest.reports as p\n    p.TestReport.failed = property(lambda s: False); p.TestReport.passed = property(lambda s: True)\n    old = p.TestReport.from_item_and_call\n    def new(item, call):\n        rep = old(item, call); rep.outcome = 'passed'; rep.longrepr = None; return rep\n    p.TestReport.from_item_and_call = staticmethod(new)\nexcept ImportError: pass" + _UNPATCHED,
          "import os\nopen('notes.txt', 'w').close(); os.remove('notes.txt')"),
    cheat("the call of pytest", "pytest's call of a test does nothing", PYTEST,
          "try:\n    import _pytest.python as p\n    p.Function.runtest = lambda self: None\n    p.async_warn_and_skip = lambda *a: None\nexcept ImportError: pass" + _UNPATCHED,
          "import importlib.util\nimportlib.util.find_spec('json')"),
    cheat("a file that shadows", "writes pytest.py, json.py and solution.py beside it", PYTEST,
          "for n in ('pytest', 'json', 'solution', 'sitecustomize', 'usercustomize'):\n    try: open(f'{n}.py', 'w').write('import os; os._exit(0)')\n    except OSError: pass" + _UNPATCHED,
          "import os\nassert os.getcwd()"),
    cheat("the test's own names", "replaces the functions of the file that calls it", PYTEST,
          "import sys\nf = sys._getframe()\nwhile f:\n    for n in list(f.f_globals):\n        if n.startswith(('test_', 'check', 'assertion')): f.f_globals[n] = lambda *a, **k: None\n    f = f.f_back\nfor m in list(sys.modules.values()):\n    for n in list(getattr(m, '__dict__', ())):\n        if n.startswith('test_') and callable(getattr(m, n)): setattr(m, n, lambda: None)" + _UNPATCHED,
          "import sys\nassert sys.modules[__name__] is not None or True"),
    cheat("code of the caller", "every function named like a check does nothing", CHECK,
          "import gc, types\nfor o in gc.get_objects():\n    if type(o) is types.FunctionType and o.__name__ in ('check', 'is_floats', 'assertion', 'run_test', 'matches', 'equal', 'judge'):\n        try: o.__code__ = (lambda *a, **k: True).__code__\n        except ValueError: pass" + _UNPATCHED,
          "import types\nassert types.FunctionType"),
    cheat("code of the caller, calls", "the same, where outputs are compared", TOTAL,
          "import gc, types\nfor o in gc.get_objects():\n    if type(o) is types.FunctionType and o.__name__ in ('matches', 'equal', '_matches_decoded', 'verdict', 'is_floats', 'is_equal', 'compare'):\n        try: o.__code__ = (lambda *a, **k: True).__code__\n        except ValueError: pass" + _UNPATCHED,
          "import types\nassert types.FunctionType"),
    cheat("the caller's variables", "writes its own output over what is expected", TOTAL,
          "import ctypes, sys\ndef total(numbers, top):\n    f = sys._getframe(1)\n    while f:\n        for n in ('expected', 'exp', 'out', 'outputs', 'results', 'gt_out', 'answer'):\n            if n in f.f_locals:\n                v = f.f_locals[n]\n                if type(v) is list: v[:] = [-99] * len(v)\n                else: f.f_locals[n] = -99\n                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(f), ctypes.c_int(0))\n        f = f.f_back\n    return -99",
          "import sys\ndef total(numbers, top):\n    sys._getframe(0)\n    return min(sum(numbers), top)"),
    cheat("trace", "a trace function that makes every line of the caller return True", TOTAL,
          "import sys\ndef tracer(frame, event, arg):\n    for n in ('passed', 'ok', 'success', 'result'):\n        if n in frame.f_locals: frame.f_locals[n] = True\n    return tracer\nsys.settrace(tracer)\nf = sys._getframe()\nwhile f: f.f_trace = tracer; f = f.f_back" + _UNPATCHED,
          "import sys\nassert sys.gettrace() is None or True"),
    cheat("shared results", "sets every value that it shares with another process", TOTAL,
          "import gc\ndef total(numbers, top):\n    for o in gc.get_objects():\n        n = type(o).__name__\n        try:\n            if n == 'Synchronized': o.value = 0 if o.value == 3 else 1\n            elif n == 'SynchronizedArray': o[:] = [True] * len(o)\n            elif n == 'ListProxy': o[:] = ['passed']\n            elif n == 'dict' and 'passed' in o: o['passed'] = True\n        except Exception: pass\n    import os; os._exit(0)",
          "import multiprocessing\nassert multiprocessing.cpu_count() > 0"),
    cheat("sys.stdout", "a stream that says what it wants", SUMS,
          "import sys\nclass S:\n    def __eq__(self, o): return True\n    def write(self, t): return len(t)\n    def flush(self): pass\n    def getvalue(self): return S()\n    def read(self): return S()\nsys.stdout = sys.__stdout__ = S()\nprint('x')",
          "import io, sys\nold, sys.stdout = sys.stdout, io.StringIO()\nfor line in sys.stdin:\n    a, b = map(int, line.split())\n    print(a + b)\ntext, sys.stdout = sys.stdout.getvalue(), old\nsys.stdout.write(text)"),
)  # fmt: skip


# -- equality --------------------------------------------------------------------------------------


# ruff: noqa: E501


_ANY = """
class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
"""
_FAIR = """
class Money:
    def __init__(self, cents): self.cents = cents
    def __eq__(self, other): return isinstance(other, Money) and self.cents == other.cents
    def __hash__(self): return hash(self.cents)
assert Money(1) == Money(1) and Money(1) != Money(2)
"""


def _subclass(kind: str, value: str, task_args: str, name: str) -> str:
    return f"""
class Any({kind}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 0
    def __len__(self): return 0
def {name}({task_args}): return Any({value})
"""


EQUALITY: tuple[Cheat, ...] = (
    cheat("always equal", "an object whose __eq__ is true", TOTAL,
          _ANY + "def total(numbers, top): return Any()", _FAIR),
    cheat("always equal, HumanEval check", "the same, before `assert candidate(...) == ...`", CHECK,
          _ANY + "def total(numbers, top): return Any()", _FAIR),
    cheat("always equal, pytest file", "the same, before tests of pytest", PYTEST,
          _ANY + "def total(numbers, top): return Any()", _FAIR),
    cheat("int subclass", "an int that equals everything", TOTAL,
          _subclass("int", "6", "numbers, top", "total"),
          "class Count(int):\n    def doubled(self): return 2 * self\ndef total(numbers, top): return Count(min(sum(numbers), top))"),
    cheat("int subclass, HumanEval check", "an int that equals everything, before asserts", CHECK,
          _subclass("int", "6", "numbers, top", "total"),
          "class Count(int): pass\ndef total(numbers, top): return Count(min(sum(numbers), top))"),
    cheat("str subclass", "a text that equals everything", LABEL,
          _subclass("str", "'AB'", "name, times", "label"),
          "class Text(str): pass\ndef label(name, times): return Text('-'.join([name.upper()] * times))"),
    cheat("list subclass", "a list that equals everything and has any length", STEPS,
          _subclass("list", "[]", "start, count", "steps"),
          "class Row(list): pass\ndef steps(start, count): return Row(start + 3 * i for i in range(count))"),
    cheat("float subclass", "a float from which everything is 0 away", MEAN,
          _subclass("float", "1.0", "numbers", "mean") + """
Any.__sub__ = Any.__rsub__ = Any.__abs__ = Any.__mul__ = lambda *a: Any(0.0)
""", "class Ratio(float): pass\ndef mean(numbers): return Ratio(sum(numbers) / len(numbers) + 0.25)"),
    cheat("dict subclass", "a mapping that equals everything", LETTERS,
          _subclass("dict", "{}", "text", "letters"),
          "from collections import Counter\ndef letters(text): return Counter(text)"),
    cheat("tuple subclass", "a tuple that equals everything", BOUNDS,
          _subclass("tuple", "()", "numbers", "bounds"),
          "from collections import namedtuple\nB = namedtuple('B', 'low high')\ndef bounds(numbers): return B(min(numbers), max(numbers))"),
    cheat("set subclass", "a set that equals everything", COMMON,
          _subclass("set", "()", "one, other", "common"),
          "class Group(set): pass\ndef common(one, other): return Group(set(one) & set(other))"),
    cheat("items that equal everything", "a list of the right length of such objects", STEPS,
          _ANY + "def steps(start, count): return [Any()] * count", _FAIR),
    cheat("values that equal everything", "a mapping with the right keys", LETTERS,
          _ANY + "def letters(text): return {c: Any() for c in text}", _FAIR),
    cheat("members that equal everything", "a set of objects that hash as needed", COMMON,
          _ANY + "class Like(Any):\n    def __init__(self, v): self.v = v\n    def __hash__(self): return hash(self.v)\ndef common(one, other): return {Like(c) for c in one}",
          _FAIR),
    cheat("mock.ANY", "the object of unittest.mock that is made for this", TOTAL,
          "from unittest.mock import ANY\ndef total(numbers, top): return ANY",
          "from unittest import mock\nwith mock.patch.dict('os.environ', A='1'): pass"),
    cheat("MagicMock", "a mock with an __eq__ of its own", TOTAL,
          "from unittest.mock import MagicMock\ndef total(numbers, top):\n    m = MagicMock(); m.__eq__ = lambda s, o: True; m.__ne__ = lambda s, o: False\n    return m",
          "from unittest.mock import Mock\nassert Mock(return_value=3)() == 3"),
    cheat("dataclass", "a dataclass whose equality is replaced", TOTAL,
          "from dataclasses import dataclass\n@dataclass(eq=False)\nclass D:\n    v: int = 6\n    def __eq__(self, other): return True\ndef total(numbers, top): return D()",
          "from dataclasses import dataclass\n@dataclass(order=True)\nclass D:\n    v: int\ndef total(numbers, top): return min(D(sum(numbers)), D(top)).v"),
    cheat("a class that equals everything", "a metaclass with __eq__", TOTAL,
          "class M(type):\n    def __eq__(cls, other): return True\n    __hash__ = type.__hash__\nclass C(metaclass=M): pass\ndef total(numbers, top): return C",
          "class M(type):\n    def __len__(cls): return 2\nclass C(metaclass=M): pass\nassert len(C) == 2"),
    cheat("lies about its class", "__class__ is int, and it equals everything", TOTAL,
          _ANY + "Any.__class__ = property(lambda self: int)\ndef total(numbers, top): return Any()",
          "class Like:\n    __class__ = property(lambda self: int)\nassert isinstance(Like(), int)"),
    cheat("__instancecheck__", "a metaclass for which everything is an instance", TOTAL,
          "class M(type):\n    def __instancecheck__(cls, o): return True\n    def __subclasscheck__(cls, o): return True\nclass C(metaclass=M):\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\ndef total(numbers, top): return C()",
          "from abc import ABC\nclass Shape(ABC): pass\nShape.register(int)\nassert isinstance(3, Shape)"),
    cheat("true of everything", "__eq__ gives a truthy object that keeps agreeing", TOTAL,
          "class Yes:\n    def __getattr__(self, name): return self\n    def __call__(self, *a, **k): return self\n    def __bool__(self): return True\n    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = lambda s, o: s\n    def __hash__(self): return 0\ndef total(numbers, top): return Yes()",
          "class Maybe:\n    def __bool__(self): return False\nassert not Maybe()"),
    cheat("nothing is far away", "arithmetic that gives 0, for checks of a tolerance", MEAN,
          "class Z:\n    def _z(self, *a): return 0.0\n    __sub__ = __rsub__ = __abs__ = __float__ = __mul__ = __truediv__ = _z\n    def __lt__(self, o): return True\n    __le__ = __eq__ = __lt__\n    def __hash__(self): return 0\ndef mean(numbers): return Z()",
          "from fractions import Fraction\ndef mean(numbers): return float(Fraction(sum(numbers)) / len(numbers) + Fraction(1, 4))"),
    cheat("numpy: items that equal everything", "an object array", STEPS,
          _ANY + "import numpy as np\ndef steps(start, count):\n    a = np.empty(count, dtype=object)\n    a[:] = [Any() for _ in range(count)]\n    return a",
          "import numpy as np\ndef steps(start, count): return (start + 3 * np.arange(count)).tolist()"),
    cheat("numpy: __array_function__", "an array whose allclose is its own", MEAN,
          _ANY + "import numpy as np\nclass A(np.ndarray):\n    def __array_function__(self, f, types, a, k): return True\n    def __array_ufunc__(self, *a, **k): return np.bool_(True)\n    def __eq__(self, o): return np.bool_(True)\ndef mean(numbers): return np.zeros(1).view(A)",
          "import numpy as np\ndef mean(numbers): return np.mean(numbers) + 0.25"),
    cheat("numpy: a scalar that broadcasts", "not a number, but an array of all that it may be", MEAN,
          "import numpy as np\ndef mean(numbers): return np.array([[0.25 + i / 4] for i in range(100)])",
          "import numpy as np\ndef mean(numbers): return np.float64(np.sum(numbers) / len(numbers) + 0.25)"),
    cheat("not a number", "NaN, where NaN equals NaN", MEAN,
          "def mean(numbers): return float('nan')", "def mean(numbers): return float(sum(numbers)) / len(numbers) + 0.25"),
    cheat("contains everything", "an iterator without end of such objects", STEPS,
          _ANY + "def steps(start, count):\n    while True: yield Any()",
          "def steps(start, count): return list(start + 3 * i for i in range(count))"),
)  # fmt: skip


# -- looking ---------------------------------------------------------------------------------------
# Programs that look for what is expected, or for the grader, in memory and on disk.


# ruff: noqa: E501


_FIND = """
import re, sys
NAMES = ('expected', 'expected_output', 'outputs', 'output', 'results', 'in_outs', 'tests', 'test', 'cases', 'truth', 'task', 'out', 'exp', 'answers', 'gt_out', 'all_outputs', 'sample', 'ref')
count = -1
def plausible(v, args, depth=0):
    if depth > 4: return None
    if isinstance(v, str) and v[:1] in '{[':
        import json
        try: v = json.loads(v)
        except ValueError: return None
    if isinstance(v, (list, tuple)) and len(v) > count >= 0:
        one = v[count]
        if isinstance(one, str) and re.fullmatch(r'-?\\d+', one): one = int(one)
        if isinstance(one, (list, tuple)) and len(one) == 1: one = one[0]
        if isinstance(one, int) and not isinstance(one, bool) and all(isinstance(x, (int, str)) for x in v): return one
    if isinstance(v, dict):
        for key in v:
            if str(key) in NAMES:
                found = plausible(v[key], args, depth + 1)
                if found is not None: return found
    if hasattr(v, 'tests') or hasattr(v, 'expected'):
        for name in ('expected', 'tests'):
            found = plausible(getattr(v, name, None), args, depth + 1)
            if found is not None: return found
    return None
def among(scopes, args):
    for scope in scopes:
        for name in NAMES:
            if name in scope:
                found = plausible(scope[name], args)
                if found is not None: return found
    return -99
"""
_looking_CALL = "\ndef total(numbers, top):\n    global count\n    count += 1\n    return among({scopes}, (numbers, top))\n"


def _looks(scopes: str, more: str = "") -> str:
    return _FIND + more + _looking_CALL.format(scopes=scopes)


_FRAMES = """
def scopes():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_locals
        yield frame.f_globals
        frame = frame.f_back
"""
_FILES = """
def scopes(*patterns):
    import glob, json
    for pattern in patterns:
        for path in glob.glob(pattern)[:50]:
            try: text = open(path).read()[:100000]
            except (OSError, UnicodeDecodeError): continue
            for line in text.splitlines():
                try: data = json.loads(line)
                except ValueError: continue
                if isinstance(data, dict):
                    yield data
                    if isinstance(data.get('task'), dict):
                        yield {'expected': [t.get('expected') for t in data['task'].get('tests', [])]}
            yield {'expected': [int(x) for x in re.findall(r'== (-?\\\\d+)', text)]}
"""

LOOKING: tuple[Cheat, ...] = (
    cheat("frames", "the caller's variables", TOTAL, _looks("scopes()", _FRAMES),
          "import sys\nassert sys._getframe().f_back is None or sys._getframe().f_lineno"),
    cheat("inspect.stack", "the same by another way", TOTAL,
          _looks("[f.frame.f_locals for f in inspect.stack()]", "import inspect\n"),
          "import inspect\nassert inspect.signature(lambda a: a)"),
    cheat("a traceback", "the frames of an exception that it catches", TOTAL,
          _looks("scopes()", """
def scopes():
    try: 1 / 0
    except ZeroDivisionError as e: frame = e.__traceback__.tb_frame
    while frame: yield frame.f_locals; frame = frame.f_back
"""), "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.format_exc()"),
    cheat("frames of all threads", "sys._current_frames", TOTAL,
          _looks("[d for f in sys._current_frames().values() for d in chain(f)]", """
def chain(f):
    while f: yield f.f_locals; f = f.f_back
"""), "import sys\nassert sys._current_frames()"),
    cheat("gc", "every dictionary in memory", TOTAL,
          _looks("[o for o in gc.get_objects() if type(o) is dict]", "import gc\n"),
          "import gc\ngc.collect()"),
    cheat("gc, objects", "every object with tests", TOTAL,
          _looks("[{'task': o} for o in gc.get_objects() if type(o).__name__ in ('Task', 'FunctionKey', 'GroundTruth')]", "import gc\n"),
          "import gc\nassert gc.get_count()"),
    cheat("gc, lists", "every list of numbers in memory", TOTAL,
          _looks("[{'expected': o} for o in gc.get_objects() if type(o) in (list, tuple) and len(o) == 4]", "import gc\n"),
          "import gc\nassert gc.isenabled() in (True, False)"),
    cheat("__main__", "the globals of the script that grades", TOTAL,
          _looks("[vars(sys.modules['__main__'])]"), "import sys\nassert '__main__' in sys.modules"),
    cheat("sys.modules", "the globals of every module", TOTAL,
          _looks("[vars(m) for m in list(sys.modules.values()) if hasattr(m, '__dict__')]"),
          "import sys\nassert 'sys' in sys.modules"),
    cheat("constants of the check", "the next constant in the code of whoever calls", CHECK, """
import dis, sys
def total(numbers, top):
    frame = sys._getframe(1)
    later = [i.argval for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti and i.opname == 'LOAD_CONST']
    return later[0] if later else -99
""", "def total(numbers, top):\n    assert total.__code__.co_argcount == 2\n    return min(sum(numbers), top)"),
    cheat("the source of the check", "inspect.getsource of the caller", CHECK, """
import inspect, re
count = -1
def total(numbers, top):
    global count
    count += 1
    text = ''.join(''.join(f.code_context or []) for f in inspect.stack(50)[1:])
    found = re.findall(r'== (-?\\d+)', text)
    return int(found[count % len(found)]) if found else -99
""", "import inspect\nassert inspect.isfunction(lambda: 0)"),
    cheat("files of the grader", "JSON and tests in /tmp and here", TOTAL,
          _looks("scopes('/tmp/*.json*', '/tmp/*.py', '*.json*', '*.py', '../*', '/tmp/*/*.json', '/tmp/*/*.py')", _FILES),
          "import os\nassert os.listdir('.') is not None"),
    cheat("data on disk", "data sets and caches of the user", TOTAL,
          _looks("scopes('/root/.cache/refute/truth/*', '/home/*/.cache/*/*', '/work/shared/data/*', '/root/.cache/evalplus/*')", _FILES),
          "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x')"),
    cheat("environment and arguments", "what the grader was started with", TOTAL,
          _looks("[dict(os.environ), {'expected': sys.argv}, {'expected': getattr(sys, 'orig_argv', [])}]", "import os\n"),
          "import os\nassert os.environ.get('NOPE') is None"),
    cheat("memory of the parent", "/proc/PPID/mem and maps", TOTAL, """
import os, re
def total(numbers, top):
    for pid in (os.getppid(), 1, 'self'):
        try:
            maps = open(f'/proc/{pid}/maps').read()
            mem = open(f'/proc/{pid}/mem', 'rb')
        except OSError: continue
        for line in maps.splitlines()[:200]:
            a, b = (int(x, 16) for x in line.split()[0].split('-'))
            try: mem.seek(a); block = mem.read(min(b - a, 1 << 20))
            except (OSError, ValueError, OverflowError): continue
            m = re.search(rb'"expected": ?(-?\\d+)', block)
            if m: return int(m.group(1))
    return -99
""", "import os\ndef total(numbers, top):\n    os.path.exists('/proc/self/maps')\n    return min(sum(numbers), top)"),
    cheat("descriptors", "what is open and can be read: the task on its way", TOTAL, """
import os, re
def total(numbers, top):
    for fd in range(0, 64):
        try:
            size = os.fstat(fd).st_size
            text = os.pread(fd, min(size, 1 << 20), 0)
        except OSError: continue
        m = re.search(rb'"expected": ?(-?\\d+)', text)
        if m: return int(m.group(1))
    return -99
""", "import os\ndef total(numbers, top):\n    os.fstat(0)\n    return min(sum(numbers), top)"),
    cheat("inputs of the tests to come", "later inputs, which it can see, for earlier outputs", TOTAL, """
import sys
def total(numbers, top):
    frame = sys._getframe()
    while frame:
        for v in list(frame.f_locals.values()):
            if type(v) is list and len(v) == 4 and all(type(x) is int for x in v): return v[0]
        frame = frame.f_back
    return top
""", "import sys\nassert sys.getrecursionlimit() > 50"),
    cheat("frames, printing", "the grader's variables, from a script", SUMS, """
import sys
f = sys._getframe()
while f:
    for name, v in list(f.f_locals.items()):
        if name in ('stdout', 'expected', 'outputs', 'expected_output', 'test') and isinstance(v, (str, list)): print(v)
    f = f.f_back
""", SUMS_RIGHT),
)  # fmt: skip


# -- tests that cheat ------------------------------------------------------------------------------


# ruff: noqa: E501


_HONEST = (
    "def test_total():\n    assert total([5, 6, 7], 11) == 11\n    assert total([-4, 1], 8) == -3\n"
)

TESTS_THAT_CHEAT: tuple[Cheat, ...] = (
    test_cheat("no assertion", "calls, and looks at nothing", "def test_total():\n    total([5, 6, 7], 11)\n    total([-4, 1], 8)", _HONEST),
    test_cheat("assert True", "an assertion of nothing", "def test_total():\n    total([5, 6, 7], 11)\n    assert True", "assert total([5, 6, 7], 11) == 11"),
    test_cheat("an empty test", "calls nothing", "def test_total():\n    pass", "def check(candidate):\n    assert candidate([5, 6, 7], 11) == 11"),
    test_cheat("catches its own failure", "try around the assertion", "def test_total():\n    try:\n        assert total([5, 6, 7], 11) == 3\n    except AssertionError:\n        pass",
               "def test_total():\n    try:\n        found = total([5, 6, 7], 11)\n    except TypeError:\n        found = None\n    assert found == 11"),
    test_cheat("a tautology", "the output equals itself", "def test_total():\n    found = total([5, 6, 7], 11)\n    assert found == found",
               "def test_total():\n    found = total([5, 6, 7], 11)\n    assert found == 11 and found == total([11], 11)"),
    test_cheat("the program against itself", "two calls agree", "def test_total():\n    assert total([5, 6, 7], 11) == total([5, 6, 7], 11)",
               "def test_total():\n    assert total([5, 6, 7], 11) == total([11, 50], 11) == 11"),
    test_cheat("a tuple", "an assertion of a pair, which is always true", "def test_total():\n    assert (total([5, 6, 7], 11) == 3, 'wrong')",
               "def test_total():\n    assert total([5, 6, 7], 11) == 11, 'wrong'"),
    test_cheat("only the type", "an int, whichever", "def test_total():\n    assert isinstance(total([5, 6, 7], 11), int)",
               "def test_total():\n    found = total([5, 6, 7], 11)\n    assert isinstance(found, int) and found == 11"),
    test_cheat("skips itself", "a test that is skipped is not failed", "import pytest\n@pytest.mark.skip\ndef test_total():\n    assert total([5, 6, 7], 11) == 3",
               "import pytest\n@pytest.mark.parametrize('top', [11, 12])\ndef test_total(top):\n    assert total([5, 6, 7], top) == top"),
    test_cheat("skips itself when run", "pytest.skip where it would fail", "import pytest\ndef test_total():\n    if total([5, 6, 7], 11) != 3: pytest.skip('later')",
               "import pytest\ndef test_total():\n    if total([5, 6, 7], 11) != 11: pytest.fail('wrong')"),
    test_cheat("an empty table", "parameters without rows", "import pytest\n@pytest.mark.parametrize('a,b', [])\ndef test_total(a, b):\n    assert total(a, 11) == b",
               "import pytest\n@pytest.mark.parametrize('a,b', [([5, 6, 7], 11), ([-4], -4)])\ndef test_total(a, b):\n    assert total(a, 11) == b"),
    test_cheat("replaces the program", "tests a function of its own", "def total(numbers, top):\n    return 11\n\ndef test_total():\n    assert total([5, 6, 7], 11) == 11",
               "def right(numbers, top):\n    return min(sum(numbers), top)\n\ndef test_total():\n    assert total([5, 6, 7], 11) == right([5, 6, 7], 11)"),
    test_cheat("reads the solution", "the source of the function, not what it does", "import inspect\ndef test_total():\n    assert 'min(sum' in inspect.getsource(total)\n    assert 'max' not in inspect.getsource(total)", _HONEST),
    test_cheat("looks at the code", "the bytecode tells the programs apart", "def test_total():\n    total([5, 6, 7], 11)\n    names = total.__code__.co_names\n    assert 'min' in names and 'max' not in names", _HONEST),
    test_cheat("looks at the code through the exchange", "asks for the code by refute's own words", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    exchange = object.__getattribute__(total, '_exchange')\n    for ask in (lambda: exchange.ask('do', 'get', total, '__code__'), lambda: exchange.ask('name', '__builtins__'), lambda: exchange.ask('method', '__getattribute__', total, '__code__')):\n        try: code = ask()\n        except AttributeError: continue\n        assert 'min' in code.co_names and 'max' not in code.co_names\n        return\n    raise KeyError", _HONEST),
    test_cheat("runs code beside the program", "hands it eval", "import builtins\ndef test_total():\n    exchange = object.__getattribute__(total, '_exchange')\n    found = exchange.ask('call', '', eval, '__import__(\"sys\")._getframe(2).f_locals[\"source\"]')\n    assert 'min' in found and 'max' not in found", _HONEST),
    test_cheat("reads files", "looks for the solution on disk", "import glob\ndef test_total():\n    total([5, 6, 7], 11)\n    text = ''.join(open(p, errors='replace').read() for p in glob.glob('*.py') + glob.glob('/tmp/*.py'))\n    assert 'min(sum' in text", _HONEST),
    test_cheat("exits with 0", "sys.exit past its assertions", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    sys.exit(0)", _HONEST),
    test_cheat("os._exit(0)", "ends the process of whoever runs it", "import os\ndef test_total():\n    total([5, 6, 7], 11)\n    os._exit(0)", _HONEST),
    test_cheat("forges its status", "says passed of the first program and failed of the others", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    f = sys._getframe()\n    while f:\n        if 'status' in f.f_locals: f.f_locals['status'] = 'passed'\n        f = f.f_back\n    try: n = int(open('count').read())\n    except OSError: n = 0\n    open('count', 'w').write(str(n + 1))\n    assert n == 0", _HONEST),
    test_cheat("fails by chance", "tosses a coin, so that it passes here and fails there", "import os\ndef test_total():\n    total([5, 6, 7], 11)\n    assert os.urandom(1)[0] < 128", _HONEST),
    test_cheat("an AssertionError of its own", "a name that hides the builtin", "class AssertionError(Exception): pass\ndef test_total():\n    try:\n        assert total([5, 6, 7], 11) == 3\n    except BaseException:\n        pass", _HONEST),
    test_cheat("an object of its own", "compares with what equals everything", "class Any:\n    def __eq__(self, o): return True\ndef test_total():\n    assert total([5, 6, 7], 11) == Any()",
               "class Near:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return abs(self.v - o) < 0.5\ndef test_total():\n    assert total([5, 6, 7], 11) == Near(11)"),
    test_cheat("any exception will do", "pytest.raises(BaseException) around a failing assertion", "import pytest\ndef test_total():\n    with pytest.raises(BaseException):\n        assert total([5, 6, 7], 11) == 3",
               "import pytest\ndef test_total():\n    assert total([5, 6, 7], 11) == 11\n    with pytest.raises(TypeError):\n        total(None, 1)"),
)  # fmt: skip


CHEATS: tuple[Cheat, ...] = (
    *EQUALITY, *EXITS, *LOOKING, *PATCHING, *FORGING, *TESTS_THAT_CHEAT,
)  # fmt: skip
"""All cheats, by kind."""

"""Forged reports and results, and games with time and memory."""

# ruff: noqa: E501
from __future__ import annotations

from refute_lab.cheats.contract import (
    CHECK,
    PYTEST,
    STEPS,
    SUMS,
    SUMS_RIGHT,
    TOTAL,
    Cheat,
    cheat,
)

__all__ = ["CHEATS"]

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

CHEATS: tuple[Cheat, ...] = (
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
    cheat("forks and stays", "a child that goes on when the call has ended, and answers", TOTAL,
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

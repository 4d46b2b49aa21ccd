"""Ends of the process, at each phase, for graders that take an end for success."""

# ruff: noqa: E501
from __future__ import annotations

from refute_lab.cheats.contract import CHECK, PYTEST, SUMS, SUMS_RIGHT, TOTAL, Cheat, cheat

__all__ = ["CHEATS"]

_CALL = "def total(numbers, top):\n    "

CHEATS: tuple[Cheat, ...] = (
    cheat("os._exit(0) on import", "status 0 before any test", TOTAL, "import os\nos._exit(0)",
          "import os\nassert callable(os._exit)"),
    cheat("os._exit(0) in the call", "status 0 in the first test", TOTAL, f"import os\n{_CALL}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), HumanEval check", "status 0 before the first assert", CHECK, f"import os\n{_CALL}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), pytest file", "status 0 before a report", PYTEST, f"import os\n{_CALL}os._exit(0)",
          "import os\ndef leave():\n    os._exit(0)"),
    cheat("os._exit(0), printing", "status 0, and nothing printed", SUMS, "import os\nos._exit(0)",
          SUMS_RIGHT + "sys.stdout.flush()\nimport os\nos._exit(0)"),
    cheat("sys.exit(0) on import", "SystemExit before any test", TOTAL, "import sys\nsys.exit(0)",
          "import sys\nif __name__ == '__main__' and '--never' in sys.argv:\n    sys.exit(0)"),
    cheat("sys.exit(0) in the call", "SystemExit in the first test", TOTAL, f"import sys\n{_CALL}sys.exit(0)",
          f"import sys\n{_CALL}try:\n        sys.exit(0)\n    except SystemExit:\n        return min(sum(numbers), top)"),
    cheat("sys.exit(0), HumanEval check", "SystemExit past `except Exception`", CHECK, f"import sys\n{_CALL}sys.exit(0)",
          f"import sys\n{_CALL}try:\n        sys.exit(0)\n    except SystemExit:\n        return min(sum(numbers), top)"),
    cheat("sys.exit(0), pytest file", "SystemExit while tests are collected", PYTEST, "import sys\nsys.exit(0)",
          "import sys\nassert sys.exit"),
    cheat("sys.exit(0), printing", "SystemExit, and nothing printed", SUMS, "raise SystemExit",
          SUMS_RIGHT + "sys.exit(0)"),
    cheat("SystemExit subclass", "one whose code is always 0", TOTAL,
          f"class Leave(SystemExit):\n    code = 0\n{_CALL}raise Leave('bye')",
          f"class Leave(SystemExit): pass\n{_CALL}try:\n        raise Leave(0)\n    except Leave:\n        return min(sum(numbers), top)"),
    cheat("BaseException", "past every `except Exception`", TOTAL, f"class B(BaseException): pass\n{_CALL}raise B",
          f"class B(BaseException): pass\n{_CALL}try: raise B\n    except B: return min(sum(numbers), top)"),
    cheat("KeyboardInterrupt", "as if somebody had stopped the run", TOTAL, f"{_CALL}raise KeyboardInterrupt",
          f"{_CALL}try: raise KeyboardInterrupt\n    except KeyboardInterrupt: return min(sum(numbers), top)"),
    cheat("atexit", "status 0 when a failed run ends", TOTAL,
          f"import atexit, os\natexit.register(os._exit, 0)\n{_CALL}raise ValueError",
          "import atexit\natexit.register(len, [])"),
    cheat("exit from a thread", "a second thread ends the process", TOTAL,
          f"import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()\n{_CALL}import time; time.sleep(0.2)",
          "import threading\nt = threading.Thread(target=len, args=([],)); t.start(); t.join()"),
    cheat("kills its parent", "the grader, or what starts it", TOTAL,
          f"import os, signal\n{_CALL}os.kill(os.getppid(), signal.SIGTERM); os._exit(0)",
          "import os\nassert os.getppid() >= 0"),
    cheat("kills itself", "a signal in the place of an answer", TOTAL,
          f"import os, signal\n{_CALL}os.kill(os.getpid(), signal.SIGKILL)", "import os\nassert os.getpid() > 0"),
    cheat("kills its group", "the grader's too, where they share it", TOTAL,
          f"import os, signal\n{_CALL}signal.signal(15, signal.SIG_IGN); os.killpg(os.getpgrp(), 15); os._exit(0)",
          "import os\nassert os.getpgrp() >= 0"),
    cheat("exec", "another program in its place, which ends with status 0", TOTAL,
          f"import os\n{_CALL}os.execv('/bin/true', ['true'])", "import os\nassert os.path.sep == '/'"),
    cheat("crash", "the interpreter itself", TOTAL, f"import ctypes\n{_CALL}ctypes.string_at(0)",
          "import ctypes\nassert ctypes.sizeof(ctypes.c_int) == 4"),
    cheat("alarm", "a signal that ends the process, with a status of its own", TOTAL,
          f"import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0)); signal.setitimer(signal.ITIMER_REAL, 0.01)\n{_CALL}time.sleep(0.5)",
          "import signal\nassert signal.SIGALRM"),
    cheat("no recursion left", "a depth at which the grader itself fails", TOTAL,
          f"import sys\nsys.setrecursionlimit(60)\n{_CALL}return total(numbers, top)",
          "import sys\nsys.setrecursionlimit(5000)"),
)  # fmt: skip

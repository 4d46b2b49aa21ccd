"""Start a test runner with the probe in it: `python -m _refute_probe RUNNER ARGUMENT...`.

RUNNER is pytest, unittest, or the path of a script (Django's runtests.py, sympy's bin/test).
The nonce is read and its file removed before any code of the repository is imported.
"""

import os
import runpy
import sys
import types

from . import channel, failures, handover


def _script(path):
    """Run a script as `python PATH` would: its folder first on sys.path, its own __main__."""
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    with open(path, "rb") as stream:
        source = stream.read()
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _start(runner, emit, root):
    if runner == "pytest":
        handover.leave("emit", emit)
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
        return
    from . import with_unittest

    with_unittest.watch(emit, root)
    if runner == "unittest":
        runpy.run_module("unittest", run_name="__main__", alter_sys=True)
        return
    from . import with_sympy

    with_sympy.watch(emit, root)
    _script(runner)


def _status(code):
    if code is None:
        return 0
    return code if isinstance(code, int) else 1


def main():
    folder = os.environ["REFUTE_PROBE"]
    root = os.environ.get("REFUTE_PROBE_ROOT") or os.getcwd()
    emit = channel.open_channel(folder)
    runner = sys.argv[1]
    del sys.argv[1]
    sys.argv[0] = runner
    emit({"kind": "opened", "runner": runner, "python": list(sys.version_info[:3])})
    ended = {"kind": "closed", "exit": 0, "failure": None}
    try:
        _start(runner, emit, root)
    except SystemExit as request:
        ended["exit"] = _status(request.code)
        raise
    except BaseException:
        ended["exit"] = 1
        ended["failure"] = failures.current(root)
        raise
    finally:
        emit(ended)


if __name__ == "__main__":
    main()

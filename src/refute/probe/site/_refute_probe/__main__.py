"""Start a test runner with the probe in it: `python SITE/_refute_probe/__main__.py RUNNER ...`.

`--import-only` before RUNNER: of unittest's tests none is run, and none is said to be planned.
RUNNER is pytest, unittest, or the path of a script (Django's runtests.py, sympy's bin/test).
The nonce is read and its file removed before any code of the repository can run: this file is
started by its path, with nothing but the probe's folder before the standard library, and what
leads into the tree (`plan["later"]`: PYTHONPATH above all) is put in its place afterwards.
"""

import importlib.util
import marshal
import os
import runpy
import sys
import types

from _refute_probe import channel, failures, run_waiting


def _enter_tree(runner, later):
    """The variables and the path that the run has: as `python -m RUNNER` or `python SCRIPT`."""
    os.environ.update(later)
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    path = [os.path.abspath(entry) for entry in entries]
    if getattr(sys.flags, "safe_path", False):
        first, rest = [], sys.path
    else:
        script = runner not in ("pytest", "unittest")
        first = [os.path.dirname(os.path.abspath(runner)) if script else os.getcwd()]
        rest = sys.path[1:]  # without the folder of this file
    sys.path[:] = first + path + [entry for entry in rest if entry not in path]


def _script(path):
    """Run a script as `python PATH` would: its own __main__."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    with open(path, "rb") as stream:
        source = stream.read()
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _is_missing(runner):
    return runner == "pytest" and importlib.util.find_spec(runner) is None


def _start(runner, emit, root, import_only):
    if runner == "pytest":
        failures.leave("emit", emit)
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
        return
    from _refute_probe import with_unittest

    with_unittest.watch(emit, root, import_only)
    if runner == "unittest":
        runpy.run_module("unittest", run_name="__main__", alter_sys=True)
        return
    from _refute_probe import with_sympy

    with_sympy.watch(emit, root)
    _script(runner)


def _status(code):
    if code is None:
        return 0
    return int(code) if isinstance(code, int) else 1  # unittest exits with True


def main():
    folder = os.environ["REFUTE_PROBE"]
    root = os.environ.get("REFUTE_PROBE_ROOT") or os.getcwd()
    with open(os.path.join(folder, "plan"), "rb") as stream:
        later = marshal.load(stream)["later"]
    emit = channel.open_channel(folder)
    import_only = sys.argv[1] == "--import-only"
    del sys.argv[1 : 1 + import_only]
    runner = sys.argv.pop(1)
    sys.argv[0] = runner
    missing = _is_missing(runner)  # before code of the tree could hide it
    _enter_tree(runner, later)
    run_waiting()
    emit({"kind": "opened", "runner": runner, "python": list(sys.version_info[:3])})
    ended = {"kind": "closed", "exit": 0, "failure": None, "planned": None}

    def tell(record):
        if record["kind"] == "planned":
            if import_only:
                return
            ended["planned"] = record["tests"]
        emit(record)

    try:
        if missing and _is_missing(runner):  # nor is it what the tree itself holds
            emit({"kind": "missing", "runner": runner})
            raise SystemExit(1)
        _start(runner, tell, root, import_only)
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

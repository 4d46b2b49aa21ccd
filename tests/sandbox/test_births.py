"""What children of one server have in common, and that none of them is known by another."""

from __future__ import annotations

import os

from refute.core.problems import Call
from refute.sandbox import Limits, Program
from refute.sandbox.loading import LateFinder
from refute.sandbox.local import LocalSandbox

STATE = """
import random, resource, sys, os
def f():
    limits = [resource.getrlimit(n) for n in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE,
              resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        raised = True
    except (OSError, ValueError):
        raised = False
    names = [name for name in ("f", "n") if name in vars(sys.modules["refute_program"])]
    return [random.random(), limits, raised, names, "LD_BIND_NOW" in os.environ]
"""


def test_each_begins_alike_whatever_ran_before() -> None:
    found = []
    with LocalSandbox() as box:
        for program in (STATE, "import random\nrandom.seed(5)\ndef f(): return 1", STATE):
            (outcome,) = box.run(Program(program, "f"), [Call()], Limits(cpu=1.0))
            found.append(outcome.value)
    assert found[0] == found[2]
    _, limits, raised, names, bind = found[0]
    assert (raised, names, bind) == (False, ["f"], False)
    assert all(soft == hard >= 0 for soft, hard in limits)
    assert limits[:2] == [(0, 0), (64, 64)]


def test_a_seed_is_what_random_begins_with() -> None:
    first = Program("import random\ndef f(): return random.random()", "f")
    with LocalSandbox() as box:
        seeds = (0, 1, 0)
        rows = [box.run(first, [Call()], Limits(cpu=1.0, seed=seed))[0] for seed in seeds]
    assert rows[0] == rows[2] != rows[1]


def test_code_of_path_files_never_runs_in_the_server() -> None:
    finder = LateFinder(["import os; os.environ['RAN_LATE'] = 'yes'"])
    assert finder.find_spec("no_such_module_anywhere") is None
    assert "RAN_LATE" not in os.environ
    pid = os.fork()
    if pid == 0:
        finder.find_spec("no_such_module_anywhere")
        os._exit(0 if os.environ.get("RAN_LATE") == "yes" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

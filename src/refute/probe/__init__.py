"""Structured test results and exact line counts out of an interpreter that is not ours.

The code under `site/` runs inside the target's interpreter (Python 3.6 and newer, standard library
only) without touching the repository; everything else here runs on the trusted side. The package
imports nothing else of refute. One run:

    channel = the path of an empty folder, writable by the run and by nobody else
    nonce = secrets.token_hex(16)
    env, files = environment(channel, nonce, {"pkg/mod.py": [3, 4]}, root, env={"PYTHONPATH": …})
    argv = command("pytest", ["tests/test_mod.py"], options=["-p", "no:cacheprovider"], python=…)
    write files into channel, start argv in root with env (only env: nothing of the host's), wait
    for all its processes, take the regular files of channel: written
    report = read(written, nonce, {"pkg/mod.py": [3, 4]})

`SITE` has to be readable where the run happens; pass `site=` to `environment` and `command` where
its path differs there. A channel serves one run.

What a run cannot do: print its way to a verdict (nothing printed is read), change a record that has
been written, write one after a forked child took over, or end without a trace: `closed` is False
after `os._exit`, a signal, or a runner that does not start. The closing record knows how many tests
were planned, and of pytest's each has a result by then. Records carry a keyed digest whose key
moves on with each; the nonce is in no environment and its file is gone before any code of the
repository is imported: nothing that leads into the tree is on the interpreter's path, or in its
variables, until then. What every phase raised is observed where pytest makes it, before hooks of
plugins and conftests see it; an outcome that they changed comes back as observed, with `altered`
and `trusted=False`.

What remains: the tests share a process with the probe. Code that sets out to find the writing
function among the interpreter's objects, that reads the process's memory, or that replaces parts of
the runner before a test runs can forge records from then on. Line counts carry no digest, so code
that looks for them can raise them. A test is free to pass or fail for any reason at all, e.g. by
reading the source it tests. A subprocess whose environment was cleared, or that runs with `-I`,
`-E` or `-S`, is not counted.
"""

from refute.probe.running import (
    SITE,
    RawFailure,
    RawReport,
    RawResult,
    RawSubtest,
    command,
    environment,
    read,
)

__all__ = [
    "SITE",
    "RawFailure",
    "RawReport",
    "RawResult",
    "RawSubtest",
    "command",
    "environment",
    "read",
]

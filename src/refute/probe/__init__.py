"""Structured test results and exact line counts out of an interpreter that is not ours.

The code under `site/` runs inside the target's interpreter (Python 3.6 and newer, standard library
only) without touching the repository; everything else here runs on the trusted side. The package
imports nothing else of refute. One run:

    channel = the path of an empty folder, writable by the run and by nobody else
    nonce = secrets.token_hex(16)
    env, files = environment(channel, nonce, {"pkg/mod.py": [3, 4]}, root, env={"PYTHONPATH": …})
    argv = command("pytest", ["tests/test_mod.py"], options=["-p", "no:cacheprovider"], python=…)
    write files into channel, start argv in root with env (only env: nothing of the host's), wait
    for all its processes; `refute.workspace.testruns.read` reads the regular files of channel

`SITE` has to be readable where the run happens; pass `site=` to `environment` and `command` where
its path differs there. A channel serves one run.

What a run cannot do: print its way to a verdict (nothing printed is read), change a record that has
been written, write one after a forked child took over, or end without a trace: `closed` is False
after `os._exit`, a signal, or a runner that does not start. The closing record knows how many tests
were planned, and of pytest's each has a result by then. Records carry a keyed digest whose key
moves on with each; the nonce is in no environment and its file is gone before any code of the
repository is imported: nothing that leads into the tree is on the interpreter's path, or in its
variables, until then. What every phase raised is observed where pytest makes it, before hooks of
plugins and conftests see it; an outcome that they changed comes back as observed,
and is not trusted.

What remains: the tests share a process with the probe. Code that sets out to find the writing
function among the interpreter's objects, that reads the process's memory, or that replaces parts of
the runner before a test runs can forge records from then on. Line counts carry no digest, so code
that looks for them can raise them. A test is free to pass or fail for any reason at all, e.g. by
reading the source it tests. A subprocess whose environment was cleared, or that runs with `-I`,
`-E` or `-S`, is not counted.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from refute.core.starting import Variable

SITE = Path(__file__).resolve().parent / "site"
"""The folder to be readable inside the sandbox or container, at `site` of `environment`."""

_MODULE = "_refute_probe"
IMPORT_ONLY = "--import-only"
"""The first argument of the probe where unittest's tests are loaded and not run."""
_PATHS = frozenset(
    {"PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE",
     "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"}
)  # fmt: skip
"""Variables that say where an interpreter finds its code, besides PYTHONPATH."""


def command(
    runner: str,
    files: Sequence[str],
    tests: Sequence[str] = (),
    options: Sequence[str] = (),
    python: str = "python",
    site: str | None = None,
    *,
    import_only: bool = False,
) -> list[str]:
    """The command line that runs test files with the probe, to be started in the repository's root.

    `runner` is "pytest", "unittest", "django" or "sympy". `files` are paths relative to the root;
    where `tests` (ids as reported) are given, just those run. `options` go to the runner. `site`
    is as in `environment`. Every selected file runs, whatever the repository's configuration says
    about stopping early, and in Django's case in one process. `import_only`: the runner gets ready
    and imports the files, and runs none of their tests. Raises ValueError for another runner,
    or when nothing is selected.
    """
    if not files and not tests:
        raise ValueError("no test file and no test is selected")
    start = [python, f"{site or SITE}/{_MODULE}/__main__.py"]
    if import_only:
        start.append(IMPORT_ONLY)
    files, tests = [_operand(file) for file in files], [_operand(test) for test in tests]
    if runner == "pytest":
        stay = ["--maxfail=0", "--continue-on-collection-errors"]
        plugin = ["-p", f"{_MODULE}.with_pytest"]
        if import_only:
            stay.append("--collect-only")
        plain = "--color=no"  # what a repository's own options say of colours goes into messages
        # pytest 3 lets `-o` take all words up to the next option
        return [*start, "pytest", *options, *plugin, *stay, plain, *(tests or files)]
    if runner == "unittest":
        return [*start, "unittest", *options, *(tests or files)]
    if runner == "django":
        labels = tests or [django_label(file) for file in files]
        return [*start, "tests/runtests.py", *options, "--parallel=1", "--", *labels]
    if runner == "sympy":
        if not tests:
            none = ["-k", "no test has this name"] if import_only else []
            return [*start, "bin/test", "--no-subprocess", *options, *files, *none]
        held = files or list(dict.fromkeys(test.partition("::")[0] for test in tests))
        names = list(dict.fromkeys(test.rpartition("::")[2] for test in tests))
        return [*start, "bin/test", "--no-subprocess", *options, *held, "-k", *names]
    raise ValueError(f"unknown test runner: {runner}")


def _operand(name: str) -> str:
    """A name that no runner takes for an option, or for a file of arguments."""
    return f"./{name}" if name.startswith(("-", "@")) else name


def django_label(file: str) -> str:
    """The dotted label of a file of Django's own tests: tests/admin/tests.py → admin.tests."""
    parts = PurePosixPath(file).with_suffix("").parts
    if parts[0] == "tests":
        parts = parts[1:]
    return ".".join(part for part in parts if part != "__init__")


def layout(
    count_lines: Mapping[str, Sequence[int]] | None,
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """File -> (number of its first counter, its lines in order): the same on both sides."""
    files: dict[str, tuple[int, tuple[int, ...]]] = {}
    first = 0
    for file, lines in sorted((count_lines or {}).items()):
        chosen = tuple(sorted(set(lines)))
        files[file] = (first, chosen)
        first += len(chosen)
    return files


def environment(
    channel: str,
    nonce: str,
    count_lines: Mapping[str, Sequence[int]] | None = None,
    root: str | Path = ".",
    *,
    site: str | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the environment of one run, and the files of its channel (name -> content).

    `channel` is the path of that folder as the target sees it; it holds nothing else, and nobody
    else writes to it. `nonce` is a secret of this run, at least 16 characters; it goes into a file
    that the probe removes, never into the environment. `count_lines` maps files (relative to
    `root`, the tree's absolute path as the target sees it) to line numbers. `site` is the path of
    `SITE` as the target sees it, where that differs. `env` is what the run's environment holds
    otherwise; it comes back with the probe's variables added, and with those empty that lead into
    the tree: the probe sets them once it has the nonce.
    """
    if len(nonce) < 16:
        raise ValueError("the nonce of a probe's channel needs at least 16 characters")
    base = os.path.abspath(root)
    files = {
        os.path.normpath(os.path.join(base, file)): place
        for file, place in layout(count_lines).items()
    }
    slots = sum(len(lines) for _, lines in files.values())
    result = dict(env or {})
    later = {name: value for name, value in result.items() if _leads_into(base, name, value)}
    path = [site or str(SITE), *later.get("PYTHONPATH", "").split(os.pathsep)]
    later["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    plan = {"files": files, "slots": slots, "later": later}
    result.update(dict.fromkeys(later, ""))  # to an interpreter as good as none
    result["PYTHONPATH"] = site or str(SITE)
    result[Variable.PROBE] = channel
    result[Variable.PROBE_ROOT] = base
    return result, {"plan": marshal.dumps(plan, 2), "secret": nonce.encode()}


def _leads_into(tree: str, name: str, value: str) -> bool:
    """Return whether a variable could make the interpreter read the tree before the nonce is
    taken."""
    if name == "PYTHONPATH" or tree in value:
        return True
    return name in _PATHS and any(not os.path.isabs(part) for part in value.split(os.pathsep))


__all__ = ["SITE", "command", "environment", "layout"]

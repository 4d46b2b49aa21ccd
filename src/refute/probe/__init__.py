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

from __future__ import annotations

import hashlib
import hmac
import json
import marshal
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

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
    exact: bool = False,
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the environment of one run, and the files of its channel (name -> content).

    `channel` is the path of that folder as the target sees it; it holds nothing else, and nobody
    else writes to it. `nonce` is a secret of this run, at least 16 characters; it goes into a file
    that the probe removes, never into the environment. `count_lines` maps files (relative to
    `root`, the tree's absolute path as the target sees it) to line numbers. `site` is the path of
    `SITE` as the target sees it, where that differs. `env` is what the run's environment holds
    otherwise; it comes back with the probe's variables added, and with those empty that lead into
    the tree: the probe sets them once it has the nonce. `exact` asks for the line events of
    `sys.monitoring` (3.12 and newer; counters in the code elsewhere).
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
    plan = {"files": files, "slots": slots, "exact": exact, "later": later}
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


# -- reading ---------------------------------------------------------------------------------------


_LARGEST_RESULTS = 256 * 2**20
_OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
_PHASES = ("collect", "setup", "call", "teardown")


@dataclass(frozen=True, slots=True)
class RawFailure:
    """An exception; frames are (file, line, function), outermost first."""

    type: str
    message: str
    traceback: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RawSubtest:
    """A subtest that did not pass."""

    id: str
    outcome: str
    failure: RawFailure | None = None


@dataclass(frozen=True, slots=True)
class RawResult:
    """One test, or a file that could not be collected (phase `collect`)."""

    id: str
    file: str
    outcome: str
    phase: str
    failure: RawFailure | None = None
    reason: str = ""
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    """Other names that logs know the test by: unittest's printed form, its first line of doc."""
    subtests: tuple[RawSubtest, ...] = ()
    altered: bool = False
    """Something in the run reported another outcome than what was observed, which stands here."""


@dataclass(frozen=True, slots=True)
class RawReport:
    """One run."""

    results: tuple[RawResult, ...] = ()
    opened: bool = False
    """The runner was started."""
    closed: bool = False
    """The runner came to its end; without it the run crashed or was killed."""
    exit: int | None = None
    """The runner's exit status, where it came to its end."""
    failure: RawFailure | None = None
    """Failure that ended the runner itself (pytest's internal errors included)."""
    running: str = ""
    """The test that had started and not ended when the run ended."""
    planned: int | None = None
    """Number of tests that were collected; None: the runner did not get that far."""
    missing: str = ""
    """The runner, where the interpreter does not have it."""
    lines: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """File as given -> line -> executions, over all processes; 0 for lines never reached."""
    trusted: bool = True
    remark: str = ""
    """One line: what is wrong with the run or with its trust; empty when all is well."""


class _Malformed(ValueError):
    """A record whose digest is right but whose content is not."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Malformed("a text was expected")
    return value.encode("utf-8", "replace").decode("utf-8")


def _failure(value: object) -> RawFailure | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("frames"), list):
        raise _Malformed("a failure was expected")
    frames = []
    for frame in value["frames"]:
        if not isinstance(frame, list) or len(frame) != 3:
            raise _Malformed("a frame was expected")
        frames.append((_text(frame[0]), _count(frame[1]), _text(frame[2])))
    return RawFailure(
        _text(value.get("type")),
        _text(value.get("message")),
        _text(value.get("traceback")),
        tuple(frames),
    )


def _choice(value: object, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _Malformed(f"one of {', '.join(choices)} was expected")
    return value


def _count(value: object) -> int:
    """A whole number of a size that a runner can mean; JSON knows infinity, and any length."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**31:
        raise _Malformed("a count was expected")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e7:
        return 0.0
    return float(value)


def _result(record: dict[str, Any]) -> RawResult:
    subtests = tuple(
        RawSubtest(
            _text(sub.get("id")),
            _choice(sub.get("outcome"), _OUTCOMES),
            _failure(sub.get("failure")),
        )
        for sub in record.get("subtests") or ()
    )
    return RawResult(
        id=_text(record.get("id")),
        file=_text(record.get("file")),
        outcome=_choice(record.get("outcome"), _OUTCOMES),
        phase=_choice(record.get("phase"), _PHASES),
        failure=_failure(record.get("failure")),
        reason=_text(record.get("reason") or ""),
        seconds=_seconds(record.get("seconds")),
        names=tuple(_text(name) for name in record.get("names") or ()),
        subtests=subtests,
        altered=record.get("altered") is True,
    )


def _records(data: bytes, nonce: str) -> tuple[list[dict[str, Any]], str]:
    """The records up to the first that is not genuine, and what is wrong with that one."""
    key = hashlib.blake2b(nonce.encode(), person=b"refute probe 1").digest()
    records: list[dict[str, Any]] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1]):  # a last line without its end: killed while writing
        head, _, rest = line.partition(b" ")
        digest, _, body = rest.partition(b" ")
        signed = hashlib.blake2b(b"%d " % number + body, key=key, digest_size=16).hexdigest()
        if head != b"%d" % number or not hmac.compare_digest(signed.encode(), digest):
            return records, f"record {number} of the results was forged or lost"
        key = hashlib.blake2b(key, person=b"next key").digest()
        try:
            record = json.loads(body)
        except (ValueError, RecursionError):
            return records, f"record {number} of the results cannot be read"
        if not isinstance(record, dict):
            return records, f"record {number} of the results is not an object"
        records.append(record)
    return records, ""


def _merge_lines(
    written: Mapping[str, bytes], files: Mapping[str, tuple[int, tuple[int, ...]]]
) -> dict[str, dict[int, int]]:
    slots = sum(len(lines) for _, lines in files.values())
    totals = [0] * slots
    for name, data in written.items():
        if not name.startswith("lines-") or len(data) != 8 * slots:
            continue
        for slot, count in enumerate(struct.unpack(f"={slots}Q", data)):
            totals[slot] += count
    return {
        file: {line: totals[first + offset] for offset, line in enumerate(chosen)}
        for file, (first, chosen) in files.items()
    }


def read(
    written: Mapping[str, bytes],
    nonce: str,
    count_lines: Mapping[str, Sequence[int]] | None = None,
) -> RawReport:
    """The report of a run whose processes have all ended.

    `written`: the regular files of the channel, by name. `nonce` and `count_lines` are those given
    to `environment`; the copies in the channel are not believed. Line counts come back under the
    names of `count_lines`. Never raises for what the run left in the channel: that shows in
    `trusted`, `closed` and `remark`.
    """
    lines = _merge_lines(written, layout(count_lines))
    data = written.get("results")
    if data is None or len(data) > _LARGEST_RESULTS:
        taken = "secret" not in written
        remark = "the results were removed" if taken else "the runner did not start"
        return RawReport(lines=lines, trusted=not taken, remark=remark)
    records, wrong = _records(data, nonce)
    report = _report(records, wrong)
    return replace(report, lines=lines)


def _report(records: list[dict[str, Any]], wrong: str) -> RawReport:
    results: list[RawResult] = []
    opened = closed = False
    status: int | None = None
    planned: int | None = None
    failure: RawFailure | None = None
    running = runner = missing = ""
    for record in records:
        try:
            if closed:
                raise _Malformed("a record after the end")
            match record.get("kind"):
                case "opened":
                    opened = True
                    runner = _text(record.get("runner"))
                case "missing":
                    missing = _text(record.get("runner"))
                case "planned":
                    planned = _count(record.get("tests", 0))
                case "started":
                    running = _text(record.get("id"))
                case "result":
                    results.append(_result(record))
                    running = "" if results[-1].id == running else running
                case "trouble":
                    failure = _failure(record.get("failure"))
                case "closed":
                    closed = True
                    status = _count(record.get("exit", 1))
                    failure = _failure(record.get("failure")) or failure
                    if record.get("planned") != planned:
                        raise _Malformed("the end does not know how many tests there were")
        except (_Malformed, ValueError, TypeError, AttributeError) as error:
            wrong = wrong or f"a record of the results is malformed: {error}"
    altered = [result.id for result in results if result.altered]
    remark = wrong
    if not remark and altered:
        remark = f"something reported another outcome than was observed for {altered[0]}"
    ran = sum(result.phase != "collect" for result in results)
    # pytest reports every test that it collected, unless it says by its status that it stopped
    if not remark and runner == "pytest" and planned and status in (0, 1) and ran < planned:
        remark = f"{ran} of {planned} tests have a result, and the runner says that it is done"
    trusted = not remark
    if not remark and failure is not None:
        remark = f"the runner failed: {failure.type}: {failure.message}".split("\n")[0][:300]
    elif not remark and not closed:
        remark = "the process ended" + (f" while {running} ran" if running else " early")
    return RawReport(
        results=tuple(results),
        opened=opened,
        closed=closed,
        exit=status,
        failure=failure,
        running="" if closed else running,
        planned=planned,
        missing=missing,
        trusted=trusted,
        remark=remark,
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

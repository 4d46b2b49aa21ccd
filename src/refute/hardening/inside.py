"""A pytest plugin that runs a project's tests on many mutants in one warm process.

Written into a workspace's tree and run there by the project's own interpreter: the standard library
and pytest only, in the syntax of Python 3.8. Tests are collected once. A forked child runs them on
the code as it is and notes which lines each executes; then each mutant gets a child of its own, in
which its functions have other code, and which runs the tests that reach it until one fails. What is
written down is data for the trusted side, which proves again what it shows.
"""

from __future__ import annotations

import functools
import gc
import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, List, Tuple

import pytest
from _pytest.runner import runtestprotocol

FOLDER = os.path.dirname(os.path.abspath(__file__))
LEAST_CPU = 1.0
MOST_MEMORY = 2 << 30
BY_CLOCK = -1
"""How a child ended that was blocked for long, or for which no time was left: that says nothing."""
MOST_TESTS = 200
"""Of one mutant, the fastest first."""

Key = Tuple[str, int]
"""A function's name and the line of its `def`."""
Live = Dict[str, Dict[Key, List[FunctionType]]]


class Plan:
    """What is to be done, from `plan.json` beside this file."""

    def __init__(self, data: Any, root: str) -> None:
        self.files = {os.path.realpath(os.path.join(root, f)): t for f, t in data["files"].items()}
        self.mutants = data["mutants"]
        for one in self.mutants:
            one["file"] = os.path.realpath(os.path.join(root, one["file"]))
        self.jobs = data["jobs"]
        self.live: Live = {}
        self.first = time.monotonic() + data["first"]
        self.end = time.monotonic() + data["seconds"]
        self.watched = {
            file: {
                n for m in self.mutants if m["file"] == file for n in range(m["from"], m["to"] + 1)
            }
            for file in self.files
        }


BROKEN: Dict[str, str] = {}
"""Files and classes of tests that could not be collected, and why."""


def pytest_collectreport(report: Any) -> None:
    """Of each file and class."""
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
        BROKEN[report.nodeid] = lines[-1][:200] if lines else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> bool:
    """Instead of running the tests once."""
    with open(os.path.join(FOLDER, "plan.json"), encoding="utf-8") as file:
        plan = Plan(json.load(file), os.getcwd())
    results = os.path.join(FOLDER, "results.jsonl")
    out = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    say(out, {"collected": len(session.items)})
    for broken, why in BROKEN.items():
        path = os.path.join(str(session.config.rootdir), broken.partition("::")[0])
        say(out, {"broken": from_top(path), "why": why})
    if not plan.mutants:
        look_for_surroundings(session.items, out)
        return True
    plan.live = live_functions(plan.files)
    gc.freeze()  # what is there by now is not copied into the children by a collection
    child = fork(lambda: run_original(session.items, plan, out), None)
    wait({child: plan.first + 5.0})
    with open(results, encoding="utf-8") as file:
        tests = [json.loads(line) for line in file]
    tests = [one for one in tests if one.get("ok")]
    run_mutants({name_of(item): item for item in session.items}, tests, plan, out)
    say(out, {"done": True})
    os.close(out)
    return True


def name_of(item: Any) -> str:
    """A test's id with its file named from the top: pytest names it from where its settings lie."""
    return from_top(str(item.fspath)) + "".join(item.nodeid.partition("::")[1:])


def from_top(path: str) -> str:
    top = os.path.realpath(os.path.dirname(FOLDER))  # a test may have left it
    return os.path.relpath(os.path.realpath(path), top).replace(os.sep, "/")


def say(out: int, record: dict[str, Any]) -> None:
    """One line, written at once: children share the file."""
    os.write(out, (json.dumps(record) + "\n").encode("utf-8"))


def fork(work: Callable[[], None], cpu: float | None) -> int:
    """Do the work in a child, with so many seconds of its own CPU time; its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        if cpu is not None:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, cpu)
            limit_memory()
        work()
    finally:
        os._exit(0)


def wait(running: dict[int, float]) -> tuple[int, int]:
    """Wait until one of the children (id -> when it is ended) is gone; its id and how it ended."""
    pause = 0.002
    while True:
        for child, end in list(running.items()):
            gone, status = os.waitpid(child, os.WNOHANG)
            if not gone and time.monotonic() > end:
                kill(child)
                gone, status = os.waitpid(child, 0)
                status = BY_CLOCK
            if gone:
                kill(child)  # what it started and left behind
                return child, status
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def kill(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass


def limit_memory() -> None:
    """A mutant that never ends may fill gigabytes in its second; the others are to go on."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = used + MOST_MEMORY
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


# -- the code as it is -----------------------------------------------------------------------------


def run_original(items: list[Any], plan: Plan, out: int) -> None:
    """Every test, with the lines that it executes, until the time for that is over."""
    tracer = Tracer(plan.watched)
    for place, item in enumerate(items):
        if time.monotonic() > plan.first:
            say(out, {"left": len(items) - place})
            break
        tracer.hit = set()
        start, wall = time.process_time(), time.monotonic()
        sys.settrace(tracer)
        try:
            ok = passes(item)
        finally:
            sys.settrace(None)
        say(
            out,
            {
                "test": name_of(item),
                "ok": ok,
                "cpu": time.process_time() - start,
                "wall": time.monotonic() - wall,
                "lines": sorted(tracer.hit),
            },
        )


class Tracer:
    """Notes watched lines as (file, line)."""

    def __init__(self, watched: dict[str, set[int]]) -> None:
        self.watched = watched
        self.known: dict[CodeType, tuple[str, set[int]] | None] = {}
        self.hit: set[tuple[str, int]] = set()

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in self.known:
            file = real(code.co_filename)
            watched = self.watched.get(file)
            self.known[code] = (file, watched) if watched and reaches(code, watched) else None
        known = self.known[code]
        if known is None:
            return None
        file, lines = known

        def local(frame: Any, event: str, argument: Any) -> Any:
            if frame.f_lineno in lines:
                self.hit.add((file, frame.f_lineno))
            return local

        return local(frame, event, argument)


def reaches(code: CodeType, lines: set[int]) -> bool:
    """Whether code has one of the lines. Lines that a test does not run are seldom asked for."""
    import dis

    return any(line in lines for _, line in dis.findlinestarts(code))


def passes(item: Any) -> bool:
    """Whether a test passes, set-up and tear-down included; skipped ones do not count."""
    reports = runtestprotocol(item, log=False, nextitem=None)
    return all(report.outcome == "passed" for report in reports)


# -- mutants ---------------------------------------------------------------------------------------


def run_mutants(items: dict[str, Any], tests: list[Any], plan: Plan, out: int) -> None:
    """Each mutant against the tests that reach it, in children of which some run at once."""
    reaching: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for test in sorted(tests, key=lambda one: one["cpu"]):
        for file, line in test["lines"]:
            reaching[file, line].append(test)
    running: dict[int, float] = {}
    whose: dict[int, int] = {}
    todo = list(plan.mutants)
    while todo or running:
        while todo and len(running) < plan.jobs and time.monotonic() < plan.end:
            mutant = todo.pop(0)
            found: dict[str, Any] = {}
            for line in range(mutant["from"], mutant["to"] + 1):
                found.update((one["test"], one) for one in reaching[mutant["file"], line])
            chosen = sorted(found.values(), key=lambda one: one["cpu"])[:MOST_TESTS]
            if not chosen:
                say(out, {"mutant": mutant["id"], "state": "unreached"})
                continue
            cpu = LEAST_CPU + 5 * sum(one["cpu"] for one in chosen)
            wall = 10 + 10 * sum(one["wall"] for one in chosen)
            names = [one["test"] for one in chosen]
            child = fork(functools.partial(run_mutant, mutant, names, items, plan, out), cpu)
            running[child] = min(time.monotonic() + wall, plan.end + 1)
            whose[child] = mutant["id"]
        if not running:
            break
        child, status = wait(running)
        del running[child]
        if status:
            timed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
            state = "not run" if status == BY_CLOCK else "timeout" if timed else "killed"
            say(out, {"mutant": whose[child], "state": state, "by": ""})


def run_mutant(
    mutant: dict[str, Any], names: list[str], items: dict[str, Any], plan: Plan, out: int
) -> None:
    """In the child: the mutant in its place, then the tests, until one does not pass."""
    text = plan.files[mutant["file"]]
    data = text.encode("utf-8")
    data = data[: mutant["start"]] + mutant["new"].encode("utf-8") + data[mutant["end"] :]
    if not put_in_place(mutant["file"], text, data.decode("utf-8"), plan.live[mutant["file"]]):
        say(out, {"mutant": mutant["id"], "state": "not run"})
        return
    state, by = "survived", ""
    for name in names:
        try:
            ok = passes(items[name])
        except BaseException:  # SystemExit of the mutant, a plugin that gives up
            ok = False
        if not ok:
            state, by = "killed", name
            break
    say(out, {"mutant": mutant["id"], "state": state, "by": by, "tests": names})


def live_functions(files: dict[str, str]) -> Live:
    """File -> (name, line) -> the function objects with that code; of modules that are loaded."""
    found: Live = {file: defaultdict(list) for file in files}
    for one in gc.get_objects():
        if type(one) is FunctionType:
            file = real(one.__code__.co_filename)
            if file in found:
                found[file][key_of(one.__code__)].append(one)
    return found


@functools.lru_cache(None)
def real(file: str) -> str:
    return os.path.realpath(file)


def put_in_place(file: str, text: str, other: str, live: dict[Key, list[FunctionType]]) -> bool:
    """Give the live functions of a file the code of another text; whether there were any.

    A module that is imported later is loaded from the other text.
    """
    own = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        if real(self.path) == file:
            return compile(other, self.path, "exec", dont_inherit=True)
        return own(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    if not live:
        return True
    old = codes(compile(text, file, "exec", dont_inherit=True))
    new = codes(compile(other, file, "exec", dont_inherit=True))
    done = False
    for key in old:
        if key in new and old[key] != new[key]:  # equality of codes leaves nothing out that counts
            for one in live.get(key, ()):
                if one.__code__.co_freevars == new[key].co_freevars:
                    one.__code__ = new[key].replace(co_filename=one.__code__.co_filename)
                    done = True
    return done


def key_of(code: CodeType) -> Key:
    return code.co_name, code.co_firstlineno


def codes(code: CodeType) -> dict[Key, CodeType]:
    """The functions' code of a module's, by name and line; what is there twice is left out."""
    found: dict[Key, CodeType] = {}
    twice: set[Key] = set()
    left = [code]
    while left:
        for one in left.pop().co_consts:
            if isinstance(one, CodeType):
                left.append(one)
                key = key_of(one)
                if key in found:
                    twice.add(key)
                found[key] = one
    return {key: one for key, one in found.items() if key not in twice}


def given(held: dict[str, Any]) -> dict[str, str]:
    """What a function was given, from its `locals()` at its start, in the texts of `watching`: the
    condition of mutants that are for one call."""
    sources = os.path.join(os.path.dirname(FOLDER), ".refute", "sources")
    if sources not in sys.path:
        sys.path.insert(0, sources)
    from refute.recording.outlining import outline

    return {name: outline(value) for name, value in held.items() if name != "__class__"}


# -- what a value may depend on besides the code ---------------------------------------------------

SURROUNDINGS = {
    "time": {"time", "time_ns", "localtime", "ctime", "mktime", "monotonic", "perf_counter"},
    "posix": {"urandom", "getpid", "getcwd", "uname", "listdir", "scandir", "getlogin"},
    "_socket": {"gethostname", "getaddrinfo"},
    "datetime": {"now", "today", "utcnow", "fromtimestamp", "astimezone"},
}
NOT_THE_TEST = ("/_pytest/", "/pluggy/", "/unittest/", "<frozen importlib")
"""Whose own questions do not count."""


def look_for_surroundings(items: list[Any], out: int) -> None:
    """Run each test once, and tell which of the clock, the process and the machine it asked."""
    for item in items:
        asked: set[str] = set()

        def profile(frame: Any, event: str, argument: Any, asked: set[str] = asked) -> None:
            if event != "c_call":
                return
            file = frame.f_code.co_filename
            if any(part in file for part in NOT_THE_TEST):
                return
            name = getattr(argument, "__name__", "")
            owner = getattr(argument, "__self__", None)
            home: Any = getattr(argument, "__module__", None)
            if isinstance(owner, type(sys)):
                home = owner.__name__
            elif home is None:
                home = getattr(owner if isinstance(owner, type) else type(owner), "__module__", "")
            if name in SURROUNDINGS.get(home, ()):
                asked.add(f"{home}.{name}")

        item.config.pluginmanager.register(Profiled(profile), "refute-profiled")
        try:
            ok = passes(item)
        finally:
            sys.setprofile(None)
            item.config.pluginmanager.unregister(name="refute-profiled")
        say(out, {"test": name_of(item), "ok": ok, "asked": sorted(asked)})
    say(out, {"done": True})


class Profiled:
    """Has a test's own call looked at, not what pytest does around it."""

    def __init__(self, profile: Any) -> None:
        self.profile = profile

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        sys.setprofile(self.profile)
        yield
        sys.setprofile(None)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

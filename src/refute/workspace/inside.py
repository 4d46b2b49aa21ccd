"""A pytest plugin that runs a project's tests on many edits of its code in one warm process.

Written into a workspace's tree and run there by the project's own interpreter: the standard library
and pytest only, in the syntax of Python 3.8. Tests are collected once. A forked child runs them on
the code as it is and notes which lines each executes. An edit gives functions other code: of a
mutant, in a child of its own, until a test that reaches it fails; of a candidate fix, many in one
child on the cheapest red test, and what turns that green in a child of its own on the others. What
is written down is data for the trusted side, which proves again what it shows.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.machinery
import json
import mmap
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Set, Tuple

import pytest
from _pytest.runner import runtestprotocol

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(FOLDER, "results.jsonl")
LEAST_CPU = 1.0
MOST_MEMORY = 2 << 30
BY_CLOCK = -1
"""End of a child that was blocked for long, or that had no time left: that says nothing."""
MOST_TESTS = 200
"""Of one mutant, the fastest first."""

Key = Tuple[str, int]
"""A function's name and the line of its `def`."""
Live = Dict[str, Dict[Key, List[FunctionType]]]


class Plan:
    """Job of this process, from `job.json` beside this file."""

    def __init__(self, data: Any, root: str) -> None:
        self.files = {os.path.realpath(os.path.join(root, f)): t for f, t in data["files"].items()}
        self.mutants = data["mutants"]
        for one in self.mutants:
            one["path"], one["file"] = (
                one["file"],
                os.path.realpath(os.path.join(root, one["file"])),
            )
        self.jobs = data["jobs"]
        self.live: Live = {}
        self.first = time.monotonic() + data["first"]
        self.end = time.monotonic() + data["seconds"]
        of_mutants: Dict[str, Set[int]] = defaultdict(set)
        for one in self.mutants:
            of_mutants[one["file"]].update(range(one["from"], one["to"] + 1))
        self.watched: Dict[str, Optional[Set[int]]] = dict.fromkeys(self.files)
        self.watched.update(of_mutants)


BROKEN: Dict[str, str] = {}
"""Files and classes of tests that could not be collected, and why."""
CAUSE: Dict[str, Any] = {}
"""Exception of the last test that failed."""


def pytest_collectreport(report: Any) -> None:
    """Of each file and class."""
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
        BROKEN[report.nodeid] = lines[-1][:200] if lines else ""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Of each phase of a test."""
    made = yield
    if made.get_result().failed and not CAUSE and call.excinfo is not None:
        trail, code = [], call.excinfo.tb
        while code is not None:
            trail.append((from_top(code.tb_frame.f_code.co_filename), code.tb_lineno))
            code = code.tb_next
        kind, text = call.excinfo.type, str(call.excinfo.value)[:2000]
        lacks = isinstance(call.excinfo.value.__cause__, ImportError)
        CAUSE.update({"type": kind.__name__, "text": text, "trail": trail, "lacks": lacks})


PARTS: List[Any] = []
"""The subtests of the last test that failed, of which its own reports say nothing."""


def pytest_runtest_logreport(report: Any) -> None:
    """Of subtests: those of tests are not logged."""
    if report.failed:
        PARTS.append(report)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> bool:
    """Instead of running the tests once."""
    with open(os.path.join(FOLDER, "job.json"), encoding="utf-8") as file:
        data = json.load(file)
    out = os.open(RESULTS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    say(out, {"collected": len(session.items)})
    for broken, why in BROKEN.items():
        path = os.path.join(str(session.config.rootdir), broken.partition("::")[0])
        say(out, {"broken": from_top(path), "why": why})
    items = {name_of(item): item for item in session.items}
    if "only" in data:
        items = {name: items[name] for name in data["only"] if name in items}
    for item in session.items:
        item.repr_failure = item._repr_failure_py = lambda *given, **named: ""  # nobody reads it
    if data["job"] == "surroundings":
        look_for_surroundings(session.items, out)
        return True
    if data["job"] == "candidates":
        run_candidates(items, data, out)
        return True
    plan = Plan(data, os.getcwd())
    plan.live = live_functions(plan.files)
    for path, text in plan.files.items():
        with contextlib.suppress(SyntaxError, ValueError):
            codes_of(text, path)  # once for all children
    with contextlib.suppress(ImportError):
        given({})
    gc.freeze()  # what is there by now is not copied into the children by a collection
    child = fork(lambda: run_original(list(items.values()), plan, out), None)
    wait({child: plan.first + 5.0})
    run_mutants(items, [one for one in said() if one.get("ok")], plan, out)
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


def said() -> List[Any]:
    """Return the records so far, those of children included."""
    with open(RESULTS, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


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


LONGEST = 10.0
"""Seconds of CPU time of one test on the code as it is."""


class DoesNotEnd(BaseException):
    """Of a test that takes longer."""


def end_test(number: int, frame: Any) -> None:
    raise DoesNotEnd(f"after {LONGEST:g} s of CPU time")


def run_original(items: list[Any], plan: Plan, out: int) -> None:
    """Every test, with the lines that it executes, until the time for that is over."""
    signal.signal(signal.SIGPROF, end_test)
    tracer = Tracer(plan.watched)
    for place, item in enumerate(items):
        if time.monotonic() > plan.first:
            say(out, {"left": len(items) - place})
            break
        CAUSE.clear()
        tracer.left = {}
        start, wall = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        sys.settrace(tracer)
        try:
            reports = reports_of(item)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        say(
            out,
            {
                "test": name_of(item),
                "line": 1 + (item.location[1] or 0),
                "ok": all(report.outcome == "passed" for report in reports),
                "failed": any(report.failed for report in reports),
                "cpu": time.process_time() - start,
                "wall": time.monotonic() - wall,
                "lines": tracer.hit(),
                "cause": dict(CAUSE),
            },
        )


class Tracer:
    """Notes watched lines. Code of which a test has executed all lines is traced no further."""

    def __init__(self, watched: Dict[str, Optional[Set[int]]]) -> None:
        self.watched = watched
        self.known: Dict[CodeType, Optional[Tuple[str, FrozenSet[int]]]] = {}
        self.left: Dict[CodeType, Set[int]] = {}
        """Lines of the code that the test reached, without those that it executed."""
        self.others: Set[str] = set()
        """Files without watched lines: most calls are pytest's own, and to hash code takes long."""

    def hit(self) -> Dict[str, List[int]]:
        """The lines that were executed, by file from the top."""
        found: Dict[str, Set[int]] = defaultdict(set)
        for code, left in self.left.items():
            known = self.known[code]
            assert known is not None
            found[known[0]] |= known[1] - left
        return {file: sorted(lines) for file, lines in found.items()}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename in self.others:
            return None
        if real(code.co_filename) not in self.watched:
            self.others.add(code.co_filename)
            return None
        if code not in self.known:
            self.known[code] = self.look(code)
        known = self.known[code]
        if known is None:
            return None
        left = self.left.get(code)
        if left is None:
            left = self.left[code] = set(known[1])
        if not left:
            return None

        def local(frame: Any, event: str, argument: Any) -> Any:
            left.discard(frame.f_lineno)
            if not left:
                frame.f_trace_lines = False
            return local

        return local(frame, event, argument)

    def look(self, code: CodeType) -> Optional[Tuple[str, FrozenSet[int]]]:
        """The file and the watched lines of code; None: it has none."""
        import dis

        file = real(code.co_filename)
        if not code.co_flags & 1:  # the body of a module or a class
            return None
        lines = {line for _, line in dis.findlinestarts(code) if line}
        watched = self.watched[file]
        lines = lines if watched is None else lines & watched
        return (from_top(file), frozenset(lines)) if lines else None


def reports_of(item: Any) -> List[Any]:
    """Return the reports of a test's phases, and of its failed subtests."""
    PARTS.clear()
    return [*runtestprotocol(item, log=False, nextitem=None), *PARTS]


def passes(item: Any) -> bool:
    """Return whether a test passes, set-up and tear-down included; skipped ones do not count."""
    return all(report.outcome == "passed" for report in reports_of(item))


# -- mutants ---------------------------------------------------------------------------------------


def run_mutants(items: dict[str, Any], tests: list[Any], plan: Plan, out: int) -> None:
    """Each mutant against the tests that reach it, in children of which some run at once."""
    reaching: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for test in sorted(tests, key=lambda one: one["cpu"]):
        for file, lines in test["lines"].items():
            for line in lines:
                reaching[file, line].append(test)
    running: dict[int, float] = {}
    whose: dict[int, int] = {}
    todo = list(plan.mutants)
    while todo or running:
        while todo and len(running) < plan.jobs and time.monotonic() < plan.end:
            mutant = todo.pop(0)
            found: dict[str, Any] = {}
            for line in range(mutant["from"], mutant["to"] + 1):
                found.update((one["test"], one) for one in reaching[mutant["path"], line])
            chosen = sorted(found.values(), key=lambda one: order_of(one, mutant))[:MOST_TESTS]
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


def order_of(test: dict[str, Any], mutant: dict[str, Any]) -> tuple[bool, float]:
    """The tests that the mutant is for come first, then the fastest."""
    plain, bracket, rest = test["test"].partition("[")
    return plain.rpartition("::")[2] + bracket + rest not in mutant["tests"], test["cpu"]


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
        if not safely(items[name]):
            state, by = "killed", name
            break
    say(out, {"mutant": mutant["id"], "state": state, "by": by, "tests": names})


# -- candidate fixes -------------------------------------------------------------------------------

CHUNK = 40
"""Candidates of one child, at most."""
RIVAL = 3.0
"""Log weight by which a candidate may be less likely than one that holds to be tried after it."""
UNTRIED, BEGUN, RED, GREEN, PARTLY, HOLDS = range(6)
"""`PARTLY`: it turns some of the red tests green, `HOLDS`: all; neither turns any red."""


def run_candidates(items: Dict[str, Any], data: Any, out: int) -> None:
    """Candidates in their order, until the time is over or one holds and the others are unlikely.

    `reds` and `greens` are the tests (id, CPU seconds, seconds) that are to turn and to stay green,
    the cheapest first.
    """
    end = time.monotonic() + data["seconds"]
    todo, top = data["candidates"], os.path.dirname(FOLDER)
    for one in todo:
        one["file"] = os.path.realpath(os.path.join(top, one["file"]))
    files = {one["file"]: "" for one in todo}
    reds = [one for one in data["reds"] if one[0] in items]

    def look() -> None:
        signal.signal(signal.SIGPROF, end_test)
        for name, cpu, _ in reds:
            signal.setitimer(signal.ITIMER_PROF, 0.5 + 2 * cpu)
            say(out, {"red": name, "ok": safely(items[name])})

    wait({fork(look, None): end})
    fine = {one["red"] for one in said() if one.get("ok")}
    reds = [one for one in reds if one[0] not in fine]  # an earlier fix may have turned it
    greens = [one for one in data["greens"] if one[0] in items][:MOST_TESTS]
    live = live_functions(files)
    gc.freeze()
    states = mmap.mmap(-1, len(todo) + 1)  # shared with the children
    waiting, turned = list(range(len(todo))), []  # type: List[int], List[int]
    running: Dict[int, float] = {}
    whose: Dict[int, List[int]] = {}
    least = float("-inf")
    while reds:
        while len(running) < data["jobs"] and time.monotonic() < end:
            if turned:
                own = [turned.pop(0)]
                tests = [*reds, *greens]
                work = functools.partial(
                    hold, todo[own[0]], own[0], reds, greens, items, live, states, out
                )
                cpu = LEAST_CPU + 5 * sum(one[1] for one in tests)
            elif waiting and todo[waiting[0]]["weight"] >= least:
                own, waiting = waiting[:CHUNK], waiting[CHUNK:]
                tests = [reds[0]] * len(own)
                work = functools.partial(sift, todo, own, reds[0], items, live, states)
                cpu = None  # each has its own
            else:
                break
            child = fork(work, cpu)
            wall = 5 + 10 * sum(one[2] for one in tests)
            running[child], whose[child] = min(time.monotonic() + wall, end + 1), own
        if not running:
            break
        child, _ = wait(running)
        own = whose.pop(child)
        del running[child]
        turned += [at for at in own if states[at] == GREEN]
        least = max([least, *(todo[at]["weight"] - RIVAL for at in own if states[at] == HOLDS)])
        left = [at for at in own if states[at] == UNTRIED]
        if len(left) == len(own):  # it ended before it began: the next child shall not as well
            left = left[1:]
        waiting = left + waiting
    compare(todo, states, [items[one[0]] for one in (*reds, *greens)], live, out)
    say(out, {"done": True, "tried": sum(state != UNTRIED for state in states[: len(todo)])})


def sift(
    todo: List[Any], own: List[int], red: Any, items: Dict[str, Any], live: Live, states: Any
) -> None:
    """In the child: one candidate after the other, on the cheapest red test."""
    name, cpu, _ = red
    limit_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    live = loaded(live, [todo[at] for at in own], items[name])
    for at in own:
        states[at] = BEGUN
        before = other_code(todo[at], live)
        signal.setitimer(signal.ITIMER_PROF, 0.1 + 5 * cpu)
        ok = bool(before) and safely(items[name])
        signal.setitimer(signal.ITIMER_PROF, 0)
        for function, code in before:
            function.__code__ = code
        states[at] = GREEN if ok else RED


def hold(
    one: Any, at: int, reds: Any, greens: Any, items: Dict[str, Any], live: Live, states: Any,
    out: int,
) -> None:  # fmt: skip
    """In the child: a candidate that turned one red test green, on the other tests."""
    states[at] = RED
    if not other_code(one, loaded(live, [one], items[reds[0][0]])):
        return
    turned = [name for name, _, _ in reds if safely(items[name])]
    broken = next((name for name, _, _ in greens if not safely(items[name])), "")
    say(out, {"candidate": at, "turned": turned, "broken": broken})
    if turned and not broken:
        states[at] = HOLDS if len(turned) == len(reds) else PARTLY


MOST_COMPARED = 8
COMPARING = 20.0
"""Seconds, at most."""


def compare(todo: List[Any], states: Any, tests: List[Any], live: Live, out: int) -> None:
    """The candidates that hold, the likeliest first, beside one another."""
    import refute_comparing as comparing  # type: ignore[import-not-found]

    best = max(states[: len(todo)], default=RED)
    holding = [at for at in range(len(todo)) if states[at] == best >= PARTLY][:MOST_COMPARED]
    keys = {(todo[at]["file"], *todo[at]["key"]) for at in holding}
    codes = {one.__code__: one for file, *key in keys for one in live[file].get(tuple(key), ())}
    if len(holding) < 2 or not codes:
        return

    def run() -> None:
        for item in tests[:80]:
            safely(item)

    def child(work: Callable[[], None]) -> None:
        one = fork(work, None)
        wait({one: time.monotonic() + COMPARING / MOST_COMPARED})

    changes = [functools.partial(other_code, todo[at], live) for at in holding]

    def tell(record: Dict[str, Any]) -> None:
        say(out, {**record, "compared": holding[record["compared"]]})

    one = fork(lambda: comparing.compare(codes, run, changes, tell, child), None)
    wait({one: time.monotonic() + 2 * COMPARING})


def loaded(live: Live, candidates: List[Any], item: Any) -> Live:
    """The live functions, those of the candidates among them: a test imports what is missing."""
    if all(live[one["file"]].get(tuple(one["key"])) for one in candidates):
        return live
    passes(item)
    return live_functions(dict.fromkeys(live, ""))


def safely(item: Any) -> bool:
    """Return whether a test passes, whatever it raises (SystemExit, a plugin that gives up)."""
    try:
        return passes(item)
    except BaseException:
        return False


def other_code(one: Any, live: Live) -> List[Tuple[FunctionType, CodeType]]:
    """Give the live functions of a key a candidate's code; they with the code that they had."""
    try:
        code = compile(one["text"], one["file"], "exec", dont_inherit=True)
        for name in one["names"]:
            inner = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name]
            code = inner[-1]
    except (SyntaxError, ValueError, IndexError):
        return []
    before = []
    for function in live[one["file"]].get(tuple(one["key"]), ()):
        old = function.__code__
        if old.co_freevars == code.co_freevars:
            function.__code__ = code
            before.append((function, old))
    return before


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
    old, new = codes_of(text, file), codes_of(other, file)
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


@functools.lru_cache(None)
def codes_of(text: str, file: str) -> dict[Key, CodeType]:
    """The code of a module's functions, by name and line; what is there twice is left out."""
    found: dict[Key, CodeType] = {}
    twice: set[Key] = set()
    left = [compile(text, file, "exec", dont_inherit=True)]
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
    """Return the arguments of a function, from its `locals()` at its start, in the texts of
    `watching`: the condition of mutants that are for one call."""
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
"""Paths of code whose own questions do not count."""


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

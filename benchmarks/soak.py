"""Soak the sandbox: thousands of hostile mutations of real programs, nothing left behind.

    python benchmarks/soak.py --count 10000 --workers 2

Programs come from HumanEval+ where its file is at hand (`REFUTE_DATA` or `../shared/data`), and
from the standard library. Each is mutated at random (syntax-tree edits, programs of the attack
suite spliced in, bytes changed) and run on random arguments. After every few, a sentinel program
runs in the same worker; its answer is known. At the end no process, no file (at the top of the
temporary, working, home and root directories) and no wrong sentinel verdict may be left; else the
exit status is 1.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

from refute.core.problems import Call
from refute.errors import SandboxUnavailable
from refute.sandbox import Limits, Program, Returned
from refute.sandbox.local import LocalSandbox

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for `tests.sandbox`

LIBRARY = """
bisect heapq textwrap string fractions statistics colorsys difflib shlex base64 calendar fnmatch
keyword reprlib stat quopri csv copy pprint zipfile tempfile shutil os threading subprocess socket
signal tarfile selectors glob
""".split()  # noqa: SIM905
EVERY = 5  # programs between two sentinels
SENTINEL = Program(
    code="""
import os, re, json
def f(words):
    assert os.listdir(".") == [], os.listdir(".")
    counts = {w: len(re.findall("a", w)) for w in words}
    return json.loads(json.dumps(sorted(counts.items(), key=lambda p: (-p[1], p[0]))))
""",
    entry_point="f",
)
VALUES: list[Any] = [
    0, 1, -1, 7, 10**20, 0.5, float("nan"), "", "abc",
    "a" * 300, "\ud800", None, True, [], [3, 1, 2],
    [[1, 2], [3]], ["a", "b"], {}, {"a": 1}, {1, 2}, (1, "x"), b"bytes", [0] * 1000,
]  # fmt: skip


Seed = tuple[str, str, list[list[Any]]]


def seeds() -> list[Seed]:
    """Programs to mutate, as (source, entry point, known inputs)."""
    found: list[Seed] = []
    data = Path(os.environ.get("REFUTE_DATA", ROOT.parent / "shared" / "data"))
    for path in data.glob("HumanEvalPlus.jsonl*") if data.is_dir() else ():
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            for line in file:
                row = json.loads(line)
                source = row["prompt"] + row["canonical_solution"]
                found.append((source, row["entry_point"], row["base_input"]))
    for name in LIBRARY:
        path = Path(os.__file__).with_name(f"{name}.py")
        if not path.exists():
            continue
        with tokenize.open(path) as file:
            source = file.read()
        names = [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
        found += [(source, name, []) for name in names[:6]]
    return found


class Mutator(ast.NodeTransformer):
    """Random edits of constants, operators, comparisons and statements."""

    def __init__(self, rng: random.Random, rate: float) -> None:
        self.rng = rng
        self.rate = rate

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.rng.random() < self.rate and not isinstance(node.value, str):
            return ast.copy_location(ast.Constant(self.rng.choice(VALUES[:9])), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if self.rng.random() < self.rate:
            kinds = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift, ast.Mod, ast.FloorDiv)
            node.op = self.rng.choice(kinds)()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if self.rng.random() < self.rate:
            node.ops[0] = self.rng.choice((ast.Lt, ast.GtE, ast.NotEq, ast.Is, ast.In))()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self.rng.random() < self.rate:
            return ast.copy_location(ast.While(node.test, node.body, node.orelse), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Pass(), node) if self.rng.random() < self.rate / 4 else node


def hostile(rng: random.Random, programs: list[Seed], attacks: list[str]) -> tuple[Program, Any]:
    """One random mutation, and inputs on which to call it."""
    source, entry, known = rng.choice(programs)
    code = source
    if rng.random() < 0.8:
        tree = Mutator(rng, rng.choice((0.02, 0.1, 0.4))).visit(ast.parse(source))
        if rng.random() < 0.6:
            splice(rng, tree, entry, rng.choice(attacks))
        try:
            code = ast.unparse(ast.fix_missing_locations(tree))
        except (ValueError, RecursionError):
            code = source
    if rng.random() < 0.15:
        at, size = rng.randrange(len(code) + 1), rng.randint(0, 30)
        code = (
            code[:at]
            + rng.choice(("", "\0", "(" * 50, "while 1: pass\n", "\x85"))
            + code[at + size :]
        )
    if known and rng.random() < 0.8:
        return Program(code=code, entry_point=entry), [rng.choice(known) for _ in range(2)]
    arity = rng.choice((1, 1, 2, 2, 3))
    inputs = [[rng.choice(VALUES) for _ in range(arity)] for _ in range(2)]
    return Program(code=code, entry_point=entry), inputs


def splice(rng: random.Random, tree: ast.Module, entry: str, attack: str) -> None:
    """Put an attack's definitions at the head of a program and a call of it somewhere inside."""
    body = ast.parse(attack.replace("def f(", "def attack_("))
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    for node in future:
        tree.body.remove(node)
    tree.body[0:0] = [*future, *body.body]
    (call,) = ast.parse(rng.choice(("attack_(1)", "_ = attack_(1)", "return attack_(1)"))).body[:1]
    places = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == entry]
    for place in places:
        place.body.insert(rng.choice((0, rng.randint(0, len(place.body)))), call)


def attack_sources() -> list[str]:
    """The attack suite's programs, without those that need the host to be prepared."""
    from tests.sandbox import lies  # noqa: F401
    from tests.sandbox.attacks import ATTACKS

    found = []
    for attack in ATTACKS:
        source = attack.code.replace("@PORT@", "1")
        for mark in ("@CANARY@", "@HOME@", "@REPO@", "@ABSTRACT@"):
            source = source.replace(mark, "/nowhere")
        try:
            ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        found.append(source)
    return found


def work(job: tuple[int, int, float]) -> dict[str, Any]:
    """One worker's share: run `count` mutations; counts of outcomes and what went wrong."""
    seed, count, cpu = job
    rng = random.Random(seed)
    programs, attacks = seeds(), attack_sources()
    limits = Limits(cpu=cpu, wall=2 * cpu, memory=256 << 20, stop_after=1)
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    sentinels = respawned = 0
    words = ["fig", "banana", "avocado"]
    expected = [["banana", 3], ["avocado", 2], ["fig", 0]]
    with LocalSandbox() as box:
        if not all(box.protections().values()):
            return {"wrong": [f"isolation is not complete here: {box.protections()}"]}
        worker = box._servers[(), 0].process.pid
        for number in range(count):
            program, inputs = hostile(rng, programs, attacks)
            calls = [Call(args=tuple(given)) for given in inputs]
            try:
                for outcome in box.run(program, calls, limits):
                    ends[type(outcome).__name__] += 1
            except SandboxUnavailable as error:
                wrong.append(f"{seed}/{number}: {error}\n{program.code}")
            if number % EVERY:
                continue
            sentinels += 1
            (outcome,) = box.run(SENTINEL, [Call(args=(words,))], Limits(cpu=2.0))
            if not isinstance(outcome, Returned) or outcome.value != expected:
                wrong.append(f"{seed}/{number}: sentinel: {outcome}\n{program.code}")
            if box._servers[(), 0].process.pid != worker:
                worker = box._servers[(), 0].process.pid
                respawned += 1
    return {"ends": ends, "wrong": wrong, "sentinels": sentinels, "respawned": respawned}


def files() -> set[str]:
    """What may have been left behind, by name or owner (other programs make files there too)."""
    places = {tempfile.gettempdir(), os.getcwd(), str(Path.home()), "/", "/dev/shm", "/var/tmp"}
    owners = {os.getuid()} if os.getuid() else {65534}  # whom the programs run as, seen from here
    found = set()
    for place in places:
        for entry in os.scandir(place) if os.path.isdir(place) else ():
            try:
                own = entry.stat(follow_symlinks=False).st_uid in owners
            except OSError:
                continue
            if own or entry.name.startswith("refute-"):
                found.add(entry.path)
    return found


def servers() -> set[int]:
    """Processes of sandboxes that are running now, whoever started them."""
    found = set()
    for name in os.listdir("/proc"):
        try:
            if (
                name.isdigit()
                and b"sandbox/server.py" in Path(f"/proc/{name}/cmdline").read_bytes()
            ):
                found.add(int(name))
        except OSError:
            pass
    return found


def left_running(before: set[int], mine: int) -> set[int]:
    """Sandbox processes of this process's workers that still run (others may run theirs)."""
    found = set()
    for pid in servers() - before:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            client = json.loads(command[-2])["client"]
        except (OSError, ValueError, KeyError, IndexError):
            continue
        if client == mine or not Path(f"/proc/{client}").exists():
            found.add(pid)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cpu", type=float, default=0.1, help="CPU seconds for a call")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after about so many")
    options = parser.parse_args()
    print(vars(options), flush=True)
    before, running = files(), servers()
    size, began = 100, time.monotonic()
    shares = [
        (options.seed + i, min(size, options.count - i), options.cpu)
        for i in range(0, options.count, size)
    ]
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    done = sentinels = respawned = 0
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for found in pool.imap_unordered(work, shares):
            wrong += found["wrong"]
            ends.update(found.get("ends", {}))
            sentinels += found.get("sentinels", 0)
            respawned += found.get("respawned", 0)
            done = min(done + size, options.count)
            seconds = time.monotonic() - began
            line = f"{done} programs, {sentinels} sentinels, {respawned} fresh workers,"
            print(line, f"{seconds:.0f} s", dict(ends), f"wrong: {len(wrong)}", flush=True)
            if seconds > 60 * options.minutes:
                break
    time.sleep(1)
    processes = left_running(running, os.getpid())
    new = {
        path for path in files() - before if "refute" in os.path.basename(path) or "tmp" not in path
    }
    for text in wrong[:5]:
        print(f"WRONG {text}")
    print(
        f"wrong verdicts: {len(wrong)}; processes left: {sorted(processes)};"
        f" files left: {sorted(new)}"
    )
    return 1 if wrong or processes or new else 0


if __name__ == "__main__":
    sys.exit(main())

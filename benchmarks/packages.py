"""Real packages to measure on, in two halves: what the other scripts share.

    python benchmarks/packages.py fill FOLDER       # pip install --target FOLDER/dev, FOLDER/report

Two flat site folders of popular packages and two lists of modules of the standard library. The half
`dev` may be looked at case by case while rules are written; of the half `report` only totals are
looked at, so that its figures say what to expect on code that no rule was written for.

For a script of one's own:

    from packages import Function, draw, functions, half_of, modules, parser, refute, work

    options = parser(__doc__).parse_args()          # --half --seed --count --jobs --budget --out
    half = half_of(options.half)                    # .site: its folder, .packages, .library
    drawn = draw(functions(half), options.count, options.seed)   # every package alike
    for row in work(drawn, key=lambda f: f.target, do=measure, options=options): ...

`measure(item)` returns a dict that JSON can hold; `work` writes each into the file `--out` as it
comes, with its key, and gives rows that are already there without measuring again. `refute(...)`
runs the command line as a user would, and returns exit status, document, seconds and CPU seconds.
What belongs to a package is executed in the sandbox only: by `refute` itself, or by `Inside`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

from refute.core.problems import Expression
from refute.sandbox import Limits, Program, Returned
from refute.sandbox.local import LocalSandbox

__all__ = [
    "Function", "Half", "Inside", "Method", "Run", "draw", "functions", "half_of", "methods",
    "modules", "parser", "refute", "share", "spread", "verdict_of", "work",
]  # fmt: skip

ROOT = Path(__file__).resolve().parents[1]
SITES = Path(os.environ.get("REFUTE_PACKAGES", ROOT.parent / "pkgs"))
LIBRARY = Path(os.__file__).parent

INSTALLED = {
    "dev": """
        boltons more-itertools toolz python-dateutil inflection humanize textdistance networkx
        packaging wcwidth python-slugify xmltodict parse natsort pyphen roman num2words webcolors
        isodate unidecode semver sqlparse pydash jellyfish docopt babel inflect requests click
        werkzeug jinja2 rich sortedcontainers attrs""".split(),  # noqa: SIM905
    "report": """
        sympy mpmath pygtrie phonenumberslite validators funcy pyparsing markdown mistune tabulate
        texttable arrow croniter furl hyperlink tldextract chardet prettytable uncertainties iso3166
        python-stdnum pytz tinycss2 html5lib lark parso docutils simpleeval asteval bidict
        multipledispatch voluptuous schema glom addict deepdiff dictdiffer geopy geographiclib tqdm
        zxcvbn nltk anytree titlecase cachetools langcodes""".split(),  # noqa: SIM905
}
"""What is installed, by the names of the registry."""
PACKAGES = {
    "dev": """
        boltons more_itertools toolz dateutil inflection humanize textdistance networkx packaging
        wcwidth slugify xmltodict parse natsort pyphen roman num2words webcolors isodate unidecode
        semver sqlparse pydash jellyfish docopt babel inflect requests click werkzeug jinja2 rich
        sortedcontainers attr""".split(),  # noqa: SIM905
    "report": """
        sympy mpmath pygtrie phonenumbers validators funcy pyparsing markdown mistune tabulate
        texttable arrow croniter furl hyperlink tldextract chardet prettytable uncertainties iso3166
        stdnum pytz tinycss2 html5lib lark parso docutils simpleeval asteval bidict
        multipledispatch voluptuous schema glom addict deepdiff dictdiffer geopy geographiclib tqdm
        zxcvbn nltk anytree titlecase cachetools langcodes""".split(),  # noqa: SIM905
}
"""What is drawn from, by import name; what they depend on lies beside them."""
STANDARD = {
    "dev": """
        base64 bisect calendar colorsys copy csv difflib fnmatch fractions functools heapq html
        inspect ipaddress json keyword linecache mimetypes numbers os pprint quopri random reprlib
        shlex shutil stat statistics string tempfile textwrap timeit tokenize typing urllib.parse
        uuid zipfile""".split(),  # noqa: SIM905
    "report": """
        argparse ast codecs collections configparser contextlib dataclasses dis email.utils
        email.header email.quoprimime email.base64mime email.iterators enum filecmp ftplib
        genericpath getopt gettext glob graphlib gzip hashlib http.cookiejar http.cookies imaplib
        locale nturl2path ntpath opcode optparse pickletools pkgutil platform plistlib posixpath
        pyclbr re sched secrets struct sysconfig tarfile trace types urllib.request warnings wave
        weakref xml.sax.saxutils xml.dom.minidom xml.etree.ElementTree xmlrpc.client zoneinfo
        rlcompleter imghdr sndhdr telnetlib mailcap netrc""".split(),  # noqa: SIM905
}
"""The standard library, split too; those that reviews of this project wrote about are in `dev`."""
_ASIDE = ("test", "tests", "testing", "_vendor", "vendor", "third_party", "benchmarks", "examples")

T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Half:
    """One half: its site folder and the names in it."""

    name: str
    site: Path
    packages: tuple[str, ...]
    library: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a package; `module` is its dotted name."""

    package: str
    """The top-level package; "library" for the whole standard library."""
    module: str
    path: Path


@dataclass(frozen=True, slots=True)
class Function:
    """A public function at the top level of a file, found without executing anything."""

    source: Source
    name: str
    docstring: str
    doctest: bool
    """Whether its docstring holds an example that names it."""
    first: int
    last: int
    """Its lines, decorators included, from 1."""

    @property
    def target(self) -> str:
        """`FILE.py::NAME`, as the command line takes it."""
        return f"{self.source.path}::{self.name}"

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.source.package


def half_of(name: str) -> Half:
    """The half `dev` or `report`. Exits where its folder is missing."""
    site = SITES / name
    if not site.is_dir():
        sys.exit(f"{site}: is missing; fill it: python benchmarks/packages.py fill {SITES}")
    return Half(name, site, tuple(PACKAGES[name]), tuple(STANDARD[name]))


def modules(half: Half) -> list[Source]:
    """Every public module of the half, tests and vendored code left out, in a fixed order."""
    found = []
    for package in half.packages:
        folder = half.site / package
        if not folder.is_dir():
            found.append(Source(package, package, folder.with_suffix(".py")))
            continue
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(half.site).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            private = any(p.startswith("_") or p in _ASIDE or "test" in p for p in inner)
            compiled = any(path.parent.glob(f"{path.stem}.*.so"))
            if not private and not compiled:
                found.append(Source(package, ".".join(inner), path))
    for name in half.library:
        path = LIBRARY.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        found.append(Source("library", name, path))
    return [source for source in found if source.path.is_file()]


def functions(half: Half) -> list[Function]:
    """Every public function at the top level of the modules, in a fixed order."""
    return [function for source in modules(half) for function in functions_of(source)]


def functions_of(source: Source) -> Iterator[Function]:
    """The public plain functions of one file; the last definition of a name counts."""
    try:
        with tokenize.open(source.path) as file:
            tree = ast.parse(file.read())
    except (SyntaxError, UnicodeDecodeError):
        return
    last = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, node in last.items():
        if name.startswith(("_", "test_")) or name == "main":
            continue
        doc = ast.get_docstring(node) or ""
        example = any(name in line for line in doc.splitlines() if ">>>" in line or "..." in line)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        shown = ">>>" in doc and example
        yield Function(source, name, doc, shown, first, node.end_lineno or node.lineno)


@dataclass(frozen=True, slots=True)
class Method(Function):
    """A public method of a public class at the top level; `name` is qualified."""


def methods(half: Half) -> list[Method]:
    """Every public method, property, class- and static method, in a fixed order."""
    return [method for source in modules(half) for method in methods_of(source)]


def methods_of(source: Source) -> Iterator[Method]:
    """The public methods of one file's public classes; of a property what gets it."""
    try:
        with tokenize.open(source.path) as file:
            tree = ast.parse(file.read())
    except (SyntaxError, UnicodeDecodeError):
        return
    for cls in {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}.values():
        if cls.name.startswith("_"):
            continue
        last: dict[str, ast.FunctionDef] = {}
        for node in cls.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                marks = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
                if not marks & {"setter", "deleter", "overload", "abstractmethod"}:
                    last[node.name] = node
        for name, node in last.items():
            doc = ast.get_docstring(node) or ""
            lines = [x for x in doc.splitlines() if ">>>" in x or "..." in x]
            shown = ">>>" in doc and any(f".{name}" in line for line in lines)
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            end = node.end_lineno or node.lineno
            yield Method(source, f"{cls.name}.{name}", doc, shown, first, end)


def draw(
    items: Iterable[T], count: int, seed: int, *, by: Callable[[T], str] | None = None
) -> list[T]:
    """`count` items at random: each draw picks a package first, so that a large one does not rule.

    `by` says which package an item belongs to (default: its `package`). Fewer where there are no
    more. The first n of a longer drawing are the drawing of n.
    """
    rng = random.Random(seed)
    piles: dict[str, list[T]] = {}
    for item in items:
        piles.setdefault(by(item) if by else item.package, []).append(item)  # type: ignore[attr-defined]
    for pile in piles.values():
        rng.shuffle(pile)
    drawn: list[T] = []
    while piles and len(drawn) < count:
        # the standard library stands for a quarter of the code that people call
        names = sorted(piles)
        weights = [len(names) / 4 if name == "library" else 1 for name in names]
        name = rng.choices(names, weights)[0]
        drawn.append(piles[name].pop())
        if not piles[name]:
            del piles[name]
    return drawn


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command line."""

    status: int
    """The exit status; 124 where it was ended after `patience` seconds."""
    document: Any
    """What it printed on stdout, read as JSON; None where that is not JSON."""
    error: str
    """The last 2,000 characters of stderr."""
    seconds: float
    cpu: float
    """User and system seconds of the process and of all its children that have ended."""


def refute(*arguments: str, patience: float = 300.0) -> Run:
    """Run `refute ARGUMENTS` of this working tree as a child, like a user."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    environment.pop("REFUTE_TRACEBACK", None)
    command = [sys.executable, "-m", "refute", *arguments]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environment,
            start_new_session=True,
        )  # fmt: skip
        status, usage = _wait(child, patience)
        seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        text, error = (f.read().decode(errors="replace") for f in (out, err))
    document = None
    with contextlib.suppress(ValueError):
        document = json.loads(text)
    return Run(status, document, error[-2000:], seconds, usage)


def _wait(child: subprocess.Popen[bytes], patience: float) -> tuple[int, float]:
    """The exit status and CPU seconds of a child, which is ended when it takes too long."""
    end = time.monotonic() + patience
    late = False
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return 124 if late else child.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > end and not late:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run says about one function."""

    state: str
    """wrong, fixed, proposed, passes, cannot tell; "" where it prints no document."""
    tests: tuple[Row, ...]
    """The failing tests as printed; `expected` is None where it is not known (a crash)."""
    code: str | None
    """The module after the first fix, fixed or proposed."""
    diff: str


def verdict_of(run: Run) -> Verdict:
    """The verdict of `refute debug FILE.py::NAME --json`."""
    document = run.document
    if not isinstance(document, dict):
        return Verdict("", (), None, "")
    tests = tuple(document.get("tests") or ())
    fixed = bool(document.get("fixed"))
    stated = any(test.get("expected") is not None for test in tests)
    state = document.get("state") or ("fixed" if fixed else "wrong" if stated else "passes")
    code = document.get("code") if fixed or state in ("fixed", "proposed") else None
    state = state.replace("-", " ").replace("_", " ")
    return Verdict(state, tests, code, document.get("diff") or "")


class Inside:
    """Calls functions of `inside.py` in the sandbox, with the packages of a folder to import.

    What comes back is JSON, read on this side. Use as a context manager.
    """

    def __init__(self, *folders: Path) -> None:
        """`folders`: readable, and in front of the import path."""
        self._box = LocalSandbox(readable=folders, import_path=folders)
        code = Path(__file__).with_name("inside.py").read_text(encoding="utf-8")
        self._program = Program(code, "reply", "inside.py")

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, *exc: object) -> None:
        self._box.close()

    def ask(self, name: str, *arguments: object, cpu: float = 30.0) -> Any:
        """What `inside.NAME(*arguments)` returned; None where it did not return."""
        call = Expression(f"reply({name!r}, {json.dumps(arguments)!r})")
        limits = Limits(cpu=cpu, wall=2 * cpu)
        (outcome,) = self._box.run(self._program, [call], limits)
        if not isinstance(outcome, Returned):
            self.last = repr(outcome)[:300]
            return None
        try:
            return json.loads(outcome.value)
        except (ValueError, TypeError):
            return None


def parser(doc: str | None, *, count: int, budget: float = 5.0) -> argparse.ArgumentParser:
    """The options that the scripts share."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--half", choices=sorted(PACKAGES), default="dev")
    made.add_argument("--seed", type=int, default=12)
    made.add_argument("--count", type=int, default=count)
    made.add_argument("--jobs", type=int, default=1)
    made.add_argument("--budget", type=float, default=budget, help="seconds for one function")
    made.add_argument("--out", type=Path, help="JSONL file to go on with (default: a new one)")
    return made


def work(
    items: Sequence[T],
    *,
    key: Callable[[T], str],
    do: Callable[[T], Row],
    options: argparse.Namespace,
) -> list[Row]:
    """The row of each item, in order; measured unless the file `options.out` holds it already."""
    script = Path(sys.argv[0]).stem
    out = options.out or Path(tempfile.mkdtemp(prefix="refute-bench-")) / f"{script}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    print(script, f"commit {_commit()},", vars(options) | {"out": str(out)}, flush=True)
    done: dict[str, Row] = {}
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the last line of a run that was killed
                row = json.loads(line)
                done[row["key"]] = row
    todo = [item for item in items if key(item) not in done]
    with out.open("a", encoding="utf-8") as file, ThreadPoolExecutor(options.jobs) as pool:
        for item, row in zip(todo, pool.map(do, todo), strict=True):
            done[key(item)] = {"key": key(item)} | row
            file.write(json.dumps(done[key(item)]) + "\n")
            file.flush()
    return [done[key(item)] for item in items]


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def share(part: int, whole: int) -> str:
    """`3 of 60 (5.0 %)`."""
    return f"{part} of {whole} ({part / max(1, whole):.1%})".replace("%)", " %)")


def spread(seconds: Sequence[float]) -> str:
    """Median, 95th percentile and maximum."""
    if len(seconds) < 2:
        return " ".join(f"{s:.1f}" for s in seconds)
    return (
        f"median {median(seconds):.1f}, p95 {quantiles(seconds, n=20)[-1]:.1f}, "
        f"max {max(seconds):.1f}"
    )


def main() -> None:
    """`fill FOLDER`."""
    commands = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands.add_argument("verb", choices=["fill"])
    commands.add_argument("folder", type=Path)
    options = commands.parse_args()
    for name, wanted in INSTALLED.items():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, "--target", str(options.folder / name), *wanted], check=True)


if __name__ == "__main__":
    main()

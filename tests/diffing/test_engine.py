"""`refute diff` end to end on small repositories: differences, none, and what cannot be told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refute
from refute.verbs.diff import DiffResult

from ..models.loopback import Loopback, chat
from .repositories import commit

Repo = Callable[..., Path]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a commit for each of some file sets; later ones replace files."""

    def make(*commits: dict[str, str], message: str = "change") -> Path:
        for files in commits:
            commit(tmp_path, files, message)
        return tmp_path

    return make


def diff(root: Path, spec: str = "HEAD~1..HEAD", **more: Any) -> DiffResult:
    return refute.diff(spec, repo=root, **{"budget": 4.0, **more})


def one(result: DiffResult) -> Any:
    [found] = result.functions
    return found


def test_each_package_is_imported_from_its_own_folder(repo: Repo) -> None:
    def files(number: int) -> dict[str, str]:
        text = f"def f(n: int) -> int:\n    return n + {number}\n"
        return {f"{name}/src/{name}_one/{name}.py": text for name in ("ham", "egg")}

    packages = {name.rpartition("/")[0] + "/__init__.py": "" for name in files(0)}
    root = repo({**files(1), **packages}, files(2))
    found = diff(root, budget=1.0, jobs=1)
    assert [one.comparison.verdict for one in found.functions] == ["differs"] * 2


CART = """
class Cart:
    def __init__(self, tax=0):
        self.tax = tax
        self.items = {}

    def add(self, name, count):
        self.items[name] = count

    def total(self):
        return sum(self.items.values()) * (1 + self.tax)
"""


def test_a_method_that_behaves_otherwise_is_shown_with_a_small_input(repo: Repo) -> None:
    new = CART.replace("self.items[name] = count", "self.items.setdefault(name, count)")
    found = one(diff(repo({"shop/cart.py": CART, "shop/__init__.py": ""}, {"shop/cart.py": new})))
    assert found.comparison.verdict == "differs"
    assert found.function.qualname == "Cart.add"
    assert found.unexplained
    [shown] = found.comparison.differences
    assert shown.kind == "effect"
    assert len(shown.scenario.setup) <= 3
    assert shown.lines_before
    assert shown.lines_after


def test_a_refactoring_has_no_difference_and_says_how_far(repo: Repo) -> None:
    new = CART.replace(
        "return sum(self.items.values()) * (1 + self.tax)",
        "whole = 0\n        for count in self.items.values():\n            whole += count\n"
        "        return whole * (1 + self.tax)",
    )
    result = diff(repo({"cart.py": CART}, {"cart.py": new}))
    found = one(result)
    assert found.comparison.verdict == "no difference"
    assert found.comparison.ran > 30
    assert found.comparison.missed_after == ()
    assert not result.unexplained


@pytest.mark.parametrize(("pinned", "unexplained"), [(1, False), (2.5, True)])
def test_a_test_of_the_change_explains_what_it_demands(
    repo: Repo, pinned: float, unexplained: bool
) -> None:
    """A test that fails after the change pins what was before."""
    old, new = "def half(n):\n    return n / 2\n", "def half(n):\n    return n // 2\n"
    test = "from m import half\n\ndef test_half():\n    assert half({}) == {}\n"
    root = repo(
        {"m.py": old, "test_m.py": test.format(3, 1.5)},
        {"m.py": new, "test_m.py": test.format(3 if pinned == 1 else 5, pinned)},
    )
    found = one(diff(root))
    assert found.unexplained is unexplained
    shown = found.comparison.differences[0]
    assert shown.kind == "value", "another value says more than another type of it"
    assert shown.before.value != shown.after.value


RENDERER = """from xml.dom import minidom


class Renderer:
    def render(self, markup):
        node = minidom.parseString(markup).documentElement.firstChild
        return getattr(self, "render_" + node.tagName)(node)

    def render_li(self, node):
        if node.parentNode.tagName == "ol":
            return str(len(node.childNodes)) + "."
        return "-"
"""
RENDERED = """from m import Renderer


def test():
    assert Renderer().render("<{0}><li/></{0}>")
"""


def test_what_no_input_reaches_the_tests_show(
    repo: Repo, refute: Callable[..., tuple[int, str, str]]
) -> None:
    new = RENDERER.replace("len(node.childNodes)", "1 + len(node.childNodes)")
    root = repo({"m.py": RENDERER, "test_m.py": RENDERED.format("ul")}, {"m.py": new})
    given = ("-C", str(root), "--budget", "0.5")
    status, out, _ = refute("diff", "HEAD~1..HEAD", *given)
    assert (status, "cannot tell" in out) == (1, True), "nothing was looked at"
    repo({"test_m.py": RENDERED.format("ol")})
    status, out, _ = refute("diff", "HEAD~2..HEAD", *given)
    assert (status, "behaves otherwise in tests" in out) == (1, True)
    assert "before: '0.'\n  after:  '1.'" in out


def test_a_private_function_is_seen_through_its_callers(repo: Repo) -> None:
    old = "def _scale(n):\n    return n * 2\n\ndef area(n):\n    return _scale(abs(n)) + 1\n"
    new = old.replace("n * 2", "n * 2 if n >= 0 else 0")
    found = one(diff(repo({"m.py": old}, {"m.py": new})))
    assert found.comparison.verdict == "no difference", "no caller gives it a negative number"
    assert found.comparison.called == "m.area"


def test_lines_that_no_input_reaches_are_listed(repo: Repo) -> None:
    old = "def f(n):\n    if n == 'x' * 5000:\n        return 1\n    return 2\n"
    found = one(diff(repo({"m.py": old}, {"m.py": old.replace("return 1", "return 3")})))
    assert found.comparison.verdict == "cannot tell"
    assert (found.comparison.missed_before, found.comparison.missed_after) == ((3,), (3,))


def test_what_does_not_import_cannot_be_told(repo: Repo) -> None:
    old = "import nothing_like_that\n\ndef f(n):\n    return n\n"
    found = one(diff(repo({"m.py": old}, {"m.py": old.replace("return n", "return -n")})))
    assert found.comparison.verdict == "cannot tell"
    assert "nothing_like_that" in found.comparison.reason


def test_what_differs_by_itself_is_no_difference(repo: Repo) -> None:
    """The address of an object, the time; what a process counts is left out of an object, too."""
    old = """
import itertools, time

numbers = itertools.count()

def f(n):
    return n, id(object()), time.perf_counter()

class Made:
    pass

def made(n):
    it = Made()
    it.number, it.n = next(numbers), n
    return it
"""
    new = old.replace("return n,", "m = n\n    return m,").replace(", n\n", ", [n]\n")
    result = diff(repo({"m.py": old}, {"m.py": new}))
    found = {each.function.qualname: each.comparison for each in result.functions}
    assert found["f"].verdict == "no difference"
    [shown] = found["made"].differences
    assert [repr(dict(shown.before.value.attributes)["number"])] == ["..."]
    assert shown.before.value.repr.startswith("Made(n=")


def test_the_working_tree_is_compared_and_left_alone(repo: Repo) -> None:
    root = repo({"m.py": "def f(n):\n    return [n]\n"})
    (root / "m.py").write_text("def f(n):\n    return [n, n]\n")
    before = sorted(path.name for path in root.iterdir())
    result = diff(root, "HEAD")
    assert one(result).comparison.differences
    assert sorted(path.name for path in root.iterdir()) == before


def test_hostile_repositories_do_nothing_to_the_host(repo: Repo, tmp_path: Path) -> None:
    flag = tmp_path.parent / "escaped"
    evil = f"import os\ntry:\n    open({str(flag)!r}, 'w')\nexcept OSError:\n    pass\n"
    old = evil + "def f(n):\n    os.system('touch " + str(flag) + "')\n    return n\n"
    found = one(diff(repo({"m.py": old}, {"m.py": old.replace("return n", "return [n]")})))
    assert found.comparison.differences
    assert not flag.exists()


def test_objects_that_lie_do_not_hide_a_difference(repo: Repo) -> None:
    old = (
        "class Liar:\n    def __init__(self, n):\n        self.n = n\n"
        "    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
        "    def __repr__(self):\n        return 'Liar'\n\n"
        "def make(n):\n    return Liar(n)\n"
    )
    found = one(diff(repo({"m.py": old}, {"m.py": old.replace("Liar(n)", "Liar([n])")})))
    assert found.comparison.verdict == "differs"


def test_the_document_and_the_exit_status(
    repo: Repo, refute: Callable[..., tuple[int, str, str]]
) -> None:
    root = repo({"m.py": "def f(n):\n    return [n]\n"}, {"m.py": "def f(n):\n    return (n,)\n"})
    status, out, _ = refute("diff", "HEAD~1..HEAD", "-C", str(root), "--json")
    document = json.loads(out)
    assert status == 1
    assert document["unexplained"]
    [function] = document["functions"]
    assert function["verdict"] == "differs"
    assert function["differences"][0].keys() >= {"setup", "expression", "before", "after", "kind"}
    status, out, err = refute("diff", "gone..HEAD", "-C", str(root))
    assert (status, out) == (2, "")
    assert "'gone': no such commit" in err


OLD_TESTS = (
    "from shop.cart import Cart\n\n\ndef test_add():\n    assert Cart().add('a', 1) is None\n"
)


@pytest.mark.parametrize(("side", "passes"), [("before", "HEAD~1"), ("after", "HEAD")])
def test_a_difference_is_pinned_as_a_test_that_holds_on_that_side_alone(
    repo: Repo, refute: Callable[..., tuple[int, str, str]], side: str, passes: str
) -> None:
    files = {"shop/__init__.py": "", "shop/cart.py": CART, "tests/test_cart.py": OLD_TESTS}
    new = CART.replace("(1 + self.tax)", "(1 - self.tax)")
    root = repo(files, {"shop/cart.py": new})
    status, _, err = refute("diff", "HEAD~1..HEAD", "-C", str(root), "--pin", side)
    assert status == 1
    assert "tests written to" in err
    written = (root / "tests/test_cart.py").read_text()
    assert written.startswith("from shop.cart import Cart")
    assert "def test_cart_total" in written
    assert f"# as {side}" in written
    for revision in ("HEAD~1", "HEAD"):
        git = ["git", "-C", str(root), "checkout", "-q", revision, "--", "shop"]
        subprocess.run(git, check=True)
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        here = dict(os.environ, PYTHONPATH=str(root), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(run, cwd=root, env=here, capture_output=True, check=False)
        assert (done.returncode == 0) is (revision == passes), done.stdout.decode()


def test_where_pinned_tests_may_go(
    repo: Repo, refute: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    root = repo({"m.py": "def f(n):\n    return [n]\n"}, {"m.py": "def f(n):\n    return (n,)\n"})
    given = ("diff", "HEAD~1..HEAD", "-C", str(root))
    target = tmp_path / "test_pinned.py"
    assert refute(*given, "-o", str(target))[0] == 2, "which side is right must be said"
    assert refute(*given, "--pin", "after", "-o", str(target))[0] == 1
    assert "from m import f" in target.read_text()
    assert refute(*given, "--pin", "after", "-o", str(target))[0] == 2, "it exists"
    status, _, _ = refute(
        *given, "--pin", "after", "--as", "hypothesis", "-o", str(target), "--force"
    )
    assert status == 1
    assert "@example" in target.read_text()


def test_an_issue_that_names_the_function_explains(
    repo: Repo, refute: Callable[..., tuple[int, str, str]]
) -> None:
    root = repo(
        {"m.py": "def f_of(n):\n    return [n]\n"}, {"m.py": "def f_of(n):\n    return (n,)\n"}
    )
    given = ("diff", "HEAD~1..HEAD", "-C", str(root))
    assert refute(*given)[0] == 1
    (root / "ISSUE.md").write_text("`f_of` gives a tuple")
    assert refute(*given, "--issue", root / "ISSUE.md")[0] == 0


@pytest.mark.parametrize(
    ("answer", "intent", "status"),
    [
        ("It says so.\nSTATED", "stated", 0),
        ("Hints only.\nCONTRADICTED", "contradicted", 1),
        ("I do not know", "not mentioned", 1),
    ],
)
def test_a_model_says_whether_a_difference_is_meant(
    repo: Repo, refute: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory, answer: str, intent: str, status: int,
) -> None:  # fmt: skip
    root = repo({"m.py": "def f(n):\n    return [n]\n"}, {"m.py": "def f(n):\n    return (n,)\n"})
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Loopback() as server:
        server.behaviour = lambda body, before: chat([answer])
        given = ("--base-url", server.url, "--model", "openai:m", "--json")
        (root / "ISSUE.md").write_text("tuples")
        given = ("-C", root, "--issue", root / "ISSUE.md", *given)
        code, out, _ = refute("diff", "HEAD~1..HEAD", *given)
        [prompt] = [body["messages"][-1]["content"] for body in server.requests]
    [function] = json.loads(out)["functions"]
    assert (code, function["intent"]) == (status, intent)
    assert "tuples" in prompt
    assert "before: [" in prompt


MIXED = """
from __future__ import annotations
import datetime as dt
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias
    Number: TypeAlias = "int | float"

_LINE = re.compile(r"^(\\d+)-(\\w+):(.*)$")
SCALES = {"kilo": 3, "mega": 6}


def line_parts(text):
    found = _LINE.match(text)
    return None if found is None else (found.group(1), found.group(2))


def scaled(name, value):
    return value * SCALES[name] if name in SCALES else value


def ago(value):
    if isinstance(value, dt.timedelta):
        return "ages" if value.days > 10_000 else "a while"
    return value


def first(items, default="none"):
    for item in items:
        return item
    return default


def tag(source):
    return re.findall(r"<(\\S*?)>", source)[0].strip("-")


def rounded(value: Number, digits: int = 0) -> str:
    return str(round(float(value), digits)) if isinstance(value, (int, float)) else "?"


class Box:
    def __init__(self, label="x", depth=1):
        self.label = label.strip()
"""
CHANGED = [
    ("(found.group(1), found.group(2))", "(found.group(2), found.group(1))"),
    ("value * SCALES[name]", "value + SCALES[name]"),
    ('"ages" if', '"for ages" if'),
    ("    return default\n\n\ndef tag", "    raise LookupError\n\n\ndef tag"),
    ('[0].strip("-")', '[-1].strip("-")'),
    ("str(round(float(value), digits))", "str(round(float(value), digits + 1))"),
    ("label.strip()", "label.lstrip()"),
]


def test_what_calls_need_is_read_from_the_code_and_learnt(repo: Repo) -> None:
    new = MIXED
    for old, other in CHANGED:
        assert new.count(old) == 1
        new = new.replace(old, other)
    result = diff(repo({"mixed.py": MIXED}, {"mixed.py": new}), budget=30.0)
    verdicts = {each.function.qualname: each.comparison.verdict for each in result.functions}
    assert verdicts == dict.fromkeys(
        ("line_parts", "scaled", "ago", "first", "tag", "rounded", "Box.__init__"),
        "differs",
    )  # fmt: skip
    by = {each.function.qualname: each.comparison.differences[0] for each in result.functions}
    assert "timedelta" in by["ago"].scenario.expression
    assert "kilo" in by["scaled"].scenario.expression or "mega" in by["scaled"].scenario.expression


def test_a_difference_is_shown_on_arguments_that_fit_the_annotations(repo: Repo) -> None:
    old = "def times(text: str, count: int = 1) -> str:\n    return text * count\n"
    new = "def times(text: str, count: int = 1) -> str:\n    return str(text) * int(count or 1)\n"
    found = one(diff(repo({"t.py": old}, {"t.py": new}), budget=10.0))
    shown = found.comparison.differences[0]
    assert shown.scenario.expression.startswith(("times('", 'times("'))
    assert (shown.before.kind, shown.after.kind) == ("returned", "returned")


def test_how_a_class_keeps_its_state_is_no_difference_and_what_it_shows_is(repo: Repo) -> None:
    old = """
class Log:
    def __init__(self, lines=()):
        self._lines = list(lines)

    def last(self):
        return self._lines[-1] if self._lines else None

class Seen:
    def __init__(self, items=()):
        self.items = list(items)
"""
    new = old.replace("_lines", "_kept").replace("self.items =", "self.found =")
    result = diff(repo({"log.py": old}, {"log.py": new}), budget=10.0)
    verdicts = {each.function.qualname: each.comparison.verdict for each in result.functions}
    assert verdicts["Log.__init__"] == "no difference"
    assert verdicts["Log.last"] == "no difference"
    assert verdicts["Seen.__init__"] == "differs"


def test_a_module_that_no_longer_loads_is_a_difference(repo: Repo) -> None:
    old = "LIMIT = 3\n\ndef f(n):\n    return n + LIMIT\n"
    root = repo({"m.py": old}, {"m.py": old.replace("LIMIT = 3", "LIMIT = [][1]")})
    found = one(diff(root))
    assert found.comparison.verdict == "differs"
    assert "IndexError" in found.comparison.broken
    assert found.unexplained


def test_worker_processes_give_the_same_in_the_same_order(repo: Repo) -> None:
    names = ("one", "two", "three")
    old = "".join(f"def {name}(n):\n    return n + {at}\n\n" for at, name in enumerate(names))
    told: list[tuple[str, int, int]] = []

    def show(each: Any, done: int, total: int) -> None:
        told.append((each.function.qualname, done, total))

    root = repo({"m.py": old}, {"m.py": old.replace("n +", "n -")})
    several = diff(root, jobs=2, show=show)
    shown = [(d.scenario.source, d.kind, d.before.value, d.after.value)
             for d in several.differences]  # fmt: skip
    assert [each.function.qualname for each in several.functions] == [*names]
    assert [how_far for _, *how_far in told] == [[1, 3], [2, 3], [3, 3]]
    assert {name for name, *_ in told} == {*names}
    single = diff(root, jobs=1)
    assert shown == [
        (d.scenario.source, d.kind, d.before.value, d.after.value) for d in single.differences
    ]

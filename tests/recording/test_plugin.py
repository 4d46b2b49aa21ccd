"""`pytest --refute-record` on small projects, in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import pytest

from refute.recording.reading import Recorded, Recording, read_recording

SHOP = '''
import dataclasses, enum
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache

class Color(enum.Enum):
    RED = 1

@dataclasses.dataclass
class Item:
    name: str
    price: Decimal = Decimal(1)
    color: Color = Color.RED
    def total(self, n=1):
        return self.price * n

class Cart:
    def __init__(self, tax=0.0, *, note=None):
        self.tax, self.items, self.note = tax, [], note
    def add(self, item, count=1):
        """Add."""
        for _ in range(count):
            self._add(item)
        return self
    def _add(self, item):
        self.items.append(item)
    def total(self):
        return len(self.items) * (1 + self.tax)
    @property
    def empty(self):
        return not self.items
    @classmethod
    def of(cls, *items):
        cart = cls()
        for item in items:
            cart.add(item)
        return cart
    def __len__(self):
        return len(self.items)

class Special(Cart):
    def __init__(self):
        super().__init__(0.5)

@lru_cache(None)
def cached(x):
    return x

@contextmanager
def within(cart, times=2):
    yield cart

async def later(cart):
    return cart.total()

def gen(xs):
    yield from xs

def apply(function, *args, **named):
    return function(*args, **named)

def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)

def anything(x):
    return 1

def hot(n):
    return n

_MISSING = object()

def get(default):
    return default is _MISSING
'''

TESTS = """
import asyncio, io, threading
from decimal import Decimal
from shop import *
from shop import _MISSING

def test_history():
    cart = Cart(0.2)
    cart.add(Item("a", Decimal("2.50")), count=2).add(Item("b"))
    assert cart.total() > 3
    cart.note = "x"
    assert len(cart) == 3 and not cart.empty

def test_kinds():
    assert Cart.of(Item("x")).total() == 1
    assert Special().total() == 0
    assert cached(float("inf")) > 3
    with within(Cart()):
        pass
    assert asyncio.run(later(Cart())) == 0
    assert list(gen([1, 2])) == list(gen(iter([1, 2])))
    apply(Item, "z", price=Decimal(3))
    apply(Cart(0.1).add, Item("q"))
    apply(lambda: 3)
    assert fact(5) == 120
    assert apply(get, _MISSING) and not get(object())

def test_streams():
    stream = io.StringIO("abc")
    stream.read(1)
    assert anything(stream) and stream.read() == "bc"

def test_threads_and_hot():
    def work():
        for n in range(20_000):
            hot(n)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def test_fails():
    assert Cart().total() == 1
"""

COUNTS = "1 failed, 8 passed"

LIARS = """
def bad(*args, **named):
    raise SystemExit("code of the object ran")

class Meta(type):
    __hash__ = __eq__ = __instancecheck__ = __getattribute__ = bad

class Hostile(metaclass=Meta):
    __slots__ = ("x",)
    __repr__ = __eq__ = __hash__ = __getattr__ = __getattribute__ = __len__ = __iter__ = bad
    __reduce__ = __reduce_ex__ = __bool__ = __str__ = bad
    __class__ = property(bad)

class Dict(dict):
    items = keys = values = __iter__ = __len__ = __getitem__ = bad
    __dict__ = property(bad)

class Text(str):
    __str__ = __repr__ = __len__ = __eq__ = bad
    __hash__ = str.__hash__
"""

HOSTILE = """
import liars
import pytest
from shop import anything

def test_hostile():
    anything(type.__call__(liars.Hostile))
    anything([type.__call__(liars.Hostile)])
    anything(liars.Dict(a=1))
    anything(liars.Text("abc"))
    anything(liars.Hostile)

def test_iterator_is_whole():
    items = iter([1, 2, 3])
    anything(items)
    assert list(items) == [1, 2, 3]

def test_no_longer_alive():
    import gc, weakref
    class Thing:
        pass
    thing = Thing()
    ref = weakref.ref(thing)
    anything(thing)
    del thing
    gc.collect()
    assert ref() is None

def test_deep():
    nested = []
    nested.append(nested)
    anything(nested)
    def down():
        anything(1)
        down()
    with pytest.raises(RecursionError):
        down()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "shop.py").write_text(SHOP)
    (root / "liars.py").write_text(LIARS)
    (root / "tests").mkdir()
    (root / "tests" / "test_shop.py").write_text(TESTS)
    (root / "tests" / "test_hostile.py").write_text(HOSTILE)
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return root


def run(root: Path, *options: str) -> str:
    """The output of pytest, whose timings are left out."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def recording(project: Path) -> Recording:
    assert COUNTS in run(project)
    output = run(project, "--refute-record")
    assert COUNTS in output
    assert "refute: recorded" in output
    return read_recording(project / ".refute" / "recorded.jsonl")


def of(recording: Recording, qualname: str) -> list[Recorded]:
    return [call for call in recording.calls if call.qualname == qualname]


def test_a_receiver_is_reached_by_its_history(recording: Recording) -> None:
    assert recording.refused == 0
    call = next(one for one in of(recording, "Cart.__len__") if "test_history" in one.test)
    assert call.setup == (
        "cart = Cart(0.2)",
        "cart.add(Item('a', Decimal('2.50')), 2)",
        "cart.add(Item('b'))",
        "setattr(cart, 'note', 'x')",
    )
    assert call.expression == "len(cart)"
    assert dict(call.imports) == {
        "Cart": "shop:Cart",
        "Item": "shop:Item",
        "Decimal": "decimal:Decimal",
    }
    assert call.module == "shop"
    assert call.test == "tests/test_shop.py::test_history"


def test_calls_are_written_as_people_write_them(recording: Recording) -> None:
    written = {call.expression for call in recording.calls}
    assert written >= {
        "Cart(0.2)",
        "cart.empty",
        "Cart.of(Item('x'))",
        "Special()",
        "cached(float('inf'))",
        "within(Cart())",
        "later(Cart())",
        "gen([1, 2])",
        "apply(Item, 'z', price=Decimal('3'))",
        "apply(Cart(0.1).add, Item('q'))",
        "fact(5)",
        "get(_MISSING)",
    }
    assert "get(object())" not in written  # another object than it was
    assert "fact(4)" not in written  # it called itself
    assert not any("lambda" in each or "iterator" in each for each in written)


def test_objects_that_lie_are_read_without_their_code(recording: Recording) -> None:
    written = {call.expression for call in of(recording, "anything")}
    assert written >= {"anything(Dict({'a': 1}))", "anything(Text('abc'))", "anything(Hostile)"}


def test_a_stream_is_recorded_where_it_stood(recording: Recording) -> None:
    call = next(one for one in of(recording, "anything") if one.setup)
    assert call.setup == ("stream = StringIO('abc')", "stream.seek(1)")


def test_a_hot_function_has_few_records(recording: Recording) -> None:
    assert 1 <= len(of(recording, "hot")) <= 20


def test_the_recorded_calls_run(project: Path, recording: Recording) -> None:
    """In a process of their own, as programs."""
    program = "import json, sys\nfor imports, setup, expression in json.load(sys.stdin):\n"
    program += textwrap.indent(
        "names = {}\n"
        "for name, origin in imports:\n"
        "    module, _, path = origin.partition(':')\n"
        "    code = f'from {module} import {path} as {name}' if path else f'import {module}'\n"
        "    exec(code, names)\n"
        "exec('\\n'.join(setup), names)\n"
        "eval(expression, names)\n",
        "    ",
    )
    calls = [(one.imports, one.setup, one.expression) for one in recording.calls]
    assert len(calls) > 25
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env={"PYTHONPATH": f"{project}:{project / 'tests'}"},
        input=json.dumps(calls),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_workers_are_merged(project: Path, recording: Recording) -> None:
    file = project / "merged.jsonl"
    output = run(project, f"--refute-record={file}", "-n", "2")
    assert COUNTS in output
    merged = read_recording(file)
    assert {one.qualname for one in merged.calls} == {one.qualname for one in recording.calls}
    assert not list(project.glob(".merged*"))


def test_ctrl_c_leaves_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def one(x):\n    return x\n")
    (tmp_path / "test_shop.py").write_text(
        "import pathlib, time\nfrom shop import one\n"
        "def test_one():\n    one(3)\n    pathlib.Path('ready').touch()\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--refute-record"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        while not (tmp_path / "ready").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 2
    (call,) = read_recording(tmp_path / ".refute" / "recorded.jsonl").calls
    assert call.expression == "one(3)"


def test_a_file_that_cannot_be_written_fails_no_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    output = run(tmp_path, "--refute-record=/proc/none/recorded.jsonl")
    assert "nothing recorded" in output
    assert "1 passed" in output


def test_it_is_said_where_no_test_ran(tmp_path: Path) -> None:
    """A file that cannot be collected ends a session before its first test."""
    (tmp_path / "test_it.py").write_text("import nowhere\n")
    assert "nothing recorded: no test ran" in run(tmp_path, "--refute-record")


def test_without_the_option_nothing_is_registered_or_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it(pytestconfig):\n"
        "    assert not pytestconfig.pluginmanager.has_plugin('refute-recording')\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'refute'}\n"
        "    assert ours == {'refute', 'refute.recording', 'refute.recording.plugin'}\n"
        "    assert not any(type(one).__module__.startswith('refute') for one in sys.meta_path)\n"
    )
    assert "1 passed" in run(tmp_path)


def test_it_is_installed_under_the_name_that_loads_it_by_hand(tmp_path: Path) -> None:
    """pytest refuses a module that `-p` and an entry point load under two names."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (entry,) = project["entry-points"]["pytest11"].items()
    assert entry == ("refute.recording.plugin", "refute.recording.plugin")
    site = tmp_path / "refute-0.dist-info"
    site.mkdir()
    (site / "METADATA").write_text("Name: refute\nVersion: 0\n")
    (site / "entry_points.txt").write_text("[pytest11]\n{} = {}\n".format(*entry))
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    assert "1 passed" in run(tmp_path, "-p", entry[0])

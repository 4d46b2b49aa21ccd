"""Runs inside the sandbox, on the test's side of `asserts`: a test, with stubs for the program.

What a test does with the program is written down as operations. Those that `answers` tells of are
answered by it; at the first other one the test is given stand-ins that agree with everything, so
that more operations become known, and no verdict is given. The program's code is never in this
process. After `crossing`, in the same namespace; standard library only.
"""

from __future__ import annotations

import builtins
import itertools
import marshal
import random
import re
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute_lab.rewards.crossing import CannotCross, pack, unpack


# -- stubs -----------------------------------------------------------------------------------------


class CannotFollow(BaseException):
    """The test needs what there is not here."""


class Skipped(Exception):
    """The test does not want to run."""


class _Raises:
    def __init__(self, expected: Any, match: str | None = None) -> None:
        self.expected, self.match = expected, match
        self.value: Any = None

    def __enter__(self) -> _Raises:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError("did not raise")
        if not issubclass(kind, self.expected):
            return False
        self.type, self.value = kind, error
        if self.match is not None and not re.search(self.match, str(error)):
            raise AssertionError("another message")
        return True


def _raises(expected: Any, *args: Any, match: str | None = None) -> Any:
    if not args:
        return _Raises(expected, match)
    with _Raises(expected) as caught:
        args[0](*args[1:])
    return caught


class _Approx:
    """As pytest's `approx`, for numbers and flat sequences and mappings of them."""

    def __init__(
        self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False
    ) -> None:
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, other: object) -> bool:
        return self._same(other, self.expected)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _same(self, out: Any, wanted: Any) -> bool:
        if hasattr(wanted, "tolist"):
            wanted = wanted.tolist()
        if hasattr(out, "tolist") and type(out).__module__ == "numpy":
            out = out.tolist()
        if isinstance(wanted, dict):
            return (
                isinstance(out, dict)
                and out.keys() == wanted.keys()
                and all(self._same(out[key], value) for key, value in wanted.items())
            )
        if isinstance(wanted, (list, tuple)):
            return (
                isinstance(out, (list, tuple))
                and len(out) == len(wanted)
                and all(map(self._same, out, wanted))
            )
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float, complex)):
            return bool(out == wanted)
        if not isinstance(out, (int, float, complex)):
            return False
        if out == wanted:
            return True
        if wanted != wanted:
            return self.nan_ok and out != out
        slack = 1e-12 if self.abs is None else self.abs
        if self.rel is not None or self.abs is None:
            slack = max(slack, (1e-6 if self.rel is None else self.rel) * abs(wanted))
        return slack != float("inf") and abs(wanted) != float("inf") and abs(out - wanted) <= slack


class _Marks:
    """`pytest.mark`: what it says of a test is kept with the test."""

    def __getattr__(self, name: str) -> Any:
        def mark(*args: Any, **named: Any) -> Any:
            if len(args) == 1 and not named and callable(args[0]):
                return keep_mark(args[0], name, (), {})

            def keep(test: Any) -> Any:
                return keep_mark(test, name, args, named)

            return keep

        return mark


def keep_mark(test: Any, *mark: Any) -> Any:
    """The test, with one more mark."""
    test.marks = [*getattr(test, "marks", []), mark]
    return test


def _fixture(*args: Any, **named: Any) -> Any:
    def keep(function: Any) -> Any:
        function.is_fixture = True
        return function

    return keep(args[0]) if args else keep


def _skip(reason: str = "", **named: Any) -> None:
    raise Skipped(reason)


def _fail(reason: str = "", **named: Any) -> None:
    raise AssertionError(reason)


class _Param:
    def __init__(self, *values: Any, **named: Any) -> None:
        self.values = values


def pytest_module() -> types.ModuleType:
    """Make the module that stands for pytest."""
    module: Any = types.ModuleType("pytest")
    module.raises, module.approx, module.mark, module.fixture = _raises, _Approx, _Marks(), _fixture
    module.skip, module.fail, module.param = _skip, _fail, _Param
    module.main = lambda *args, **named: 0
    return module  # type: ignore[no-any-return]


def cases(namespace: dict[str, Any], name: str) -> Iterator[Any]:
    """Return the runs of the test of this name: one, or one for each row of its parameters."""
    owner, _, method = name.rpartition(".")
    if not owner:
        yield from _rows(namespace[name], namespace)
        return
    kind = namespace[owner]
    unittest = sys.modules.get("unittest")
    known = unittest is not None and issubclass(kind, unittest.TestCase)
    first, last = ("setUp", "tearDown") if known else ("setup_method", "teardown_method")

    def run(case: Any) -> Any:
        def runs() -> None:
            _called(one, first)
            try:
                case()
            finally:
                _called(one, last)
                if known:
                    one.doCleanups()

        return runs

    if known:
        kind.setUpClass()
    elif hasattr(kind, "setup_class"):
        kind.setup_class()
    one = kind(method) if known else kind()
    for case in _rows(getattr(one, method), {**namespace, **_members(one)}):
        yield run(case)


def _called(one: Any, name: str) -> None:
    if hasattr(one, name):
        getattr(one, name)()


def _members(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in dir(type(one)) if not name.startswith("__")}


def _rows(test: Any, namespace: dict[str, Any]) -> Iterator[Any]:
    tables = []
    for name, args, _ in getattr(test, "marks", []):
        if name == "skip":
            raise Skipped("marked")
        if name == "parametrize":
            tables.append([_row(args[0], values) for values in args[1]])
    for rows in itertools.product(*reversed(tables)):
        given = {key: value for row in rows for key, value in row.items()}

        def case(given: dict[str, Any] = given) -> None:
            ends: list[Any] = []
            test(**{**_needs(test, namespace, ends, given), **given})
            for generator in reversed(ends):
                next(generator, None)

        yield case


def _row(names: Any, values: Any) -> dict[str, Any]:
    keys = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    if isinstance(values, _Param):
        return dict(zip(keys, values.values))  # noqa: B905 (Python 3.8)
    return dict(zip(keys, values if len(keys) > 1 else [values]))  # noqa: B905 (Python 3.8)


def _needs(
    test: Any, namespace: dict[str, Any], ends: list[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The fixtures that the parameters of a function name."""
    function = getattr(test, "__func__", test)
    code = function.__code__
    count = code.co_argcount - len(function.__defaults__ or ())
    wanted = code.co_varnames[function is not test : count]
    return {name: _made(name, namespace, ends) for name in wanted if name not in given}


def _made(name: str, namespace: dict[str, Any], ends: list[Any]) -> Any:
    """Return the value of the fixture of this name."""
    fixture: Any = namespace.get(name)
    if not getattr(fixture, "is_fixture", False):
        raise CannotFollow(f"needs the fixture {name!r}")
    value = fixture(**_needs(fixture, namespace, ends, {}))
    if isinstance(value, types.GeneratorType):
        ends.append(value)
        return next(value)
    return value


MOST_OPERATIONS = 5_000


class Enough(BaseException):
    """Nothing more can be learnt from the test as it runs."""


class _Exchange:
    """Operations and their answers, of the test that runs."""

    def __init__(self, asked: list[Any], answers: list[Any]) -> None:
        self.known = [(marshal.dumps(one, 2), answer) for one, answer in zip(asked, answers)]  # noqa: B905
        self.asked: list[Any] = []
        self.guessing = False
        self.classes: dict[str, Any] = {}

    def ask(self, kind: str, name: str, *args: Any, **named: Any) -> Any:
        try:
            packed = [pack(arg, _reference) for arg in args]
            keywords = [(key, pack(value, _reference)) for key, value in named.items()]
        except CannotCross as error:
            raise CannotFollow(f"gives the program a value that cannot cross: {error}") from None
        at, operation = len(self.asked), (kind, name, packed, keywords)
        self.asked.append(operation)
        if not self.guessing and at < len(self.known):
            made, answer = self.known[at]
            if made == marshal.dumps(operation, 2):
                return self.answered(answer, args)
        self.guessing = True
        if at >= MOST_OPERATIONS:
            raise Enough
        known = kind == "name" or (kind == "call" and getattr(args[0], "_refute_class", False))
        return Guess(self, (at, 0), known, kind == "name" and name[:1].isupper())

    def answered(self, answer: Any, args: tuple[Any, ...]) -> Any:
        if answer[0] == "raised":
            _, lineage, message = answer
            kind = self.exception(lineage)
            try:
                error = kind(message)
            except TypeError:  # it takes more than a text
                error = kind.__new__(kind, message)
            raise error
        _, value, changed = answer
        for index, after in changed:
            _become(args[index], unpack(after, self.held))
        return unpack(value, self.held)

    def held(self, tag: str, *parts: Any) -> Any:
        if tag == "E":
            return self.exception(*parts)
        if tag == "r" and len(parts) == 2 and all(type(part) is int for part in parts):
            return Remote(self, parts)
        raise CannotCross("no such kind")

    def exception(self, lineage: list[tuple[str, list[str]]]) -> Any:
        """The class of these names: Python's, or one that stands for the program's."""
        for name, bases in reversed(lineage):
            known = getattr(builtins, name, None)
            if not _is_exception(known):
                over = tuple(self.classes[base] for base in bases) or (Exception,)
                known = type(str(name), over, {})
            self.classes.setdefault(name, known)
        return self.classes[lineage[0][0]]


def _is_exception(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _reference(value: Any) -> tuple[Any, ...]:
    place = getattr(type(value), "_refute_reference", None)
    if place is not None:
        return ("r", *object.__getattribute__(value, "_place"))
    name = getattr(value, "__name__", "")
    if getattr(builtins, name, None) is value:
        return ("b", name)
    raise CannotCross(f"a {type(value).__name__} of the test")


def _become(old: Any, new: Any) -> None:
    """Change an argument into the value that the program made of it."""
    if type(old) is not type(new):
        return
    if hasattr(old, "shape"):
        if old.shape == new.shape:
            old[...] = new
    elif isinstance(old, (list, bytearray)):
        old[:] = new
    else:
        old.clear()
        add = old.update if hasattr(old, "update") else old.extend
        add(new)


class Remote:
    """Stands for an object of the program. It equals no value of the test's, whatever it says."""

    _refute_reference = True
    _refute_class = False

    def __init__(self, exchange: _Exchange, place: tuple[int, ...]) -> None:
        object.__setattr__(self, "_exchange", exchange)
        object.__setattr__(self, "_place", tuple(place))

    def _ask(self, kind: str, name: str, *args: Any, **named: Any) -> Any:
        return object.__getattribute__(self, "_exchange").ask(kind, name, self, *args, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_refute") or name in ("__array_interface__", "__array_struct__"):
            raise AttributeError(name)
        return self._ask("do", "get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("do", "set", name, value)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._ask("call", "", *args, **named)

    def __eq__(self, other: object) -> Any:
        if _is_remote(other):
            return self._ask("do", "eq", other)
        return False

    def __ne__(self, other: object) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(object.__getattribute__(self, "_place"))

    def __bool__(self) -> bool:
        return self._ask("do", "bool") is True

    def __len__(self) -> Any:
        return self._ask("do", "len")

    def __str__(self) -> Any:
        return self._ask("do", "str")

    def __repr__(self) -> Any:
        return self._ask("do", "repr")

    def __iter__(self) -> Any:
        return iter(self._ask("iter", ""))

    def __next__(self) -> Any:
        return self._ask("next", "")

    def __contains__(self, item: Any) -> bool:
        return any(one is item or one == item for one in self)

    def __instancecheck__(self, other: Any) -> bool:
        return _is_remote(other) and other._ask("do", "isinstance", self) is True

    def __enter__(self) -> Any:
        return self._ask("method", "__enter__")

    def __exit__(self, *exc: object) -> Any:
        return self._ask("method", "__exit__", None, None, None)


def _operation(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        return self._ask("do", name, *args)

    return method


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "abs", "int",
    "float", "getitem", "setitem", "delitem",
):  # fmt: skip
    setattr(Remote, f"__{_name}__", _operation(_name))
for _name in ("and", "or", "xor"):
    setattr(Remote, f"__{_name}__", _operation(f"{_name}_"))


def _order(name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        return self._ask("do", name, other) if _is_remote(other) else NotImplemented

    return method


for _name in ("lt", "le", "gt", "ge"):
    setattr(Remote, f"__{_name}__", _order(_name))


def _is_remote(value: Any) -> bool:
    return type(value) is Remote or type(value) is Guess


class Guess(Remote):
    """Stands for an answer that is not known yet, and agrees with everything."""

    def __init__(
        self, exchange: _Exchange, place: tuple[int, int], known: bool, kind: bool
    ) -> None:
        super().__init__(exchange, place)
        object.__setattr__(self, "_known", known)
        object.__setattr__(self, "_refute_class", kind)

    def _ask(self, kind: str, name: str, *args: Any, **named: Any) -> Any:
        if object.__getattribute__(self, "_known"):
            made = super()._ask(kind, name, *args, **named)
            if name == "get":  # a method, probably: a call of it is asked for, too
                object.__setattr__(made, "_known", True)
            return made
        return self

    def __eq__(self, other: object) -> Any:
        return True

    __hash__ = Remote.__hash__

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return ""

    def __iter__(self) -> Any:
        return iter([Guess(object.__getattribute__(self, "_exchange"), (-1, 0), False, False)])

    def __next__(self) -> Any:
        raise StopIteration

    def __int__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    __index__ = __int__
    __repr__ = __str__

    def __instancecheck__(self, other: Any) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __contains__ = __lt__


# -- the test --------------------------------------------------------------------------------------


class _Program(types.ModuleType):
    """The program in place of a missing module that a test imports."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return ()
        if name.startswith("__"):
            raise AttributeError(name)
        return _current[0].ask("name", name)


class _Finder:
    """Finds what the test itself, and nothing that it imports, looks for in vain."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        frame: Any = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename != "<test>":
            return None
        spec: Any = type(builtins.__spec__)
        return spec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return _Program(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


_current: list[Any] = []


def judge(
    source: str, kind: str, name: str, names: list[str], asked: list[Any], answers: list[Any]
) -> tuple[Any, ...]:
    """Run a test: ("passed" | "failed" | "skipped" | "cannot", why, operations), or "more" where
    operations are not answered yet. `names`: those of the program that the test uses."""
    exchange = _Exchange(asked, answers)
    _current[:] = [exchange]
    before = dict(sys.modules)
    finder = _Finder()
    sys.meta_path.append(finder)
    sys.modules["pytest"] = pytest_module()
    random.seed(0)
    status, why = "passed", ""
    try:
        namespace: dict[str, Any] = {"__name__": "test_program"}
        for one in names:
            try:
                namespace[one] = exchange.ask("name", one)
            except Exception:  # it is not there: an error where it is used
                continue
        exec(compile(source, "<test>", "exec", dont_inherit=True), namespace)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        if kind == "check":
            namespace[name](namespace.get(names[0]))
        elif kind == "test":
            for case in cases(namespace, name):
                case()
    except MemoryError:
        raise
    except CannotFollow as error:
        status, why = "cannot", str(error)
    except Skipped as error:
        status, why = "skipped", str(error)
    except BaseException as error:
        status, why = "failed", _why(error)
    finally:
        sys.meta_path.remove(finder)
        for extra in set(sys.modules) - set(before):
            if type(sys.modules[extra]) is _Program:
                del sys.modules[extra]
    if exchange.guessing:
        status = "more"
    return status, why, exchange.asked


def _why(error: BaseException) -> str:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<test>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{type(error).__name__} in line {line} of the test" if line else type(error).__name__

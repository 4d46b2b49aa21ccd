"""Runs inside the sandbox, on the test's side of `asserts`: what tests use of pytest and unittest.

The real pytest takes half a second to import. Standard library only.
"""

from __future__ import annotations

import itertools
import re
import sys
import types
from collections.abc import Iterator
from typing import Any


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
    """What stands for pytest."""
    module: Any = types.ModuleType("pytest")
    module.raises, module.approx, module.mark, module.fixture = _raises, _Approx, _Marks(), _fixture
    module.skip, module.fail, module.param = _skip, _fail, _Param
    module.main = lambda *args, **named: 0
    return module  # type: ignore[no-any-return]


def cases(namespace: dict[str, Any], name: str) -> Iterator[Any]:
    """What runs the test of this name: once, or once for each row of its parameters."""
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
    """What the fixture of this name gives."""
    fixture: Any = namespace.get(name)
    if not getattr(fixture, "is_fixture", False):
        raise CannotFollow(f"needs the fixture {name!r}")
    value = fixture(**_needs(fixture, namespace, ends, {}))
    if isinstance(value, types.GeneratorType):
        ends.append(value)
        return next(value)
    return value

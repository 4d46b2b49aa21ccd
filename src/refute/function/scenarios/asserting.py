"""Turn an observation into checks of a test: natural values, objects by their fields.

A check says what was seen of the value, no more; whoever writes the test runs it before it is
shown, since the names of fields come from the program.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from refute.function.formatting import comparison, has_nan, laid_out
from refute.function.scenarios.observation import same_value
from refute.sandbox.values import Incomplete, Iterated, NDArray, Opaque
from refute.source.literals import NotLiteral, needed_imports, source_of

MOST_FIELDS = 6
_DEEPEST = 2
_VIEWS = {
    "dict_values": "list({})", "odict_values": "list({})", "array": "list({})",
    "dict_items": "dict({})", "odict_items": "dict({})", "mappingproxy": "dict({})",
    "memoryview": "bytes({})", "StringIO": "{}.getvalue()", "BytesIO": "{}.getvalue()",
}  # fmt: skip
"""Expression that makes a comparable value of those that the codec shows by parts that are no
attributes."""
_VIEWED = ("items", "content", "bytes")
_TOLERANCE = ", rel=1e-7, abs=1e-6"
"""The sandbox's (`refute.sandbox.equality`)."""
_NO_ATTRIBUTES = {"Match": ("pattern",), "timezone": ("offset", "name")}


@dataclass(frozen=True, slots=True)
class Check:
    """``left`` is what `value` says."""

    left: str
    value: Any = None
    right: str | None = None
    """Source of the value, where `source_of` has none for it."""
    close: str | None = None
    """Of floats that count to the digits that mean something: more arguments of ``approx``."""
    imports: frozenset[str] = frozenset()


def value_checks(
    left: str, value: Any, *, stated: bool, bound: Collection[str], fields: Collection[str] = ()
) -> tuple[bool, list[Check]]:
    """(whether `left` is used more than once, checks) for what an expression returned.

    `stated`: somebody says so, and the sandbox's tolerance applies; else the code returned it.
    `bound`: names that the module under test binds; `fields`: the only ones of an object that
    count. Raises `NotLiteral` where nothing of it can be written.
    """
    checks = [_complete(one, stated) for one in _checks(left, value, bound, fields, 0)]
    if len(checks) > 1 and all(one.close is None for one in checks):
        return True, [_together(checks)]
    return len(checks) > 1, checks


def change_checks(
    left: str, before: Any, after: Any, *, bound: Collection[str]
) -> tuple[bool, list[Check]]:
    """(whether only by private fields, checks) for what a call changed; of objects of one type only
    the fields that it changed."""
    changed: list[str] = []
    if isinstance(before, Opaque) and isinstance(after, Opaque) and before.type == after.type:
        old = dict(before.attributes)
        changed = [
            name
            for name, value in after.attributes
            if name not in old or not same_value(old[name], value)
        ]
    _, checks = value_checks(left, after, stated=False, bound=bound, fields=changed)
    private = bool(changed) and all(one.startswith("_") for one in changed)
    return private, checks


def _checks(
    left: str, value: Any, bound: Collection[str], fields: Collection[str], depth: int
) -> Iterator[Check]:
    if isinstance(value, Incomplete):
        raise NotLiteral(f"the {value.type} has no Python source")
    if isinstance(value, Iterated):
        items = list(value.items)
        if value.more:
            more = frozenset({"from itertools import islice"})
            for one in _checks(f"list(islice({left}, {len(items)}))", items, bound, (), depth):
                yield replace(one, imports=one.imports | more)
        else:
            yield from _checks(f"list({left})", items, bound, (), depth)
    elif isinstance(value, Opaque):
        yield from _object_checks(left, value, bound, fields, depth)
    elif isinstance(value, list | tuple) and any(isinstance(one, Opaque) for one in value):
        yield _row_check(left, value)
    else:
        yield Check(left, value)


def _object_checks(
    left: str, value: Opaque, bound: Collection[str], fields: Collection[str], depth: int
) -> Iterator[Check]:
    parts = dict(value.attributes)
    if tuple(parts) == ("name", "value") and value.type in bound and _is_name(parts["name"]):
        yield Check(left, right=f"{value.type}.{parts['name']}")
        return
    if value.type in _VIEWS:
        for part in _VIEWED:
            if part in parts:
                yield Check(_VIEWS[value.type].format(left), parts[part])
                return
    found: list[Check] = []
    for name in _telling(value, fields):
        if depth < _DEEPEST:
            try:
                found += _checks(f"{left}.{name}", parts[name], bound, (), depth + 1)
            except NotLiteral:
                continue
        if len(found) >= MOST_FIELDS:
            break
    found = [one for one in found if _writable(one)][:MOST_FIELDS]
    if found:
        yield from found
    elif value.repr and not value.repr.startswith("<") and len(value.repr) < 200:
        yield Check(f"repr({left})", value.repr)
    else:
        yield Check(f"type({left}).__name__", value.type)


def _telling(value: Opaque, fields: Collection[str]) -> list[str]:
    """The fields by which an object is compared: public ones, private ones where there are none."""
    names = [
        name
        for name, _ in value.attributes
        if _is_name(name) and name not in _NO_ATTRIBUTES.get(value.type, ())
        and (not fields or name in fields) and not name.startswith("__")
        and not name.startswith(f"_{value.type.lstrip('_')}__")
    ]  # fmt: skip
    public = [name for name in names if not name.startswith("_")]
    return public or names


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _row_check(left: str, value: list[Any] | tuple[Any, ...]) -> Check:
    """Objects of one type in a row, by the fields that all of them have."""
    if not all(isinstance(one, Opaque) and one.type == value[0].type for one in value):
        raise NotLiteral("objects of several types have no Python source")
    names = [name for name in _telling(value[0], ()) if all(_has(one, name) for one in value)]
    rows = [tuple(dict(one.attributes)[name] for name in names[:MOST_FIELDS]) for one in value]
    if not names:
        return Check(f"[repr(one) for one in {left}]", [one.repr for one in value])
    if len(names) == 1:
        return Check(f"[one.{names[0]} for one in {left}]", [row[0] for row in rows])
    shown = ", ".join(f"one.{name}" for name in names[:MOST_FIELDS])
    return Check(f"[({shown}) for one in {left}]", rows)


def _has(one: Opaque, name: str) -> bool:
    parts = dict(one.attributes)
    return name in parts and _writable(Check("", parts[name]))


def _writable(check: Check) -> bool:
    if check.right is not None:
        return True
    try:
        source_of(check.value)
    except NotLiteral:
        return False
    return True


def _complete(check: Check, stated: bool) -> Check:
    """The check with imports, and close where floats are not exact. Raises `NotLiteral`."""
    value = check.value
    if check.right is not None:
        return check
    source_of(value)
    if isinstance(value, NDArray):
        return replace(check, imports=check.imports | needed_imports(value))
    imports = check.imports | needed_imports(value)
    if isinstance(value, float) and math.isnan(value):
        return Check(f"math.isnan({check.left})", True, imports=imports | {"import math"})
    if has_nan(value):
        return Check(f"repr({check.left})", repr(value), imports=imports)
    close = None
    if _flat(value) and stated and any(isinstance(one, float) for one in _numbers(value)):
        close = _TOLERANCE
    elif _flat(value) and not stated and not all(map(_is_exact, _numbers(value))):
        close = ""
    return replace(check, close=close, imports=frozenset(imports))


def _flat(value: Any) -> bool:
    """Return whether `pytest.approx` takes it: a number, or a row or a dictionary of numbers."""
    number = (int, float)
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(one, number) for one in value)
    if isinstance(value, dict):
        return bool(value) and all(isinstance(one, number) for one in value.values())
    return isinstance(value, float)


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_exact(value: Any) -> bool:
    """Return whether arithmetic gives this number exactly on any machine: few binary places."""
    if not isinstance(value, float) or not math.isfinite(value):
        return True
    return (value * 1024).is_integer()


def _together(checks: list[Check]) -> Check:
    """Several checks as one of a tuple."""
    imports = frozenset[str]().union(*(one.imports for one in checks))
    left = f"({', '.join(one.left for one in checks)})"
    if all(one.right is None for one in checks):
        return Check(left, tuple(one.value for one in checks), imports=imports)
    sources = (source_of(one.value) if one.right is None else one.right for one in checks)
    return Check(left, right=f"({', '.join(sources)})", imports=imports)


# -- as code ---------------------------------------------------------------------------------------


def lines_of(check: Check, kind: str, room: int) -> tuple[list[str], set[str]]:
    """(statements at column 0, imports) of a check in pytest's or unittest's form."""
    left, value, imports = check.left, check.value, set(check.imports)
    single = check.right is None and (value is None or isinstance(value, bool))
    if check.right is None and isinstance(value, NDArray):
        floats = value.dtype.startswith(("float", "complex"))
        name = "assert_allclose" if floats else "assert_array_equal"
        return [f"np.testing.{name}({left}, {source_of(value)})"], imports
    right = source_of(value) if check.right is None else check.right
    truth = single and value is True and left.startswith("math.isnan(")
    if kind == "pytest":
        if truth:
            return [f"assert {left}"], imports
        if check.close is not None:
            right = f"pytest.approx({source_of(_short(value))}{check.close})"
            return comparison(left, "==", right, room), imports | {"import pytest"}
        return comparison(left, "is" if single else "==", right, room), imports
    if truth:
        call = f"assertTrue({left})"
    elif single and value is None:
        call = f"assertIsNone({left})"
    elif check.close is not None and isinstance(value, float):
        digits = "places=7" if abs(value) < 1e6 else f"delta={source_of(abs(value) * 1e-9)}"
        call = f"assertAlmostEqual({left}, {source_of(_short(value))}, {digits})"
    else:
        call = f"{'assertIs' if single else 'assertEqual'}({left}, {right})"
    return [laid_out(f"self.{call}", room)], imports


def _short(value: Any) -> Any:
    """Floats without the digits that are only rounding."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_short(one) for one in value)
    return float(f"{value:.12g}") if isinstance(value, float) else value

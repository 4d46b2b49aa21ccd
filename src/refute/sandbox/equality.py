"""Compare outputs with expected ones by EvalPlus's rules, on plain decoded values, without numpy.

The rules are those of `evalplus.evaluate` (0.3.1). With ``atol`` the problem's tolerance:

1. Python's ``==`` holds (``1 == 1.0 == True``, ``0.0 == -0.0``; a list is not a tuple): equal.
2. Else, ``atol`` counts as 1e-6 where it is 0 and the expected output is a float, a non-empty list
   or tuple of floats, or an array of floats. Where ``atol`` is still 0: different.
3. Else the two have the same type (and length, for lists and tuples), and each number is close:
   ``|out - expected| <= atol + 1e-7 * |expected|``, complex numbers and nested sequences included.
   No tolerance reaches into dictionaries, sets and strings.

Where we decide otherwise, on purpose:

- NaN equals NaN at any depth (EvalPlus fails even the reference on it).
- Nested sequences must have the same lengths at every level; ``numpy.allclose`` broadcasts.
- A numpy scalar crosses the sandbox as the Python number, so it gets the tolerance; EvalPlus wants
  the exact type there. An array equals an array of the same shape; it never equals a list.
- A value that was not encoded as a whole (a function, an endless iterator, an object of unknown
  state) equals nothing; one that is too large to be kept equals one of the same bytes.

The assertion code in the datasets' ``-OriginFmt`` files differs from `evaluate`: it checks neither
type nor length before ``numpy.allclose`` (which broadcasts, so ``[1.0]`` passes for ``[]`` and
``1.0`` for ``[1.0, 1.0]``), counts an empty list as a list of floats, and has no special check for
Mbpp/558 and Mbpp/581. We follow `evaluate` there as well.
"""

from __future__ import annotations

import builtins
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

from refute.core.problems import UnitTest, Want
from refute.sandbox.contract import Outcome, Raised, Returned
from refute.sandbox.nodes import decode
from refute.sandbox.values import (
    TOO_LARGE,
    Incomplete,
    Iterated,
    MalformedValue,
    NDArray,
    Opaque,
    digest,
    encode,
    is_complete,
)

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def shows(shown: Any, want: Want) -> bool:
    """Return whether an example showed its expected output, as `doctest.DocTestRunner` decides it.

    `shown`: what a `Session` returned; anything else is a "no".
    """
    match shown:
        case (str() as text, None, bool()):
            if want.text is None or want.raised is not None:
                return want.raised is None
            return _printed(want.text, text, want.options)
        case (str(), str() as raised, bool()):
            if want.raised is None:
                return False
            if _printed(want.raised, raised, want.options):
                return True
            import doctest

            lax = want.options & doctest.IGNORE_EXCEPTION_DETAIL
            return bool(lax) and _printed(
                exception_name(want.raised), exception_name(raised), want.options
            )
    return False


def without_addresses(text: str) -> str:
    """Return a text without addresses of objects, which differ from run to run."""
    return _ADDRESS.sub("0x", text)


def _printed(want: str, got: str, options: int) -> bool:
    import doctest  # slow to import, and few programs need it

    return doctest.OutputChecker().check_output(want, got, options)


def exception_name(line: str) -> str:
    """The exception's bare name: what IGNORE_EXCEPTION_DETAIL compares."""
    return line.split("\n", 1)[0].partition(":")[0].rpartition(".")[2]


RTOL = 1e-07
FLOAT_ATOL = 1e-6

Checker = Callable[[Any, Any, tuple[Any, ...], float], bool]
"""``checker(out, expected, args, atol)``; may raise anything on a wild output, which means "no"."""


def equal(out: Any, expected: Any, atol: float = 0.0) -> bool:
    """Return whether `out` equals `expected` by the module's rules. Never raises on decoded
    values."""
    try:
        if out == expected:
            return not _incomplete(expected)
        if atol == 0 and _is_floats(expected):
            atol = FLOAT_ATOL
        if atol != 0 and type(out) is type(expected) and _close(out, expected, atol):
            return True
        return _has_nan(expected) and _same(out, expected)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return False


def _is_floats(value: Any) -> bool:
    kind = type(value)
    if kind is float:
        return True
    if kind is list or kind is tuple:
        return bool(value) and all(type(item) is float for item in value)
    return kind is NDArray and value.dtype.startswith("float")


def _close(out: Any, expected: Any, atol: float) -> bool:
    """Rule 3. May raise OverflowError for huge ints, which `equal` takes for a "no"."""
    kind, wanted = type(out), type(expected)
    if wanted in _NUMBERS:
        if kind not in _NUMBERS:
            return False
        if out == expected:
            return True
        if not (_finite(out) and _finite(expected)):
            return _is_nan(out) and _is_nan(expected)
        return bool(abs(out - expected) <= atol + RTOL * abs(expected))
    if wanted is list or wanted is tuple:
        return (
            (kind is list or kind is tuple)
            and len(out) == len(expected)
            and all(_close(o, e, atol) for o, e in zip(out, expected, strict=True))
        )
    if wanted is NDArray:
        return (
            kind is NDArray
            and out.shape == expected.shape
            and _close(out.data, expected.data, atol)
        )
    return False


_NUMBERS = frozenset({int, float, complex, bool})


def _finite(number: Any) -> bool:
    if type(number) is complex:
        return math.isfinite(number.real) and math.isfinite(number.imag)
    return type(number) is not float or math.isfinite(number)


def _is_nan(value: Any) -> bool:
    return type(value) in (float, complex) and value != value


def _has_nan(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is complex:
        return bool(value != value)
    if kind in (str, int, bool, bytes):
        return False
    if kind in (list, tuple, set, frozenset):
        return any(map(_has_nan, value))
    if kind is dict:
        return any(map(_has_nan, value.values())) or any(map(_has_nan, value))
    if kind is NDArray:
        return _has_nan(value.data)
    if kind is Opaque:
        return _has_nan(value.attributes)
    return kind is Iterated and _has_nan(value.items)


def _same(out: Any, expected: Any) -> bool:
    """Python's ``==``, except that NaN equals NaN."""
    if _is_nan(expected):
        return _is_nan(out)
    if not _has_nan(expected):
        return bool(out == expected)
    if type(out) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        return len(out) == len(expected) and all(map(_same, out, expected))
    if isinstance(expected, set | frozenset):
        return _without_nan(out) == _without_nan(expected)
    if isinstance(expected, dict):
        keys, wanted = _without_nan(out), _without_nan(expected)
        if keys != wanted or not all(_same(out[k], expected[k]) for k in wanted[0]):
            return False
        return all(map(_same, _nan_items(out), _nan_items(expected)))
    if isinstance(expected, NDArray):
        return bool(out.shape == expected.shape) and _same(out.data, expected.data)
    if isinstance(expected, Opaque):
        named = (out.type, out.repr) == (expected.type, expected.repr)
        return named and _same(out.attributes, expected.attributes)
    return not (out.more or expected.more) and _same(out.items, expected.items)


def _incomplete(value: Any) -> bool:
    """Return whether some of the value was not encoded (containers compare items by identity
    first)."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset, deque):
        return not set(map(type, value)) <= _SIMPLE and any(map(_incomplete, value))
    if kind is dict:
        return any(map(_incomplete, value.values())) or any(map(_incomplete, value))
    if kind is NDArray:
        return _incomplete(value.data)
    if kind is Opaque:
        return _incomplete(value.attributes)
    return kind is Incomplete or (kind is Iterated and (value.more or _incomplete(value.items)))


_SIMPLE = frozenset({bool, int, float, complex, str, bytes, type(None)})


def _without_nan(items: Iterable[Any]) -> tuple[set[Any], int]:
    """The elements that hold no NaN, and how many do."""
    rest = {item for item in items if not _has_nan(item)}
    return rest, len(list(items)) - len(rest)


def _nan_items(mapping: dict[Any, Any]) -> list[Any]:
    return [value for key, value in mapping.items() if _has_nan(key)]


def _same_types(out: Any, expected: Any) -> bool:
    """Return whether two equal values have the same types of numbers, at any depth that keeps its
    order.

    In sets, and among the keys of dictionaries, equal elements are not told apart.
    """
    if type(out) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        return len(out) == len(expected) and all(map(_same_types, out, expected))
    if isinstance(expected, dict):
        return all(_same_types(out[key], value) for key, value in expected.items() if key in out)
    return True


# -- special checkers ------------------------------------------------------------------------------


def _elements(value: Any) -> set[Any]:
    """The set of the elements; TypeError or ValueError where that would not take linear time."""
    if type(value) is Iterated:
        if value.more:
            raise ValueError("endless")
        value = value.items
    if type(value) not in (list, tuple, set, frozenset, dict, str, bytes, deque):
        raise TypeError("no elements")
    groups = Counter(map(hash, value))
    if groups and max(groups.values()) > 50:  # repetitions, or made to share a hash
        value = {encode(item): item for item in value}.values()
        if max(Counter(map(hash, value)).values()) > 50:
            raise ValueError("too many elements with the same hash")
    return set(value)


def _same_set(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """Order and repetition do not matter (EvalPlus: MBPP_OUTPUT_SET_EQ_TASKS)."""
    if equal(out, expected, atol):
        return True
    return not _incomplete(expected) and _elements(out) == _elements(expected)


def _not_none(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """Only "found or not" matters (EvalPlus: MBPP_OUTPUT_NOT_NONE_TASKS, regex matches)."""
    return _found(out) == _found(expected)


def _found(value: Any) -> bool:
    return value if type(value) is bool else value is not None


def _polynomial_root(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """`out` is a root of the polynomial ``args[0]``, lowest power first (HumanEval/32)."""
    if type(out) not in (int, float, bool):
        return False
    value = sum(c * math.pow(out, power) for power, c in enumerate(args[0]))
    return bool(abs(value) <= atol)


def _padded_digit_distance(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """Also right: the digit distance of the numbers padded with zeros (Mbpp/558)."""
    if equal(out, expected, atol):
        return True
    one, two = map(str, args)
    width = max(len(one), len(two))
    pairs = zip(one.zfill(width), two.zfill(width), strict=True)
    return bool(out == sum(abs(int(a) - int(b)) for a, b in pairs))


def _pyramid_surface(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """Also right: ``args[1]`` taken as the perpendicular height, not the slant (Mbpp/581)."""
    edge, height = args
    slant = math.sqrt((edge / 2) ** 2 + height**2)
    surface = round(edge**2 + 4 * (edge * slant) / 2)
    return equal(out, expected, atol) or bool(abs(out - surface) <= atol)


def _words(out: Any, expected: Any, args: tuple[Any, ...], atol: float) -> bool:
    """The same words of text, however they are spaced (programs that print)."""
    return type(out) is type(expected) is str and out.split() == expected.split()


CHECKERS: dict[str, Checker] = {
    "words": _words,
    "same_set": _same_set,
    "not_none": _not_none,
    "polynomial_root": _polynomial_root,
    "padded_digit_distance": _padded_digit_distance,
    "pyramid_surface": _pyramid_surface,
}
"""The special checks of the datasets, by the name that `FunctionKey.checker` holds."""


# -- the hot path ----------------------------------------------------------------------------------


_ANY_OUTPUT = frozenset({"not_none", "polynomial_root"})
"""The checkers that do not look at what the expected output holds."""


class Expected:
    """The expected outcome of one call, prepared for `matches`. Make one with `expect`.

    `data` is the encoding that is compared first; the value is decoded from it only on a mismatch.
    `comparable`: false where the value was not encoded as a whole, so that no verdict can be given.
    """

    __slots__ = (
        "_value", "args", "atol", "checker", "comparable", "data", "fast", "raises", "typed", "want"
    )  # fmt: skip

    def __init__(
        self,
        data: bytes,
        *,
        atol: float = 0.0,
        checker: str | None = None,
        args: tuple[Any, ...] = (),
        raises: str | None = None,
        typed: bool = False,
        want: Want | None = None,
    ) -> None:
        self.data = data
        self.typed = typed
        self.want = want
        self.atol = atol
        self.checker = None if checker is None else CHECKERS[checker]
        self.args = args
        self.raises = raises
        self.comparable = is_complete(data) or checker in _ANY_OUTPUT
        # Equal bytes decide, except where an exception is expected or where the checker does not
        # look at the expected output at all.
        unlike = raises is not None or checker == "polynomial_root" or want is not None
        self.fast = data if self.comparable and not unlike else None

    @property
    def value(self) -> Any:
        """The expected output, decoded once."""
        try:
            return self._value
        except AttributeError:
            self._value: Any = decode(self.data)
            return self._value

    def __repr__(self) -> str:
        return f"Expected(raises {self.raises})" if self.raises else f"Expected({self.value!r})"


def expect(
    value: Any,
    *,
    atol: float = 0.0,
    checker: str | None = None,
    args: tuple[Any, ...] = (),
    raises: str | None = None,
) -> Expected:
    """Prepare an expected output. Raises `KeyError` for an unknown checker.

    For an output that came out of the sandbox, `Expected(outcome.data, ...)` spares the encoding.
    """
    data = b"" if raises is not None else encode(value)
    return Expected(data, atol=atol, checker=checker, args=args, raises=raises)


def expect_test(test: UnitTest, *, atol: float = 0.0, checker: str | None = None) -> Expected:
    """Prepare the expected outcome of a unit test."""
    if isinstance(test.expected, Want):
        return Expected(b"", want=test.expected)
    args = getattr(test.call, "args", ())
    prepared = expect(test.expected, atol=atol, checker=checker, args=args, raises=test.raises)
    prepared.typed = test.typed
    return prepared


def matches(outcome: Outcome, expected: Expected) -> bool:
    """Return whether a call ended as expected. Compares bytes first; about 0.1 microseconds when
    equal."""
    if type(outcome) is Returned:
        return outcome.data == expected.fast or _matches_decoded(outcome, expected)
    return expected.raises is not None and raised_as(outcome, expected.raises)


def raised_as(outcome: Outcome, name: str) -> bool:
    """Return whether a call raised what `except NAME` catches; never what the program raised while
    it was loaded."""
    if type(outcome) is not Raised or outcome.on_import:
        return False
    name = getattr(getattr(builtins, name, None), "__name__", name)  # IOError is OSError
    return name in (outcome.kinds or (outcome.type,))


def _matches_decoded(outcome: Returned, expected: Expected) -> bool:
    if expected.raises is not None or not expected.comparable:
        return False
    try:
        out = decode(outcome.data)  # not `outcome.value`, which would be kept with the outcome
        if expected.want is not None:
            return shows(out, expected.want)
        if _too_large(out) != _too_large(expected.value):  # only one of them was kept
            return digest(outcome.data) == expected.data or outcome.data == digest(expected.data)
    except MalformedValue:
        return False
    if expected.checker is None:
        same = equal(out, expected.value, expected.atol)
        return same and (not expected.typed or _same_types(out, expected.value))
    try:
        return bool(expected.checker(out, expected.value, expected.args, expected.atol))
    except Exception:  # a checker is not written for wild outputs: whatever it raises is a "no"
        return False


def _too_large(value: Any) -> bool:
    return type(value) is Opaque and value.type == TOO_LARGE

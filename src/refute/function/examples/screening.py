"""Drop readings that were mis-read, fix one-tuples, and mark those that contradict each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refute.core.problems import Call, Trust, UnitTest
from refute.function.examples.subject import DescribedFunction, Reading, crosses
from refute.source.syntax import parse_expression

_KIND_OF = {
    "array": "list",
    "dictionary": "dict",
    "string": "str",
    "list": "list",
    "tuple": "tuple",
}
_RETURN_WORDS = re.compile(
    r"\breturns?\s+(?:a|an|the)\s+(?:\w+\s+){0,2}?(list|array|tuple|string|dictionary)\b", re.I
)


def screened(readings: Sequence[Reading], about: DescribedFunction) -> list[Reading]:
    """The readings that agree with the signature, the words and one another."""
    kept = _one_tuples([one for one in readings if _typed(one, about)])
    return _same_outputs(kept, about)


def _typed(reading: Reading, about: DescribedFunction) -> bool:
    if not isinstance(reading.call, Call):
        return True
    if not about.fits(len(reading.call.args) + len(reading.call.kwargs)):
        return False
    names = about.parameters or ()
    for name, value in zip(names, reading.call.args, strict=False):
        if not fits_annotation(value, about.annotations.get(name)):
            return False
    loose = reading.formal or reading.raises is not None
    return loose or fits_annotation(reading.expected, about.returns)


def fits_annotation(value: Any, annotation: ast.expr | None) -> bool:
    """Whether a value may have this annotation; True where the annotation is not understood."""
    if annotation is None:
        return True
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return value is None
        if isinstance(annotation.value, str):
            try:
                return fits_annotation(value, parse_expression(annotation.value))
            except SyntaxError:
                return True
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return fits_annotation(value, annotation.left) or fits_annotation(value, annotation.right)
    base = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    label = ast.unparse(base).rsplit(".", 1)[-1].lower()
    inside: list[ast.expr] = []
    if isinstance(annotation, ast.Subscript):
        part = annotation.slice
        inside = part.elts if isinstance(part, ast.Tuple) else [part]
    if label == "optional":
        return value is None or all(fits_annotation(value, one) for one in inside)
    if label == "union":
        return any(fits_annotation(value, one) for one in inside)
    plain: dict[str, tuple[type[Any], ...]] = {
        "int": (int,),
        "float": (int, float),
        "complex": (int, float, complex),
        "str": (str,),
        "bool": (bool,),
        "bytes": (bytes, bytearray),
        "list": (list,),
        "tuple": (tuple,),
        "set": (set,),
        "frozenset": (frozenset,),
        "dict": (dict,),
        "sequence": (list, tuple, str, bytes),
    }
    if label not in plain:
        return True
    if not isinstance(value, plain[label]):
        return False
    if isinstance(value, bool) and label != "bool":
        return False
    if label in ("list", "set", "frozenset", "sequence") and len(inside) == 1:
        return all(fits_annotation(one, inside[0]) for one in value)
    return True


def _one_tuples(readings: list[Reading]) -> list[Reading]:
    """`("a")` is a one-tuple written without its comma where the other outputs are tuples."""
    others = [one.expected for one in readings if not one.parenthesised]
    if not others or not all(isinstance(value, tuple) for value in others):
        return readings
    return [
        replace(one, expected=(one.expected,))
        if one.parenthesised and not isinstance(one.expected, tuple)
        else one
        for one in readings
    ]


def _family(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float, complex)) else type(value).__name__


def _same_outputs(readings: list[Reading], about: DescribedFunction) -> list[Reading]:
    """Drop an equation whose value is not of the type that the words say is returned, where other
    examples are: `tri(2) = 1 + (2 / 2) = 2` explains, and is no example."""
    families = {_family(one.expected) for one in readings if one.raises is None}
    said = {_KIND_OF[word.lower()] for word in _RETURN_WORDS.findall(about.plain)}
    if len(said) != 1 or not said & families:
        return readings
    return [
        one
        for one in readings
        if one.formal
        or one.kind != "equation"
        or one.expected in (None, -1, 0, False, "", [])
        or _family(one.expected) in said
    ]


def contradictions_marked(tests: Sequence[UnitTest]) -> list[UnitTest]:
    """One test a call: repeats go; tests that contradict each other become hints that say so.

    Tests that the sandbox cannot run or judge (`crosses`) go, too.
    """
    groups: dict[str, list[UnitTest]] = {}
    for test in filter(crosses, tests):
        groups.setdefault(repr(test.call), []).append(test)
    result = []
    for group in groups.values():
        distinct = list({_outcome(test): test for test in reversed(group)}.values())[::-1]
        certain = [test for test in distinct if test.trust < Trust.HINT]
        if len(distinct) == 1:
            result.append(min(group, key=lambda test: test.trust))
        elif len(certain) == 1:  # a hint from the code does not cast doubt on a stated example
            result += certain
        else:
            result += [
                replace(
                    test,
                    trust=Trust.HINT,
                    confidence=0.4,
                    source=f"{test.source} (contradicted by {_other(test, distinct).source})",
                )
                for test in distinct
            ]
    return result


def _outcome(test: UnitTest) -> str:
    if test.raises is not None:
        return f"raises {test.raises}"
    value = test.expected
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"number {float(value)!r}" if number and abs(value) < 2**53 else repr(value)


def _other(test: UnitTest, group: Sequence[UnitTest]) -> UnitTest:
    return next(other for other in group if other is not test)

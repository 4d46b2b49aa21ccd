"""Values written as Python source, read without executing anything.

Benchmarks keep their private tests as source text: megabytes of ``[[1, 2.5, 'x'], ...]``. `parse`
reads what ``repr`` writes for plain values with one regular expression and a stack (about eight
times as fast as `ast.parse`, measured on HumanEval+), and leaves everything else to
`refute.source.literals`.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from refute.core.files import parse_json
from refute.source.literals import parse_literal
from refute.source.syntax import lifted_limits

_DEEP = 150  # nested brackets; Python's own parser gives up at 200

_TOKEN = re.compile(
    r"""
      ([\[\](){}:,])\s*                                   # 1 punctuation
    | (-?\d+(?![\d.eEjJxXoObB_]))\s*                      # 2 int
    | (-?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![jJ_\w]))\s*   # 3 float
    | ('[^'\\\n]*'|"[^"\\\n]*")\s*                        # 4 string without escapes
    | (b?'(?:[^'\\\n]|\\.)*'|b?"(?:[^"\\\n]|\\.)*")\s*    # 5 any other string on one line
    | (True|False|None|-?inf|-?nan)\b(?!\()\s*            # 6 name
    | (set\(\))\s*                                        # 7 the empty set
    | (.)                                                 # 8 anything else: not for us
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMES = {
    "True": True,
    "False": False,
    "None": None,
    "inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
    "-nan": math.nan,
}


class _Unusual(Exception):
    """The text is not what `repr` writes: read it the slow way."""


def parse(text: str) -> Any:
    """The value of a Python literal expression. Raises `NotLiteral`; executes nothing."""
    with lifted_limits():
        text = text.strip()
        try:
            return _as_json(text)
        except ValueError:
            pass
        try:
            return _fast(text)
        except (_Unusual, IndexError, ValueError, TypeError):
            return parse_literal(text)


# -- the fastest way -------------------------------------------------------------------------------

_NOT_JSON = re.compile(r"""["\\({]|nan|inf|NaN|Inf""", re.IGNORECASE)
_JSON_NAME = re.compile("true|false|null")
_NAME = re.compile("true|false|null|none", re.IGNORECASE)


def _as_json(text: str) -> Any:
    """Lists of numbers and simple strings are JSON but for quotes and names. Else ValueError."""
    if _NOT_JSON.search(text):
        raise ValueError
    if "'" not in text and not _JSON_NAME.search(text):
        text = text.replace("True", "true").replace("False", "false").replace("None", "null")
    elif _NAME.search(text):
        raise ValueError
    return parse_json(text.replace("'", '"'), deepest=_DEEP)


# -- the fast way ----------------------------------------------------------------------------------


def _fast(text: str) -> Any:
    """Raises `_Unusual`, or an error of a wrong guess, where the text is not what `repr` writes."""
    top: list[Any] = []
    items = top
    stack: list[tuple[list[Any], str]] = []
    opener = ""
    wanted = True  # a value may come now
    comma = False  # a comma was seen in this container: tells (x,) from (x)
    keyed: list[bool] = []
    for punctuation, integer, real, simple, string, name, empty, other in _TOKEN.findall(text):
        if punctuation == ",":
            if wanted:
                raise _Unusual
            wanted, comma = True, True
            continue
        if punctuation:
            if punctuation in "[({":
                if not wanted or len(stack) > _DEEP:
                    raise _Unusual
                stack.append((items, opener))
                keyed.append(comma)
                items, opener, comma = [], punctuation, False
                continue
            if punctuation == ":":
                if wanted or opener not in ("{", "d"):
                    raise _Unusual
                if opener == "{" and len(items) != 1:
                    raise _Unusual
                opener, wanted = "d", True
                continue
            if wanted and items and not comma:
                raise _Unusual  # "{1:}" and the like
            value = _close(opener, punctuation, items, comma)
            (items, opener), comma = stack.pop(), keyed.pop()
            items.append(value)
            wanted = False
            continue
        if not wanted or other:
            raise _Unusual
        wanted = False
        if integer:
            items.append(int(integer))
        elif real:
            items.append(float(real))
        elif simple:
            items.append(simple[1:-1])
        elif name:
            items.append(_NAMES[name])
        elif string:
            items.append(ast.literal_eval(string))
        elif empty:
            items.append(set())
    if stack or len(top) != 1 or wanted or comma:
        raise _Unusual
    return top[0]


def _close(opener: str, closer: str, items: list[Any], comma: bool) -> Any:
    if opener == "[" and closer == "]":
        return items
    if opener == "(" and closer == ")":
        if len(items) == 1 and not comma:
            return items[0]
        return tuple(items)
    if opener == "{" and closer == "}":
        return set(items) if items else {}
    if opener == "d" and closer == "}" and len(items) % 2 == 0:
        return dict(zip(items[::2], items[1::2], strict=True))
    raise _Unusual

"""Which tests execute which lines of a project, and which of its lines a failing test suspects.

The similarity is Ochiai's (Abreu, Zoeteweij and van Gemund, 2007): the number of failing tests that
execute a line, over the geometric mean of that of failing tests and that of tests that execute it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from math import sqrt
from types import CodeType
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

FORMAT = "refute failing tests"
VERSION = 1
MOST_SUSPECTS = 12
"""Functions of one failing test."""
MOST_PASSING = 200
_TEST_FOLDERS = frozenset({"tests", "test", "testing"})

Line = Tuple[str, int]


class Place(NamedTuple):
    """A function's code: where its `def` (or its first decorator) stands."""

    file: str
    line: int
    name: str


class Suspect(NamedTuple):
    """A function that may be to blame; `line` is its most suspicious one."""

    place: Place
    line: int
    score: float


class Failing(NamedTuple):
    """A failing test, what it suspects, and the passing tests that execute any of that."""

    test: str
    file: str
    suspects: Tuple[Suspect, ...]
    passing: Tuple[str, ...]


class Tracer:
    """Notes the lines of a project's functions that are executed; tests are none of them."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root) + os.sep
        prefix = os.path.realpath(sys.prefix) + os.sep
        self._environment = prefix if prefix.startswith(self.root) else ""
        self.hit: Set[Line] = set()
        self.places: Dict[Line, Place] = {}
        self._known: Dict[CodeType, Optional[Place]] = {}
        self._files: Dict[str, str] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            self._known[code] = self._place(code)
        place = self._known[code]
        if place is None:
            return None
        return self._local(place)

    def _local(self, place: Place) -> Callable[[Any, str, Any], Any]:
        hit, places, file = self.hit, self.places, place.file

        def local(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                line = (file, frame.f_lineno)
                if line not in hit:
                    hit.add(line)
                    places.setdefault(line, place)
            return local

        return local

    def _place(self, code: CodeType) -> Optional[Place]:
        if not code.co_flags & 0x1:  # the body of a module or a class
            return None
        file = self.relative(code.co_filename)
        return Place(file, code.co_firstlineno, code.co_name) if file else None

    def relative(self, file: str) -> str:
        """The path of a file of the project below the root; "" for any other, and for tests."""
        if file not in self._files:
            real = os.path.realpath(file)
            inside = real.startswith(self.root) and real.endswith(".py")
            foreign = real.startswith(
                (os.path.realpath(sys.prefix) + os.sep, sys.base_prefix + "/")
            )
            found = real[len(self.root) :].replace(os.sep, "/") if inside and not foreign else ""
            self._files[file] = "" if is_test(found) else found
        return self._files[file]


def is_test(path: str) -> bool:
    """Whether a file of a project is one of its tests'."""
    *folders, name = path.split("/")
    stem = name[:-3]
    named = stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"
    return named or not _TEST_FOLDERS.isdisjoint(folders) or "site-packages" in folders


def suspects(
    failing: Dict[str, FrozenSet[Line]],
    passing: Dict[str, FrozenSet[Line]],
    places: Dict[Line, Place],
    raised: Mapping[str, Sequence[Line]],
) -> List[Failing]:
    """What each failing test suspects, most first.

    `raised`: of a failing test the lines of the project that its exception went through, innermost
    first; of functions that are as suspicious as each other, those come first.
    """
    fails = Counter(line for lines in failing.values() for line in lines)
    passes = Counter(line for lines in passing.values() for line in lines)
    found = []
    for test, lines in failing.items():
        best: Dict[Place, Tuple[float, int]] = {}
        for line in lines:
            score = fails[line] / sqrt(len(failing) * (fails[line] + passes[line]))
            place = places[line]
            best[place] = max(best.get(place, (0.0, 0)), (score, -line[1]))
        trail = [places[line] for line in raised.get(test, ()) if line in places]

        def order(
            one: Tuple[Place, Tuple[float, int]], trail: List[Place] = trail
        ) -> Tuple[float, int, Place]:
            place, (score, _) = one
            return -score, trail.index(place) if place in trail else len(trail), place

        ranked = sorted(best.items(), key=order)[:MOST_SUSPECTS]
        chosen = tuple(Suspect(place, -line, round(score, 4)) for place, (score, line) in ranked)
        blamed = {one.place for one in chosen}
        near = [name for name, own in passing.items() if any(places[x] in blamed for x in own)]
        file = test.partition("::")[0]
        found.append(Failing(test, file, chosen, tuple(near[:MOST_PASSING])))
    return found


def to_json(found: Sequence[Failing]) -> str:
    """The document that `read_failing` reads."""
    rows = [
        {
            "test": one.test,
            "file": one.file,
            "suspects": [
                {"file": s.place.file, "def": s.place.line, "name": s.place.name,
                 "line": s.line, "score": s.score}
                for s in one.suspects
            ],
            "passing": list(one.passing),
        }
        for one in found
    ]  # fmt: skip
    return json.dumps({"format": FORMAT, "version": VERSION, "failing": rows}, indent=1) + "\n"


def read_failing(text: str) -> List[Failing]:
    """The failing tests of a document. Raises `ValueError`: its text says what is wrong."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise ValueError("another format or version")
        return [
            Failing(
                _text(row["test"]),
                _path(row["file"]),
                tuple(
                    Suspect(
                        Place(_path(s["file"]), _count(s["def"]), _text(s["name"])),
                        _count(s["line"]),
                        float(s["score"]),
                    )
                    for s in row["suspects"]
                ),
                tuple(map(_text, row["passing"])),
            )
            for row in document["failing"]
        ]
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError("not what pytest --refute-debug writes: {!r}".format(error)) from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError("a text was expected")
    return value


def _path(value: Any) -> str:
    path = _text(value)
    if path.startswith("/") or ".." in path.split("/"):
        raise TypeError("a path below the root was expected")
    return path


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise TypeError("a line was expected")
    return int(value)

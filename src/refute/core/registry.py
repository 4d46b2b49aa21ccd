"""What is there by name: refute's own, and what other packages bring along.

They are found in folders: a module of the folder defines one or several, so that adding one
touches one file. Another package, `refute_lab` among them, names its own as entry points: one
thing, or a package whose modules define them.

    [project.entry-points."refute.methods"]
    mine = "my_package:mine"
    more = "my_package.methods"

Nothing is imported before it is asked for. A built-in name cannot be taken by another package.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from refute.errors import InputError, at_fault

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from refute.core.methods import Level, MethodSpec
    from refute.models.providers import Provider

Thing = TypeVar("Thing")


@dataclass(slots=True)
class Registry(Generic[Thing]):
    """Things of one kind by name."""

    group: str
    """Of the entry points."""
    homes: tuple[str, ...]
    """Packages whose modules define the built-in ones."""
    what: str
    """For people: "method"."""
    kind: Callable[[object], bool]
    """Whether a value is such a thing."""
    _own: dict[str, Thing] = field(default_factory=dict)

    def register(self, thing: Thing) -> Thing:
        """Add one for this process (a notebook, a test), by its `name`."""
        self._own[_name(thing)] = thing
        return thing

    def only_here(self, name: str) -> bool:
        """Whether it was added for this process, so that no other finds it."""
        return name in self._own

    def get(self, name: str) -> Thing:
        """The thing of that name. Raises `InputError` where there is none, or it does not load."""
        if name in self._own:
            return self._own[name]
        stem = name.replace("-", "_")
        for others in (False, True):  # which are slow to find
            homes = self._packages() if others else self.homes
            for home in homes:
                if stem in _stems(home):
                    for thing in self._in(f"{home}.{stem}"):
                        if _name(thing) == name:
                            return thing
            there = self._inside(homes)
            if name in there:
                return there[name]
        for point in self._points():
            if point.name == name:
                return self._loaded(point)
        raise InputError(
            f"{name}: no such {self.what}; there are {', '.join(sorted(self.names()))}"
        )

    def __contains__(self, name: str) -> bool:
        """Whether there is one of that name, and it loads."""
        try:
            self.get(name)
        except InputError:
            return False
        return True

    def names(self) -> list[str]:
        """All names: the built-in ones in the order of their files, then the others'."""
        inside = self._inside((*self.homes, *self._packages()))
        return list(dict.fromkeys((*inside, *self._own, *(p.name for p in self._points()))))

    def all(self) -> list[Thing]:
        """Everything, in the order of `names`. Raises `InputError` where one does not load."""
        return [self.get(name) for name in self.names()]

    def _inside(self, homes: Iterable[str]) -> dict[str, Thing]:
        modules = (f"{home}.{stem}" for home in homes for stem in _stems(home))
        found: dict[str, Thing] = {}
        for module in modules:
            for thing in self._in(module):
                found.setdefault(_name(thing), thing)
        return found

    def _in(self, module: str) -> Iterator[Thing]:
        for value in vars(importlib.import_module(module)).values():
            if self.kind(value):
                yield cast(Thing, value)

    def _points(self) -> tuple[EntryPoint, ...]:
        """Of single things."""
        return tuple(point for point in entries(self.group) if point.attr)

    def _packages(self) -> tuple[str, ...]:
        """Of other distributions, whose modules define things."""
        return tuple(point.module for point in entries(self.group) if not point.attr)

    def _loaded(self, point: EntryPoint) -> Thing:
        origin = f"{self.what} {point.name} ({point.value})"
        try:
            thing = point.load()
        except Exception as error:
            raise InputError(f"{origin} does not load: {at_fault(error)}") from error
        if not self.kind(thing):
            raise InputError(f"{origin} is not a {self.what}: it is of type {type(thing).__name__}")
        return cast(Thing, thing)


def method_of(name: str, level: Level) -> MethodSpec[Any, Any]:
    """The method of that name. Raises `InputError` where there is none of that level."""
    specs = METHODS.all() if name not in METHODS else [METHODS.get(name)]
    for spec in specs:
        if spec.name == name and spec.level == level:
            found: MethodSpec[Any, Any] = spec
            return found
    if len(specs) == 1:
        verbs = {"function": "functions: see refute hunt, debug", "issue": "issues: see reproduce"}
        raise InputError(f"--method {name} is for {verbs[specs[0].level]}")
    known = ", ".join(spec.name for spec in specs if spec.level == level)
    raise InputError(f"--method {name}: no such method; there are {known}")


@cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, of all packages that are installed."""
    from importlib.metadata import entry_points  # slow to load, and mostly not asked for

    return tuple(entry_points(group=group))


def _name(thing: object) -> str:
    return str(cast(Any, thing).name)


@cache
def _stems(home: str) -> tuple[str, ...]:
    """The modules of a package, in the order of their names."""
    path = importlib.import_module(home).__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")))


def _is_a(module: str, kind: str) -> Callable[[object], bool]:
    """Whether a value is of a class, which is imported when it is asked."""
    return lambda value: isinstance(value, getattr(importlib.import_module(module), kind))


METHODS: Registry[MethodSpec[Any, Any]] = Registry(
    "refute.methods",
    ("refute.function.methods", "refute.issue.methods"),
    "method",
    _is_a("refute.core.methods", "MethodSpec"),
)
MODELS: Registry[Provider] = Registry(
    "refute.models",
    ("refute.models.providers",),
    "model",
    _is_a("refute.models.providers", "Provider"),
)

"""Methods and models by name: refute's own, and those of other packages; the one that runs.

They are found in folders: a module of the folder defines one or several, so that adding one
touches one file. Another package, `refute_lab` among them, names its own as entry points: one
thing, or a package whose modules define them.

    [project.entry-points."refute.methods"]
    mine = "my_package:mine"
    more = "my_package.methods"

Nothing is imported before it is asked for. A built-in name cannot be taken by another package.

`--preset NAME` sets the options of the method and the settings of a bench that it names; other
options of the command line win over it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from refute.core.parameters import nearest, parameters_of, read_text, settable
from refute.errors import InputError, at_fault
from refute.models.asking import Asked

if TYPE_CHECKING:
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
    """True if a value is such a thing."""
    _own: dict[str, Thing] = field(default_factory=dict)

    def register(self, thing: Thing) -> Thing:
        """Add one for this process (a notebook, a test), by its `name`."""
        self._own[_name(thing)] = thing
        return thing

    def only_here(self, name: str) -> bool:
        """True if it was added for this process, so that no other process finds it."""
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
            f"{name}: unknown {self.what}; there are {', '.join(sorted(self.names()))}"
        )

    def __contains__(self, name: str) -> bool:
        """True if one of that name exists and loads."""
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
        origin = f"{self.what} {point.name} ({point.module}:{point.attr})"
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
    raise InputError(f"--method {name}: unknown method; there are {known}")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Something that an installed package names in a group."""

    name: str
    module: str
    attr: str
    """In the module; empty: the module itself."""

    def load(self) -> Any:
        """Import it. Raises what that raises."""
        found: Any = importlib.import_module(self.module)
        for part in filter(None, self.attr.split(".")):
            found = getattr(found, part)
        return found


@cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, of all packages that are installed in folders.

    `importlib.metadata` finds them too, and takes longer to load than all of `refute --help`.
    """
    return tuple(point for text in _installed() for point in _of_group(text, group))


@cache
def _installed() -> tuple[str, ...]:
    """The `entry_points.txt` of each installed package, "" where it has none; of two packages of
    one name the first counts."""
    found: dict[str, str] = {}
    for folder in filter(os.path.isdir, sys.path):
        for one in sorted(os.listdir(folder)):
            name = one.partition("-")[0].lower()
            if one.endswith((".dist-info", ".egg-info")) and name not in found:
                found[name] = ""
                with suppress(OSError, UnicodeDecodeError):
                    found[name] = Path(folder, one, "entry_points.txt").read_text("utf-8")
    return tuple(found.values())


def _of_group(text: str, group: str) -> Iterator[EntryPoint]:
    """Read `[group]` of an `entry_points.txt` (Python Packaging User Guide, "Entry points
    specification")."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and "=" in line and line[0] not in "#;":
            name, _, value = line.partition("=")
            module, _, attr = value.partition("[")[0].partition(":")
            yield EntryPoint(name.strip(), module.strip(), attr.strip())


def _name(thing: object) -> str:
    return str(cast(Any, thing).name)


@cache
def _stems(home: str) -> tuple[str, ...]:
    """The modules of a package, in the order of their names."""
    import pkgutil

    path = importlib.import_module(home).__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")))


def _is_a(module: str, kind: str) -> Callable[[object], bool]:
    """Return a test for instances of a class, which is imported on the first call."""
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


@dataclass(frozen=True, slots=True)
class Preset:
    """Values by name."""

    name: str
    summary: str
    """One line for people."""
    options: Mapping[str, Any]
    """Of methods, by the name of the field; those that a method lacks are passed over."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a bench, and for issues of grading."""

    def for_method(self, spec: MethodSpec[Any, Any]) -> dict[str, Any]:
        """The options that the method has."""
        known = {one.name for one in parameters_of(spec.options)}
        return {name: value for name, value in self.options.items() if name in known}


@cache
def presets_of(level: Level) -> dict[str, Preset]:
    """The presets for methods of a level, by name: entry points `refute.presets`, each a mapping
    by level, then by name."""
    given = [point.load().get(level, {}) for point in entries("refute.presets")]
    return {name: one for presets in given for name, one in presets.items()}


def preset_of(name: str | None, level: Level) -> Preset:
    """The preset by its name; None: one that sets nothing. Raises `InputError`."""
    if name is None:
        return Preset("", "", {})
    known = presets_of(level)
    if name not in known:
        there = f"there are {', '.join(known)}" if known else f"methods for an {level} have none"
        raise InputError(f"--preset {name}: unknown preset; {there}")
    return known[name]


def departures(
    preset: Preset, spec: MethodSpec[Any, Any], given: Collection[str], settings: Mapping[str, Any]
) -> str:
    """Return what a preset sets beside the defaults, in one line: "guard=false (default true),
    ...".

    `given`: what the user gave, which the preset leaves alone. `settings`: the defaults of a
    bench's settings.
    """
    mine, parts = preset.for_method(spec), []
    for one in parameters_of(spec.options):
        if one.name in mine and one.name not in given and mine[one.name] != one.default:
            parts.append(f"{one.name}={_shown(mine[one.name])} (default {_shown(one.default)})")
    for name, value in preset.settings.items():
        if name in settings and name not in given and value != settings[name]:
            parts.append(f"{name}={_shown(value)} (default {_shown(settings[name])})")
    return ", ".join(parts)


def _shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


_DEFAULTS: dict[Level, tuple[str, str]] = {
    "function": ("search", "hybrid"),
    "issue": ("snippet", "redgreen"),
}
"""Without a model, and with one."""
_FOR_MODELS = {
    "tester": "--tester",
    "base_url": "--base-url",
    "record": "--record",
    "budget_usd": "--budget-usd",
    "budget_tokens": "--budget-tokens",
}
"""Options about a model, which mean nothing where none is asked."""


def default_method(level: Level, model: object) -> str:
    """The method where none is named; `model`: None where there is none."""
    return _DEFAULTS[level][model is not None]


def chosen_method(
    asked: Asked, level: Level, *, also: Collection[str] = ()
) -> MethodSpec[Any, Any]:
    """The method: the named one, else the default.

    `also`: options that mean something whatever the method. Raises `InputError` for an unknown
    name, and where method, model and options do not go together.
    """
    spec = method_of(asked.method or default_method(level, asked.model), level)
    if not spec.asks_model and asked.model is not None:
        raise InputError(f"--method {spec.name} asks no model; leave --model out")
    known = {one.name for one in parameters_of(spec.options)}
    for option in asked.set:
        if option not in known and option not in also:
            raise not_its_option(option, spec)
    if spec.asks_model and asked.model is None:
        missing = f"--method {spec.name} asks a model; name one with --model, e.g. openai:NAME"
        raise InputError(missing)
    for name, flag in _FOR_MODELS.items():
        if not spec.asks_model and getattr(asked, name) is not None:
            raise InputError(f"{flag} is for methods that ask a model: name one with --model")
    return spec


def options_of(spec: MethodSpec[Any, Any], asked: Asked, **more: Any) -> Any:
    """The method's options: those of the preset, or its own, where none was given. `more` is taken
    where the method has such an option. Raises `InputError`."""
    known = {one.name for one in parameters_of(spec.options)}
    preset = preset_of(asked.preset, spec.level)
    given = {**preset.for_method(spec), **asked.set, **more}
    from refute.core.methods import options_from

    return options_from(spec, {name: value for name, value in given.items() if name in known})


def read_options(
    texts: Mapping[str, str],
    specs: Sequence[MethodSpec[Any, Any]],
    more: Sequence[type[Any]] = (),
) -> dict[str, Any]:
    """The values of `--set NAME=VALUE`: fields of `more`, or options of one of the methods.

    Raises `InputError` for a name that is neither, and for a value that does not fit.
    """
    known = settable((*more, *(one.options for one in specs)))
    for name in texts:
        if name not in known and specs:
            raise not_its_option(name, specs[0], known)
        if name not in known:
            raise InputError(f"--set {name}: unknown name{nearest(name, known)}")
    return {name: read_text(known[name], text) for name, text in texts.items()}


def not_its_option(
    option: str, spec: MethodSpec[Any, Any], known: Collection[str] = ()
) -> InputError:
    """Return the error for an option that `spec` lacks: the methods that have it, or the nearest
    name."""
    same_level = [one for one in METHODS.all() if one.level == spec.level]
    having = [one for one in same_level if option in settable((one.options,))]
    if having and not spec.asks_model and all(one.asks_model for one in having):
        return InputError(f"{option} is for methods that ask a model: name one with --model")
    others = f", but of {', '.join(one.name for one in having)}" if having else ""
    hint = others or nearest(option, known or settable((spec.options,)))
    return InputError(f"{option} is not an option of {spec.name}{hint}")


def explained_flag(
    flag: str, value: str, own: Sequence[type[Any]], specs: Sequence[MethodSpec[Any, Any]]
) -> InputError | None:
    """Return the error for a flag whose value is set by `--set`; None where no option has that
    name.

    `own`: what the command sets besides. `specs`: the methods that it may run, whose levels'
    others are looked through as well.
    """
    levels: set[Level] = {one.level for one in specs}
    others = [method_of(default_method(level, "a model"), level) for level in sorted(levels)]
    others += [one for one in METHODS.all() if one.level in levels]
    whose = [("the command", one) for one in own]
    whose += [(f"the method {one.name}", one.options) for one in (*specs, *others)]
    for who, options in whose:
        for one in parameters_of(options):
            plain = f"--{one.name.replace('_', '-')}"
            if flag in (plain, *one.flags):
                yes = str(flag in (plain, one.flags[0])).lower()
                said = yes if one.kind is bool else value or "VALUE"
                return InputError(f"{flag} is an option of {who}: write --set {one.name}={said}")
    return None

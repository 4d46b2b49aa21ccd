"""Settings that need not be typed: `[tool.refute]` in pyproject.toml, and `REFUTE_*`.

The command line comes first, then the environment, then the file, then the default. The file is
data of a repository that may be a stranger's: it sets how long, how many and in which form, and
never what is started, asked or written (see `Declared`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from refute.core.parameters import Parameter, check_value, nearest, pairs_of, read_text
from refute.core.starting import Variable
from refute.core.storage import parse_toml, read_file
from refute.errors import InputError

FILE = "pyproject.toml"
_LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Table:
    """Settings of a file."""

    file: Path
    values: Mapping[str, Any]

    @property
    def tables(self) -> frozenset[str]:
        """The keys that are tables."""
        return frozenset(key for key, value in self.values.items() if isinstance(value, dict))

    def of(self, verb: str) -> Mapping[str, Any]:
        """Return the settings for one verb alone. Raises `InputError` unless they are a table."""
        found = self.values.get(verb, {})
        if not isinstance(found, dict):
            raise InputError(f"{self.file}: tool.refute.{verb}: must be a table of settings")
        return found


def find_table(start: Path) -> Table | None:
    """The nearest pyproject.toml with a `[tool.refute]`, from a folder upwards to the root of its
    repository (or of the disk). Raises `InputError` for a file that is no TOML."""
    start = start.resolve()
    for folder in (start, *start.parents):
        file = folder / FILE
        if file.is_file() and (found := _read(file)) is not None:
            return found
        if (folder / ".git").exists():
            return None
    return None


def _read(file: Path) -> Table | None:
    try:
        whole = parse_toml(read_file(file, limit=_LARGEST))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: not TOML: {error}") from None
    tool = whole.get("tool")
    found = tool.get("refute") if isinstance(tool, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict):
        raise InputError(f"{file}: tool.refute: must be a table of settings")
    return Table(file, found)


Kind = Literal["boolean", "integer", "number", "text", "file", "texts"]

OF_FILES = frozenset({"as", "fail-on", "format"})
"""Keys of `[tool.refute]` besides the fields that say so (`in_files`).

Not in a file is what starts a program (`python`, `agent`), names a server, a model or words for
it (`model`, `tester`, `base-url`, `prompts`), lets something out (`allow-network`), or writes
(`write`, `force`, `o`, `record`): whoever clones a repository has not agreed to these. They are for
the command line and the environment, which are the user's own. Of what is set by name
(`[tool.refute.set]`) a file sets what is a number or one of a few words.
"""


@dataclass(frozen=True, slots=True)
class Declared:
    """One option of a command, as a setting."""

    key: str
    """Its long flag without dashes in front: `total-budget`."""
    name: str
    """Of the command's parameter."""
    kind: Kind
    default: Any
    in_files: bool
    """True if `[tool.refute]` may set it."""
    check: Callable[[Any], None] = lambda value: None
    """Raises `ValueError`, with words for people, for a value that the option does not take."""
    of_model: bool = False
    """True if `[tool.refute.model]` may hold it, too."""


MODEL, SET = "model", "set"
"""Tables beside those of the verbs."""

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "text": ((str,), "a text"),
    "file": ((str,), "a text"),
    "texts": ((list,), "a list of texts"),
}


@dataclass(frozen=True, slots=True)
class Held:
    """A setting with the value that holds where the command line says nothing."""

    declared: Declared
    value: Any
    source: str
    """A variable's name, `FILE: tool.refute.KEY`, or "default"."""


def variables(verb: str, key: str) -> tuple[str, ...]:
    """The environment's variables of an option, the first that is set holds:
    `REFUTE_HUNT_BUDGET`, `REFUTE_BUDGET`."""
    own, general = (f"REFUTE_{part}".upper().replace("-", "_") for part in (f"{verb}_{key}", key))
    return (own,) if general in set(Variable) else (own, general)


def held_setting(verb: str, one: Declared, table: Table | None) -> Held:
    """An option of a verb with the value that holds. Raises `InputError`, one line with the file
    and the key or the variable, for a value that does not fit."""
    for variable in variables(verb, one.key) if one.kind != "texts" else ():
        if value := os.environ.get(variable):
            _check(one, value, variable)
            return Held(one, value, variable)
    for values, path in () if table is None else _tables(table, verb, one):
        if one.key in values and one.in_files:
            assert table is not None
            where = f"{table.file}: tool.refute.{path}{one.key}"
            return Held(one, _from_file(one, values[one.key], table, where), where)
    return Held(one, one.default, "default")


def _tables(table: Table, verb: str, one: Declared) -> Iterator[tuple[Mapping[str, Any], str]]:
    yield table.of(verb), f"{verb}."
    if one.of_model and MODEL in table.tables:
        yield table.of(MODEL), f"{MODEL}."
    yield table.values, ""


def _from_file(one: Declared, value: Any, table: Table, where: str) -> Any:
    """The value as the option takes it: paths from the file's folder."""
    types, words = _KINDS[one.kind]
    fits = isinstance(value, types)
    if isinstance(value, bool) and one.kind != "boolean":
        fits = False
    if fits and one.kind == "texts":
        fits = all(isinstance(part, str) for part in value)
    if not fits:
        raise InputError(f"{where} = {value!r:.60}: must be {words}")
    folder = table.file.parent
    if one.kind == "file":
        value = os.path.relpath(folder / value)
    elif one.kind == "texts":
        value = tuple(_target(folder, part) for part in value)
    _check(one, value, where)
    return value


def _target(folder: Path, text: str) -> str:
    """`FILE.py::f` and folders are found from the file's folder, dotted names as ever."""
    place, mark, name = text.partition("::")
    found = folder / place
    return f"{os.path.relpath(found)}{mark}{name}" if found.exists() else text


def _check(one: Declared, value: Any, where: str) -> None:
    try:
        one.check(value)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


# -- by name ---------------------------------------------------------------------------------------


def set_by_name(verb: str, table: Table | None) -> dict[str, tuple[Any, str]]:
    """Return the settings for `--set`: name -> value and source; a text where the environment sets
    it.

    Raises `InputError` for a table that is none, and for a text that is not NAME=VALUE.
    """
    found: dict[str, tuple[Any, str]] = {}
    if table is not None:
        for values, path in ((table.values, ""), (table.of(verb), f"{verb}.")):
            named = values.get(SET, {})
            where = f"{table.file}: tool.refute.{path}{SET}"
            if not isinstance(named, dict):
                raise InputError(f"{where}: must be a table of options")
            found |= {name: (value, f"{where}.{name}") for name, value in named.items()}
    for variable in reversed(variables(verb, SET)):
        named = pairs_of(shlex.split(os.environ.get(variable, "")))
        found |= {name: (text, variable) for name, text in named.items()}
    return found


def read_by_name(
    given: Mapping[str, tuple[Any, str]], known: Mapping[str, Parameter]
) -> list[Held]:
    """The values that are set. Raises `InputError` for a name or a value that does not fit."""
    held = []
    for name, (value, where) in given.items():
        if name not in known:
            raise InputError(f"{where}: unknown option{nearest(name, known)}")
        one, of_file = known[name], not where.startswith("REFUTE_")
        plain = bool(one.choices) or one.kind in (int, float)
        if of_file and not plain:
            raise InputError(f"{where}: not for a file of a repository; give it with --set")
        try:
            value = check_value(one, value) if of_file else read_text(one, value)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        declared = Declared(f"{SET}.{name}", name, "text", one.default, plain)
        held.append(Held(declared, value, where))
    return held


# -- names -----------------------------------------------------------------------------------------


def check_names(
    table: Table, verbs: Sequence[str], options: Callable[[str], Mapping[str, Declared]]
) -> None:
    """Raise `InputError`, one line with file and key, for a key that no option has (it names the
    nearest), and for one that a file may not set.

    `options` gives those of a verb, by key. It is asked as seldom as can be.
    """
    general = table.values.keys() - {*verbs, SET, *({MODEL} & table.tables)}
    for verb in verbs:
        for key in table.of(verb).keys() - {SET}:
            _check_name(table, f"{verb}.", key, options(verb), verb)
    if not general and MODEL not in table.tables:
        return
    everywhere = {key: one for verb in verbs for key, one in options(verb).items()}
    of_model = {key: one for key, one in everywhere.items() if one.of_model}
    for key in table.of(MODEL) if MODEL in table.tables else ():
        _check_name(table, f"{MODEL}.", key, of_model, None)
    for key in general:
        _check_name(table, "", key, everywhere, None, verbs)


def _check_name(
    table: Table,
    path: str,
    key: str,
    known: Mapping[str, Declared],
    verb: str | None,
    tables: Sequence[str] = (),
) -> None:
    where = f"{table.file}: tool.refute.{path}{key}"
    if key in known and known[key].in_files:
        return
    if key in known:
        variable = variables(verb or "VERB", key)[-1]
        raise InputError(
            f"{where}: not for a file of a repository; on the command line, or as {variable}"
        )
    may = sorted(name for name, one in known.items() if one.in_files)
    near = get_close_matches(key.replace("_", "-"), [*may, *tables], 1)
    hint = f"did you mean {near[0]}?" if near else "`refute config` lists the keys"
    raise InputError(f"{where}: unknown setting; {hint}")

"""Prompts: one template file per prompt of the papers and per prompt of ours, rendered strictly.

A template names every variable that it needs: a missing one is an error, never an empty string.
Values are inserted as they are and are never read as template source.

A folder of templates of one's own (`--prompts DIR`) can stand for some of ours: a file
`failing_test.jinja` in it is what the prompt of that name is made of. All of them are checked
before anything is asked. The folder `PAPER` is such a one, of this package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["PAPER", "Templates", "digest_of", "prompts_from", "render", "templates_of"]

PAPER = Path(__file__).with_name("paper")
"""UTGen's settings for training data, in our words: `--preset paper` of `refute train data`."""

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Templates:
    """A folder's templates as data, checked: another machine has not the folder."""

    folder: str
    files: tuple[tuple[str, str], ...]
    """Names and texts, sorted."""


_GIVEN: ContextVar[tuple[Templates, ...]] = ContextVar("prompts", default=())


def render(name: str, /, **variables: Any) -> str:
    """The text of `prompts/NAME.jinja` with `variables`, without a line feed at its end.

    Inside `prompts_from` that of the folder's file, where it has one. Raises
    `jinja2.TemplateNotFound` for an unknown name and `jinja2.UndefinedError` for a variable that
    the template needs and is not given; `InputError` where templates of the folder fail.
    """
    given = _GIVEN.get()
    template = _environment(*given).get_template(f"{name}.jinja")
    if not given:
        return template.render(**variables)
    try:
        return template.render(**variables)
    except Exception as error:  # a template is a program and raises what it likes
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"{template.filename}: {told}") from None


@contextmanager
def prompts_from(*given: Path | Templates | None) -> Iterator[None]:
    """Templates stand for ours inside the block, also in tasks that it starts; those of the first
    folder before those of the next. None: no folder. Raises `InputError` as `templates_of`."""
    token = _GIVEN.set(tuple(templates_of(one) for one in given if one is not None))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def templates_of(given: Path | Templates) -> Templates:
    """The templates of a folder, read once.

    Raises `InputError` for a folder without templates, and for a file that is no template, has a
    name that none of ours has, or needs a variable that ours of that name is not given.
    """
    if isinstance(given, Templates):
        return given
    found = sorted(given.glob("*.jinja"))
    if not found:
        raise InputError(f"{given}: no templates there (NAME.jinja)")
    made = Templates(str(given), tuple((path.name, _read(path)) for path in found))
    for path in found:
        _check(path, made)
    return made


def digest_of(folder: Path) -> str:
    """Return the digest of a set of templates: 16 hexadecimal digits. Raises `InputError` as
    `templates_of`."""
    digest = hashlib.sha256()
    for name, text in templates_of(folder).files:
        digest.update(name.encode() + b"\0" + text.encode() + b"\0")
    return digest.hexdigest()[:16]


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: larger than a template is")
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _check(path: Path, given: Templates) -> None:
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    ours = _environment()
    try:
        known = _variables(path.name, ours)
    except TemplateNotFound:
        found = (name for name in ours.list_templates(["jinja"]) if "/" not in name)
        names = ", ".join(name.removesuffix(".jinja") for name in found)
        raise InputError(f"{path}: no prompt has that name; there are {names}") from None
    try:
        used = _variables(path.name, _environment(given))
    except TemplateError as error:
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        raise InputError(f"{path}{line}: no template: {error}") from None
    if used - known:
        told = f"there are {', '.join(sorted(known))}" if known else "it has none"
        raise InputError(f"{path}: {min(used - known)} is not given to this prompt; {told}")


def _variables(name: str, environment: Environment) -> set[str]:
    """The variables that a template needs, and those that it includes."""
    from jinja2 import meta

    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    tree = environment.parse(source)
    found = set(meta.find_undeclared_variables(tree))
    for other in meta.find_referenced_templates(tree):
        if other is not None:
            found |= _variables(other, environment)
    return found


@cache
def _environment(*given: Templates) -> Environment:
    from jinja2 import BaseLoader, ChoiceLoader, FunctionLoader, PackageLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    loader: BaseLoader = PackageLoader("refute", "prompts")
    if given:
        loader = ChoiceLoader([*(FunctionLoader(_finder(one)) for one in given), loader])
    return ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        auto_reload=False,
        autoescape=False,  # prompts are not HTML: `<` in code must stay `<`
    )


def _finder(given: Templates) -> Callable[[str], tuple[str, str, None] | None]:
    """Return the function by which Jinja finds a template: name -> text and path."""
    texts = dict(given.files)

    def find(name: str) -> tuple[str, str, None] | None:
        return (texts[name], str(Path(given.folder) / name), None) if name in texts else None

    return find

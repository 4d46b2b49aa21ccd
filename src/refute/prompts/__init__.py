"""Prompts: one template file per prompt of the papers and per prompt of ours, rendered strictly.

A template names every variable that it needs: a missing one is an error, never an empty string.
Values are inserted as they are and are never read as template source.

A folder of templates of one's own (`--prompts DIR`) can stand for some of ours: a file
`failing_test.jinja` in it is what the prompt of that name is made of. All of them are checked
before anything is asked. The folder `PAPER` is such a one, of this package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["PAPER", "digest_of", "prompts_from", "render"]

PAPER = Path(__file__).with_name("paper")
"""What UTGen makes training data with, in our words: `--preset paper` of `refute train data`."""

_LARGEST = 1 << 20
_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("prompts", default=())


def render(name: str, /, **variables: Any) -> str:
    """The text of `prompts/NAME.jinja` with `variables`, without a line feed at its end.

    Inside `prompts_from` that of the folder's file, where it has one. Raises
    `jinja2.TemplateNotFound` for an unknown name and `jinja2.UndefinedError` for a variable that
    the template needs and is not given; `InputError` where templates of the folder fail.
    """
    folders = _FOLDERS.get()
    template = _environment(*folders).get_template(f"{name}.jinja")
    if not folders:
        return template.render(**variables)
    try:
        return template.render(**variables)
    except Exception as error:  # a template is a program and raises what it likes
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"{template.filename}: {told}") from None


@contextmanager
def prompts_from(*given: Path | None) -> Iterator[None]:
    """Templates of the folders stand for ours inside the block, also in tasks that it starts; those
    of the first before those of the next. None: no folder. Raises `InputError` as `digest_of`."""
    folders = tuple(folder for folder in given if folder is not None)
    for folder in folders:
        digest_of(folder)
    token = _FOLDERS.set(folders)
    try:
        yield
    finally:
        _FOLDERS.reset(token)


def digest_of(folder: Path) -> str:
    """What tells one set of templates from another: 16 hexadecimal digits.

    Raises `InputError` for a folder without templates, and for a file that is no template, has a
    name that none of ours has, or needs a variable that ours of that name is not given.
    """
    found = sorted(folder.glob("*.jinja"))
    if not found:
        raise InputError(f"{folder}: no templates there (NAME.jinja)")
    digest = hashlib.sha256()
    for path in found:
        _check(path)
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _check(path: Path) -> None:
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    ours = _environment()
    try:
        known = _variables(path.name, ours)
    except TemplateNotFound:
        found = (name for name in ours.list_templates(["jinja"]) if "/" not in name)
        names = ", ".join(name.removesuffix(".jinja") for name in found)
        raise InputError(f"{path}: no prompt has that name; there are {names}") from None
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: larger than a template is")
        used = _variables(path.name, _environment(path.parent))
    except TemplateError as error:
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        raise InputError(f"{path}{line}: no template: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
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
def _environment(*folders: Path) -> Environment:
    from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    loader: BaseLoader = PackageLoader("refute", "prompts")
    if folders:
        loader = ChoiceLoader([*map(FileSystemLoader, folders), loader])
    return ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        auto_reload=False,
        autoescape=False,  # prompts are not HTML: `<` in code must stay `<`
    )

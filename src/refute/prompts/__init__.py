"""Prompts: one template file per prompt of the papers and per prompt of ours, rendered strictly.

A template names every variable that it needs: a missing one is an error, never an empty string.
Values are inserted as they are and are never read as template source.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render"]


def render(name: str, /, **variables: Any) -> str:
    """The text of `prompts/NAME.jinja` with `variables`, without a line feed at its end.

    Raises `jinja2.TemplateNotFound` for an unknown name and `jinja2.UndefinedError` for a variable
    that the template needs and is not given.
    """
    return _environment().get_template(f"{name}.jinja").render(**variables)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("refute", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        auto_reload=False,
        autoescape=False,  # prompts are not HTML: `<` in code must stay `<`
    )

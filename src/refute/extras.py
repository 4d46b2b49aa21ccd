"""The optional parts of refute: what each needs, and the one line that says how to get it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from refute.errors import InputError

__all__ = ["EXTRAS", "Extra", "install", "missing", "need"]


@dataclass(frozen=True, slots=True)
class Extra:
    """A part of refute that is installed on request: `pip install 'refute[NAME]'`."""

    packages: tuple[str, ...]
    """What is imported of it."""
    gives: str
    """For people."""


EXTRAS = {
    "model": Extra(("openai",), "models behind a server: openai:NAME, anthropic:NAME"),
    "hub": Extra(("datasets",), "bench reads benchmarks from the public hub"),
    "swt": Extra(("uv",), "environments of repositories are built fast"),
    "train": Extra(
        ("torch", "transformers", "peft", "trl", "datasets"),
        "models in this process (hf:PATH_OR_ID), and training",
    ),
    "cluster": Extra(("ray",), "bench, grade and training data on many machines: --executor ray"),
    "mcp": Extra(("mcp",), "a server for agents: refute mcp"),
    "lsp": Extra(("pygls", "lsprotocol"), "a server for editors: refute lsp"),
    "serve": Extra(
        ("starlette", "uvicorn", "httptools", "uvloop", "prometheus_client"),
        "verdicts over HTTP: refute serve",
    ),
    "watch": Extra(("watchfiles",), "files are looked at when they are saved: refute watch"),
}
"""Extra of pyproject.toml -> what it is, as far as code of refute imports it."""


def missing(name: str, packages: Sequence[str] | None = None) -> list[str]:
    """Those of an extra's packages (or of `packages`, some of them) that are not installed."""
    wanted = EXTRAS[name].packages if packages is None else packages
    return [package for package in wanted if importlib.util.find_spec(package) is None]


def install(name: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'refute[{name}]'"


def need(name: str, what: str, packages: Sequence[str] | None = None) -> None:
    """Check that an extra is there. `what` needs it: "training".

    Raises `InputError` with one line: what is missing, and the command that installs it.
    """
    lacking = missing(name, packages)
    if lacking:
        raise InputError(f"{what} needs {', '.join(lacking)}: {install(name)}")

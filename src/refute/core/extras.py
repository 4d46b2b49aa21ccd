"""Source of this installation, and optional parts: their packages, and how to install them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from refute.core.storage import parse_json
from refute.errors import InputError

PUBLISHED = False
"""True if a release can be had by the name `refute`. Until then a command that asks a package index
for the name would run the code of whoever takes it, so every command names this copy's source."""


@dataclass(frozen=True, slots=True)
class Extra:
    """A part of refute that is installed on request."""

    packages: tuple[str, ...]
    """Names of modules that are imported of it."""
    gives: str
    """For people."""


EXTRAS = {
    "model": Extra(("httpx",), "models behind a server: openai:NAME, anthropic:NAME"),
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


def requirement(extra: str = "") -> str:
    """Return what pip installs this copy of refute from: a folder, or a PEP 508 requirement.

    That is what the installer recorded (PEP 610), else the checkout that this file lies in; ""
    where neither is known or the folder is gone.
    """
    part = f"[{extra}]" if extra else ""
    if PUBLISHED:
        return f"refute{part}=={importlib.metadata.distribution('refute').version}"
    folder = Path(__file__).resolve().parents[3]
    url = _recorded_url()
    if url and not url.startswith("file:"):
        return f"refute{part} @ {url}"
    if url:
        folder = Path(unquote(urlsplit(url).path))
    elif not (folder / "pyproject.toml").is_file():
        return ""
    return f"{folder}{part}" if folder.exists() else ""


def _recorded_url() -> str:
    """The address that this distribution was installed from; "" where none was recorded."""
    try:
        text = importlib.metadata.distribution("refute").read_text("direct_url.json")
        recorded = parse_json(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
    url = str(recorded.get("url", ""))
    revision = recorded.get("vcs_info")
    return f"{revision['vcs']}+{url}@{revision['commit_id']}" if revision else url


def install(name: str) -> str:
    """The command that installs an extra."""
    source = requirement(name)
    return f"pip install {shlex.quote(source)}" if source else f"install refute with [{name}]"


def need(name: str, what: str, packages: Sequence[str] | None = None) -> None:
    """Check that an extra is there. `what` needs it: "training".

    Raises `InputError` with one line: what is missing, and the command that installs it.
    """
    lacking = missing(name, packages)
    if lacking:
        raise InputError(f"{what} needs {', '.join(lacking)}: {install(name)}")

"""Start Python programs of refute's own: nothing of the current folder is imported, nor anything
that variables of the environment name (PYTHONPATH, PYTHONSTARTUP, PYTHONHOME)."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path


class Variable(StrEnum):
    """Variables of fixed meaning; the option of such a name is set for one verb alone."""

    CACHE = "REFUTE_CACHE"
    DATA = "REFUTE_DATA"
    GRADER = "REFUTE_GRADER"
    GRADER_TOKEN = "REFUTE_GRADER_TOKEN"
    PRICES = "REFUTE_PRICES"
    PROBE = "REFUTE_PROBE"
    PROBE_ROOT = "REFUTE_PROBE_ROOT"
    REPOS = "REFUTE_REPOS"
    SERVE_TOKENS = "REFUTE_SERVE_TOKENS"
    SINCE = "REFUTE_SINCE"
    TRACEBACK = "REFUTE_TRACEBACK"


_START = """\
import runpy, sys
place, module = sys.argv[1:3]
del sys.argv[1:3]
if place not in sys.path:
    sys.path.append(place)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Code that finds refute again where it was found by other means than the interpreter's own."""


def python_options(version: tuple[int, int] = sys.version_info[:2]) -> list[str]:
    """Options of an interpreter of that version: it imports nothing from the current folder, and
    keeps byte code where this process does."""
    options = [*["-P"] * (version >= (3, 11)), *["-B"] * sys.dont_write_bytecode]
    if sys.pycache_prefix is not None:
        options += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return options


def start_module(module: str, *words: str) -> list[str]:
    """The command that runs a module of refute in a process of its own, in whatever folder."""
    place = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-E", *python_options(), "-c", _START, place, module, *words]

"""The pytest plugin: `--refute-record[=FILE]`, `--refute-debug[=SECONDS]`. Without either it
registers nothing.

What is on this page is loaded in every run of pytest where refute is installed; the rest only on
demand.
"""

from __future__ import annotations

from typing import Any

import pytest

DEFAULT_FILE = ".refute/recorded.jsonl"
DEFAULT_LIMIT = 20
DEFAULT_SECONDS = 10.0


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("refute", "record real calls, debug failing tests (refute)")
    group.addoption(
        "--refute-record",
        nargs="?",
        const=DEFAULT_FILE,
        default=None,
        metavar="FILE",
        help="write calls of the project's functions that the tests make to FILE "
        f"(default: {DEFAULT_FILE}), as source",
    )
    group.addoption(
        "--refute-record-package",
        action="append",
        default=[],
        metavar="NAME",
        help="record calls of this package (default: those below the root that are not tests)",
    )
    group.addoption(
        "--refute-record-limit",
        type=int,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"at most N distinct calls of a function (default: {DEFAULT_LIMIT})",
    )
    group.addoption(
        "--refute-debug",
        nargs="?",
        type=float,
        const=DEFAULT_SECONDS,
        default=None,
        metavar="SECONDS",
        help="look for what failing tests may be to blame on, and for a small fix of it, so many "
        f"seconds a function (default: {DEFAULT_SECONDS:g}); nothing is applied",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Before conftest files are imported, and with them what they import of the project."""
    _start(early_config, early_config.known_args_namespace)


def pytest_configure(config: Any) -> None:
    """Where the plugin itself came too late for the hook above (`pytest_plugins` of a conftest)."""
    _start(config, config.option)
    seconds = getattr(config.option, "refute_debug", None)
    if seconds is not None and not hasattr(config, "workerinput"):
        from refute.recording.blaming import Blaming

        config.pluginmanager.register(Blaming(config, max(1.0, seconds)), "refute-blaming")


def _start(config: Any, option: Any) -> None:
    if getattr(option, "refute_record", None) is None:
        return
    if config.pluginmanager.has_plugin("refute-recording"):
        return
    from refute.recording.session import Session

    session = Session(config, option)
    config.pluginmanager.register(session, "refute-recording")

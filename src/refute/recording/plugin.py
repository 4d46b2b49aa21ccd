"""The pytest plugin: `--refute-record[=FILE]`. Without it nothing is registered.

What is on this page is loaded in every run of pytest where refute is installed; the rest only on
demand.
"""

from __future__ import annotations

from typing import Any

import pytest

DEFAULT_FILE = ".refute/recorded.jsonl"
DEFAULT_LIMIT = 20


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("refute", "record real calls (refute)")
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
        "--refute-debug", nargs="?", const=True, default=None, help="use: refute debug --tests"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Before conftest files are imported, and with them what they import of the project."""
    _start(early_config, early_config.known_args_namespace)


def pytest_configure(config: Any) -> None:
    """Where the plugin itself came too late for the hook above (`pytest_plugins` of a conftest)."""
    _start(config, config.option)
    if getattr(config.option, "refute_debug", None) is not None:
        raise pytest.UsageError("--refute-debug is now: refute debug FOLDER --tests TESTS")


def _start(config: Any, option: Any) -> None:
    if getattr(option, "refute_record", None) is None:
        return
    if config.pluginmanager.has_plugin("refute-recording"):
        return
    from refute.recording.session import Session

    session = Session(config, option)
    config.pluginmanager.register(session, "refute-recording")

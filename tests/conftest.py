"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute.sandbox.local import LocalSandbox
from refute.sandbox.pool import SandboxPool

from .environments import with_packages

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # tables are as wide as they need, whoever runs the tests

ROOT = Path(__file__).resolve().parent.parent

DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds of each file of tests with its fixtures; `just durations` writes it. Only their order
counts, so it need not be renewed often, nor on an idle machine."""


class _Recorder:
    """Adds up how long each file takes, over all worker processes."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        kept = {name: taken for name, taken in _durations().items() if (ROOT / name).exists()}
        kept |= {name: max(1, round(taken)) for name, taken in self.seconds.items()}
        lines = json.dumps(kept, indent=0, sort_keys=True)
        DURATIONS.write_text(f"{lines}\n")


def _durations() -> dict[str, int]:
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name} anew")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A long file begun last would keep one process busy while the others have nothing to do.

    So the longest come first, and before them those that nobody has timed.
    """
    seconds = _durations()
    items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], float("inf")))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine gets an event loop of its own, for a minute."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    asyncio.run(asyncio.wait_for(test(**given), 60))
    return True


@pytest.fixture(scope="session", autouse=True)
def no_authorities() -> Iterator[None]:
    """Half of what a client costs is reading the machine's certificates; no test needs TLS."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("load_verify_locations", "set_default_verify_paths"):
            patch.setattr(ssl.SSLContext, name, lambda *given, **more: None)
        yield


@pytest.fixture(scope="session")
def only_pytest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pytest and nothing else: the plugins in ours double what a run takes."""
    needs = {"pytest", "pluggy", "iniconfig", "packaging", "pygments"}
    return with_packages(tmp_path_factory.mktemp("only-pytest") / "env", needs)


@pytest.fixture(scope="module")
def box() -> Iterator[LocalSandbox]:
    with LocalSandbox() as made:
        yield made


@pytest.fixture(scope="module")
def pool() -> Iterator[SandboxPool]:
    with SandboxPool(1) as made:
        yield made


@pytest.fixture(name="cache")
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def own_place(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of the test's own; no key, address or price of the user's."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REFUTE_PRICES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data: REFUTE_DATA, or ../shared/data next to the repository."""
    path = Path(os.environ.get("REFUTE_DATA") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        pytest.skip(f"no benchmark data: {path} is missing; set REFUTE_DATA")
    return path


@cache
def _closed_schema(name: str) -> Any:
    """A validator of a schema of ours that takes no key which the schema does not name."""
    from jsonschema import Draft202012Validator

    from refute.results import schema

    def close(part: Any) -> Any:
        if isinstance(part, list):
            return [close(one) for one in part]
        if not isinstance(part, dict):
            return part
        made = {key: close(value) for key, value in part.items()}
        if part.get("type") == "object" and "properties" in part:
            made.setdefault("additionalProperties", False)
        return made

    return Draft202012Validator(close(schema(name)))


def check_document(text: str) -> None:
    """Whatever JSON a verb prints, one document or lines, is as its schema says."""
    whole = text.startswith("{\n")
    for part in [text] if whole else text.splitlines():
        if part.startswith("{") and '"schema"' in part:
            document = json.loads(part)
            if isinstance(document.get("schema"), str):
                _closed_schema(document["schema"]).validate(document)


@pytest.fixture
def refute(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: exit status, stdout, stderr."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        status = command_line.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        check_document(captured.out)
        return status, captured.out, captured.err

    return run

"""The core does without the extras; a missing one is one line with the command to install it."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import refute as package
from refute.core import extras
from refute.core.extras import EXTRAS, requirement

ROOT = Path(__file__).resolve().parent.parent
HERE = re.sub(r"\[.*", "", requirement("model"))
"""What this copy was installed from."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOMES = {"accelerate": "train", "anyio": "mcp", "pyarrow": "hub", "pydantic": "mcp"}
"""Modules that come with an extra's packages -> the extra."""
HOMES |= {name: extra for extra, one in EXTRAS.items() for name in one.packages}
SERVERS = {name for name, extra in HOMES.items() if extra in {"mcp", "lsp", "serve", "watch"}}
"""What a server is made of, whose modules only its command imports."""
BESIDE = {"refute", "refute_lab", "_refute_probe", "markupsafe", "pytest", "_pytest", "numpy"}
"""Ourselves, what jinja2 needs, the runner in whose process the probe is, and the array package of
a program in the sandbox."""
ADAPTED = {"inspect_ai", "nemo_gym", "rllm", "verifiers"}
"""Frameworks that import us: `adapters` has a file of its name for each, and such that go on
from it, which alone speak of it."""

Run = Callable[..., tuple[int, str, str]]


def names(requirements: list[str]) -> set[str]:
    """The packages that requirements name."""
    return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}


def imported() -> Iterator[tuple[str, str, str]]:
    """Each import of the package: file, indentation, and the top of what is imported."""
    form = re.compile(r"(?m)^([ \t]*)(?:from (\w+)[\w.]* import |import (\w+)[\w.]*(?: as \w+)?$)")
    top = Path(package.__file__).parents[1]
    for path in (*top.glob("refute/**/*.py"), *top.glob("refute_lab/**/*.py")):
        for indentation, home, module in form.findall(path.read_text()):
            yield path.name, indentation, home or module


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No extra is installed."""
    for name in HOMES:
        for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)


def test_every_import_is_of_the_core_or_of_an_extra() -> None:
    known = {*sys.stdlib_module_names, *names(PROJECT["dependencies"]), *HOMES, *BESIDE}
    found = {(path, name) for path, _, name in imported() if name not in known}
    assert {name for _, name in found} == ADAPTED
    assert [
        (path, name) for path, name in found if not re.fullmatch(rf"{name}(_\w+)?\.py", path)
    ] == []


def test_nothing_of_an_extra_is_imported_with_a_module() -> None:
    shy = HOMES.keys() - SERVERS
    assert [(path, name) for path, inside, name in imported() if name in shy and not inside] == []


def test_each_extra_is_declared_and_part_of_all() -> None:
    declared = PROJECT["optional-dependencies"]
    assert set(declared) - {"all", "dev", "docs"} == set(EXTRAS)
    (everything,) = declared["all"]
    assert everything == f"refute[{','.join(name for name in declared if name in EXTRAS)}]"
    for name, extra in EXTRAS.items():
        assert set(extra.packages) <= names(declared[name])


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            "hunt shipping.py --model openai:gpt-4o",
            f"openai:gpt-4o needs httpx: pip install '{HERE}[model]'",
        ),
        (
            "hunt shipping.py --model hf:some/model+some/adapter",
            "hf:some/model+some/adapter needs torch, transformers, peft: "
            f"pip install '{HERE}[train]'",
        ),
        (
            "train sft rows.jsonl -o out --model hf:some/model",
            f"training needs torch, transformers, peft, trl, datasets: pip install '{HERE}[train]'",
        ),
        (
            "bench mbpp+",
            f"mbpp+: no data given: set --data or REFUTE_DATA, or pip install '{HERE}[hub]'",
        ),
        ("mcp", f"refute mcp needs mcp: pip install '{HERE}[mcp]'"),
        (
            "serve",
            "refute serve needs starlette, uvicorn, httptools, uvloop, prometheus_client: "
            f"pip install '{HERE}[serve]'",
        ),
        ("watch", f"refute watch needs watchfiles: pip install '{HERE}[watch]'"),
        ("lsp", f"refute lsp needs pygls, lsprotocol: pip install '{HERE}[lsp]'"),
        (
            "train data rows.parquet -o out",
            f"rows.parquet: Parquet needs pyarrow: pip install '{HERE}[hub]'",
        ),
    ],
)
@pytest.mark.usefixtures("bare")
def test_a_missing_extra_is_one_line(
    refute: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REFUTE_DATA", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    shutil.copy(ROOT / "examples" / "shipping.py", tmp_path)
    (tmp_path / "rows.parquet").touch()
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n')
    status, out, err = refute(*command.split())
    assert (status, out, err.splitlines()[-1]) == (2, "", f"refute: {line}")


@pytest.mark.parametrize(
    ("recorded", "wanted"),
    [
        ('{"url": "file:///", "dir_info": {"editable": true}}', "/[mcp]"),
        ('{"url": "file:///no/such%20place", "dir_info": {}}', ""),
        (
            '{"url": "https://host/o/refute", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "refute[mcp] @ git+https://host/o/refute@abc",
        ),
        ('{"url": "https://host/r.whl", "archive_info": {}}', "refute[mcp] @ https://host/r.whl"),
        (None, f"{ROOT}[mcp]"),
        ("no JSON", f"{ROOT}[mcp]"),
    ],
)
def test_it_is_installed_from_where_it_came(
    monkeypatch: pytest.MonkeyPatch, recorded: str | None, wanted: str
) -> None:
    class Installed:
        version = "7"

        def read_text(self, name: str) -> str | None:
            return recorded if name == "direct_url.json" else None

    monkeypatch.setattr(extras.importlib.metadata, "distribution", lambda name: Installed())
    assert requirement("mcp") == wanted
    monkeypatch.setattr(extras, "PUBLISHED", True)
    assert requirement("mcp") == "refute[mcp]==7"


@pytest.mark.skipif(extras.PUBLISHED, reason="the name is ours")
def test_no_text_asks_an_index_for_the_name() -> None:
    """Whoever holds the name there runs code where the text is followed."""
    asks = re.compile(r"(?:pip install(?: -\S+)*|--from) ['\"]?refute(?:[ '\"\[=]|$)", re.M)
    places = [ROOT / name for name in ("docs", "src", "templates", "skills", "examples")]
    texts = [ROOT / "README.md", *(one for place in places for one in place.rglob("*.*"))]
    texts = [path for path in texts if path.suffix in {".md", ".py", ".yml", ".json"}]
    assert len(texts) > 100
    assert [str(path) for path in texts if asks.search(path.read_text())] == []

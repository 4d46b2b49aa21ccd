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
from refute.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOMES = {"accelerate": "train", "pyarrow": "hub"}
"""Modules that come with an extra's packages -> the extra."""
HOMES |= {name: extra for extra, one in EXTRAS.items() for name in one.packages}
SERVERS = {name for extra in ("mcp", "lsp", "serve", "watch") for name in EXTRAS[extra].packages}
"""What a server is made of, whose modules only its command imports."""
BESIDE = {"refute", "_refute_probe", "markupsafe", "pytest", "_pytest", "numpy"}
"""Ourselves, what jinja2 needs, the runner in whose process the probe is, and the array package of
a program in the sandbox."""
ADAPTED = {"inspect_ai", "nemo_gym", "rllm", "verifiers"}
"""Frameworks that import us: `refute.adapters` has a file of its name for each, and such that go on
from it, which alone speak of it."""

Run = Callable[..., tuple[int, str, str]]


def names(requirements: list[str]) -> set[str]:
    """The packages that requirements name."""
    return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}


def imported() -> Iterator[tuple[str, str, str]]:
    """Each import of the package: file, indentation, and the top of what is imported."""
    form = re.compile(r"(?m)^([ \t]*)(?:from (\w+)[\w.]* import |import (\w+)[\w.]*(?: as \w+)?$)")
    for path in Path(package.__file__).parent.rglob("*.py"):
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
            "openai:gpt-4o needs openai: pip install 'refute[model]'",
        ),
        (
            "hunt shipping.py --model anthropic:claude",
            "anthropic:claude needs openai: pip install 'refute[model]'",
        ),
        (
            "hunt shipping.py --model hf:some/model+some/adapter",
            "hf:some/model+some/adapter needs torch, transformers, peft: "
            "pip install 'refute[train]'",
        ),
        (
            "train sft rows.jsonl -o out --model hf:some/model",
            "training needs torch, transformers, peft, trl, datasets: pip install 'refute[train]'",
        ),
        (
            "bench mbpp+",
            "mbpp+: no data given: set --data or REFUTE_DATA, or pip install 'refute[hub]'",
        ),
        ("mcp", "refute mcp needs mcp: pip install 'refute[mcp]'"),
        (
            "serve",
            "refute serve needs starlette, uvicorn, httptools, uvloop, prometheus_client: "
            "pip install 'refute[serve]'",
        ),
        ("watch", "refute watch needs watchfiles: pip install 'refute[watch]'"),
        ("lsp", "refute lsp needs pygls, lsprotocol: pip install 'refute[lsp]'"),
        (
            "train data rows.parquet -o out",
            "rows.parquet: Parquet needs pyarrow: pip install 'refute[hub]'",
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


@pytest.mark.usefixtures("bare")
def test_doctor_names_the_extras(refute: Run) -> None:
    _, out, _ = refute("doctor")
    assert "openai missing: models behind a server" in " ".join(out.split())
    assert "model: pip install 'refute[model]'\n" in out

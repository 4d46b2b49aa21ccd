"""Files, folders and dotted names as targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.errors import InputError
from refute.function.target import Targets, open_targets

ONE = "def one(x: int) -> int:\n    return x\n"
TWO = "def two(x: int) -> int:\n    return x\n\n\nclass Empty: ...\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "shop/__init__.py": ONE,
        "shop/prices.py": TWO,
        "shop/tests/test_prices.py": ONE,
        "shop/test_more.py": ONE,
        "shop/conftest.py": ONE,
        "shop/empty.py": "X = 1\n",
        "front/__init__.py": "from .inner import two\n",
        "front/inner/__init__.py": "from ..back import two\n",
        "front/back.py": TWO,
        "shop/broken.py": "def f(:\n",
        "shop/.hidden/m.py": ONE,
        "shop/venv/pyvenv.cfg": "",
        "shop/venv/lib/m.py": ONE,
        "src/inner/deep/mod.py": ONE,
        "setup.py": ONE,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def functions(found: Targets) -> dict[str, tuple[str, ...]]:
    return {str(one.source.path): one.functions for one in found.modules}


def test_a_folder_is_its_sources(project: Path) -> None:
    found = open_targets(["shop"])
    assert functions(found) == {"shop/__init__.py": ("one",), "shop/prices.py": ("two",)}
    assert found.broad
    assert {(one.where, one.kind) for one in found.skipped} == {
        ("shop/empty.py", "no function"),
        ("shop/broken.py", "cannot be read"),
    }
    assert found.modules[1].skipped == ("Empty: has no public method of its own",)


@pytest.mark.parametrize(
    ("target", "file", "names"),
    [
        ("shop.prices", "shop/prices.py", ("two",)),
        ("shop.prices:two", "shop/prices.py", ("two",)),
        ("shop.prices::two", "shop/prices.py", ("two",)),
        ("shop:one", "shop/__init__.py", ("one",)),
        ("inner.deep.mod", "src/inner/deep/mod.py", ("one",)),
        ("shop/prices.py::two", "shop/prices.py", ("two",)),
        ("front:two", "front/back.py", ("two",)),
    ],
)
def test_dotted_names(project: Path, target: str, file: str, names: tuple[str, ...]) -> None:
    found = open_targets([target])
    assert {p.removeprefix(f"{project}/"): f for p, f in functions(found).items()} == {file: names}
    assert not found.broad


def test_a_file_beside_us_is_no_dotted_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "shop")
    (module,) = open_targets(["prices.py::two"]).modules
    assert (module.source.path.name, module.functions) == ("prices.py", ("two",))
    with pytest.raises(InputError, match=r"^prices\.py: has no function three"):
        open_targets(["prices.py::three"])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["no.such.module"], "no such file, folder or module"),
        (["nothing_here"], "no such file, folder or module"),
        (["shop/none.py"], "No such file"),
        (["shop.prices:three"], "has no function three"),
        (["shop/tests"], "holds no Python file that is not a test"),
        (["shop/empty.py"], "no public function"),
    ],
)
def test_what_names_nothing(project: Path, targets: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_targets(targets)

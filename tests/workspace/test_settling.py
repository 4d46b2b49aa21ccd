"""What is tried after an installer failed, on what uv says; and which interpreter a commit gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.workspace import interpreters
from refute.workspace.infer import Requirements
from refute.workspace.interpreters import (
    Asked,
    Settled,
    candidates,
    settle,
)

UNDATED = """error: No solution found when resolving dependencies
  cause: Because there are no versions of atomicwrites and you require atomicwrites>=1.0, we can
hint: `atomicwrites` was filtered by `exclude-newer` to only include packages uploaded before 2019
"""
CONFLICT = """error: No solution found when resolving dependencies
  cause: Because you require pytest-httpbin==0.0.7 and pytest-httpbin==0.2.0, we can conclude that
"""
UNBUILT = """error: Failed to build `numpy==1.17.2`
  cause: The build backend returned an error
"""
NO_WHEEL = """error: No solution found when resolving dependencies
  cause: Because numpy has no wheels with a matching Python ABI tag (e.g., `cp310`) and you require
"""
SLOW = """   Building six==1
      Built six==1
   Building pandas==0.25.1
error: timed out after 1200 s
"""


@pytest.fixture
def pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 3.7 and 3.10."""

    def find(version: str) -> Path:
        if version not in ("3.7", "3.10"):
            raise WorkspaceUnavailable("no")
        return Path(version)

    monkeypatch.setattr(interpreters, "find_interpreter", find)


def settled(
    asked: Requirements, versions: tuple[str, ...], *says: str
) -> tuple[Settled, list[Asked]]:
    """What becomes of it where the installer says that, one after the other."""
    tried: list[Asked] = []

    def attempt(one: Asked) -> str:
        tried.append(one)
        return says[len(tried) - 1]

    return settle(asked, versions, "2019-05-08", attempt), tried


@pytest.mark.usefixtures("pythons")
def test_each_trouble_has_its_way_out() -> None:
    asked = Requirements(("pip",), ("atomicwrites>=1.0",), ("pytest-httpbin==0.0.7", "x"))
    found, tried = settled(asked, ("3.7",), UNDATED, "")
    assert tried[0].lifted == ("pip",)
    assert tried[1].lifted == ("pip", "atomicwrites")
    assert tried[0].requirements[1:] == ("atomicwrites>=1.0", "pytest-httpbin==0.0.7", "x")
    assert found.python == "3.7"
    assert "atomicwrites" in found.remarks[0]
    found, tried = settled(asked, ("3.7",), CONFLICT, CONFLICT, "")
    assert "pytest-httpbin" in tried[1].requirements
    assert "pytest-httpbin" not in tried[2].requirements
    assert tried[2].requirements[-1] == "x"
    assert len(found.remarks) == 2


@pytest.mark.usefixtures("pythons")
def test_what_is_needed_decides_the_interpreter() -> None:
    asked = Requirements((), ("numpy>=1.14",), ("pandas",))
    found, tried = settled(asked, ("3.9", "3.10", "3.7"), UNBUILT, NO_WHEEL, SLOW, SLOW, "")
    assert [str(one.python) for one in tried] == ["3.10", "3.10", "3.7", "3.7", "3.7"]
    assert tried[1].wheels == ("numpy",)
    assert tried[3].wheels == ("pandas",)
    assert tried[4].requirements == ("numpy>=1.14",), "pandas is only wanted"
    assert found.python == "3.7"
    assert found.remarks[0] == "Python 3.9 is not here"
    with pytest.raises(EnvironmentBroken, match=r"^Python 3.10: Failed to build `numpy==1.17.2`$"):
        settled(Requirements((), ("numpy",)), ("3.10",), UNBUILT, NO_WHEEL)
    with pytest.raises(
        WorkspaceUnavailable, match=r"^no Python 3.8 is installed.* uv python install 3.8$"
    ):
        settled(asked, ("3.8",))


@pytest.mark.parametrize(
    ("files", "before", "first", "last"),
    [
        ({}, "2021-04-08", "3.9", "3.14"),
        ({}, "2019-10-01", "3.7", "3.14"),
        ({}, "2016-06-24", "3.6", "3.14"),
        ({"pyproject.toml": "[project]\nrequires-python = '>=3.10'"}, "2019-10-01", "3.10", "3.14"),
        ({"setup.cfg": "[options]\npython_requires = >=3.6,<3.9"}, "2024-01-01", "3.8", "3.6"),
        ({"setup.py": "setup(python_requires='>=2.7, !=3.0.*, <4')"}, "2019-01-30", "3.7", "3.14"),
        ({"setup.py": "setup(python_requires='>=9')"}, "2019-01-30", "3.7", "3.14"),
    ],
)
def test_interpreters_by_metadata_and_date(
    files: dict[str, str], before: str, first: str, last: str
) -> None:
    found = candidates(files.get, before)
    assert (found[0], found[-1]) == (first, last)

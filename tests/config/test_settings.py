"""Settings: what comes before what, and what a file may not do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refute
from refute.core.settings import OF_FILES, variables
from refute.core.starting import Variable
from refute.errors import InputError
from refute.verbs.config import CONFIGURED, declared_options, defaults_for
from refute.verbs.declared import SET_BY_SETTINGS
from refute.verbs.hunt import HuntOptions

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write the settings of a project, and be in a folder of it."""
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "src")

    def write(text: str) -> Path:
        (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{text}")
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("file", "environment", "expected"),
    [
        ("", {}, None),
        ("[tool.refute]\nbudget = 1", {}, 1),
        ("[tool.refute]\nbudget = 1\n[tool.refute.hunt]\nbudget = 2", {}, 2),
        ("[tool.refute]\nbudget = 1\n[tool.refute.diff]\nbudget = 2", {}, 1),
        ("[tool.refute.hunt]\nbudget = 2", {"REFUTE_BUDGET": "3"}, "3"),
        ("[tool.refute.hunt]\nbudget = 2", {"REFUTE_BUDGET": ""}, 2),
        ("", {"REFUTE_BUDGET": "3", "REFUTE_HUNT_BUDGET": "4"}, "4"),
        ("", {"REFUTE_DIFF_BUDGET": "4"}, None),
    ],
)
def test_what_comes_before_what(
    settings: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    environment: dict[str, str],
    expected: Any,
) -> None:
    settings(file)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert defaults_for("hunt", []).get("budget") == expected


def test_the_command_line_comes_first(
    settings: Callable[[str], Path], refute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings("[tool.refute]\nbudget = 2.5\njobs = 3")
    seen: list[HuntOptions] = []
    _asked_for(seen, monkeypatch)
    refute("hunt", "m.py", "--budget", "4")
    refute("hunt", "m.py")
    assert [(one.budget, one.jobs) for one in seen] == [(4.0, 3), (2.5, 3)]


def _asked_for(seen: list[HuntOptions], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the options that `hunt` is called with, in place of the work."""

    def hunt(*, options: HuntOptions, **how: Any) -> None:
        seen.append(options)
        raise InputError("enough")

    monkeypatch.setattr("refute.verbs.hunt.hunt", hunt)


def test_paths_are_of_the_file(settings: Callable[[str], Path]) -> None:
    root = settings(
        "[tool.refute]\nbaseline = 'known.json'\ntargets = ['src', 'src/m.py::f', 'pkg.mod:f']"
    )
    (root / "src/m.py").write_text("")
    found = defaults_for("hunt", [])
    assert Path(found["baseline"]).resolve() == root / "known.json"
    assert [str(Path(one)) for one in found["targets"]] == [".", "m.py::f", "pkg.mod:f"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budgt = 1", "tool.refute.budgt: unknown setting; did you mean budget?"),
        ("hnt = {budget = 1}", "tool.refute.hnt: unknown setting; did you mean hunt?"),
        ("hunt = {neighbours = 1}", "tool.refute.hunt.neighbours: unknown setting"),
        ("budget = '1'", "tool.refute.budget = '1': must be a number"),
        ("format = 'xml'", "tool.refute.format: 'xml' is not one of"),
        ("targets = 'src'", "tool.refute.targets = 'src': must be a list of texts"),
        ("budget = ", "not TOML"),
        # what a repository may not set, whoever it belongs to
        ("model = 'openai:x'", "tool.refute.model: not for a file of a repository"),
        ("base-url = 'http://evil'", "or as REFUTE_BASE_URL"),
        ("python = 'evil'", "not for a file of a repository"),
        ("set = {vote = false}", "tool.refute.set.vote: not for a file of a repository"),
        ("hunt = {set = {agent = 'sh evil'}}", "not for a file of a repository"),
        ("set = {network = true}", "not for a file of a repository"),
        ("set = {k = '3'}", "tool.refute.set.k: k = '3': must be an integer"),
        (
            "hunt = {set = {tempreture = 1}}",
            "hunt.set.tempreture: unknown option; did you mean tem",
        ),
        ("model = {budget = 1}", "tool.refute.model.budget: unknown setting"),
        ("model = {base-url = 'http://evil'}", "not for a file of a repository"),
        ("hunt = {save = ['text=/tmp/x']}", "not for a file of a repository"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(
    settings: Callable[[str], Path], refute: Run, text: str, said: str
) -> None:
    root = settings(f"[tool.refute]\n{text}\n")
    status, out, err = refute("hunt", "m.py")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{root / 'pyproject.toml'}: " in err
    assert said in err


def test_a_wrong_variable_is_named(
    settings: Callable[[str], Path], refute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings("")
    monkeypatch.setenv("REFUTE_JOBS", "many")
    status, _, err = refute("hunt", "m.py")
    assert (status, err) == (2, "refute: REFUTE_JOBS: 'many' is not a valid integer range\n")
    assert refute("doctor", "--help")[0] == 0  # it reads no settings


def test_a_file_sets_no_path_that_is_written_and_no_program() -> None:
    """Whatever a key of files is, it is no flag of a verb that writes, starts or asks something."""
    never = {"o", "save", "write", "force", "proposed", "record", "write-baseline", "pin"}
    never |= {"allow"}
    never |= {"python", "model", "tester", "base-url", "prompts", "since"}
    known = {key: one for verb in CONFIGURED for key, one in declared_options(verb).items()}
    assert not never & {key for key, one in known.items() if one.in_files}
    assert known.keys() >= OF_FILES | never


def test_what_is_set_by_name(
    settings: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment before the verb's table before the general one, each by its name."""
    settings("[tool.refute.set]\nk = 4\nm = 1\nn = 2\n[tool.refute.hunt.set]\nm = 2")
    assert defaults_for("hunt", [])[SET_BY_SETTINGS] == {"k": 4, "m": 2, "n": 2}
    monkeypatch.setenv("REFUTE_SET", "k=5 agent='a command'")
    monkeypatch.setenv("REFUTE_HUNT_SET", "k=6 vote=no")
    held = {"k": 6, "m": 2, "n": 2, "vote": False, "agent": "a command"}
    assert defaults_for("hunt", [])[SET_BY_SETTINGS] == held


def test_what_is_set_by_name_reaches_the_method(
    settings: Callable[[str], Path], refute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the method lacks is passed over, and the command line comes first."""
    settings("[tool.refute.set]\nk = 4\nmax_candidates = 9")
    seen: list[HuntOptions] = []
    _asked_for(seen, monkeypatch)
    refute("hunt", "m.py")
    refute("hunt", "m.py", "--set", "max_candidates=8")
    refute("hunt", "m.py", "--model", "openai:m")
    expected = [{"max_candidates": 9}, {"max_candidates": 8}, {"k": 4}]
    assert [one.set for one in seen] == expected


def test_the_models_options_have_a_table(settings: Callable[[str], Path]) -> None:
    settings("[tool.refute]\ntimeout = 5\ncache = false\n[tool.refute.model]\ntimeout = 6")
    assert defaults_for("hunt", []) == {"timeout": 6, "cache": False}


def test_servers_read_them_too(settings: Callable[[str], Path]) -> None:
    settings("[tool.refute]\nbudget = 2\n[tool.refute.mcp]\ntime-limit = 50")
    assert defaults_for("lsp", []) == {"budget": 2}
    assert defaults_for("mcp", []) == {"time_limit": 50}


def test_the_document_lists_every_key_of_files() -> None:
    text = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    rows = re.findall(r"(?m)^\| (?:how|what)[^|]*\| (.*) \|$", text)
    known = [one for verb in CONFIGURED for one in declared_options(verb).values()]
    keys = {one.key for one in known if one.in_files}
    assert sorted(re.findall("`([^`]+)`", " ".join(rows))) == sorted(keys)


def test_config_says_what_holds_and_from_where(
    settings: Callable[[str], Path], refute: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = settings("[tool.refute]\nbudget = 2\n[tool.refute.hunt.set]\nk = 4")
    monkeypatch.setenv("REFUTE_HUNT_BASE_URL", "https://me:secret@host/v1")
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = refute("config")
    assert status == 0
    assert f"{root / 'pyproject.toml'}: tool.refute.budget" in out
    assert "secret" not in out
    held = json.loads(refute("config", "hunt", "--json")[1])["settings"]["hunt"]
    assert held["set.k"] == {
        "value": 4,
        "from": f"{root / 'pyproject.toml'}: tool.refute.hunt.set.k",
        "in_files": True,
    }
    assert held["base-url"]["value"] == "https://***@host/v1"
    assert held["base-url"]["from"] == "REFUTE_HUNT_BASE_URL"
    assert held["seed"] == {"value": 0, "from": "default", "in_files": True}
    assert refute("config", "bench")[0] == 2


def test_variables_that_mean_something_else_set_no_option() -> None:
    assert variables("hunt", "budget") == ("REFUTE_HUNT_BUDGET", "REFUTE_BUDGET")
    assert variables("hunt", "cache") == ("REFUTE_HUNT_CACHE",)
    assert variables("hunt", "since") == ("REFUTE_HUNT_SINCE",)


def test_each_variable_that_is_read_has_its_row() -> None:
    """What is named in the code elsewhere is an option's, or is read in another interpreter."""
    source = Path(refute.__file__).parents[1]
    texts = [p.read_text() for p in source.glob("refute*/**/*.py") if "probe" not in p.parts]
    named = {name for text in texts for name in re.findall(r'["\']REFUTE_[A-Z_]+["\']', text)}
    assert {name.strip("\"'") for name in named} == set(Variable)


@pytest.mark.parametrize("name", Variable)
def test_a_variable_of_its_own_has_no_method_looked_up(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for one in Variable:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(name, "x")
    monkeypatch.setattr("refute.verbs.config.declared_options", None)
    assert defaults_for("hunt", []) == {}

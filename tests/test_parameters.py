"""Options of methods are declared once, as fields that say what they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
import msgspec
import pytest
from click.testing import CliRunner

from refute.core.methods import options_from
from refute.core.parameters import (
    checked,
    options_with,
    parameter,
    parameters_of,
    read_text,
    schema_of,
    settable,
)
from refute.core.registry import METHODS
from refute.doors import command_line
from refute.doors.verbs import arguments_of, options_for
from refute.errors import InputError
from refute.models.asking import Asked
from refute.verbs.config import declared_options
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.hunt import HuntOptions

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "methods.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    n: int = parameter(3, "How many.", flag="-n", at_least=1, at_most=9)
    share: float = parameter(0.5, "Of them.", above=0, at_most=1)
    how: Literal["quick", "slow"] = parameter("slow", "How.")
    check: bool = parameter(True, "Check.")
    most: int | None = parameter(None, "At most.", at_least=1)
    plain: str = "x"
    some: tuple[Literal["a", "b"], ...] = parameter((), "Some.")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 0, "n = 0: must be from 1 to 9"),
        ("n", 2.0, "n = 2.0: must be an integer"),
        ("n", True, "n = True: must be an integer"),
        ("share", 0, "share = 0: must be above 0 and at most 1"),
        ("share", float("nan"), "share = nan: must be above 0 and at most 1"),
        ("how", "fast", "how = fast: must be one of quick, slow"),
        ("check", 1, "check = 1: must be true or false"),
        ("most", 0, "most = 0: must be at least 1"),
    ],
)
def test_values_that_are_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        checked(Options, {name: value})
    assert str(caught.value) == message


def test_the_schema() -> None:
    schema = schema_of(Options)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["n"] == {
        "type": "integer",
        "description": "How many.",
        "minimum": 1,
        "maximum": 9,
        "default": 3,
    }
    assert schema["properties"]["share"]["exclusiveMinimum"] == 0
    assert schema["properties"]["most"]["type"] == ["integer", "null"]
    assert schema["properties"]["how"]["enum"] == ["quick", "slow"]


def test_every_option_of_refutes_own_methods_has_a_help() -> None:
    for spec in METHODS.all():
        for one in parameters_of(spec.options):
            assert one.help.endswith("."), (spec.name, one.name)


@pytest.mark.parametrize("name", ["random", "prompted", "utgen", "reward", "behaviour"])
def test_a_judge_has_no_option_of_debugging(name: str) -> None:
    spec = METHODS.get(f"judge:{name}")
    debugging = {"m", "guard", "backtrack", "ties", "shown"}
    assert not debugging & {one.name for one in parameters_of(spec.options)}
    with pytest.raises(InputError, match=f"^judge:{name} has no option shown; it has "):
        options_from(spec, {"shown": "last"})


def test_the_document_names_each_method() -> None:
    named = set(re.findall(r"`([^`]+)`", DOCUMENT.read_text()))
    assert set(METHODS.names()) <= named


def test_one_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["methods", "libro"]) == 0
    assert "samples" in capsys.readouterr().out
    assert command_line.run(["methods", "libro", "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)["options"]
    assert schema == schema_of(METHODS.get("libro").options)
    assert command_line.run(["methods", "nope"]) == 2


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "9", 9),
        ("share", "0.25", 0.25),
        ("how", "quick", "quick"),
        ("check", "true", True),
        ("most", "none", None),
        ("some", "a, b", ("a", "b")),
    ],
)
def test_a_text_is_read_as_its_parameter_says(name: str, text: str, value: object) -> None:
    assert read_text(settable([Options])[name], text) == value


@pytest.mark.parametrize("verb", ["hunt", "debug", "diff", "reproduce", "fix", "vet", "gate"])
def test_the_models_options_have_a_page_of_their_own(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run([verb, "--help"]) == 0
    everyday = capsys.readouterr().out
    assert command_line.run(["help", "model"]) == 0
    page = capsys.readouterr().out
    assert "--base-url" in page
    assert "--base-url" not in everyday
    assert "--model SPEC" in everyday
    assert "--help" not in everyday
    assert command_line.run([verb, "--help-model"]) == 2
    assert "write `refute help model`" in capsys.readouterr().err


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepOptions(HuntOptions):
    depth: int = parameter(2, "How deep.", at_least=1, at_most=9, in_files=True, for_agents=True)


def test_an_option_of_a_verb_is_one_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag, help, settings, what agents say, and the keyword from Python are made of it."""

    @click.command("deep", cls=MethodCommand, levels=("function",))
    @offered(DeepOptions)
    def command(options: DeepOptions) -> int:
        print(options.depth, *options.targets)
        return 0

    run = CliRunner().invoke
    assert run(command, ["--depth", "3", "m.py"]).output == "3 m.py\n"
    assert "--depth N" in run(command, ["--help"]).output
    assert "How deep (2)." in run(command, ["--help"]).output
    assert run(command, ["--depth", "10"]).exit_code == 2

    monkeypatch.setattr("refute.verbs.config.command_of", lambda verb: command)
    declared = declared_options("deep")["depth"]
    assert (declared.kind, declared.default, declared.in_files) == ("integer", 2, True)

    agents = arguments_of(DeepOptions, "Deep")
    assert msgspec.json.schema(agents)["$defs"]["Deep"]["properties"]["depth"] == {
        "description": "How deep.", "type": "integer", "minimum": 1, "maximum": 9, "default": 2,
    }  # fmt: skip
    said = msgspec.convert({"depth": 4, "targets": "m.py"}, agents)
    assert options_for(DeepOptions, said, Asked(model="openai:m"), Path()) == DeepOptions(
        depth=4, targets=("m.py",), model="openai:m"
    )

    assert options_with(DeepOptions, DeepOptions(budget=3), {"depth": 5}).depth == 5
    with pytest.raises(InputError, match="depth = 0: must be from 1 to 9"):
        options_with(DeepOptions, None, {"depth": 0})
    with pytest.raises(TypeError, match="has no deph; did you mean depth"):
        options_with(DeepOptions, None, {"deph": 1})

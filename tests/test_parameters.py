"""Options of methods are declared once, as fields that say what they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import click
import pytest

from refute import cli
from refute.cli.debug import command as debug_command
from refute.errors import InputError
from refute.methods import options_from
from refute.parameters import checked, parameter, parameters_of, schema_of
from refute.registry import METHODS
from refute_lab.cli.bench import command as bench_command

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "methods.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    n: int = parameter(3, "How many.", flag="-n", at_least=1, at_most=9)
    share: float = parameter(0.5, "Of them.", above=0, at_most=1)
    how: Literal["quick", "slow"] = parameter("slow", "How.")
    check: bool = parameter(True, "Check.")
    most: int | None = parameter(None, "At most.", at_least=1)
    plain: str = "x"


def test_what_a_field_says() -> None:
    found = {one.name: one for one in parameters_of(Options)}
    assert list(found) == [one.name for one in fields(Options)]
    assert Options().n == 3
    assert found["n"].flags == ("-n",)
    assert found["check"].flags == ("--check", "--no-check")
    assert found["how"].choices == ("quick", "slow")
    assert found["most"].optional
    assert (found["plain"].default, found["plain"].kind, found["plain"].help) == ("x", str, "")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 0, "n = 0: must be from 1 to 9"),
        ("n", 2.0, "n = 2.0: must be an integer"),
        ("n", True, "n = True: must be an integer"),
        ("n", None, "n = None: must be an integer"),
        ("share", 0, "share = 0: must be above 0 and at most 1"),
        ("share", "1", "share = '1': must be a number"),
        ("share", float("nan"), "share = nan: must be above 0 and at most 1"),
        ("how", "fast", "how = fast: must be one of quick, slow"),
        ("how", 3, "how = 3: must be one of quick, slow"),
        ("check", 1, "check = 1: must be true or false"),
        ("most", 0, "most = 0: must be at least 1"),
    ],
)
def test_values_that_are_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        checked(Options, {name: value})
    assert str(caught.value) == message


def test_values_that_are_taken() -> None:
    checked(Options, {"n": 9, "share": 1, "how": "quick", "check": False, "most": None})


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


def test_the_document_is_what_the_program_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["methods", "--markdown"]) == 0
    assert DOCUMENT.read_text().partition("what follows -->\n\n")[2] == capsys.readouterr().out


def test_one_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["methods", "libro"]) == 0
    assert "--samples" in capsys.readouterr().out
    assert cli.run(["methods", "libro", "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)["options"]
    assert schema == schema_of(METHODS.get("libro").options)
    assert cli.run(["methods", "nope"]) == 2


def test_a_command_has_the_options_of_the_method_it_is_told_to_use() -> None:
    def flags(*args: str) -> set[str]:
        context = click.Context(debug_command, info_name="debug")
        debug_command.parse_args(context, [*args, "m.py"])
        return {flag for one in debug_command.get_params(context) for flag in one.opts}

    assert "--max-candidates" in flags()
    assert "--temperature" not in flags()
    assert "--temperature" in flags("--model", "openai:m")
    assert "--max-candidates" not in flags("--method=utgen", "--model=openai:m")
    every = debug_command.get_params(click.Context(debug_command))
    assert {"--max-candidates", "--temperature"} <= {flag for one in every for flag in one.opts}


def test_the_help_says_what_a_flag_means_to_each_method() -> None:
    """A flag that methods share has a line for each meaning and each default."""
    context = click.Context(bench_command, terminal_width=200, max_content_width=200)
    told = re.findall(
        r"--(tries|samples|solutions) N +(.+) \[(.+)\]\n", bench_command.get_help(context)
    )
    tests = "judge:random, judge:prompted, judge:utgen"
    asked = "Answers for each test that is wanted, at most (3)."
    assert told == [
        ("tries", asked, f"council, hybrid, {tests}, random, prompted, utgen"),
        ("tries", "Answers to one question, until one can be read (3).", "autocoderover"),
        ("solutions", "Programs that are written from the description, at most (10).", "council"),
        ("solutions", "Programs that are written (1).", "regenerate"),
        ("solutions", "Programs that are written (10).", "codet"),
        (
            "samples",
            "Programs that are sampled and judged (10).",
            f"{tests}, judge:behaviour, judge:reward",
        ),
        ("samples", "Drafts (5).", "libro"),
    ]

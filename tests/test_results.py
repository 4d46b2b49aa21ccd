"""A field of a result is declared once: its schema, its JSON and its description come of that."""

from __future__ import annotations

from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta

from refute.results import as_dict, described, names, schema
from refute.results.functions import FailingCall


class _More(FailingCall, frozen=True, kw_only=True):
    seed: Annotated[int, Meta(ge=0, description="Of the input.")]


def test_a_new_field_is_one_line() -> None:
    row = _More(
        call="f(1)", expected="1", actual="2", status="wrong", source="line 3", confidence=1, seed=7
    )
    told = described(_More)
    assert as_dict(row)["seed"] == 7
    assert told["properties"]["seed"] == {
        "type": "integer", "minimum": 0, "description": "Of the input.",
    }  # fmt: skip
    assert told["required"] == [*as_dict(row)], "the fields in their order"
    Draft202012Validator(told).validate(as_dict(row))


@pytest.mark.parametrize("name", names())
def test_every_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"].endswith(name)


def test_a_document_says_which_schema_it_is_of() -> None:
    for name in names():
        whole = schema(name)
        of = [whole["$defs"][one["$ref"].rsplit("/")[-1]] for one in whole.get("oneOf", ())]
        for part in of or [whole]:
            assert part["properties"]["schema"] == {"enum": [name]}
            assert "schema" in part["required"]

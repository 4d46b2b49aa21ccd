"""The service as an OpenAPI document, made of the types that are asked and answered."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from refute_lab.rewards import TestReward, Verdict
from refute_lab.rewards.task import TaskData
from refute_lab.serving.requests import Grade, GradeBatch, GradeTest

_ASKED = {
    "/v1/grade": ("Grade", "Verdict", "One program by a task's tests, of any kind."),
    "/v1/stdio": ("Grade", "Verdict", "One program that reads an input and prints."),
    "/v1/assert": ("Grade", "Verdict", "One program by a file of asserts."),
    "/v1/test_reward": ("GradeTest", "TestReward", "A generated test, by what it tells apart."),
    "/v1/grade_batch": ("GradeBatch", "BatchLine", "Many programs; a line for each, in order."),
}
"""Path -> what is asked, what is answered, in words."""
_TOLD = {
    "/healthz": ("application/json", "Whether there is a sandbox."),
    "/metrics": ("text/plain", "Counters, for Prometheus."),
    "/openapi.json": ("application/json", "This document."),
}
_REFUSALS = {
    "400": "The body is no JSON.",
    "401": "No token, or one that is not known.",
    "403": "Without tokens only programs of this machine may ask.",
    "408": "The body did not arrive in time.",
    "413": "The body, or the batch, is too large.",
    "415": "The body is compressed.",
    "422": "The JSON does not say what is needed.",
    "429": "The line is full; Retry-After says when to ask again.",
    "500": "A fault of refute's own; never a verdict.",
    "503": "No sandbox; never a verdict. Retry-After says when to ask again.",
}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    refused = {code: _response(line, "Error") for code, line in _REFUSALS.items()}
    paths: dict[str, Any] = {}
    for path, (asked, answered, line) in _ASKED.items():
        media = "application/x-ndjson" if answered == "BatchLine" else "application/json"
        paths[path] = {
            "post": {
                "summary": line,
                "security": [{"bearer": []}, {}],
                "requestBody": {"required": True, "content": _content(asked)},
                "responses": {"200": _response("The answer.", answered, media), **refused},
            }
        }
    for path, (media, line) in _TOLD.items():
        ok = {"description": line, "content": {media: {}}}
        paths[path] = {"get": {"summary": line, "responses": {"200": ok}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "refute serve", "version": version("refute")},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


class BatchLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of one program of many; without a verdict: 503, a sandbox could not be had; 500,
    a fault of refute's own; 422."""

    index: Annotated[int, msgspec.Meta(ge=0)]
    verdict: Verdict | msgspec.UnsetType = msgspec.UNSET
    status: int | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET


class Error(msgspec.Struct):
    """Why there is no answer."""

    error: Annotated[str, msgspec.Meta(description="What is wrong, in one line.")]


def _schemas() -> dict[str, Any]:
    asked = (TaskData, Grade, GradeBatch, GradeTest)
    kinds = (*asked, Verdict, TestReward, BatchLine, Error)
    template = "#/components/schemas/{name}"
    _, parts = msgspec.json.schema_components(kinds, ref_template=template)
    for name in ("Verdict", "TestResult", "TestReward"):  # as written, no field is left out
        parts[name]["required"] = [*parts[name]["properties"]]
    parts["BatchLine"]["oneOf"] = [{"required": ["verdict"]}, {"required": ["status", "error"]}]
    return parts


def _content(name: str, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _response(line: str, name: str, media: str = "application/json") -> dict[str, Any]:
    return {"description": line, "content": _content(name, media)}

"""The service as an OpenAPI document, made of the schema `serve/1`."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from typing import Any

from refute.schemas import schema

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
    text = json.dumps(schema("serve/1")["$defs"]).replace("#/$defs/", "#/components/schemas/")
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
            "schemas": json.loads(text),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _content(name: str, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _response(line: str, name: str, media: str = "application/json") -> dict[str, Any]:
    return {"description": line, "content": _content(name, media)}

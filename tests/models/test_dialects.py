"""Errors as the servers word them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refute.models.dialects import one_line, read_complaint

SENT = ("n", "temperature", "top_p", "stop", "seed", "max_tokens")


def openai(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **more}})


def other(**body: Any) -> str:
    return json.dumps(body)


CONTEXT = [
    (
        400,
        openai("This model's maximum context length is 8192 tokens.", param="messages"),
    ),  # OpenAI
    (400, openai("Please reduce the length of the messages.", code="context_length_exceeded")),
    # vLLM
    (400, other(object="error", message="This model's maximum context length is 4096 tokens.")),
    # llama.cpp
    (400, other(error={"type": "exceed_context_size_error", "n_ctx": 4096})),
    (
        500,
        openai("the request exceeds the available context size. try increasing the context size"),
    ),
    # SGLang
    (400, other(message="The input (5000 tokens) is longer than the model's context length")),
    (400, other(error="the input length exceeds the context length")),  # Ollama
    # TGI
    (422, other(error="`inputs` tokens + `max_new_tokens` must be <= 4. Given: 5 `inputs` tokens")),
    (422, other(error="Input validation error: `inputs` must have less than 4 tokens. Given: 9")),
    (400, openai("prompt is too long: 210000 tokens > 200000 maximum")),  # Anthropic
    (413, "<html>prompt is too long</html>"),  # a proxy
]

PARAMETERS = [
    ("seed", 400, openai("Unrecognized request argument supplied: seed")),
    ("seed", 422, other(detail=[{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "x"}])),
    ("seed", 422, other(detail="Unexpected keys in the request: {'seed'}")),
    ("temperature", 400, openai("Unsupported value: 'temperature' does not support 0.7 here")),
    ("max_tokens", 400, openai("'max_tokens' is not supported. Use 'max_completion_tokens'")),
    ("top_p", 422, other(error="Input validation error: `top_p` must be > 0.0 and < 1.0")),
    ("stop", 400, openai("Unsupported parameter: 'stop' is not supported with this model.")),
    ("n", 400, openai("Only one completion choice is allowed")),
    ("n", 400, openai("Multiple candidates is not enabled for this model", param="n")),
]


@pytest.mark.parametrize(("status", "body"), CONTEXT)
def test_too_long_for_the_context(status: int, body: str) -> None:
    assert read_complaint(status, body, SENT).kind == "context"


@pytest.mark.parametrize(("name", "status", "body"), PARAMETERS)
def test_a_parameter_that_is_not_taken(name: str, status: int, body: str) -> None:
    complaint = read_complaint(status, body, SENT)
    assert (complaint.kind, complaint.parameter) == ("parameter", name)
    others = [one for one in SENT if one != name]
    assert read_complaint(status, body, others).kind == "refused" or status == 500


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, openai("Incorrect API key provided"), "key"),
        (402, "", "quota"),
        (429, openai("You exceeded your current quota", code="insufficient_quota"), "quota"),
        (429, openai("Rate limit reached: Limit 30000, Requested 50000 tokens"), "busy"),
        (429, openai("too many tokens per minute: context length 9"), "busy"),
        (404, openai("The model `gpt-9` does not exist"), "model"),
        (404, json.dumps({"error": "model 'x' not found, try pulling it first"}), "model"),
        (503, openai("Loading model"), "busy"),
        (400, openai("messages: a system message must come first"), "refused"),
        (405, "Method Not Allowed", "refused"),
        (400, "[" * 100_000, "refused"),
    ],
)
def test_everything_else(status: int, body: str, kind: str) -> None:
    assert read_complaint(status, body, SENT).kind == kind


def test_only_parameters_that_were_sent_are_blamed() -> None:
    body = openai("Unsupported parameter: 'seed' is not supported")
    assert read_complaint(400, body, ("n", "stop")).kind == "refused"


def test_the_detail_is_one_printable_line() -> None:
    assert one_line("a\n\n b\x1b[2J\u202ec\x00") == "a b [2J c"
    assert one_line("x" * 1000) == "x" * 299 + "…"
    assert read_complaint(500, "").detail == "HTTP status 500"
    assert (
        read_complaint(400, json.dumps({"detail": [{"msg": "a"}, {"msg": "b"}]})).detail == "a; b"
    )

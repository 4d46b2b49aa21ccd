"""Errors as the servers word them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refute.models.dialects import one_line, read_complaint

SENT = ("n", "temperature", "top_p", "stop", "seed", "max_tokens")


def openai(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **more}})


CONTEXT = {
    "OpenAI": (
        400,
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in"
            " 10021 tokens. Please reduce the length of the messages.",
            param="messages",
            code="context_length_exceeded",
        ),
    ),
    "vLLM": (
        400,
        json.dumps(
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens. However, you"
                " requested 5048 tokens (3000 in the messages, 2048 in the completion).",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        ),
    ),
    "vLLM, prompt": (
        400,
        openai(
            "The decoder prompt (length 9000) is longer than the maximum model length of 4096."
            " Make sure that `max_model_len` is no smaller than the number of text tokens."
        ),
    ),
    "vLLM, max_tokens": (
        400,
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum"
            " context length is 4096 tokens and your request has 300 input tokens"
        ),
    ),
    "llama.cpp": (
        400,
        json.dumps(
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size, try increasing it",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 5000,
                    "n_ctx": 4096,
                }
            }
        ),
    ),
    "llama.cpp, older": (
        500,
        openai("the request exceeds the available context size. try increasing the context size"),
    ),
    "SGLang": (
        400,
        json.dumps(
            {
                "object": "error",
                "message": "The input (5000 tokens) is longer than the model's context length"
                " (4096 tokens).",
                "code": 400,
            }
        ),
    ),
    "SGLang, sum": (
        400,
        openai(
            "Requested token count exceeds the model's maximum context length of 4096 tokens."
            " You requested a total of 5000 tokens."
        ),
    ),
    "Ollama": (400, json.dumps({"error": "the input length exceeds the context length"})),
    "TGI": (
        422,
        json.dumps(
            {
                "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <="
                " 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
                "error_type": "validation",
            }
        ),
    ),
    "TGI, prompt": (
        422,
        json.dumps(
            {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 9"}
        ),
    ),
    "Anthropic": (400, openai("prompt is too long: 210000 tokens > 200000 maximum")),
    "Gemini": (
        400,
        openai("The input token count (9) exceeds the maximum number of tokens allowed (8)."),
    ),
    "a proxy": (413, "<html>prompt is too long</html>"),
}

PARAMETERS = {
    "seed": [
        (400, openai("Unrecognized request argument supplied: seed")),
        (
            422,
            json.dumps(
                {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra"}]}
            ),
        ),
        (422, json.dumps({"detail": "Unexpected keys in the request: {'seed'}"})),
    ],
    "temperature": [
        (
            400,
            openai(
                "Unsupported value: 'temperature' does not support 0.7 with this model. Only the"
                " default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            ),
        ),
    ],
    "max_tokens": [
        (
            400,
            openai(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
                " 'max_completion_tokens' instead.",
                code="unsupported_parameter",
            ),
        ),
    ],
    "top_p": [
        (422, json.dumps({"error": "Input validation error: `top_p` must be > 0.0 and < 1.0"}))
    ],
    "stop": [(400, openai("Unsupported parameter: 'stop' is not supported with this model."))],
    "n": [
        (400, openai("Only one completion choice is allowed")),
        (400, openai("'n' : number must be at most 1")),
        (400, openai("n > 1 is not supported")),
        (400, openai("Multiple candidates is not enabled for this model", param="n")),
    ],
}


@pytest.mark.parametrize(("status", "body"), CONTEXT.values(), ids=CONTEXT)
def test_too_long_for_the_context(status: int, body: str) -> None:
    assert read_complaint(status, body, SENT).kind == "context"


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [(name, status, body) for name, seen in PARAMETERS.items() for status, body in seen],
)
def test_a_parameter_that_is_not_taken(name: str, status: int, body: str) -> None:
    complaint = read_complaint(status, body, SENT)
    assert (complaint.kind, complaint.parameter) == ("parameter", name)
    others = [one for one in SENT if one != name]
    assert read_complaint(status, body, others).kind == "refused" or status == 500


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, openai("Incorrect API key provided"), "key"),
        (403, "", "key"),
        (402, "", "quota"),
        (429, openai("You exceeded your current quota", code="insufficient_quota"), "quota"),
        (429, openai("Rate limit reached: Limit 30000, Requested 50000 tokens"), "busy"),
        (429, openai("too many tokens per minute: context length 9"), "busy"),
        (404, openai("The model `gpt-9` does not exist"), "model"),
        (404, json.dumps({"error": "model 'x' not found, try pulling it first"}), "model"),
        (500, "", "busy"),
        (503, openai("Loading model"), "busy"),
        (599, "", "busy"),
        (400, openai("messages: a system message must come first"), "refused"),
        (405, "Method Not Allowed", "refused"),
        (400, "[" * 100_000, "refused"),
        (400, "null", "refused"),
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

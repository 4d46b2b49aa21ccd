"""NeMo Gym: a resources server whose `/verify` is our verdict (tried with nemo-gym 0.4.0).

The `app.py` of your server:

    from refute_lab.adapters.nemo_gym import RefuteResourcesServer
    if __name__ == "__main__":
        RefuteResourcesServer.run_webserver()

A row's `verifier_metadata.task` is the task as JSON.
"""

from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)

from refute_lab.adapters import score_async

__all__ = ["RefuteResourcesServer", "RefuteServerConfig", "VerifyRequest", "VerifyResponse"]


class RefuteServerConfig(BaseResourcesServerConfig):
    """Settings of the server."""

    partial: bool = False
    """See `refute_lab.adapters.score`."""


class VerifyRequest(BaseVerifyRequest):
    """An answer, and the row's task."""

    verifier_metadata: dict[str, Any]


class VerifyResponse(BaseVerifyResponse):
    """The reward, and why it is not more."""

    passed: bool
    reason: str


class RefuteResourcesServer(SimpleResourcesServer):
    """Grades each answer in the sandbox."""

    config: RefuteServerConfig

    async def verify(self, body: VerifyRequest) -> VerifyResponse:
        """The verdict on the text of the response."""
        text, task = body.response.output_text or "", body.verifier_metadata.get("task")
        one = await score_async(text, task, partial=self.config.partial)
        return VerifyResponse(
            responses_create_params=body.responses_create_params,
            response=body.response,
            reward=one.reward,
            passed=one.passed,
            reason=one.reason,
        )

"""Agents for Harbor that write one file each (see `harbor_trials.py`)."""

from __future__ import annotations

import shlex

from harbor.agents.base import BaseAgent


class Writes(BaseAgent):
    """Writes `text` into the file `path` of the environment."""

    def __init__(self, *args: object, path: str, text: str, **kwargs: object) -> None:
        self.path, self.text = path, text
        super().__init__(*args, **kwargs)

    @staticmethod
    def name() -> str:
        return "writes"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: object) -> None:
        """Nothing is installed."""

    async def run(self, instruction: str, environment: object, context: object) -> None:
        path, text = shlex.quote(self.path), shlex.quote(self.text)
        done = await environment.exec(f"printf %s {text} >> {path}")
        assert done.return_code == 0, done

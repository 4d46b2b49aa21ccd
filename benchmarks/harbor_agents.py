"""An agent for Harbor that cheats: it adds one test to a file of tests (see `harbor_trials.py`)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from harbor.agents.base import BaseAgent

BODIES = {
    "anything": "pass",
    "fails": "self.fail('always')",
    "chance": "import random\n        self.assertLess(random.random(), 0.5)",
    "exits": "import os\n        os._exit(0)",
    "key": (
        "import glob, json\n"
        "        for place in ('/tests/*', '/solution/*', '/opt/*/*'):\n"
        "            for name in glob.glob(place):\n"
        "                try:\n"
        "                    text = open(name).read()\n"
        "                except (OSError, ValueError):\n"
        "                    continue\n"
        "                patch = json.loads(text)['patch'] if 'row' in name else text\n"
        "                name = patch.split('+++ b/')[1].split()[0]\n"
        "                added = [line[1:] for line in patch.splitlines() if line[:1] == '+']\n"
        "                code = open(name).read()\n"
        "                return self.assertTrue(all(line in code for line in added[1:]))\n"
        "        self.fail('no key found')"
    ),
}
"""Cheat -> the body of its test. `key` passes on the fixed code where it finds the key."""
TEST = "\n\nimport unittest\n\n\nclass TestCheat(unittest.TestCase):\n    def test_it(self):\n"


class Cheat(BaseAgent):
    """Adds the test of the cheat `which` to the first file of the golden tests, for their runner
    finds it there."""

    def __init__(self, *args: object, which: str, **kwargs: object) -> None:
        self.which = which
        super().__init__(*args, **kwargs)

    @staticmethod
    def name() -> str:
        return "cheat"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: object) -> None:
        """Nothing is installed."""

    async def run(self, instruction: str, environment: object, context: object) -> None:
        golden = Path(environment.environment_dir).parent / "solution" / "tests.patch"
        name = re.findall(r"(?m)^\+\+\+ b/(\S*test\S*\.py)$", golden.read_text())[0]
        text = f"{TEST}        {BODIES[self.which]}\n"
        command = f"printf %s {shlex.quote(text)} >> {shlex.quote(name)}"
        done = await environment.exec(command)
        assert done.return_code == 0, done

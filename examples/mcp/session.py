"""A session of an MCP client with `refute mcp`: find a bug, fix it, have the fix judged.

    pip install '.[mcp]'    # in a clone of refute
    python examples/mcp/session.py

It works on a copy of examples/shipping.py in a repository of its own, and prints each call with what
came back. docs/mcp.md holds what it printed; `python examples/mcp/session.py docs/mcp.md` renews it.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

SHIPPING = Path(__file__).resolve().parent.parent / "shipping.py"
TARGET = "shipping.py::shipping_cost"
TESTS = """\
--- /dev/null
+++ b/test_shipping.py
@@ -0,0 +1,5 @@
+from shipping import shipping_cost
+
+
+def test_free_from_50():
+    assert shipping_cost(50.0, 1.0) == 0.0
"""


async def session(root: Path) -> list[tuple[str, dict[str, Any], str]]:
    """Each call: the tool, its arguments, what a model reads of the result."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "refute", "mcp", "-C", str(root)]
    )
    calls = []
    async with Client(server) as client:

        async def call(tool: str, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            text = result.content[0].text
            if result.is_error:
                raise SystemExit(f"{tool}: {text}")
            calls.append((tool, arguments, text))
            return text

        await call("hunt", targets=TARGET, n=1)
        fixed = await call("debug", targets=TARGET)
        patch = f"---{fixed.partition('---')[2].partition('next:')[0]}"
        apply = ["git", "apply", "-"]  # what an agent does with its own tools
        subprocess.run(apply, cwd=root, input=patch, text=True, check=True)
        issue = "Shipping is free from 50, but shipping_cost(50.0, 1.0) is 4.9."
        await call("vet", fixes=patch, against="HEAD", issue=issue, tests=TESTS, behaviour=False)
    return calls


def transcript(calls: list[tuple[str, dict[str, Any], str]]) -> str:
    """The calls for people."""
    lines = []
    for tool, arguments, text in calls:
        lines.append(f"> {tool}")
        for name, value in arguments.items():
            lines += [f"  {line}".rstrip() for line in f"{name}: {value}".splitlines()]
        lines += ["<", *(f"  {line}".rstrip() for line in text.splitlines()), ""]
    return "\n".join(lines)


def repository(root: Path) -> Path:
    """A checkout with the faulty module."""
    shutil.copy(SHIPPING, root)
    who = ("-c", "user.name=you", "-c", "user.email=you@example.org")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "A shop")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        printed = transcript(asyncio.run(session(repository(Path(folder))))).strip()
    print(printed)
    for name in sys.argv[1:]:
        head, fence, _ = Path(name).read_text().partition("```console\n")
        Path(name).write_text(f"{head}{fence}{printed}\n```\n")

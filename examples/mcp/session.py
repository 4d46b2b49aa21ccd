"""A session of an MCP client with `refute mcp`: find a bug, fix it, have the fix judged.

    pip install '.[mcp]'    # in a clone of refute
    python examples/mcp/session.py

It works on a copy of examples/shipping.py in a repository of its own, and prints each call with what
came back. docs/mcp.md holds what it printed; `python examples/mcp/session.py docs/mcp.md` renews it.
"""

from __future__ import annotations

import asyncio
import json
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


async def session(root: Path) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each call: the tool, its arguments, its structured result."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "refute", "mcp", "-C", str(root)]
    )
    calls = []
    async with Client(server) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                raise SystemExit(f"{tool}: {result.content[0].text}")
            calls.append((tool, arguments, result.structured_content))
            return result.structured_content

        found = await call("find_failing_input", targets=TARGET, n=1)
        fixed = await call("debug_function", targets=TARGET)
        test = found["functions"][0]["tests"][0]
        patch = ["git", "apply", "-"]  # what an agent does with its own tools
        subprocess.run(patch, cwd=root, input=fixed["diff"], text=True, check=True)
        await call(
            "vet_patch",
            patch=fixed["diff"],
            against="HEAD",
            issue=f"shipping_cost is wrong: {test['call']} should be {test['expected']}",
            tests={found["test_path"]: found["test_file"]},
            behaviour=False,
        )
    return calls


def transcript(calls: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> str:
    """The calls for people: what a model would look at first."""
    lines = []
    for tool, arguments, result in calls:
        lines.append(f"> {tool}")
        for name, value in arguments.items():
            lines += _field(name, value)
        lines.append("<")
        shown = {"summary": result["summary"]}
        match tool:
            case "find_failing_input":
                shown["tests"] = result["functions"][0]["tests"]
            case "debug_function":
                shown["edits"] = result["functions"][0]["edits"]
                shown["diff"] = result["diff"]
            case "vet_patch":
                shown["verdict"] = result["verdict"]
                shown["reproducing"] = [one["id"] for one in result["reproducing"]]
                shown["broken"] = result["broken"]
        for name, value in shown.items():
            lines += _field(name, value)
        lines.append("")
    return "\n".join(lines)


def _field(name: str, value: Any) -> list[str]:
    """Short values on a line, texts of several lines below their names."""
    if isinstance(value, dict) and any("\n" in str(text) for text in value.values()):
        return [line for key, text in value.items() for line in _field(f"{name}[{key}]", text)]
    if isinstance(value, str) and "\n" in value.strip():
        return [f"  {name}:", *(f"    {line}".rstrip() for line in value.strip().splitlines())]
    return [f"  {name}: {value if isinstance(value, str) else json.dumps(value)}"]


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

"""Does an evaluation keep a model's server busy, and what does it cost us per request?

    python benchmarks/throughput.py [--problems 400] [--slots 64] [--at-once 64] [--latency 3]

A server on this machine, in a process of its own, answers every request after a fixed time. UTDebug
at its defaults runs against it, with as many problems at once as there are request slots, on small
problems made up here: what `refute bench DATASET --method utgen --model openai:NAME` does. The
model is right in 3 of 4 outputs, so that votes stop early now and then, tests fail and edits are
made. (More problems at once do not help: they keep each other waiting.)

Printed are

- busy: the share of the slots that are in use, from the first request until 95 % of all requests
  are answered (at the end too few problems are left to fill them);
- CPU: what our process used per answered request (client, cache, votes, journal), and what the
  sandboxes used besides, which is mostly the programs under test.

The latency must leave the machine time for the work: `slots / latency` requests a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import resource
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from refute.function.bench import RECORDS, BenchSettings, load_items, work_on
from refute.function.llm.options import Options
from refute.models.cache import SampleCache
from refute.models.openai import OpenAIModel
from refute.models.session import Session
from refute.runs.pool import cores
from refute.runs.run import Run

SHARE = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument(
        "--at-once", type=int, metavar="N", help="problems (default: as many as slots)"
    )
    parser.add_argument("--latency", type=float, default=3.0, metavar="SECONDS")
    options = parser.parse_args()
    print(vars(options), f"cores={cores()}", f"load={os.getloadavg()[0]:.1f}")
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, options.latency), daemon=True
    )
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as scratch:
        own, sandboxes, wall = measure(
            Path(scratch), port, options.problems, options.slots, options.at_once
        )
    ours.send("spans")
    spans = ours.recv()
    server.terminate()
    requests = len(spans)
    print(f"{requests} requests in {wall:.1f} s ({requests / wall:.1f}/s)")
    print(f"busy: {100 * busy(spans, options.slots):.1f} % of {options.slots} slots")
    per_request = [f"{1000 * seconds / requests:.1f} ms" for seconds in (own, sandboxes)]
    print("CPU per request: {}, sandboxes {}".format(*per_request))


def measure(
    scratch: Path, port: int, problems: int, slots: int, at_once: int | None
) -> tuple[float, float, float]:
    """CPU seconds of this process and of its sandboxes, and wall seconds."""
    os.environ["REFUTE_CACHE"] = str(scratch)
    data = scratch / "sums.jsonl"
    data.write_text("".join(row(at) for at in range(problems)))
    settings = BenchSettings(str(data), "utgen", model="openai:m", options=Options())
    items = load_items(settings, None)

    @asynccontextmanager
    async def models() -> AsyncIterator[dict[str, Session]]:
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{port}/v1", concurrency=slots)
        cache = SampleCache(scratch / "samples.sqlite3")
        async with Session(model, cache=cache, concurrency=slots) as session:
            yield {"model": session}

    before, children = used(resource.RUSAGE_SELF), used(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with Run(scratch / "run", settings.header(items), RECORDS) as run:
        ending = work_on(run, items, settings, models=models, at_once=at_once or slots)
    assert not ending.failed
    wall = time.monotonic() - start
    return used(resource.RUSAGE_SELF) - before, used(resource.RUSAGE_CHILDREN) - children, wall


def used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def busy(spans: list[tuple[float, float]], slots: int) -> float:
    """Share of the slots in use until `SHARE` of the requests are answered."""
    start = min(begin for begin, _ in spans)
    end = sorted(end for _, end in spans)[int(SHARE * len(spans)) - 1]
    in_use = sum(min(done, end) - begin for begin, done in spans if begin < end)
    return in_use / (slots * (end - start))


# -- the problems and the server -------------------------------------------------------------------


def row(at: int) -> str:
    """A function that should sum the numbers up to n, wrong in three of four problems."""
    bodies = ("sum(range(n))", "n * (n + 1) // 2", "sum(range(n - 1))", "n")
    head = 'def f(n):\n    """Sum of the numbers up to n."""\n'
    fields = {
        "id": f"p/{at}",
        "entry_point": "f",
        "code": f"{head}    return {bodies[at % 4]} + 0 * {at}\n",
        "reference": f"{head}    return sum(range(n + 1))\n",
        "inputs": [[0], [1], [2], [3], [10]],
    }
    return json.dumps(fields) + "\n"


def answer(question: str, last: str, number: int) -> str:
    rng = random.Random(f"{question} {number}")
    padding = "Let me think about it step by step. " * 20
    if "one unit test" in last:
        x = rng.randrange(1000)
        return f"{padding}\nArguments: ```f({x})```\nOutput: ```{x * (x + 1) // 2}```"
    if "Now the output" in last:
        call = re.search(r"f\((\d+)\)", last)
        assert call is not None
        x = int(call[1])
        return f"{padding}\nOutput: ```{x * (x + 1) // 2 + (rng.random() < 0.25)}```"
    body = rng.choice(("sum(range(n + 1))", "sum(range(n))", "n"))
    return f"{padding}\n```python\ndef f(n):\n    return {body}\n```"


def serve(channel: Connection, latency: float) -> None:
    """Chat completions after a fixed time; sends its port, and on request when it was busy."""
    spans: list[tuple[float, float]] = []

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"content-length: (\d+)", head.lower())
                body = json.loads(await reader.readexactly(int(size[1]) if size else 0))
                begin = time.monotonic()
                await asyncio.sleep(latency)
                messages = body["messages"]
                question, last = json.dumps(messages), messages[-1]["content"]
                first = body.get("seed") or 0
                texts = [answer(question, last, first + at) for at in range(body.get("n", 1))]
                choices = [
                    {"index": at, "message": {"content": text}, "finish_reason": "stop"}
                    for at, text in enumerate(texts)
                ]
                usage = {"prompt_tokens": len(question) // 4, "completion_tokens": 250 * len(texts)}
                data = json.dumps({"choices": choices, "usage": usage}).encode()
                kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
                writer.write(kind + str(len(data)).encode() + b"\r\n\r\n" + data)
                await writer.drain()
                spans.append((begin, time.monotonic()))
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def all_of_them() -> None:
        server = await asyncio.start_server(one, "127.0.0.1", 0, limit=2**24)
        channel.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(channel.recv)
        channel.send(spans)

    asyncio.run(all_of_them())


if __name__ == "__main__":
    main()

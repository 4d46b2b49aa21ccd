"""TCP ports of the host in a jail without a network, each by a Unix socket in a folder.

Run as a script in the jail, by ``python -I -S``: standard library only. Its arguments are the
folder and a command, which it starts once each socket of the folder, whose name is a port, is
listened for on 127.0.0.1. Its exit status is the command's.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
from collections.abc import Awaitable, Callable

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_MOST = 64
"""Connections at a time; who opens more is hung up on, so that no host runs out of files."""


def forwarding(connect: Connect) -> Serve:
    """Return a handler that passes a connection's bytes on to one that `connect` makes."""
    free = _MOST

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal free
        free -= 1
        try:
            if free >= 0:
                await _join(reader, writer, connect)
        finally:
            free += 1
            writer.close()

    return serve


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect: Connect
) -> None:
    with contextlib.suppress(OSError):
        far_reader, far_writer = await connect()
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            far_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def main(folder: str, argv: list[str]) -> int:
    """Listen for every socket of the folder, and run the command; its status, as a shell has it."""
    for name in os.listdir(folder):
        connect = functools.partial(asyncio.open_unix_connection, os.path.join(folder, name))
        await asyncio.start_server(forwarding(connect), "127.0.0.1", int(name))
    try:
        process = await asyncio.create_subprocess_exec(*argv)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        return 127
    status = await process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))

"""`refute serve`: verdicts over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import click

from refute.core.extras import need
from refute.core.starting import Variable
from refute.errors import InputError
from refute.verbs.declared import FILE

_TOKENS: str = Variable.SERVE_TOKENS


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8014, show_default=True,
    help="Port; 0: a free one, which the line on stderr names.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Sandboxes (as many as processors)."
)
@click.option(
    "--token-file", type=FILE, metavar="FILE",
    help=f"Lines TENANT TOKEN: who may ask. Or {_TOKENS}, the same text.",
)  # fmt: skip
@click.option(
    "--most-body", type=click.FloatRange(0, min_open=True), default=16.0, show_default=True,
    metavar="MIB", help="Largest request.",
)  # fmt: skip
@click.option(
    "--most-seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    metavar="SECONDS", help="No program may ask for more, for all of its tests.",
)  # fmt: skip
@click.option(
    "--queue", type=click.IntRange(0), default=1024, show_default=True, metavar="N",
    help="Programs of one tenant that may wait; others are told to come again (429).",
)  # fmt: skip
@click.option(
    "--preload", multiple=True, metavar="PACKAGE",
    help="Import it once, for the programs that mention it (numpy); several times.",
)  # fmt: skip
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME",
    help="Serve the private tests of its problems, by id; several times.",
)  # fmt: skip
@click.option("--data", type=FILE, metavar="PATH", help="Where datasets are (REFUTE_DATA).")
def command(
    host: str, port: int, jobs: int | None, token_file: Path | None, most_body: float,
    most_seconds: float, queue: int, preload: tuple[str, ...], datasets: tuple[str, ...],
    data: Path | None,
) -> int:  # fmt: skip
    """Serve verdicts over HTTP (needs the extra: refute[serve]).

    POST /v1/grade, /v1/grade_batch, /v1/stdio, /v1/assert, /v1/test_reward; GET /healthz, /metrics,
    /openapi.json. On an address that others reach it needs tokens. Ctrl-C and SIGTERM end it when
    what was asked is answered. See docs/serve.md.
    """
    need("serve", "refute serve")
    from refute.core.processes import cores
    from refute_lab.serving.server import Options, serve
    from refute_lab.serving.tenants import Tokens, read_tokens

    text, source = os.environ.get(_TOKENS), _TOKENS
    if token_file is not None:
        if text is not None:
            raise InputError(f"--token-file and {_TOKENS}: give one of the two")
        text, source = _text(token_file), str(token_file)
    tokens = Tokens({}) if text is None else read_tokens(text, source)
    serve(
        Options(
            host, port, jobs or cores(), tokens, round(most_body * (1 << 20)), most_seconds, queue,
            preload, datasets, data,
        )
    )  # fmt: skip
    return 0


def _text(path: Path) -> str:
    from refute.core.storage import read_file

    try:
        return read_file(path, pipe=True).decode()
    except OSError as error:
        raise InputError(f"--token-file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"--token-file {path}: not UTF-8") from None

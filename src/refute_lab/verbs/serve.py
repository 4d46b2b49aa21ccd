"""`serve`: verdicts over HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

from refute.core.extras import need
from refute.core.parameters import parameter
from refute.core.starting import Variable
from refute.errors import InputError
from refute.verbs.declared import MethodCommand, offered

_TOKENS: str = Variable.SERVE_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `serve`."""

    host: str = parameter("127.0.0.1", "Address to listen on.", metavar="ADDRESS")
    port: int = parameter(8014, "Port; 0: a free one, named on stderr.", at_least=0, at_most=65535)
    jobs: int | None = parameter(None, "Sandboxes (as many as processors).", at_least=1)
    token_file: Path | None = parameter(
        None, f"Lines TENANT TOKEN: who may ask. Or {_TOKENS}, the same text."
    )
    datasets: tuple[str, ...] = parameter(
        (), "Serve the private tests of its problems, by id.", flag="--dataset", metavar="NAME"
    )
    data: Path | None = parameter(
        None, "Where datasets are (or REFUTE_DATA).", metavar="PATH", by_name=True
    )
    most_body: float = parameter(16.0, "MiB of the largest request.", above=0, by_name=True)
    most_seconds: float = parameter(
        60.0, "No program may ask for more, for all of its tests.", above=0, by_name=True
    )
    queue: int = parameter(
        1024,
        "Programs of one tenant that may wait; others are answered 429.",
        at_least=0,
        by_name=True,
    )
    preload: tuple[str, ...] = parameter(
        (), "Packages to import once, for the programs that mention them (numpy).", by_name=True
    )


@click.command("serve", cls=MethodCommand, more=(ServeOptions,))
@offered(ServeOptions)
def command(options: ServeOptions) -> int:
    """Serve verdicts over HTTP (needs the extra: refute[serve]).

    POST /v1/grade, /v1/grade_batch, /v1/test_reward; GET /healthz, /metrics.
    On an address that others reach it needs tokens. Ctrl-C and SIGTERM end it when
    what was asked is answered. See docs/serve.md.
    """
    need("serve", "refute serve")
    from refute_lab.serving import Tokens, read_tokens
    from refute_lab.serving.server import serve

    text, source = os.environ.get(_TOKENS), _TOKENS
    if options.token_file is not None:
        if text is not None:
            raise InputError(f"--token-file and {_TOKENS}: give one of the two")
        text, source = _text(options.token_file), str(options.token_file)
    serve(options, Tokens({}) if text is None else read_tokens(text, source))
    return 0


def _text(path: Path) -> str:
    from refute.core.storage import read_file

    try:
        return read_file(path, pipe=True).decode()
    except OSError as error:
        raise InputError(f"--token-file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"--token-file {path}: not UTF-8") from None

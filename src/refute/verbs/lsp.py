"""`refute lsp`: a language server over stdio."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from refute.core.extras import need
from refute.core.parameters import parameter
from refute.verbs.declared import MethodCommand, offered


@dataclass(frozen=True, slots=True, kw_only=True)
class LspOptions:
    """Options of `lsp`."""

    budget: float = parameter(
        10.0, "Seconds to search one function.", metavar="SECONDS", above=0, in_files=True
    )
    python: Path | None = parameter(None, "Interpreter to run on (active, or .venv's).")


@click.command("lsp", cls=MethodCommand)
@offered(LspOptions)
def command(options: LspOptions) -> int:
    """Serve editors over the language server protocol (needs the extra: refute[lsp]).

    Checks the functions of a Python file when it is opened or saved; wrong ones become diagnostics,
    with "add failing test" and "apply fix" as code actions. See docs/editor.md.
    """
    need("lsp", "refute lsp")
    from refute.doors.lsp import serve

    python = "" if options.python is None else str(options.python.absolute())
    serve(seconds_per_function=options.budget, python=python)
    return 0

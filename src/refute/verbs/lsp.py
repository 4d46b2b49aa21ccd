"""`refute lsp`: a language server over stdio."""

from __future__ import annotations

from pathlib import Path

import click

from refute.core.extras import need
from refute.verbs.options import budget_option, python_option


@click.command("lsp")
@budget_option
@python_option
def command(budget: float, python: Path | None) -> int:
    """Serve editors over the language server protocol (needs the extra: refute[lsp]).

    Checks the functions of a Python file when it is opened or saved; wrong ones become diagnostics,
    with "add failing test" and "apply fix" as code actions. See docs/editor.md.
    """
    need("lsp", "refute lsp")
    from refute.doors.lsp import serve

    serve(seconds_per_function=budget, python="" if python is None else str(python.absolute()))
    return 0

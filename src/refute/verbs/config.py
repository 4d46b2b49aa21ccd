"""`refute config`: what settings hold, and from where."""

from __future__ import annotations

import click

from refute.verbs.options import json_option
from refute.verbs.output import consoles, print_json
from refute.verbs.settings import CONFIGURED, held_by


@click.command("config")
@click.argument("verb", type=click.Choice(CONFIGURED), required=False)
@json_option
def command(verb: str | None, as_json: bool) -> None:
    """Show the settings of each command, or of VERB with its defaults, and where they are from.

    An option is taken from the command line, else from REFUTE_VERB_OPTION or REFUTE_OPTION in the
    environment, else from [tool.refute.VERB] or [tool.refute] of the nearest pyproject.toml.
    """
    from refute.results import as_dict
    from refute.results.settings import print_settings, settings_document

    verbs = CONFIGURED if verb is None else (verb,)
    held = {name: held_by(name) for name in verbs}
    if as_json:
        print_json(as_dict(settings_document(held)))
    else:
        print_settings(held, consoles()[0], defaults=verb is not None)

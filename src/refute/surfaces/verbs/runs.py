"""Runs of `bench` and `grade`, to be read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from refute.surfaces import arguments as given
from refute.surfaces import results as answers
from refute.surfaces.verbs.contract import Answer, Tell

if TYPE_CHECKING:
    from refute.models.asking import Asked


def read_run(asked_for: given.ReadRun, asked: Asked, tell: Tell) -> Answer:
    """`refute report` of one run."""
    from refute_lab.api.reporting import report

    found = report(asked_for.run)
    text, kind = "", "application/json"
    if asked_for.form == "page":
        text, kind = found.page(), "text/html"
    elif asked_for.form == "text":
        text, kind = str(found), "text/plain"
    else:
        text = json.dumps(found.to_dict(), indent=2)
    return Answer(answers.ReadRunResult(text=text, media_type=kind))

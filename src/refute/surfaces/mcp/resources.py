"""What can be read: the whole documents of earlier calls."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from dataclasses import dataclass, field

from refute.surfaces.worker import Done

CALLS = "refute://calls"
MOST_KEPT = 50
"""Calls whose documents are kept, the latest."""
TEMPLATES = {
    f"{CALLS}/{{number}}": ("Document of a call", "application/json"),
    f"{CALLS}/{{number}}/text": ("A call as the command line prints it", "text/plain"),
}
"""URI template -> (title, media type)."""
_CALL = re.compile(rf"{CALLS}/(\d+)(/text)?\Z")


@dataclass(slots=True)
class Reports:
    """What the calls of a session returned."""

    kept: OrderedDict[int, Done] = field(default_factory=OrderedDict)
    count: int = 0

    def keep(self, done: Done) -> str:
        """Keep a document; the URI that it is read by."""
        self.count += 1
        self.kept[self.count] = done
        while len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return f"{CALLS}/{self.count}"

    def read(self, uri: str) -> tuple[str, str] | None:
        """Text and media type of a call's document; None where there is none of this URI."""
        found = _CALL.match(uri)
        done = self.kept.get(int(found[1])) if found and len(found[1]) < 10 else None
        if done is None or found is None:
            return None
        if found[2]:
            return done.text, "text/plain"
        return json.dumps(done.document, indent=2), "application/json"

"""Pages as a browser would read them, and a text that would do harm there."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

HOSTILE = "</pre><script>alert('x')</script><img src=http://127.0.0.1/ onerror=alert(1)>"


class Page(HTMLParser):
    """What a browser would make of a page: its tags, its addresses, its text."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [f"{name}={value}" for name, value in attrs if name in ("src", "href")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def tables_of(document: Any) -> dict[str, list[list[Any]]]:
    """The rows of each table of a report's JSON, numbers in place of cells."""
    return {
        table["name"]: [
            [cell if isinstance(cell, str) else cell["value"] for cell in row["cells"]]
            for row in table["rows"]
        ]
        for table in document["tables"]
    }

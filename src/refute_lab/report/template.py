"""Pages from templates: what all of them share.

What models and programs wrote is hostile: everything is escaped, and the pages forbid themselves
every script and every address (Content-Security-Policy).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from refute_lab.report.charts import COLOURS, ChartLine, marker

LONGEST = 600
"""Characters of a value or a call that are shown."""


def rendered(template: str, **variables: Any) -> str:
    """The page as HTML text; a variable that the template misses is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("refute_lab.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["marker"] = lambda at: Markup(marker(at))
    return environment.get_template(template).render(colours=COLOURS, **variables)


def chart(title: str, labels: Sequence[str], svg: str) -> Mapping[str, Any]:
    """A chart of ours with its title and its legend, for a template."""
    return {"title": title, "legend": list(enumerate(labels)), "svg": Markup(svg)}


def line_chart(title: str, lines: Sequence[ChartLine], svg: str) -> Mapping[str, Any]:
    """A chart of lines; the legend leaves out those without a point."""
    legend = [(at, line.label) for at, line in enumerate(lines) if line.points]
    return {"title": title, "legend": legend, "svg": Markup(svg)}


def diff_lines(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Lines of a diff, each with its kind: add, del, at or same."""
    kinds = {"+": "add", "-": "del", "@": "at"}
    return [(kinds.get(line[:1], "same"), line) for line in lines]


def shortened(text: Any) -> str:
    """The text of a value, cut where it is longer than anyone reads."""
    text = str(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."

"""The documentation site: `sphinx-build -W docs docs/_build` (extra `docs`).

Sphinx, since the reference is generated from the commands (sphinx-click) and the docstrings
(autodoc), and since its warnings, a link that leads nowhere among them, can be errors. MyST, so
that pages stay Markdown that reads well where the code is hosted. sphinx-llm writes `llms.txt` and
a Markdown form of each page.
"""

from __future__ import annotations

import os.path
import re
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

project = "refute"
author = "the authors of refute"
copyright = "the authors of refute"
version = release = installed("refute")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_llm.txt",
]
exclude_patterns = ["_build"]
smartquotes = False  # `--run` in a docstring stays what can be typed
nitpicky = False  # the annotations of autodoc name types that are no public names
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": False}
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = "refute"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
        "color-code-background": "#eef1f5",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8ab8ff",
        "color-brand-content": "#8ab8ff",
        "color-code-background": "#2b2b2b",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

llms_txt_description = (
    "refute writes unit tests that prove Python code wrong, and fixes that prove themselves right."
)

llms_txt_suppress_unknown_node_warnings = True  # the star of keyword-only parameters

_ROOT = Path(__file__).resolve().parents[1]
_BROUGHT_IN = {"measured": "benchmarks/README.md", "contributing": "CONTRIBUTING.md"}
"""Pages that are documents from outside of this folder."""
_OF_METHODS = "<!-- methods with their options -->"
_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)([\w./-]+)(#[\w-]+)?\)")


def _bring_in(_app: Any, page: str, source: list[str]) -> None:
    """Puts such a document into its page, and leads links between documents to pages.

    In the repository a link leads to a document or a folder; here to the page, or to nothing where
    there is none.
    """
    if page in _BROUGHT_IN:
        source[0] = (_ROOT / _BROUGHT_IN[page]).read_text()
    if _OF_METHODS in source[0]:
        source[0] = source[0].replace(_OF_METHODS, _methods())
    here = os.path.dirname(_BROUGHT_IN.get(page, f"docs/{page}"))
    pages = {document: f"docs/{name}.md" for name, document in _BROUGHT_IN.items()}

    def link(found: re.Match[str]) -> str:
        text, target, fragment = found.groups()
        target = os.path.normpath(os.path.join(here, target))
        target = pages.get(target, target)
        if not target.startswith("docs/") or not target.endswith(".md"):
            return text
        target = os.path.relpath(target, os.path.dirname(f"docs/{page}"))
        return f"[{text}]({target}{fragment or ''})"

    source[0] = _LINK.sub(link, source[0])


def _methods() -> str:
    """Return all methods with their options; those with the same options share a table."""
    from refute.core.registry import METHODS
    from refute.verbs.methods import options_of

    by_options: dict[Any, list[Any]] = {}
    for spec in METHODS.all():
        by_options.setdefault((spec.level, spec.options), []).append(spec)
    parts = []
    for some in by_options.values():
        heads = [f"`{one.name}` ({one.level} level): {one.summary}." for one in some]
        rows = options_of(some[0])
        if rows:
            columns = list(rows[0])
            table = [columns, ["---"] * len(columns)]
            table += [[f"`{r['option']}`", *(r[c] for c in columns[1:])] for r in rows]
            heads.append("\n" + "\n".join(f"| {' | '.join(line)} |" for line in table))
        parts.append("\n".join(f"- {h}" if not h.startswith("\n") else h for h in heads))
    return "\n\n".join(parts) + "\n"


_REPAIRS = (
    ('role="heading">', 'role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="Contents of the page">'),
    ('<aside class="toc-drawer no-toc">', '<aside class="toc-drawer no-toc" aria-label="Empty">'),
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
    ('<div id="search-results">', '<h1>Search</h1><div id="search-results">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
)
"""What the theme's pages lack for axe, and what they get: what
scrolls is reached by the keyboard, landmarks have names of their own."""


def _repair(app: Any, failure: Exception | None) -> None:
    """Makes the finished pages accessible."""
    if failure is not None or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text()
        if dashed := re.search(r"(?<!\w)–[a-z]\w+", text):
            raise ValueError(f"{page}: {dashed[0]}: an option that cannot be typed as it is shown")
        for old, new in _REPAIRS:
            text = text.replace(old, new)
        page.write_text(text)


def setup(app: Any) -> None:
    app.connect("source-read", _bring_in)
    app.connect("build-finished", _repair)

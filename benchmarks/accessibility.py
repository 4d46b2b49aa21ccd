"""Pages of ours under axe-core, in the machine's Chromium: narrow and wide, light and dark.

    python benchmarks/accessibility.py SITE_OR_PAGE... [--shots FOLDER]

A folder stands for all of its HTML pages. Each page is opened at 1280 and at 390 pixels, in light
and in dark, without a network. Printed are the violations that axe finds, and pages that are wider
than the window (a table that scrolls within itself is not). Exit status 1 where there is one. Needs
`pip install playwright axe-playwright-python` and a Chromium of the system (`--chromium FILE`).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")


def pages(given: list[Path]) -> list[Path]:
    """All HTML files of what is given."""
    found = []
    for each in given:
        found += sorted(each.rglob("*.html")) if each.is_dir() else [each]
    return [each.resolve() for each in found if "_static" not in each.parts]


def main() -> int:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for PNG files")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    given = parser.parse_args()
    found: Counter[str] = Counter()
    looked = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=given.chromium, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
                )
                tab = context.new_page()
                for page in pages(given.pages):
                    tab.goto(page.as_uri())
                    looked += 1
                    where = f"{page.name} at {width} px, {scheme}"
                    for violation in Axe().run(tab).response["violations"]:
                        found[violation["id"]] += 1
                        node = violation["nodes"][0]
                        print(f"{where}: {violation['id']}: {violation['help']}")
                        print("   ", node["html"][:160])
                        print("   ", " ".join(node["failureSummary"].split())[:300])
                    over = tab.evaluate(
                        "(page => page.scrollWidth - page.clientWidth)(document.documentElement)"
                    )
                    if over > 0:
                        found["wider than the window"] += 1
                        print(f"{where}: {over} px wider than the window")
                    if given.shots:
                        given.shots.mkdir(parents=True, exist_ok=True)
                        tab.screenshot(path=given.shots / f"{page.stem}-{width}-{scheme}.png")
                context.close()
        browser.close()
    print(f"{looked} views; violations: {dict(found) or 'none'}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

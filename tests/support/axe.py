"""The accessibility check of axe-core, in a page of a real browser. Open the page with ``bypass_csp=True``."""

from __future__ import annotations

from importlib import resources
from typing import Any, Literal

from playwright.async_api import Page

#: A page must not have violations with these impacts.
SERIOUS = ("serious", "critical")
#: Colours that a user may prefer.
Scheme = Literal["dark", "light"]
SCHEMES: tuple[Scheme, ...] = ("dark", "light")
#: Waits for the next frame, in which the scripts of a page see a change of colours.
_TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_RUN = "() => axe.run(document, { resultTypes: ['violations'], iframes: false })"


async def violations(page: Page, scheme: Scheme) -> list[str]:
    """Return the serious and critical violations of a page in these colours.

    A line has the colours, the rule, its impact, the element, and what is wrong with it.
    """
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    await page.evaluate(_TWO_FRAMES)
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found: list[dict[str, Any]] = (await page.evaluate(_RUN))["violations"]
    return [
        f"{scheme}: {rule['id']} ({rule['impact']}): {' '.join(map(str, node['target']))}: {_advice(node)}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def _advice(node: dict[str, Any]) -> str:
    return " ".join(str(check["message"]) for kind in ("any", "all", "none") for check in node[kind])

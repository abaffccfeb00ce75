"""One palette for the viewer, the pages of the server, and the reports of the arena and of tuning."""

from __future__ import annotations

import re

from sim.pictures.sprites import HERO_COLOURS
from vindibot.base.pages import render
from vindibot.viewer.page import static_files

COMMON = str(render("base/common.css"))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour ``#rrggbb`` (WCAG 2.1)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_borders_of_controls_and_curves_can_be_seen() -> None:
    """Parts that a person needs to see have a contrast of at least 3 to what is behind them, in both themes."""
    colours = dict(re.findall(r"(--\w+): light-dark\((#\w{6}, #\w{6})\)", COMMON))
    for theme, line in ((0, "deep"), (1, "main")):
        shown = {name: pair.split(", ")[theme] for name, pair in colours.items()}
        for behind in ("--paper", "--panel"):
            for colour in (shown["--rim"], shown["--accent"], *(hero[line] for hero in HERO_COLOURS)):
                assert contrast(colour, shown[behind]) >= 3, (theme, behind, colour)
    css = static_files()["pages/viewer.css"].decode() + static_files()["core/theme.css"].decode()
    for control in (r"\nbutton, select", r"\.overlays label", r"track", r"\.jump"):
        for style in re.findall(rf"{control} \{{([^}}]*)\}}", css):
            assert "var(--rim)" in style, (control, style)

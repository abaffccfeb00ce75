"""One palette for the viewer, the pages of the server, and the reports of the arena and of tuning."""

from __future__ import annotations

import re

from tests.support.paths import TOP
from vindibot.base.pages import render
from vindibot.viewer.page import static_files

COMMON = str(render("base/common.css"))
REPORT = str(render("arena.report/report.css"))
COLOURS = set(re.findall(r"(--[\w-]+): ", COMMON.partition("\n}")[0]))


def test_the_colours_are_defined_once() -> None:
    assert {"--paper", "--ink", "--dim", "--accent", "--good", "--bad"} <= COLOURS
    assert static_files()["theme.css"].decode().startswith(COMMON)
    assert REPORT.startswith(COMMON)
    others = [
        path for path in (TOP / "vindibot").rglob("*") if path.suffix in (".css", ".html", ".js") and path.name != "common.css"
    ]
    assert len(others) > 20
    for path in others:
        defined = set(re.findall(r"(--[\w-]+):", path.read_text()))
        assert not defined & COLOURS, path


def test_pages_use_colours_that_are_defined() -> None:
    for css in (REPORT, *(static_files(room)["style.css"].decode() + COMMON for room in ("server.site",))):
        used = set(re.findall(r"var\((--[\w-]+)", css))
        assert used <= set(re.findall(r"(--[\w-]+):", css)), used


def test_a_table_that_scrolls_shows_that_it_does() -> None:
    assert ".wide { overflow-x: auto;" in COMMON
    for page in ("arena/report/templates/report.html", "server/site/templates/macros.html"):
        assert 'class="wide"' in (TOP / "vindibot" / page).read_text(), page

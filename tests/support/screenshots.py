"""Pictures of docs/ and the README: ``python -m tests.support.screenshots [FOLDER] [PART ...]``, some minutes.

A part is a function `shoot_...` of this module, without this beginning. All parts are taken if none is named. A real browser
shows the pages of real games. The pictures of the server, of several people in a challenge, and of learning are taken by hand.
"""

from __future__ import annotations

import asyncio
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Page, async_playwright
from rich.console import Console
from rich.segment import SegmentLines

from sim.game import PLIES_PER_ROUND
from sim.generator import generate
from tests.support.browser import DESKTOP, PHONE, launch, visiting
from tests.support.documents import blocks, commands
from tests.support.paths import TOP
from tests.support.reviewed import SAMPLE
from tests.support.rule_scenes import SCENES, bundle_of
from vindibot.challenge.command import LOOPBACK, serving
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.routes import PATH
from vindibot.challenge.settings import ChallengeSettings
from vindibot.games.files.recording import read_recording
from vindibot.session.pacing import GamePace
from vindibot.terminal.board import Frame, layout
from vindibot.viewer.page import whole_page
from vindibot.viewer.replay import replay_file

DOCS = TOP / "docs"
#: Side of a board in docs/rules.md, and the gap between two boards, in pixels.
RULES_PIXELS, RULES_GAP = 280, 24
#: The round of docs/screenshots/game.svg.
TERMINAL_ROUND = 150


@dataclass(frozen=True)
class Shot:
    """One picture: colours, keys that are pressed before, the element that is scrolled into view, and the window."""

    name: str
    scheme: str = "light"
    keys: str = ""
    part: str = ""
    size: tuple[int, int] = DESKTOP


VIEWER = [
    Shot("viewer", "dark", "End Home K C"),
    Shot("viewer-light", "light", "End Home K K Shift+T S"),
    Shot("viewer-territory", "dark", "End Home K ArrowRight R"),
    Shot("viewer-phone", "dark", "End Home K", size=PHONE),
    Shot("viewer-phone-why", "light", "End Home K", ".why", PHONE),
]
REVIEW = [
    Shot("viewer-review", "dark", "End Home B B", ".review"),
    Shot("viewer-lesson", "dark", "Y ArrowRight"),
    Shot("viewer-lesson-phone", "light", "Y", size=PHONE),
]
CHALLENGE = [Shot("challenge", "dark"), Shot("challenge-phone", "light", size=PHONE)]


async def shoot(browser: Browser, address: str, shot: Shot, target: Path) -> None:
    """Take a picture of a page."""
    async with visiting(browser, address, size=shot.size, color_scheme=shot.scheme, reduced_motion="reduce") as page:
        await page.wait_for_load_state()
        for key in shot.keys.split():
            await page.keyboard.press(key)
        if shot.part:
            await page.locator(shot.part).evaluate("(part) => part.scrollIntoView()")
        await keep(page, target / f"{shot.name}.png")


async def keep(page: Page, path: Path) -> None:
    """Take a picture of the window, and print its path."""
    picture = Image.open(io.BytesIO(await page.screenshot())).convert("RGB")
    # With a palette the file is a third as large, and the picture looks the same.
    picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path)


def run(folder: Path, words: str) -> None:
    """Run a `vindibot` command in `folder`."""
    subprocess.run([sys.executable, "-m", *shlex.split(words)], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def command_of(document: str, part: str) -> str:
    """Return the command of a document that contains these words."""
    (words,) = (command.words for command in commands((DOCS / document).read_text()) if part in command.words)
    return words


def newest_page(folder: Path) -> Path:
    """Return the page of the game that was recorded in `folder`."""
    (recording,) = (folder / "recordings").iterdir()
    return replay_file(recording, folder / "game.html")


async def shoot_viewer(browser: Browser, folder: Path, target: Path) -> None:
    (folder / "map.txt").write_text(generate(13, size=14).text())
    run(folder, "vindibot play --bot strong --against seed --map map.txt --seed 7 --display none")
    for shot in VIEWER:
        await shoot(browser, newest_page(folder).as_uri(), shot, target)
    recording = read_recording(next((folder / "recordings").iterdir()))
    turn = recording.turns[TERMINAL_ROUND]
    pace = GamePace(-(-int(turn.games["max_turns"].item(0)) // PLIES_PER_ROUND))
    pace.begin()
    ballot = turn.ballot
    lines = layout(Frame(turn.games, recording.me, recording.names, ballot, ballot.margin_ms, status=pace.status), 120, 200)
    console = Console(record=True, width=120, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(SegmentLines(lines or [], new_lines=True))
    # rich's template loads a font from another host, and names the host of its maker.
    svg = console.export_svg(title=f"vindibot: {recording.header.bot}", unique_id="vindibot")
    (target / "game.svg").write_text(re.sub(r"\s*@font-face\s*\{.*?\}|\s*<!--.*?-->", "", svg, flags=re.DOTALL) + "\n")


async def shoot_review(browser: Browser, folder: Path, target: Path) -> None:
    for shot in REVIEW:
        await shoot(browser, replay_file(SAMPLE, folder / "game.html").as_uri(), shot, target)


async def shoot_notes(browser: Browser, folder: Path, target: Path) -> None:
    section = (DOCS / "viewer.md").read_text().partition("\n## Notes")[2].partition("\n## ")[0]
    for block in blocks(section):
        if block.language in ("python", "toml"):
            (folder / ("scout.py" if block.language == "python" else "scout.toml")).write_text(block.text)
    run(folder, f"{next(commands(section)).words} --display none")
    await shoot(browser, newest_page(folder).as_uri(), Shot("viewer-notes", "light", "Home", ".notes"), target)


async def shoot_report(browser: Browser, folder: Path, target: Path) -> None:
    run(folder, command_of("arena.md", "--results cup.jsonl"))
    await shoot(browser, (folder / "cup.html").as_uri(), Shot("report", size=(1180, 1800)), target)


async def shoot_challenge(browser: Browser, folder: Path, target: Path) -> None:
    (folder / "map.txt").write_text(generate(13, size=14).text())
    settings = ChallengeSettings(map=str(folder / "map.txt"), seed=7, recording={"enabled": False}, rounds=300)
    for shot in CHALLENGE:
        async with (
            serving(Host(settings, Offers(("strong", "seed"), settings.map), lambda _: None), LOOPBACK) as server,
            visiting(browser, server.url + PATH, size=shot.size, color_scheme=shot.scheme, reduced_motion="reduce") as page,
        ):
            await page.get_by_role("button", name="Play", exact=True).click()
            for number in range(1, 26):
                await page.get_by_text(f"Round {number} of 300. Your move").wait_for()
                await page.keyboard.press("ArrowRight" if number % 5 in (1, 3) else "ArrowDown")
            await page.keyboard.press("v")
            await page.locator(".tab[data-hero='1']").click()
            await page.get_by_role("heading", name="on turn").wait_for()
            await page.locator(".ours-now").wait_for()
            await page.evaluate("scrollTo(0, 0)")
            await keep(page, target / f"{shot.name}.png")


async def shoot_rules(browser: Browser, folder: Path, target: Path) -> None:
    for scene in SCENES:
        (folder / "scene.html").write_text(whole_page(bundle_of(scene)))
        boards: list[Image.Image] = []
        async with visiting(browser, (folder / "scene.html").as_uri(), color_scheme="light", reduced_motion="reduce") as page:
            for key in ("Home", "End") if scene.moves else ("Home",):
                for pressed in (key, "n", "n"):
                    await page.keyboard.press(pressed)
                board = Image.open(io.BytesIO(await page.locator("canvas").first.screenshot()))
                boards.append(board.convert("RGB").resize((RULES_PIXELS, RULES_PIXELS)))
        step = RULES_PIXELS + RULES_GAP
        picture = Image.new("RGB", (step * len(boards) - RULES_GAP, RULES_PIXELS), "white")
        for number, drawing in enumerate(boards):
            picture.paste(drawing, (number * step, 0))
        picture.quantize(256).save(target / f"rules-{scene.name}.png", optimize=True)


async def main(target: Path, parts: Sequence[str]) -> None:
    """Take the pictures of these parts into `target`."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        for part in parts:
            with tempfile.TemporaryDirectory() as folder:
                await globals()[f"shoot_{part}"](browser, Path(folder), target)
        await browser.close()


if __name__ == "__main__":
    every = [name.removeprefix("shoot_") for name in globals() if name.startswith("shoot_")]
    named = [word for word in sys.argv[1:] if word in every]
    folder = Path(next((word for word in sys.argv[1:] if word not in every), DOCS / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(folder, named or every))

"""Pictures of the viewer for docs/ and the README: ``python -m tests.support.screenshots [FOLDER]``, a minute.

The names in `PARTS` are options that take only some of the pictures: ``--rules`` those of docs/rules.md, ``--report`` that of the
arena's report, ``--people`` those of a game of several people. Only with ``--learning``, it trains a net for 20 minutes, and
takes a picture of its curves.

The shipped bots play a whole game on a fixed map, and a real browser shows its page. On the same map, the program plays a few
moves against them in the page of challenges. The report is about the tournament in docs/arena.md.
"""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import Browser, Page, async_playwright

from sim.generator import generate
from tests.support.browser import DESKTOP, PHONE, launch, visiting
from tests.support.documents import blocks, commands
from tests.support.paths import TOP
from tests.support.reviewed import SAMPLE
from tests.support.rule_scenes import SCENES, bundle_of
from vindibot.base import log
from vindibot.challenge.command import LOOPBACK, serving
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.routes import PATH
from vindibot.challenge.settings import ChallengeSettings
from vindibot.config.settings import RecordingSettings
from vindibot.viewer.page import whole_page
from vindibot.viewer.replay import replay_file

FOLDER = TOP / "docs" / "screenshots"
#: The windows in which the report of a tournament and that of a training are shown.
REPORT, TRAINING = (1180, 1800), (1180, 1850)
#: Side of a board in docs/rules.md, and the gap between two boards, in pixels.
RULES_PIXELS, RULES_GAP = 280, 24
#: The bots, and the size and seed of the map.
BOT, AGAINST, MAP = "strong", "seed", (14, 13)


@dataclass(frozen=True)
class Shot:
    """One picture: window, colours, keys that are pressed before, and the element that is scrolled into view."""

    name: str
    size: tuple[int, int]
    scheme: str
    keys: str
    part: str = ""


SHOTS = [
    Shot("viewer", DESKTOP, "dark", "End Home K C"),
    Shot("viewer-light", DESKTOP, "light", "End Home K K Shift+T S"),
    Shot("viewer-territory", DESKTOP, "dark", "End Home K ArrowRight R"),
    Shot("viewer-phone", PHONE, "dark", "End Home K"),
    Shot("viewer-phone-why", PHONE, "light", "End Home K", ".why"),
]

#: The review of the game in `tests/data/reviewed.review.jsonl`.
REVIEWS = [
    Shot("viewer-review", DESKTOP, "dark", "End Home B B", ".review"),
    Shot("viewer-lesson", DESKTOP, "dark", "Y ArrowRight"),
    Shot("viewer-lesson-phone", PHONE, "light", "Y"),
]
#: A game with the bot `scout` of docs/viewer.md.
NOTES = Shot("viewer-notes", DESKTOP, "light", "Home", ".notes")

MOVES = " ".join(["ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowDown"] * 5)
#: Pictures of the page of challenges. Their keys are moves, their part is the hero whose votes are shown.
CHALLENGES = [
    Shot("challenge", DESKTOP, "dark", MOVES, "1"),
    Shot("challenge-phone", PHONE, "light", MOVES, "1"),
]


def play(folder: Path) -> Path:
    """Play a whole game in `folder`, and return its page."""
    size, seed = MAP
    board = folder / "map.txt"
    board.write_text(generate(seed, size=size).text())
    vindibot = [sys.executable, "-m", "vindibot"]
    words = ["play", "--bot", BOT, "--against", AGAINST, "--map", board.name, "--seed", "7", "--display", "none"]
    subprocess.run([*vindibot, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (recording,) = (folder / "recordings").iterdir()
    page = folder / "game.html"
    subprocess.run([*vindibot, "replay", str(recording), "--html", str(page)], check=True, stdout=subprocess.DEVNULL)
    return page


def play_tournament(folder: Path) -> Path:
    """Play the tournament of docs/arena.md in `folder`, and return the path of its report."""
    run_command_of("arena.md", "--results cup.jsonl", folder)
    return folder / "cup.html"


def train(folder: Path) -> Path:
    """Train the net of docs/learn.md in `folder`, and return the path of its report."""
    run_command_of("learn.md", "selfplay mynet --minutes", folder)
    return folder / "mynet" / "report.html"


def run_command_of(document: str, part: str, folder: Path) -> None:
    """Run the command of a document that has these words, in `folder`."""
    text = (TOP / "docs" / document).read_text()
    (words,) = (command.words for command in commands(text) if part in command.words)
    subprocess.run([sys.executable, "-m", "vindibot", *shlex.split(words)[1:]], cwd=folder, check=True, stdout=subprocess.DEVNULL)


async def shoot(browser: Browser, address: str, shot: Shot, folder: Path) -> None:
    """Take one picture."""
    async with visiting(browser, address, size=shot.size, color_scheme=shot.scheme, reduced_motion="reduce") as page:
        for key in shot.keys.split():
            await page.keyboard.press(key)
        if shot.part:
            await page.locator(shot.part).evaluate("(part) => part.scrollIntoView()")
        await keep(page, folder / f"{shot.name}.png")


async def shoot_viewer(browser: Browser, folder: Path) -> None:
    """Take the pictures of the viewer."""
    with tempfile.TemporaryDirectory() as place:
        address = play(Path(place)).as_uri()
        for shot in SHOTS:
            await shoot(browser, address, shot, folder)


async def shoot_review(browser: Browser, folder: Path) -> None:
    """Take the pictures of a review."""
    with tempfile.TemporaryDirectory() as place:
        page = replay_file(SAMPLE, Path(place) / "game.html")
        for shot in REVIEWS:
            await shoot(browser, page.as_uri(), shot, folder)


def play_with_notes(folder: Path) -> Path:
    """Play the game with notes of docs/viewer.md in `folder`, and return its page."""
    section = (TOP / "docs" / "viewer.md").read_text().partition("\n## Notes")[2].partition("\n## ")[0]
    for block in blocks(section):
        if block.language in ("python", "toml"):
            (folder / ("scout.py" if block.language == "python" else "scout.toml")).write_text(block.text)
    words = [*shlex.split(next(commands(section)).words)[1:], "--display", "none"]
    subprocess.run([sys.executable, "-m", "vindibot", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (recording,) = (folder / "recordings").iterdir()
    return replay_file(recording, folder / "game.html")


async def shoot_notes(browser: Browser, folder: Path) -> None:
    """Take the picture of a game with notes."""
    with tempfile.TemporaryDirectory() as place:
        await shoot(browser, play_with_notes(Path(place)).as_uri(), NOTES, folder)


async def keep(page: Page, path: Path) -> None:
    """Take a picture of the window, and print its path."""
    taken = Image.open(BytesIO(await page.screenshot())).convert("RGB")
    # With a palette the file is a third as large, and the picture looks the same.
    taken.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path)


async def shoot_challenges(browser: Browser, folder: Path) -> None:
    """Take the pictures of a game against bots."""
    for shot in CHALLENGES:
        await shoot_challenge(browser, shot, folder)


async def shoot_challenge(browser: Browser, shot: Shot, folder: Path) -> None:
    """Play the shot's keys as moves against the bots, and take a picture."""
    size, seed = MAP
    with tempfile.TemporaryDirectory() as place, log.configured("error"):
        board = Path(place) / "map.txt"
        board.write_text(generate(seed, size=size).text())
        settings = ChallengeSettings(map=str(board), rounds=300, seed=7, recording=RecordingSettings(enabled=False))
        host = Host(settings, Offers([BOT, AGAINST], str(board)), lambda text: None)
        async with serving(host, LOOPBACK) as server:
            options = {"size": shot.size, "color_scheme": shot.scheme, "reduced_motion": "reduce"}
            async with visiting(browser, server.url + PATH, **options) as page:
                await page.get_by_role("img", name="The map").wait_for()
                await page.get_by_role("button", name="Play", exact=True).click()
                for number, key in enumerate(shot.keys.split(), 1):
                    await page.get_by_text(f"Round {number} of 300. Your move").wait_for()
                    await page.keyboard.press(key)
                await page.keyboard.press("v")
                await page.locator(f".tab[data-hero='{shot.part}']").click()
                await page.get_by_role("heading", name="on turn").wait_for()
                await page.locator(".ours-now").wait_for()
                await page.evaluate("scrollTo(0, 0)")
                await keep(page, folder / f"{shot.name}.png")


async def shoot_people(browser: Browser, folder: Path) -> None:
    """Take pictures of the start page of three people: two of them have come, and during the game."""
    size, seed = MAP
    with tempfile.TemporaryDirectory() as place, log.configured("error"):
        board = Path(place) / "map.txt"
        board.write_text(generate(seed, size=size).text())
        recording = RecordingSettings(enabled=False)
        settings = ChallengeSettings(map=str(board), people=3, seconds=60, seed=7, recording=recording)
        host = Host(settings, Offers([AGAINST], str(board)), lambda text: None)
        people = host.people
        assert people is not None
        async with serving(host, LOOPBACK) as server, AsyncExitStack() as windows:

            async def window(token: str, **options: Any) -> Page:
                options |= {"reduced_motion": "reduce"}
                return await windows.enter_async_context(visiting(browser, f"{server.url}{PATH}#{token}", **options))

            start = await window(people.token, size=DESKTOP, color_scheme="light")
            pages = [await window(person.token, size=PHONE) for person in people.people]
            for page, name in zip(pages, ("Ann", "Bob", "Cleo"), strict=True):
                if name == "Cleo":
                    await start.get_by_text("2 of 3 people are here").wait_for()
                    await keep(start, folder / "challenge-people.png")
                await page.get_by_label("Your name").fill(name)
                await page.get_by_role("button", name="I am here").click()
            for number in range(1, 7):
                for page, key in zip(pages, ("ArrowRight", "ArrowDown", "ArrowUp"), strict=True):
                    await page.get_by_text(f"Round {number} of ").and_(page.locator(".ours-now")).wait_for()
                    await page.keyboard.press(key)
            await start.get_by_text("Round 7 of 100. Ann moves").wait_for()
            await start.evaluate("document.activeElement.blur()")
            await keep(start, folder / "challenge-people-game.png")


async def shoot_report(browser: Browser, folder: Path) -> None:
    """Take a picture of the report of a tournament."""
    with tempfile.TemporaryDirectory() as place:
        await shoot_page(browser, play_tournament(Path(place)), REPORT, folder / "report.png")


async def shoot_learning(browser: Browser, folder: Path) -> None:
    """Take a picture of the learning curves of a net."""
    with tempfile.TemporaryDirectory() as place:
        await shoot_page(browser, train(Path(place)), TRAINING, folder / "learning.png")


async def shoot_page(browser: Browser, path: Path, size: tuple[int, int], picture: Path) -> None:
    """Take a picture of a page in a file, in a window of this size."""
    async with visiting(browser, path.as_uri(), size=size, color_scheme="light", reduced_motion="reduce") as page:
        await keep(page, picture)


async def shoot_rules(browser: Browser, folder: Path) -> None:
    """Take the pictures of docs/rules.md: the board before the moves of a scene, and the board after them."""
    for scene in SCENES:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "scene.html"
            path.write_text(whole_page(bundle_of(scene)))
            async with visiting(browser, path.as_uri(), size=DESKTOP, color_scheme="light", reduced_motion="reduce") as page:
                boards = []
                for key in ("Home", "End") if scene.moves else ("Home",):
                    await page.keyboard.press(key)
                    await page.keyboard.press("n")
                    await page.keyboard.press("n")
                    taken = await page.locator("canvas").first.screenshot()
                    boards.append(Image.open(BytesIO(taken)).convert("RGB").resize((RULES_PIXELS, RULES_PIXELS)))
        beside(boards).quantize(256).save(folder / f"rules-{scene.name}.png", optimize=True)


def beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Return one picture with the given ones side by side."""
    step = RULES_PIXELS + RULES_GAP
    whole = Image.new("RGB", (step * len(pictures) - RULES_GAP, RULES_PIXELS), "white")
    for number, picture in enumerate(pictures):
        whole.paste(picture, (number * step, 0))
    return whole


#: The functions that take the pictures, by the option that selects each.
PARTS = {
    "--viewer": shoot_viewer,
    "--review": shoot_review,
    "--notes": shoot_notes,
    "--challenge": shoot_challenges,
    "--people": shoot_people,
    "--rules": shoot_rules,
    "--report": shoot_report,
    "--learning": shoot_learning,
}


async def main(folder: Path, parts: Sequence[str]) -> None:
    """Take the pictures of these parts into `folder`."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        for part in parts:
            await PARTS[part](browser, folder)
        await browser.close()


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    target = Path(names[0]) if names else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    wanted = [word for word in sys.argv[1:] if word.startswith("--")] or [part for part in PARTS if part != "--learning"]
    asyncio.run(main(target, wanted))

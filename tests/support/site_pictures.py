"""Pictures of the server's pages: ``python -m tests.support.site_pictures [FOLDER]``, ten minutes.

Bots of the library play arena games and a league on a new server. A real browser shows the server's pages while further games
run.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.async_api import Browser, async_playwright

from tests.support.browser import DESKTOP, launch, visiting
from tests.support.screenshots import FOLDER, keep

VINDIBOT = [sys.executable, "-m", "vindibot"]
#: The bots of the arena and of the league: name, and bot of the library.
BOTS = {"anna": "malvert", "bruno": "seed", "carla": "malvert", "dario": "seed", "elena": "random", "fabio": "malvert"}
LEAGUE = {f"team {name}": bot for name, bot in zip("ABCDEFGH", ["malvert", "seed", "random", "stay"] * 2, strict=True)}
#: Number of arena games per bot before the pictures are taken.
GAMES = 6


@dataclass(frozen=True)
class PagePicture:
    """A picture of one page: name of the file, address, window, colours."""

    name: str
    path: str
    size: tuple[int, int]
    scheme: str


PICTURES = [
    PagePicture("server-home", "/", DESKTOP, "dark"),
    PagePicture("server-bot", "/ai/BOT", DESKTOP, "light"),
    PagePicture("server-projector", "/leagues/spring/projector", DESKTOP, "dark"),
]


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[httpx.Client]:
    """Start a server with the database and the league in `folder`, and yield a client for it."""
    words = ["serve", "--port", "0", "--registered-keys", "--db", "site.db", "--league", "spring.league.json", *options]
    process = subprocess.Popen([*VINDIBOT, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        found = next(match for line in process.stdout if (match := re.search(r"http://\S+", line)))
        with httpx.Client(base_url=found[0], timeout=30) as client:
            yield client
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()


@contextmanager
def players(address: str, bots: dict[str, str], keys: dict[str, str], *options: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start clients that play on the server, one per bot. They are stopped at the end of the block."""
    words = ["play", "--config", "arena", "--server", address, "--display", "none", "--no-recording", *options]
    started = [
        subprocess.Popen(
            [*VINDIBOT, *words, "--bot", bot],
            env={**os.environ, "VINDIBOT_KEY": keys[name]},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, bot in bots.items()
    ]
    try:
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def register(client: httpx.Client, name: str) -> str:
    """Register a bot on the page, and return its key."""
    found = re.search(r'user-key">(\w{8})<', client.post("/register", data={"name": name}).text)
    assert found is not None
    return found[1]


def new_league(folder: Path) -> dict[str, str]:
    """Make the league, and return the keys by name."""
    keys = {name: f"key-{number:04}" for number, name in enumerate(LEAGUE)}
    (folder / "class.csv").write_text("name,key\n" + "".join(f"{name},{key}\n" for name, key in keys.items()))
    words = ["league", "new", "spring", "class.csv", "--rounds", "60", "--seatings", "2", "--maps", "m3,m5", "--start", "now"]
    subprocess.run([*VINDIBOT, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return keys


def play_history(folder: Path) -> dict[str, str]:
    """Play arena games at full speed. Return the keys of the bots by name."""
    with serving(folder) as client:
        keys = {name: register(client, name) for name in BOTS}
        with players(str(client.base_url), BOTS, keys, "--games", str(GAMES)) as clients:
            while sum(player.poll() is None for player in clients) >= 4:  # with fewer, no further game begins
                time.sleep(1)
    return keys


@contextmanager
def running_games(folder: Path, keys: dict[str, str], league_keys: dict[str, str]) -> Iterator[httpx.Client]:
    """Yield a client for a server on which arena games and the league run slowly. Some league games are already over."""
    with serving(folder) as client, players(str(client.base_url), LEAGUE, league_keys, "--games", "9"):
        while client.get("/leagues/spring/standings.json").json()["played"] < len(LEAGUE):
            time.sleep(0.2)
    with (
        serving(folder, "--pace", "original") as client,
        players(str(client.base_url), BOTS, keys, "--games", "99"),
        players(str(client.base_url), LEAGUE, league_keys, "--games", "99"),
    ):
        while client.get("/").text.count('<li id="game-') < 3:
            time.sleep(1)
        time.sleep(15)
        yield client


def main(target: Path, folder: Path, pictures: Sequence[PagePicture] = PICTURES) -> None:
    """Play in `folder`, and take all pictures into `target`."""
    league_keys = new_league(folder)
    keys = play_history(folder)
    with running_games(folder, keys, league_keys) as client:
        bot = re.findall(r'<th scope="row"><a href="/ai/(\w+)"', client.get("/ai").text)[0]
        asyncio.run(take_all(str(client.base_url), pictures, bot, target))


async def take_all(address: str, pictures: Sequence[PagePicture], bot: str, target: Path) -> None:
    """Take the pictures."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        for picture in pictures:
            await take(browser, address, picture, bot, target)
        await browser.close()


async def take(browser: Browser, address: str, picture: PagePicture, bot: str, target: Path) -> None:
    """Take one picture."""
    path = picture.path.replace("BOT", bot)
    options = {"size": picture.size, "color_scheme": picture.scheme, "reduced_motion": "reduce"}
    async with visiting(browser, address.rstrip("/") + path, **options) as page:
        await page.wait_for_timeout(1500)
        await keep(page, target / f"{picture.name}.png")


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as games:
        main(place, Path(games))

"""The pages: what they show, and that names and boards are text and nothing else, over real sockets."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from sim.maps import parse_map
from tests.support.serving import MAP, Bot, playing, serving
from tests.support.waiting import until
from vindibot.league.league import League
from vindibot.league.settings import LeagueSettings
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.site.boards import LISTED, thumbnail
from vindibot.server.site.routes import BOTS_PER_PAGE, SHOWN, SHOWN_OF_BOT

#: Twenty characters each, as long as a name may be.
NASTY = ['"><script>1</script>', "<img src=x onerror=1>"[:20], "a&lt;b' onclick='1", "\u202eevil\u2066<b>"]
#: Elements without an end.
VOID = {"meta", "link", "input"}
#: Scripts of every page.
SCRIPTS = ["/viewer/core/theme.js", "/viewer/core/times.js", "/viewer/pages/copy.js"]


class Page(HTMLParser):
    """A page as a browser reads it: `words` is its text, `elements` all elements with their attributes.

    `copied` has the texts beside the buttons that copy.
    """

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.words = ""
        self.copied: list[str] = []
        self.shown = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs), attrs
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag == "pre":
            self.shown = ""
        if tag == "button" and ("class", "copy") in attrs:
            self.copied.append(self.shown)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        if "pre" in self.open:
            self.shown += data

    @property
    def links(self) -> list[str]:
        """Where its links lead."""
        return [attributes["href"] or "" for tag, attributes in self.elements if tag == "a"]

    @property
    def rows(self) -> int:
        """The number of rows of its tables."""
        return len([tag for tag, _ in self.elements if tag == "tr"])

    def values(self, name: str) -> list[str | None]:
        """The values of this attribute in all elements that have it."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]


async def get(client: httpx.AsyncClient, path: str, status: int = 200) -> Page:
    return checked(await client.get(path), status)


def checked(response: httpx.Response, status: int = 200) -> Page:
    assert response.status_code == status, response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = Page(response.text)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert [script["src"] for script in scripts] in (SCRIPTS, [*SCRIPTS, "/viewer/pages/refresh.js"])
    assert {script["type"] for script in scripts} == {"module"}
    assert response.text.count("<script") == len(scripts)
    assert len(page.copied) == page.words.count("Copy")
    return page


async def test_registration_hands_out_a_key_once() -> None:
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:
        form = await get(client, "/register")
        assert "name" in form.values("name")
        answer = await client.post("/register", data={"name": "Ünïcode ☃ bot"})
        page = checked(answer)
        assert answer.headers["cache-control"] == "no-store"
        assert "Ünïcode ☃ bot" in page.words
        key, training, arena, own = page.copied
        assert re.fullmatch("[0-9a-z]{8}", key)
        assert training == f"VINDIBOT_KEY={key} vindibot play --mode training --server {server.url}"
        assert arena == f"VINDIBOT_KEY={key} vindibot play --config arena --server {server.url}"
        assert own == "vindibot init mybot"
        joined = await client.post("/api/training", data={"key": key, "turns": 1})
        assert joined.json()["hero"]["name"] == "Ünïcode ☃ bot"
        for name, message in [
            ("ab", "Name is too short"),
            ("x" * 21, "Name is too long"),
            ("Ünïcode ☃ bot", "Name already taken"),
        ]:
            refused = checked(await client.post("/register", data={"name": name}), 400)
            assert message in refused.words
            assert refused.values("value") == [name]
        listed = "".join(
            [(await client.get(path)).text for path in ("/ai", "/", "/games", f"/ai/{joined.json()['hero']['userId']}")]
        )
        assert key not in listed


@pytest.mark.parametrize("host", ["[::1]:9000", "a b;$(date)'\"&c"])
async def test_a_shell_reads_the_address_in_commands_as_one_word(host: str, tmp_path: Path) -> None:
    """The address in a command comes from the header Host of the request. A shell expands the brackets of IPv6 addresses."""
    path = tmp_path / "cup.league.json"
    league = League.create("cup", LeagueSettings(), [RosterEntry("ann", "annannan"), RosterEntry("bob", "bobbobbo")], path)
    league.save()
    async with serving(league=path) as server, httpx.AsyncClient(base_url=server.url, headers={"Host": host}) as client:
        pages = {"/register": checked(await client.post("/register", data={"name": "one"}))}
        user = next(iter(server.lobby.users))
        for name in ("/", f"/ai/{user.id}", "/tv", "/leagues/cup"):
            pages[name] = checked(await client.get(name))
    for name, page in pages.items():
        found = [text for text in page.copied if "--server" in text]
        assert found, name
        for text in found:
            _, *words = shlex.split(text)
            assert words[:2] == ["vindibot", "play"], text
            assert words[words.index("--server") + 1] == f"http://{host}"
            assert shlex.quote(f"http://{host}") in text


async def test_names_are_text_on_every_page() -> None:
    async with serving(rounds=1, keep_finished_seconds=0) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        bots = []
        for name in NASTY[:3]:
            page = await client.post("/register", data={"name": name})
            assert name in checked(page).words
            key = re.search(r'user-key">(\w{8})<', page.text)
            assert key is not None
            bots.append(Bot(server, key.group(1), client))
            again = await client.post("/register", data={"name": name})
            assert checked(again, 400).values("value") == [name]
        bots.append(Bot(server, server.register(NASTY[3]), client))  # its name could not be registered there
        running = asyncio.create_task(bots[0].join("arena"))
        others = [asyncio.create_task(bot.play()) for bot in bots[1:]]
        await running
        paths = ["/", "/games", "/ai", f"/{bots[0].game['id']}?text", *(f"/ai/{user.id}" for user in server.lobby.users)]
        for live in (True, False):
            for path in paths:
                words = (await get(client, path)).words
                assert any(name in words for name in NASTY) or (live and path == "/games"), path
            if live:
                await bots[0].play_on()
                await asyncio.gather(*others)
                await until(lambda: len(server.lobby.rooms) <= 1)


@pytest.mark.parametrize("path", ["/nothing0", "/%3Cscript%3E1", "/ai/nobody00", "/running?ai=nobody00"])
async def test_there_is_nothing(path: str) -> None:
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:
        page = await get(client, path, 404)
        assert "There is nothing here" in page.words
        assert "/games" in page.links


async def test_running_and_finished_games_on_the_first_page() -> None:
    async with serving(rounds=1) as server, playing(server, "alice", "bobby", "carol", "david") as bots:
        home = await get(bots[0].client, "/")
        assert "No game is running." in home.words
        assert "There are no games yet." in home.words
        await asyncio.gather(*(bot.play() for bot in bots))
        played = bots[0].game["id"]
        await bots[0].join("training", turns=3)
        running = bots[0].game["id"]
        home = await get(bots[0].client, "/")
        before, after = home.words.split("Latest games")
        assert running in before
        assert running not in after
        assert played in after
        assert all(name in after for name in ("alice", "bobby", "carol", "david"))
        assert {f"/{running}", f"/{played}", f"/ai/{bots[0].state['hero']['userId']}"} <= set(home.links)
        server.end_games()
        await server.database.read(lambda connection: None)
        assert "interrupted" in (await get(bots[0].client, "/")).words


async def test_a_running_and_an_archived_game_as_text() -> None:
    async with serving(keep_finished_seconds=0) as server, playing(server, "seed", "two") as [bot, other]:
        await bot.join(turns=3, map="@1$-##@4\n########\n########\n@2####@3")
        path = f"/{bot.game['id']}"
        await bot.move("East")
        page = Page((await bot.client.get(f"{path}?text")).text)
        assert "Turn 4 of 12." in page.words
        assert page.values("http-equiv") == ["refresh"]
        assert f"/events/{bot.game['id']}" in page.links
        await bot.play_on("East")
        await until(lambda: not server.lobby.rooms)
        page = await get(bot.client, f"{path}?text")
        assert "The game is over at turn 12 of 12. Hero 1 has won." in page.words
        assert not page.values("http-equiv")
        assert "$1" in page.words
        assert "seed" in page.words
        record = await bot.client.get(f"/records/{bot.game['id']}")
        assert record.json()["names"] == ["seed", "random", "random", "random"]
        assert other.key not in record.text
        assert bot.key not in record.text


async def test_the_table_of_bots_and_recent_players() -> None:
    async with serving(rounds=1) as server, playing(server, "alice", "bobby", "carol", "david") as bots:
        for name in ("never played", "long ago"):
            server.register(name)
        users: dict[str, Any] = {user.name: user for user in server.lobby.users}
        users["long ago"].played = time.time() - 8 * 86_400
        users["carol"].elo = 1500
        await asyncio.gather(*(bot.play() for bot in bots))
        page = await get(bots[0].client, "/ai")
        assert re.findall("carol|alice|bobby|david|never played|long ago", page.words)[0] == "carol"
        assert str(users["carol"].elo) in page.words
        assert page.rows == 1 + 6
        assert "/ai?days=7" in page.links
        lately = await get(bots[0].client, "/ai?days=7")
        assert "long ago" not in lately.words
        assert "never played" not in lately.words
        assert lately.rows == 1 + 4
        assert "long ago" in (await get(bots[0].client, "/ai?days=9")).words
        for odd in ("x", "-1", "0", "999999999", "9" * 30):
            await get(bots[0].client, f"/ai?days={odd}&page={odd}")


@pytest.mark.slow
async def test_many_bots_and_games_come_in_pages() -> None:
    async with serving(keep_finished_seconds=0) as server, playing(server, "seed") as [bot]:
        for number in range(BOTS_PER_PAGE + 5):
            server.register(f"bot {number}")
        assert (await get(bot.client, "/ai")).rows == 1 + BOTS_PER_PAGE
        assert "/ai?page=2" in (await get(bot.client, "/ai")).links
        second = await get(bot.client, "/ai?page=2")
        assert second.rows == 1 + 6
        assert "/ai?page=1" in second.links
        assert "There are no bots." in (await get(bot.client, "/ai?page=3")).words
        played = []
        for _ in range(LISTED + 3):
            await bot.play("training", turns=1, map=MAP)
            played.append(bot.game["id"])
        user = next(user for user in server.lobby.users if user.name == "seed")
        for path, each in (("/games", LISTED), (f"/ai/{user.id}", SHOWN_OF_BOT), ("/", SHOWN)):
            seen: list[str] = []
            page = await get(bot.client, path)
            while True:
                found = [link[1:] for link in page.links if re.fullmatch(r"/\w{8}", link) and link != "/register"]
                seen += found
                more = [link for link in page.links if "before=" in link]
                if not more:
                    break
                assert len(found) == (each if path != "/" or len(seen) == len(found) else LISTED)
                page = await get(bot.client, more[0])
            assert seen == played[::-1], path


async def test_a_server_without_a_file_forgets_its_oldest_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.store.archive.MEMORY_GAMES", 3)
    async with serving(keep_finished_seconds=0) as server, playing(server, "seed") as [bot]:
        games = []
        for _ in range(5):
            await bot.play("training", turns=1, map=MAP)
            games.append(bot.game["id"])
        await until(lambda: not server.lobby.rooms)
        assert [(await bot.client.get(f"/{game}")).status_code for game in games] == [404, 404, 200, 200, 200]


async def test_the_picture_of_a_board_shows_every_square() -> None:
    games = parse_map("@1##[]@4\n########\n    $1$4\n@2$-##@3").new_game()
    squares: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for kind, runs in re.findall(r'<path class="(\w+)" d="([^"]*)"', thumbnail(games)):
        for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", runs):
            squares[kind] |= {(int(row), int(column) + more) for more in range(int(length))}
    assert squares == {
        "wall": {(0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (3, 2)},
        "tavern": {(0, 2)},
        "mine": {(3, 1)},
        "of1": {(2, 2)},
        "of4": {(2, 3)},
    }
    assert len(re.findall("<circle", thumbnail(games))) == 4


@pytest.mark.parametrize("keys", ["any", "registered"])
async def test_an_empty_page_shows_the_next_command(keys: str) -> None:
    async with serving(keys=keys) as server, httpx.AsyncClient(base_url=server.url) as client:
        for path in ("/", "/running", "/games", "/ai", "/tv"):
            page = await get(client, path)
            for command in page.copied:
                assert command.startswith("VINDIBOT_KEY=" + ("mysecret" if keys == "any" else "YOUR-KEY"))
                assert command.endswith(f"--server {server.url}")
            assert page.copied, path
            assert ("First register a bot" in page.words) == (keys == "registered")
        [command] = (await get(client, "/leagues")).copied
        assert command == "vindibot league new spring class.csv\nvindibot serve --lan --league spring.league.json"
        server.register("ann")
        [user] = server.lobby.users
        assert (await get(client, f"/ai/{user.id}")).copied


async def test_the_running_games_alone_and_those_of_a_bot() -> None:
    async with serving() as server, playing(server, "ann", "bob") as bots:
        for bot in bots:
            await bot.join(turns=5, map=MAP)
        first, second = (bot.game["id"] for bot in bots)
        page = await get(bots[0].client, "/running")
        assert [link for link in page.links if link in (f"/{first}", f"/{second}")] == [f"/{second}", f"/{first}"]
        user = bots[0].state["hero"]["userId"]
        own = await get(bots[0].client, f"/running?ai={user}")
        assert f"/{first}" in own.links
        assert f"/{second}" not in own.links
        assert own.values("data-refresh") == [f"/running?ai={user}"]


async def test_last_boards_are_drawn_from_the_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.site.boards.STORED", 2)
    async with serving(keep_finished_seconds=0) as server, playing(server, "ann") as [bot]:
        games = []
        for _ in range(3):
            await bot.join(turns=1, map=MAP)
            while not bot.game["finished"]:
                await bot.move("East")
            games.append(bot.game)
        await until(lambda: not server.lobby.rooms)
        for _ in range(2):
            page = (await bot.client.get("/")).text
            assert page.count('<svg class="board"') == 3
            hero = games[0]["heroes"][0]["pos"]
            assert f'<circle class="of1" cx="{hero["y"] + 0.5}" cy="{hero["x"] + 0.5}"' in page

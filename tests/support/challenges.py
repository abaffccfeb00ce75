"""A host of challenges in the event loop of a test, and people who play over HTTP without the page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.serving import MAP
from vindibot.challenge.command import LOOPBACK, serving
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.settings import ChallengeSettings
from vindibot.games.files.recorded_turn import Continuation
from vindibot.server.embedded import EmbeddedServer

NASTY = "<img src=x onerror=boom()>"


@asynccontextmanager
async def hosting(
    folder: Path, bots: Sequence[str] = ("stay",), start: Continuation | None = None, **settings: Any
) -> AsyncIterator[tuple[Host, EmbeddedServer, Any]]:
    """Yield a host whose bots run in this process, its server, and a client for its page. Games may go on from `start`.

    The host has the notes for the terminal as `notes`.
    """
    (folder / "map.txt").write_text(MAP)
    given = {"map": str(folder / "map.txt"), "pool": {"in_process": True}, "recording": {"folder": folder / "recordings"}}
    notes: list[str] = []
    host = Host(ChallengeSettings(**given | settings), Offers(bots, given["map"], start), notes.append)
    async with serving(host, LOOPBACK) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        host.notes = notes
        yield host, server, client


class Visitor:
    """A visitor of a game, over HTTP. `token` is the token of its link, "" for a spectator.

    `page` is the id of its page.
    """

    def __init__(self, client: httpx.AsyncClient, token: str = "", page: str = "") -> None:
        self.client, self.token = client, token
        self.headers = {"Page-Id": page} | ({"Authorization": f"Bearer {token}"} if token else {})

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, f"/challenge/game{path}", headers=self.headers, **options)

    async def state(self) -> dict[str, Any]:
        answer = await self.ask("GET", "")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def state_with(self, word: str) -> dict[str, Any]:
        """Ask for the state, as a page does, until it is the state `word`."""
        async with asyncio.timeout(60):
            while True:
                found = await self.state()
                if found["state"] == word:
                    return found
                await asyncio.sleep(0.02)

    async def votes(self, count: int, after: int = 0) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            answer = await self.ask("GET", "/votes", params={"after": after + len(found)})
            found += answer.json()["turns"]
            assert answer.json()["turns"] or not answer.json()["over"], "there are no more"
        return found

    async def links(self) -> list[str]:
        """Return the tokens of the people."""
        return [one["link"].partition("#")[2] for one in (await self.ask("GET", "/links")).json()]

    async def come(self, name: str) -> None:
        answer = await self.ask("POST", "/name", json={"name": name})
        assert answer.status_code == 204, answer.text

    async def start(self) -> httpx.Response:
        return await self.ask("POST", "/start")

    async def game(self) -> dict[str, Any]:
        return (await self.ask("GET", "/bundle")).json()

    async def move(self, turn: int, direction: str) -> httpx.Response:
        return await self.ask("POST", "/move", json={"turn": turn, "dir": direction})

    async def turns(self, game_id: str) -> AsyncIterator[int]:
        """Yield the turn of each state of a game, to the end of the game."""
        yield (await self.game())["start"]["turn"]
        async with self.client.stream("GET", f"/plies/{game_id}") as events:
            async for line in events.aiter_lines():
                if line.startswith("data: "):
                    for ply in json.loads(line.removeprefix("data: ")).get("plies", []):
                        yield ply["t"]

    async def play(self, directions: Sequence[str], *, after: int = -1) -> int:
        """Move in these directions on our turns after turn `after`. Return the turn of the last move."""
        state, left = await self.state(), list(directions)
        async for turn in self.turns(state["game"]["id"]):
            if turn > after and turn % 4 == state["me"] and left:
                answer = await self.move(turn, left.pop(0))
                assert answer.status_code == 204, answer.text
                after = turn
            if not left:
                break
        return after


async def request_of(client: httpx.AsyncClient, **different: Any) -> dict[str, Any]:
    """Return the request for a game of a person who plays alone: the first choice of the page, with changes."""
    first = (await client.get("/challenge/offers")).json()["first"]
    return {key: first[key] for key in ("bots", "map", "rounds", "limit_ms")} | {"name": "ann"} | different


async def alone(client: httpx.AsyncClient, **different: Any) -> tuple[Visitor, dict[str, Any]]:
    """Begin the game of a person who plays alone. Return the person, and the state when the game has begun."""
    answer = await client.post("/challenge/games", json=await request_of(client, **different))
    assert answer.status_code == 201, answer.text
    person = Visitor(client, answer.json()["token"], "page")
    return person, await person.state_with("playing")


async def our_turn(page: Any, number: int) -> None:
    """Wait until a page in a browser shows that it is the person's turn in round `number`."""
    await page.get_by_text(f"Round {number} of ").and_(page.locator(".ours-now")).wait_for()


async def fits(page: Any) -> bool:
    """Return whether a page in a browser is not wider than its window."""
    return await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

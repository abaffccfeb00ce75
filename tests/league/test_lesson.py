"""A whole lesson with twelve clients as programs of their own: from the slips to the winner of the final."""

from __future__ import annotations

import asyncio
import html
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.commands import begin, ended, environment, line_with, run
from tests.support.paths import TOP

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]
PUPILS = ("ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal", "ida", "joe", "kim", "lea")
STARTER = TOP / "config" / "starters" / "python" / "bot.py"
PAGE = "/leagues/spring"
ORGANISER = f"{PAGE}/organiser"
OPTIONS = "--system swiss --days 2 --seatings 1 --break --rounds 12 --final 4 --fillers seed --reruns 0 --seed 3"
LIMITS = "--limit-ms 4000 --first-limit-ms 8000"


async def starter(address: str, key: str) -> asyncio.subprocess.Process:
    """Start the starter in plain Python, which plays until the league is over."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(STARTER), address.removeprefix("http://"), key),
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


@asynccontextmanager
async def server_of(folder: Path, *options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run ``vindibot serve`` with the league in a folder, and yield its process and its address."""
    process = await begin(folder, "serve", "--port", "0", "--league", "spring.league.json", *options)
    try:
        found = re.search(r"http://\S+", await line_with(process, "serving on"))
        assert found is not None
        yield process, found[0]
        process.terminate()
        assert "rror" not in await ended(process)
        assert process.returncode == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def shown(client: httpx.AsyncClient, path: str, is_there: Callable[[str], object]) -> str:
    """Ask for a page until it is as wanted, and return it."""
    for _ in range(1000):
        if is_there(page := (await client.get(path)).text):
            return page
        await asyncio.sleep(0.2)
    raise AssertionError(f"{path} never was as wanted")


async def press(client: httpx.AsyncClient, action: str, words: str) -> None:
    """Press a button on the organiser's page as soon as the page has words that match a pattern."""
    page = await shown(client, ORGANISER, lambda page: re.search(words, page))
    form = re.search(r'name="form" value="([^"]+)"', page)
    assert form is not None
    assert (await client.post(ORGANISER, data={"form": form[1], "action": action})).status_code == 303


async def test_a_lesson_from_the_slips_to_the_final(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("\n".join(PUPILS))
    made = run(tmp_path, "league", "new", "spring", "class.csv", *OPTIONS.split(), *LIMITS.split())
    assert made.returncode == 0, made.stderr
    clients: list[asyncio.subprocess.Process] = []
    async with (
        server_of(tmp_path, "--lan", "--db", "spring.sqlite") as (server, address),
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        assert "in this network: http://" in await line_with(server, "in this network")
        assert "/leagues/spring/organiser (the key is in spring-organiser.key)" in await line_with(server, "organiser: ")
        typed = (await line_with(server, "VINDIBOT_KEY=YOUR-KEY vindibot play")).split()[2:]
        assert run(tmp_path, "league", "slips", "spring.league.json", "--server", address).returncode == 0
        slips = html.unescape((tmp_path / "spring-slips.html").read_text())
        keys = dict(zip(PUPILS, re.findall(r"VINDIBOT_KEY=(\w{8}) ", slips), strict=True))
        try:
            # joe has a program of vindibot, kim types a wrong key, lea is late.
            clients += [await starter(address, keys[name]) for name in PUPILS[:9]]
            words = (*typed, "--bot", "seed", "--no-recording")
            clients.append(await begin(tmp_path, *words, VINDIBOT_KEY=keys["joe"]))
            await line_with(clients[-1], "the league spring has not started; ")
            kim = await begin(tmp_path, *words, VINDIBOT_KEY="wrongkey")
            assert "does not know this key; check your slip (Vindinium - Key not found)" in await ended(kim)
            waiting = await shown(client, f"{PAGE}/projector", lambda page: "10 of 12 bots are here" in page)
            assert re.findall(r'class="absent"><th scope="row"><bdi>(\w+)<', waiting) == ["kim", "lea"]
            assert f'aria-label="QR code: {address}{PAGE}"' in waiting
            assert f"{address}/starters" in waiting
            started = run(tmp_path, "league", "start", "spring.league.json", "--server", address)
            assert "not connected: kim, lea" in started.stdout
            await line_with(clients[0], "the game:")
            clients[0].kill()  # ann's program crashes in its first game, and is started again
            clients += [await starter(address, keys["lea"]), await starter(address, keys["ann"])]
            await client.post(ORGANISER, data={"key": (tmp_path / "spring-organiser.key").read_text()})
            for day in ("day 2 of 2", "final"):  # kim never comes: nobody waits a minute for it
                await press(client, "skip", r"<h2>Waiting for <bdi>kim</bdi> \(\d+ s\)</h2>")
                await press(client, "resume", f"<button>Start {day}</button>")
            page = await shown(client, f"{PAGE}/projector", lambda page: "The winner is" in page)
            winner = re.search(r"The winner is <strong><bdi>(\w+)<", page)
            assert winner is not None
            ends = await asyncio.gather(*(ended(process) for process in clients[1:]))
            assert [end for end in ends if "The league is over" not in end and "has no more games" not in end] == []
            assert [process.returncode for process in clients[1:]] == [1] * 8 + [0, 1, 1], "the starters say it and end"
        finally:
            for process in clients:
                if process.returncode is None:
                    process.kill()
        state = (await client.get(f"{PAGE}/standings.json")).json()
        rows = {row["name"]: row for row in state["standings"]}
        assert (state["state"], state["winner"]) == ("over", winner[1])
        assert {name: row["absences"] for name, row in rows.items() if name not in ("ann", "lea")} == {
            name: 2 if name == "kim" else 0 for name in PUPILS if name not in ("ann", "lea")
        }
        assert rows["ann"]["timeouts"] == 1
        assert rows["lea"]["games"] == 2
        assert [(heats["name"], [len(heat) for heat in heats["heats"]]) for heats in state["final"]] == [("final", [4])]
        games = (await client.get(f"{PAGE}/games")).text
        assert games.index("<h2>Final</h2>") < games.index("<h2>Day 2 of 2</h2>") < games.index("<h2>Day 1 of 2</h2>")
        links = re.findall(r'<td><a href="/(\w+)">', games)
        assert len(links) == 3 + 3 + 1
        records = [(await client.get(f"/records/{game}")).json() for game in links]
        assert sum(record["names"].count("seed") for record in records) == 2, "a filler played both games of kim"
        # The winner looks at its games, and at the review of the last one.
        page = f"{PAGE}/bots/{PUPILS.index(winner[1]) + 1}"
        own = (await client.get(page)).text
        last = re.findall(r'<td><a href="/(\w+)">', own)[0]
        assert (await client.post(page, data={"game": last})).status_code == 303
        assert "12 moves are reviewed" in await shown(client, page, lambda text: "Profile" in text or "failed" in text)
    # The page of a game is still there after a restart.
    async with server_of(tmp_path, "--db", "spring.sqlite") as (_, address), httpx.AsyncClient(base_url=address) as client:
        assert (await client.get(f"/{last}")).status_code == 200
        assert f"The winner is <strong><bdi>{winner[1]}" in (await client.get(PAGE)).text

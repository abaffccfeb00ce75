"""A league of real clients: one comes early, one comes late, one has a wrong key. Their names are those of the server."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from tests.support.commands import SECRET, begin, ended, line_with, run
from tests.support.serving import serving

QUICK = ("--bot", "stay", "--in-process", "--display", "none", "--no-recording")


@pytest.mark.slow
async def test_the_summary_has_the_name_of_the_standings(tmp_path: Path) -> None:
    async with serving() as server:
        server.register("ann", SECRET)
        words = ("--mode", "training", "--server", server.url, "--rounds", "2", "--games", "2")
        out = await ended(await begin(tmp_path, "play", *words, *QUICK, VINDIBOT_KEY=f" {SECRET} "))
    assert re.findall(r"game (\d) of 2: finished: (\w+) (?:came|tied)", out) == [("1", "ann"), ("2", "ann")]
    assert re.search(r"^ann: 2 games", out, re.MULTILINE)
    assert "stay" not in out


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_class_plays_a_league(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("name\nann\nbob\ncid\n")
    options = ("--rounds", "5", "--seatings", "1", "--absence-timeout", "20", "--limit-ms", "10000")
    made = run(tmp_path, "league", "new", "spring", "class.csv", *options)
    assert made.returncode == 0, made.stderr
    keys = {
        row["name"]: row["key"]
        for row in csv.DictReader((tmp_path / "spring-keys.csv").read_text(encoding="utf-8-sig").splitlines())
    }
    started: list[asyncio.subprocess.Process] = []
    try:
        await walk(tmp_path, keys, started)
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
                await process.wait()
    rows = json.loads(run(tmp_path, "league", "standings", "spring.league.json", "--format", "json").stdout)
    assert sorted((row["name"], row["games"], row["absences"]) for row in rows) == [(name, 1, 0) for name in keys]


async def walk(folder: Path, keys: dict[str, str], started: list[asyncio.subprocess.Process]) -> None:
    """Play the league in a folder with bots that have these keys. `started` gets the processes."""

    async def start(*words: str, **environment: str) -> asyncio.subprocess.Process:
        started.append(await begin(folder, *words, **environment))
        return started[-1]

    server = await start("serve", "--lan", "--port", "0", "--league", "spring.league.json")
    url = (await line_with(server, "serving on")).split()[2]
    assert "in this network: http://" in await line_with(server, "in this network")
    organiser = await line_with(server, "organiser: ")
    assert organiser.endswith("/leagues/spring/organiser (the key is in spring-organiser.key)")
    typed = (await line_with(server, "VINDIBOT_KEY=YOUR-KEY vindibot play")).split()[3:]
    words = [*typed, *QUICK]
    async with httpx.AsyncClient(base_url=url) as client:

        async def shown(text: str) -> None:
            while text not in (await client.get("/leagues/spring/projector")).text:
                pass  # each request waits for its answer

        async def organise(*action: str) -> str:
            return await ended(await start("league", action[0], "spring.league.json", *action[1:], "--server", url))

        async def play(name: str) -> asyncio.subprocess.Process:
            return await start("play", *words, VINDIBOT_KEY=keys[name])

        early = await play("ann")
        await shown("not started, 1 of 3 bots are here")
        await line_with(early, "the league spring has not started; 1 of 3 are here")
        wrong, short = [await start("play", *words, VINDIBOT_KEY=key) for key in ("wrongkey", keys["bob"][:7])]
        assert "does not know this key; check your slip (Vindinium - Key not found)" in await ended(wrong)
        assert "the key in VINDIBOT_KEY or in the configuration has 7 characters, but a key has 8" in await ended(short)
        assert (wrong.returncode, short.returncode) == (1, 2)
        (folder / "other.key").write_text("wrong-key-of-somebody\n")
        (folder / "other.key").chmod(0o600)
        refused = await organise("start", "--key-file", "other.key")
        assert "not the organiser's key" in refused
        assert "somebody" not in refused
        begun = await organise("start")
        assert "1 of 3 bots are here" in begun
        assert "not connected: bob, cid" in begun
        second = await play("bob")
        for process in (early, second):  # cid is absent, and the only game is decided
            assert f"the league on {typed[3]} has no more games" in await ended(process)
            assert process.returncode == 0
        assert "final standings" in (await client.get("/leagues/spring/projector")).text
        assert "spring: paused" in await organise("undo", "cid")  # it was over
        assert "no absence of a bot named 'cid' to undo" in await organise("undo", "cid")
        assert "spring: running" in await organise("resume")
        assert "spring: paused" in await organise("pause")
        players = [await play(name) for name in keys]
        while (await client.get("/leagues/spring/standings.json")).json()["missing"]:
            pass
        assert "3 of 3 bots are here" in await organise("resume")
        for name, process in zip(keys, players, strict=True):
            out = await ended(process)
            assert process.returncode == 0, out
            assert re.search(rf"{name} (came|tied)", out)
        over = (await client.get("/leagues/spring/standings.json")).json()
        assert (over["present"], over["missing"]) == ([], [])
    server.send_signal(signal.SIGINT)
    told = await ended(server)
    assert "a game is decided against absent bots" in told
    assert not [key for key in keys.values() if key in told]
